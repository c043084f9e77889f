package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Seed is what a workspace begins with. Without From and Git it has the Files alone.
type Seed struct {
	From string   // a folder
	Git  *GitSeed // instead of From
	// Without is a file that From or Git has, and the workspace has not.
	Without string
	// Files are written over it: content by path.
	Files map[string]string
	// Repository makes a Git repository of a seed that is none, with one commit whose
	// author, date and branch are always the same.
	Repository bool
}

// Planted is a seed in the store.
type Planted struct {
	Tree *Tree
	// Identity is the hash of what the seed holds. Unlike the id of the tree it does not
	// depend on how this machine's git writes the repository that was made of it.
	Identity ID
	Left     []Omission
}

// Plant reads a seed into the store: once, however often and by however many it is asked.
func (s *Store) Plant(ctx context.Context, seed Seed, limits Limits) (*Planted, error) {
	key, err := json.Marshal([]any{seed, limits})
	if err != nil {
		return nil, err
	}
	defer s.single(string(key))()
	if known, ok := s.planted.Load(string(key)); ok {
		return known.(*Planted), nil
	}
	b := &builder{ctx: ctx, store: s, limits: limits, entries: map[string]Entry{}}
	p, err := b.plant(seed)
	if err != nil {
		from := seed.From
		if seed.Git != nil {
			from = seed.Git.Repository
		}
		return nil, fmt.Errorf("seed %s: %w", from, err)
	}
	s.planted.Store(string(key), p)
	return p, nil
}

// single makes one goroutine at a time do what has a key, until the result is called.
func (s *Store) single(key string) (done func()) {
	lock, _ := s.once.LoadOrStore(key, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	return lock.(*sync.Mutex).Unlock
}

// A builder makes a tree of entries in any order.
type builder struct {
	ctx     context.Context
	store   *Store
	limits  Limits
	entries map[string]Entry
	size    int64
	left    []Omission
}

func (b *builder) plant(seed Seed) (*Planted, error) {
	err := b.from(seed)
	if left, ok := b.entries[seed.Without]; ok && left.Kind != KindFolder {
		b.size -= left.Size
		delete(b.entries, seed.Without)
	}
	if err == nil {
		err = b.overAll(seed.Files)
	}
	if err == nil {
		err = b.ownRepositories()
	}
	if err != nil {
		return nil, err
	}
	tree := b.tree()
	p := &Planted{Tree: tree, Identity: tree.ID, Left: b.left}
	if _, is := b.entries[".git"]; seed.Repository && !is {
		p.Identity = sha256.Sum256(append(tree.ID[:], "repository"...))
		if err := b.repository(tree); err != nil {
			return nil, err
		}
		p.Tree = b.tree()
	}
	p.Tree.seed = p.Tree
	return p, b.store.putTree(p.Tree, nil)
}

func (b *builder) tree() *Tree { return newTree(slices.Collect(maps.Values(b.entries))) }

func (b *builder) from(seed Seed) error {
	if seed.Git != nil && seed.From != "" {
		return errors.New("from and git exclude each other")
	}
	if seed.Git != nil {
		return b.commit(*seed.Git)
	}
	if seed.From == "" {
		return nil
	}
	place, err := filepath.EvalSymlinks(seed.From)
	if err != nil {
		return err
	}
	info, err := os.Stat(place)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return b.dir(place)
	}
	return errors.New("want a folder, or {git: PATH-OR-URL}")
}

// dir takes what a folder holds.
func (b *builder) dir(dir string) error {
	within, err := filepath.Abs(b.store.dir)
	if err != nil {
		return err
	}
	if below, err := filepath.Rel(dir, within); err == nil && filepath.IsLocal(below) {
		return fmt.Errorf("it holds the store of snapshots (%s): name a folder without results", below)
	}
	w := &walk{store: b.store, limits: b.limits}
	if err := w.start(b.ctx, dir); err != nil {
		return err
	}
	for _, e := range w.entries {
		b.entries[e.Path] = e
	}
	b.size, b.left = w.size, append(b.left, w.left...)
	return nil
}

// add takes an entry whose folders may be missing.
func (b *builder) add(e Entry) error {
	for folder := path.Dir(e.Path); folder != "."; folder = path.Dir(folder) {
		if is, ok := b.entries[folder]; ok && is.Kind != KindFolder {
			return fmt.Errorf("%q would be written through %q, but that is not a folder", e.Path, folder)
		} else if !ok {
			b.entries[folder] = Entry{Path: folder, Kind: KindFolder, Mode: 0o755}
		}
	}
	if was, ok := b.entries[e.Path]; ok && was.Kind == KindFolder && e.Kind != KindFolder {
		return fmt.Errorf("%q is a folder, and something else later", e.Path)
	}
	e.Mode = e.Mode.Perm()
	b.entries[e.Path] = e
	if b.limits.Files > 0 && len(b.entries) > b.limits.Files {
		return fmt.Errorf("%w: more than %d files", ErrLimit, b.limits.Files)
	}
	return nil
}

// file takes a file's bytes, no more than the limit has room for.
func (b *builder) file(name string, mode fs.FileMode, from io.Reader) error {
	if b.limits.Size > 0 {
		from = io.LimitReader(from, b.limits.Size-b.size+1)
	}
	hash, size, err := b.store.putFile(b.ctx, from)
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	if b.size += size; b.limits.Size > 0 && b.size > b.limits.Size {
		return fmt.Errorf("%w: more than %d bytes", ErrLimit, b.limits.Size)
	}
	return b.add(Entry{Path: name, Kind: KindFile, Mode: mode, Size: size, Hash: hash})
}

func (b *builder) overAll(files map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := b.over(name, files[name]); err != nil {
			return err
		}
	}
	return nil
}

// over writes a file over what is there.
func (b *builder) over(name, content string) error {
	clean, err := cleanPath(name)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if was, ok := b.entries[clean]; ok && was.Kind == KindFile {
		mode = was.Mode
	}
	for other := range b.entries {
		isFolder := strings.HasPrefix(clean, other+"/")
		if other == clean || strings.HasPrefix(other, clean+"/") || isFolder && b.entries[other].Kind != KindFolder {
			b.size -= b.entries[other].Size
			delete(b.entries, other)
		}
	}
	return b.file(clean, mode, strings.NewReader(content))
}

// Over is a tree with files written over it: contents by path. What is in their way is not in it: links, files where a
// folder is needed, folders where a file is. A file that was there keeps its mode. The tree itself is not kept.
func (s *Store) Over(ctx context.Context, t *Tree, files map[string]string) (*Tree, error) {
	b := &builder{ctx: ctx, store: s, entries: make(map[string]Entry, len(t.Entries)+len(files))}
	for _, e := range t.Entries {
		b.entries[e.Path] = e
	}
	if err := b.overAll(files); err != nil {
		return nil, err
	}
	return b.tree(), nil
}

// cleanPath is a path of a tree. Those that leave the workspace are refused.
func cleanPath(name string) (string, error) {
	clean := path.Clean(name)
	if clean == "." || path.IsAbs(clean) || strings.Contains(name, "\x00") || slices.Contains(strings.Split(name, "/"), "..") || !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", fmt.Errorf("%q is no path below the workspace", name)
	}
	return clean, nil
}

// Setup is the tree that a setup makes of another, by a key of all that it depends on:
// the seed's identity, the command, the sandbox. It is made once, in a folder
// that begins as the seed. One that fails leaves nothing.
func (s *Store) Setup(ctx context.Context, seed *Tree, key string, limits Limits, run func(dir string) error) (*Tree, error) {
	at := name(setupsFolder, sha256.Sum256([]byte(key)))
	defer s.single("setup " + key)()
	if !s.has(at) {
		if err := s.setup(ctx, seed, at, limits, run); err != nil {
			return nil, fmt.Errorf("setup: %w", err)
		}
	}
	id, err := s.setupTree(at)
	if err != nil {
		return nil, err
	}
	t, err := s.Tree(id)
	if err == nil {
		t.seed = t
	}
	return t, err
}

// setupTree is the tree of a setup.
func (s *Store) setupTree(at string) (ID, error) {
	text, err := s.read(at)
	if err != nil {
		return ID{}, err
	}
	return ParseID(string(text))
}

func (s *Store) setup(ctx context.Context, seed *Tree, at string, limits Limits, run func(dir string) error) error {
	dir, err := s.makeScratch("setup")
	if err != nil {
		return err
	}
	defer Remove(filepath.Dir(dir))
	f, err := s.Restore(ctx, seed, dir, Options{Limits: limits})
	if err != nil {
		return err
	}
	if err := run(dir); err != nil {
		return err
	}
	made, err := f.Snapshot(ctx)
	if err != nil {
		return err
	}
	return s.putBytes(at, []byte(made.Tree.ID.String()))
}
