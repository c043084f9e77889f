// Package workspace decides which bytes a run's folder begins with, and how its
// later states are kept and told.
//
// The stages of the data, in order: a Seed is planted in a Store (seed.go, git.go)
// and is a Tree from then on, a list of paths with their kinds, modes and bytes,
// known by the hash of them all. Restore makes a folder of a tree (restore.go). The
// Folder's Snapshot is a tree again (snapshot.go). Changes tells two trees apart
// (changes.go), and ScoreKey under which key the scores of a tree are reused. The
// store keeps all bytes once, in few files (store.go).
//
// What a workspace holds was written by programs that nobody trusts. No link of it
// is followed, nothing in it is run, and what cannot be kept is reported:
//
//   - Links are kept as links, wherever they lead.
//   - Devices, sockets and FIFOs are left out and reported, as are files and folders
//     that cannot be read. Of an unreadable folder the folder itself is kept.
//   - Permission bits are kept. Setuid, setgid and sticky bits are not, and files that
//     lose setuid or setgid are reported: a restored copy belongs to another user.
//   - Owners, times, extended attributes and the mode of the workspace's own folder are
//     not kept. Files that were one by hard links become several.
//   - Names are bytes. Names that differ in case only are two names; a file system that
//     does not tell them apart refuses to restore them.
//   - Holes are read as zeros, and restored as holes where they fill whole chunks.
//   - A workspace that is gone, or is no folder any more, has an empty tree, and that is reported.
//
// It is no stable API.
package workspace

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// ID is a SHA-256: of a file's bytes, or of all that a tree holds.
type ID [sha256.Size]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ParseID reads what ID.String wrote.
func ParseID(text string) (id ID, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(id) {
		return id, fmt.Errorf("%q is no id of a tree", text)
	}
	return ID(raw), nil
}

// Kind is what a path of a tree is.
type Kind byte

const (
	KindFolder Kind = iota + 1
	KindFile
	KindLink
)

// Entry is a path of a tree.
type Entry struct {
	// Path is below the workspace, with slashes. Its bytes are those of the file
	// system, which need not be UTF-8.
	Path string
	Kind Kind
	Mode fs.FileMode // permission bits; 0 of links
	Size int64       // of a file
	Hash ID          // of a file's bytes
	Link string      // where a link leads, as it was written
}

// Tree is a state of a workspace. It is not changed once it is made.
type Tree struct {
	ID      ID
	Entries []Entry // sorted by path; the folder of each is an entry too

	seed *Tree // what its folder began with, which has most of its files; nil: unknown
}

// treeVersion begins what a tree's id is the hash of.
const treeVersion = "workspace tree 1\n"

// newTree makes a tree of entries, which it sorts.
func newTree(entries []Entry) *Tree {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return &Tree{ID: sha256.Sum256(encodeTree(entries)), Entries: entries}
}

// find is the entry of a path; nil where there is none.
func (t *Tree) find(path string) *Entry {
	at, ok := slices.BinarySearchFunc(t.Entries, path, func(e Entry, path string) int { return cmp.Compare(e.Path, path) })
	if !ok {
		return nil
	}
	return &t.Entries[at]
}

// Size is the sum of the sizes of a tree's files.
func (t *Tree) Size() (sum int64) {
	for i := range t.Entries {
		sum += t.Entries[i].Size
	}
	return sum
}

func encodeTree(entries []Entry) []byte {
	raw := make([]byte, 0, len(treeVersion)+80*len(entries))
	raw = append(raw, treeVersion...)
	for i := range entries {
		raw = appendEntry(raw, &entries[i])
	}
	return raw
}

func appendEntry(to []byte, e *Entry) []byte {
	to = append(to, byte(e.Kind))
	to = binary.AppendUvarint(to, uint64(e.Mode))
	to = appendText(to, e.Path)
	switch e.Kind {
	case KindFile:
		to = binary.AppendUvarint(to, uint64(e.Size))
		to = append(to, e.Hash[:]...)
	case KindLink:
		to = appendText(to, e.Link)
	}
	return to
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// removed is the kind of an entry that a delta takes away.
const removed Kind = 0

var errBadTree = errors.New("a stored tree cannot be read")

// decodeEntries reads what appendEntry wrote.
func decodeEntries(raw []byte) (entries []Entry, err error) {
	number := func() uint64 {
		n, size := binary.Uvarint(raw)
		if size <= 0 {
			err, raw = errBadTree, nil
			return 0
		}
		raw = raw[size:]
		return n
	}
	bytes := func(n uint64) []byte {
		if uint64(len(raw)) < n {
			err, raw = errBadTree, nil
			return nil
		}
		taken := raw[:n]
		raw = raw[n:]
		return taken
	}
	for len(raw) > 0 && err == nil {
		e := Entry{Kind: Kind(raw[0])}
		raw = raw[1:]
		e.Mode = fs.FileMode(number())
		e.Path = string(bytes(number()))
		switch e.Kind {
		case KindFile:
			e.Size = int64(number())
			copy(e.Hash[:], bytes(uint64(len(e.Hash))))
		case KindLink:
			e.Link = string(bytes(number()))
		case KindFolder, removed:
		default:
			err = errBadTree
		}
		entries = append(entries, e)
	}
	return entries, err
}

// compare visits the paths at which two trees differ, in order. One of both is nil
// where the other tree alone has the path.
func compare(from, to []Entry, visit func(old, new *Entry)) {
	for len(from) > 0 || len(to) > 0 {
		switch {
		case len(to) == 0 || len(from) > 0 && from[0].Path < to[0].Path:
			visit(&from[0], nil)
			from = from[1:]
		case len(from) == 0 || to[0].Path < from[0].Path:
			visit(nil, &to[0])
			to = to[1:]
		default:
			if from[0] != to[0] {
				visit(&from[0], &to[0])
			}
			from, to = from[1:], to[1:]
		}
	}
}

// treeDelta is what makes one list of entries of another.
func treeDelta(from, to []Entry) (delta []byte) {
	compare(from, to, func(old, new *Entry) {
		if new == nil {
			new = &Entry{Kind: removed, Path: old.Path}
		}
		delta = appendEntry(delta, new)
	})
	return delta
}

// applyDelta merges a delta into the entries that it was made from.
func applyDelta(from []Entry, delta []byte) ([]Entry, error) {
	changes, err := decodeEntries(delta)
	if err != nil {
		return nil, err
	}
	to := make([]Entry, 0, len(from)+len(changes))
	for _, change := range changes {
		at, found := slices.BinarySearchFunc(from, change.Path, func(e Entry, path string) int { return cmp.Compare(e.Path, path) })
		to = append(to, from[:at]...)
		from = from[at:]
		if found {
			from = from[1:]
		}
		if change.Kind != removed {
			to = append(to, change)
		}
	}
	return append(to, from...), nil
}

// ScoreKey is the key under which scores of a tree are reused: the id that it has
// without the ignored paths.
func ScoreKey(t *Tree, ignore Patterns) ID {
	kept, _ := ignore.split(t.Entries)
	return sha256.Sum256(encodeTree(kept))
}

// ScoreIgnore are the patterns of ScoreKey where a loop names none.
var ScoreIgnore = []string{".git/", "__pycache__/", "*.pyc"}

// Patterns say which paths are ignored, as lines of a .gitignore do: a pattern with
// a slash before its end is about the whole path, any other about the last name; one that
// ends with a slash is about folders only. * and ? stand for no slash, ** for
// any folders. Everything below an ignored folder is ignored.
type Patterns []pattern

type pattern struct {
	segments []string
	folders  bool
}

// ParsePatterns reads patterns. There are no exceptions (!) and no comments.
func ParsePatterns(lines []string) (Patterns, error) {
	var all Patterns
	for _, line := range lines {
		name, folders := strings.CutSuffix(line, "/")
		if strings.HasPrefix(name, "!") || strings.Trim(name, "/") == "" {
			return nil, fmt.Errorf("pattern %q: want a name such as *.pyc, or a path such as build/out/", line)
		}
		segments := strings.Split(strings.TrimPrefix(name, "/"), "/")
		if !strings.Contains(name, "/") {
			segments = []string{"**", name}
		}
		for _, segment := range segments {
			if _, err := path.Match(segment, ""); err != nil || segment == "" || segment == "." || segment == ".." {
				return nil, fmt.Errorf("pattern %q: %q matches no name", line, segment)
			}
		}
		all = append(all, pattern{segments, folders})
	}
	return all, nil
}

// Match reports whether a path itself is ignored; whether its folder is, the caller knows.
func (p Patterns) Match(name string, folder bool) bool {
	if len(p) == 0 {
		return false
	}
	names := strings.Split(name, "/")
	return slices.ContainsFunc(p, func(p pattern) bool { return (folder || !p.folders) && matchNames(p.segments, names) })
}

func matchNames(segments, names []string) bool {
	for len(segments) > 0 && segments[0] != "**" {
		if len(names) == 0 {
			return false
		}
		if ok, _ := path.Match(segments[0], names[0]); !ok {
			return false
		}
		segments, names = segments[1:], names[1:]
	}
	if len(segments) == 0 {
		return len(names) == 0
	}
	if len(segments) == 1 {
		return len(names) > 0
	}
	for skipped := range len(names) {
		if matchNames(segments[1:], names[skipped:]) {
			return true
		}
	}
	return false
}

// split parts entries into those that are kept and those that are ignored.
func (p Patterns) split(entries []Entry) (kept, ignored []Entry) {
	if len(p) == 0 {
		return entries, nil
	}
	folders := map[string]bool{}
	for _, e := range entries {
		isFolder := e.Kind == KindFolder
		if !folders[path.Dir(e.Path)] && !p.Match(e.Path, isFolder) {
			kept = append(kept, e)
			continue
		}
		ignored = append(ignored, e)
		if isFolder {
			folders[e.Path] = true
		}
	}
	return kept, ignored
}
