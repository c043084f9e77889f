package workspace

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
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
	"time"
)

// Seed is what a workspace begins with. Without From and Git it has the Files alone.
type Seed struct {
	From string   // a folder, or an archive: .tar, .tar.gz, .tgz or .zip
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
// An archive is never unpacked to the disk, and one that leaves the workspace, or writes through its own links, is
// refused.
func (s *Store) Plant(ctx context.Context, seed Seed, limits Limits) (*Planted, error) {
	key, err := json.Marshal([]any{seed, limits})
	if err != nil {
		return nil, err
	}
	defer s.single(string(key))()
	if known, ok := s.planted.Load(string(key)); ok {
		return known.(*Planted), nil
	}
	if err := s.refresh(); err != nil {
		return nil, err
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
	for _, name := range slices.Sorted(maps.Keys(seed.Files)) {
		if err == nil {
			err = b.over(name, seed.Files[name])
		}
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
	return p, b.store.putTree(p.Tree)
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
	f, err := os.Open(place)
	if err != nil {
		return err
	}
	defer f.Close()
	switch name := strings.ToLower(seed.From); {
	case strings.HasSuffix(name, ".zip"):
		return b.zip(f, info.Size())
	case strings.HasSuffix(name, ".tar"):
		return b.tar(f)
	case strings.HasSuffix(name, ".tar.gz"), strings.HasSuffix(name, ".tgz"):
		unpacked, err := gzip.NewReader(f)
		if err != nil {
			return err
		}
		return b.tar(unpacked)
	}
	return errors.New("want a folder, or a file named .tar, .tar.gz, .tgz or .zip")
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
	hash, size, err := b.store.putFile(b.ctx, from, ID{})
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	if b.size += size; b.limits.Size > 0 && b.size > b.limits.Size {
		return fmt.Errorf("%w: more than %d bytes", ErrLimit, b.limits.Size)
	}
	return b.add(Entry{Path: name, Kind: KindFile, Mode: mode, Size: size, Hash: hash})
}

// over writes a file of the seed's own over what is there.
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

// entry takes what both kinds of archives have of a path. Link is where a link leads.
func (b *builder) entry(name string, mode fs.FileMode, link string, from io.Reader) error {
	if path.Clean(name) == "." {
		return nil
	}
	clean, err := cleanPath(name)
	if err != nil {
		return err
	}
	switch {
	case mode.IsDir():
		return b.add(Entry{Path: clean, Kind: KindFolder, Mode: mode})
	case mode.Type() == fs.ModeSymlink:
		return b.add(Entry{Path: clean, Kind: KindLink, Link: link})
	case !mode.IsRegular():
		b.left = append(b.left, Omission{clean, whatIs(mode) + " is not kept"})
		return nil
	}
	if mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		b.left = append(b.left, Omission{clean, "kept without its setuid and setgid bits"})
	}
	return b.file(clean, mode, from)
}

func (b *builder) tar(from io.Reader) error {
	archive := tar.NewReader(from)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
		case tar.TypeLink:
			err = b.hardLink(h)
		default:
			err = b.entry(h.Name, h.FileInfo().Mode(), h.Linkname, archive)
		}
		if err != nil {
			return err
		}
	}
}

// hardLink takes a second name of an earlier file as a file of its own.
func (b *builder) hardLink(h *tar.Header) error {
	clean, err := cleanPath(h.Name)
	if err != nil {
		return err
	}
	e, ok := b.entries[path.Clean(h.Linkname)]
	if !ok || e.Kind != KindFile {
		return fmt.Errorf("%q is another name of %q, but no file of that name comes before it", h.Name, h.Linkname)
	}
	if b.size += e.Size; b.limits.Size > 0 && b.size > b.limits.Size {
		return fmt.Errorf("%w: more than %d bytes", ErrLimit, b.limits.Size)
	}
	e.Path = clean
	return b.add(e)
}

func (b *builder) zip(from io.ReaderAt, size int64) error {
	archive, err := zip.NewReader(from, size)
	if err != nil {
		return err
	}
	for _, member := range archive.File {
		if err := b.member(member); err != nil {
			return err
		}
	}
	return nil
}

// longestLink is how long the target of a link may be: PATH_MAX of Linux.
const longestLink = 4096

func (b *builder) member(member *zip.File) error {
	content, err := member.Open()
	if err != nil {
		return fmt.Errorf("%q: %w", member.Name, err)
	}
	defer content.Close()
	link := ""
	if member.Mode().Type() == fs.ModeSymlink {
		target, err := io.ReadAll(io.LimitReader(content, longestLink))
		if err != nil {
			return fmt.Errorf("%q: %w", member.Name, err)
		}
		link = string(target)
	}
	return b.entry(member.Name, member.Mode(), link, content)
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
// that begins as the seed, by one process of those that share the store; the others
// wait for it. One that fails leaves nothing.
func (s *Store) Setup(ctx context.Context, seed *Tree, key string, limits Limits, run func(dir string) error) (*Tree, error) {
	name := setupName(key)
	defer s.single("setup " + key)()
	if err := s.refresh(); err != nil {
		return nil, err
	}
	if _, ok := s.find(name); !ok {
		unlock, err := s.lockSetup(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("setup: %w", err)
		}
		defer unlock()
		if err := s.refresh(); err != nil {
			return nil, err
		}
	}
	if _, ok := s.find(name); !ok {
		if err := s.setup(ctx, seed, name, limits, run); err != nil {
			return nil, fmt.Errorf("setup: %w", err)
		}
	}
	id, err := s.get(name)
	if err != nil {
		return nil, err
	}
	t, err := s.Tree(ID(id))
	if err == nil {
		t.seed = t
	}
	return t, err
}

// setupName is what the record of a setup is found by.
func setupName(key string) ID { return sha256.Sum256([]byte("setup\x00" + key)) }

func (s *Store) setup(ctx context.Context, seed *Tree, name ID, limits Limits, run func(dir string) error) error {
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
	return s.append(record{kind: kindName, key: name, raw: len(name)}, made.Tree.ID[:])
}

func setupLock(name ID) string { return "setup-" + name.String()[:16] + ".lock" }

// lockSetup waits until no other process makes a setup.
func (s *Store) lockSetup(ctx context.Context, name ID) (unlock func() error, err error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	f, err := openOwn(filepath.Join(s.dir, setupLock(name)), 0)
	if err != nil {
		return nil, err
	}
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		if free, err := tryLock(f); err != nil || free {
			return f.Close, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-retry.C:
		}
	}
}
