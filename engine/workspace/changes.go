package workspace

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

// Changes is what differs between two trees. Of folders nothing is said.
type Changes struct {
	Changed, Added, Deleted []string // sorted
	Insertions, Deletions   int      // lines, of the files that the diff shows or would show
	// Diff is unified, as git writes it. It is valid UTF-8: other bytes are replaced. Binary files,
	// and those larger than 1 MiB, are named alone.
	Diff      string
	Truncated bool // Diff ends early, at the end of a line
}

// Changes compares two trees. The diff has at most so many bytes; lines are counted
// beyond it. Time grows with the text that differs: n log n for the lines of a file.
func (s *Store) Changes(ctx context.Context, from, to *Tree, most int) (Changes, error) {
	var c Changes
	var failed error
	compare(from.Entries, to.Entries, func(old, new *Entry) {
		if old != nil && old.Kind == KindFolder {
			old = nil
		}
		if new != nil && new.Kind == KindFolder {
			new = nil
		}
		switch {
		case failed != nil || old == nil && new == nil:
			return
		case old == nil:
			c.Added = append(c.Added, new.Path)
		case new == nil:
			c.Deleted = append(c.Deleted, old.Path)
		default:
			c.Changed = append(c.Changed, new.Path)
		}
		var text string
		if failed = ctx.Err(); failed == nil {
			text, failed = s.difference(old, new, &c)
		}
		c.show(text, most)
	})
	if failed != nil {
		return Changes{}, fmt.Errorf("comparing two states of a workspace: %w", failed)
	}
	return c, nil
}

// show adds to the diff what it has room for. Nothing follows what was cut.
func (c *Changes) show(text string, most int) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if c.Truncated {
		return
	}
	if room := most - len(c.Diff); len(text) > room {
		text, c.Truncated = text[:strings.LastIndexByte(text[:room], '\n')+1], true
	}
	c.Diff += text
}

// difference is the part of the diff about one path, whose lines it counts.
func (s *Store) difference(old, new *Entry, c *Changes) (string, error) {
	before, oldName, oldShown, err := s.side(old, "a/")
	if err != nil {
		return "", err
	}
	after, newName, newShown, err := s.side(new, "b/")
	if err != nil {
		return "", err
	}
	var head strings.Builder
	switch {
	case old == nil:
		fmt.Fprintf(&head, "diff --git %s %s\nnew file mode %s\n", quote("a/"+new.Path), newName, gitMode(new))
	case new == nil:
		fmt.Fprintf(&head, "diff --git %s %s\ndeleted file mode %s\n", oldName, quote("b/"+old.Path), gitMode(old))
	default:
		fmt.Fprintf(&head, "diff --git %s %s\n", oldName, newName)
		if was, is := gitMode(old), gitMode(new); was != is {
			fmt.Fprintf(&head, "old mode %s\nnew mode %s\n", was, is)
		}
	}
	if !oldShown || !newShown {
		if old == nil || new == nil || old.Hash != new.Hash {
			fmt.Fprintf(&head, "Binary files %s and %s differ\n", oldName, newName)
		}
		return head.String(), nil
	}
	text := diff.Diff(oldName, before, newName, after)
	if _, body, ok := bytes.Cut(text, []byte("\n")); ok { // its first line is a head of its own
		c.count(body)
		head.Write(body)
	}
	return head.String(), nil
}

// side is what a diff shows of an entry, and whether it can: of a link where it leads.
func (s *Store) side(e *Entry, prefix string) (text []byte, name string, shown bool, err error) {
	switch {
	case e == nil:
		return nil, "/dev/null", true, nil
	case e.Kind == KindLink:
		return []byte(e.Link), quote(prefix + e.Path), true, nil
	case e.Size > chunkSize:
		return nil, quote(prefix + e.Path), false, nil
	}
	text, err = s.ReadFile(*e, chunkSize)
	return text, quote(prefix + e.Path), bytes.IndexByte(text[:min(len(text), 8000)], 0) < 0, err
}

// count counts the lines of hunks. The first two lines of the text name the files.
func (c *Changes) count(text []byte) {
	for i, line := range bytes.Split(text, []byte("\n")) {
		switch {
		case i < 2 || len(line) == 0:
		case line[0] == '+':
			c.Insertions++
		case line[0] == '-':
			c.Deletions++
		}
	}
}

// gitMode is a mode as git writes it, with all bits of files where they are unusual.
func gitMode(e *Entry) string {
	if e.Kind == KindLink {
		return "120000"
	}
	return fmt.Sprintf("100%03o", e.Mode)
}

// quote writes a name as git does where it has bytes that a line of a diff cannot show.
func quote(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }) {
		return name
	}
	return strconv.Quote(name)
}
