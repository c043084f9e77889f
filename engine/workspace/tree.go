// Package workspace keeps the states of the folders in which programs work. Open opens a Store of
// trees, Restore makes a folder of one, and Folder.Snapshot keeps its state.
//
// The stages of the data, in order: a Seed is planted in a Store (seed.go, git.go)
// and is a Tree from then on, a list of paths with their kinds, modes and bytes,
// known by the hash of them all. Restore makes a folder of a tree (restore.go). The
// Folder's Snapshot is a tree again (snapshot.go). Changes tells two trees apart
// (changes.go), and ScoreKey under which key the scores of a tree are reused. The
// store keeps all bytes once, each in a file of its own (store.go).
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
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
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
	base *ID   // what it is stored by the difference from; nil: it is stored whole, or not read
}

// newTree makes a tree of entries, which it sorts.
func newTree(entries []Entry) *Tree {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return &Tree{ID: identity(entries), Entries: entries}
}

// identity is the hash of all that entries say.
func identity(entries []Entry) ID {
	text := make([]byte, 0, 120*len(entries))
	for i := range entries {
		e := &entries[i]
		text = strconv.AppendUint(append(text, byte('0'+e.Kind), ' '), uint64(e.Mode), 8)
		text = strconv.AppendInt(append(text, ' '), e.Size, 10)
		text = hex.AppendEncode(append(text, ' '), e.Hash[:])
		text = strconv.AppendQuote(strconv.AppendQuote(text, e.Path), e.Link)
	}
	return sha256.Sum256(text)
}

// Find is the entry of a path; nil where there is none.
func (t *Tree) Find(path string) *Entry {
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

// storedTree is a tree as the store keeps it: whole, or by what differs from another one, as that of a seed.
type storedTree struct {
	Base    string        `json:"base,omitzero"`
	Removed []storedEntry `json:"removed,omitzero"` // of the base; paths alone
	Entries []storedEntry `json:"entries"`
}

// storedEntry is an entry. Paths that are not UTF-8 are bytes. Without a hash and a link it is a folder.
type storedEntry struct {
	Path  string      `json:"path,omitzero"`
	Bytes []byte      `json:"bytes,omitzero"` // instead of path and, behind a zero, of link
	Mode  fs.FileMode `json:"mode,omitzero"`
	Size  int64       `json:"size,omitzero"`
	Hash  string      `json:"hash,omitzero"`
	Link  string      `json:"link,omitzero"`
}

func (e *Entry) stored() storedEntry {
	to := storedEntry{Path: e.Path, Mode: e.Mode, Size: e.Size, Link: e.Link}
	if !utf8.ValidString(e.Path) || !utf8.ValidString(e.Link) {
		to.Path, to.Link, to.Bytes = "", "", []byte(e.Path+"\x00"+e.Link)
	}
	if e.Kind == KindFile {
		to.Hash = e.Hash.String()
	}
	return to
}

func (from *storedEntry) entry() (e Entry, err error) {
	e = Entry{Path: from.Path, Kind: KindFolder, Mode: from.Mode, Size: from.Size, Link: from.Link}
	if from.Bytes != nil {
		e.Path, e.Link, _ = strings.Cut(string(from.Bytes), "\x00")
	}
	switch {
	case from.Hash != "":
		e.Kind = KindFile
		e.Hash, err = ParseID(from.Hash)
	case e.Link != "":
		e.Kind = KindLink
	}
	return e, err
}

// Tree is a stored tree.
func (s *Store) Tree(id ID) (*Tree, error) {
	t, err := s.tree(id, mostBases)
	if err != nil {
		return nil, fmt.Errorf("reading a tree: %w", err)
	}
	return t, nil
}

// mostBases is how many trees are read at most to make one of what differs.
const mostBases = 8

func (s *Store) tree(id ID, bases int) (*Tree, error) {
	var stored storedTree
	at := name(treesFolder, id)
	raw, err := s.read(at)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", at, errDamaged, err)
	}
	entries, of := map[string]Entry{}, (*ID)(nil)
	if stored.Base != "" {
		key, err := ParseID(stored.Base)
		if err != nil || bases == 0 {
			return nil, fmt.Errorf("%s: %w", at, errDamaged)
		}
		base, err := s.tree(key, bases-1)
		if err != nil {
			return nil, err
		}
		of = &key
		for _, e := range base.Entries {
			entries[e.Path] = e
		}
	}
	for i := range stored.Removed {
		e, _ := stored.Removed[i].entry()
		delete(entries, e.Path)
	}
	for i := range stored.Entries {
		e, err := stored.Entries[i].entry()
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", at, errDamaged, err)
		}
		entries[e.Path] = e
	}
	t := newTree(slices.Collect(maps.Values(entries)))
	if t.base = of; t.ID != id {
		return nil, fmt.Errorf("%s: %w", at, errDamaged)
	}
	return t, nil
}

// putTree keeps a tree, whose files are kept: by what differs from the base if that is much less. A nil base is none.
func (s *Store) putTree(t, base *Tree) error {
	at := name(treesFolder, t.ID)
	if s.has(at) {
		return nil
	}
	var stored storedTree
	if base != nil && s.Has(base.ID) {
		compare(base.Entries, t.Entries, func(old, new *Entry) {
			if new != nil {
				stored.Entries = append(stored.Entries, new.stored())
			} else {
				stored.Removed = append(stored.Removed, (&Entry{Path: old.Path}).stored())
			}
		})
		stored.Base = base.ID.String()
	}
	if stored.Base == "" || len(stored.Entries)+len(stored.Removed) > len(t.Entries)/2 {
		stored = storedTree{}
		for i := range t.Entries {
			stored.Entries = append(stored.Entries, t.Entries[i].stored())
		}
	}
	raw, err := json.Marshal(&stored)
	if err != nil {
		return err
	}
	return s.putBytes(at, raw)
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

// ScoreKey is the key under which scores of a tree are reused: the id that it has
// without the ignored paths.
func ScoreKey(t *Tree, ignore Patterns) ID {
	kept, _ := ignore.split(t.Entries)
	return identity(kept)
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
