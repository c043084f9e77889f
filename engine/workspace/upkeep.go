package workspace

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// needs are the names of what trees consist of, in the order in which they are written: files before the
// trees, and those before the trees that are stored by what differs from them. Setups that made one of
// them come last.
func (s *Store) needs(trees []ID) (names []string, err error) {
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name], names = true, append(names, name)
		}
	}
	var visit func(id ID, bases int) error
	visit = func(id ID, bases int) error {
		if seen[name(treesFolder, id)] {
			return nil
		}
		t, err := s.tree(id, bases)
		if err != nil {
			return err
		}
		for i := range t.Entries {
			if e := &t.Entries[i]; e.Kind == KindFile {
				add(name(filesFolder, e.Hash))
			}
		}
		if t.base != nil {
			if err := visit(*t.base, bases-1); err != nil {
				return err
			}
		}
		add(name(treesFolder, id))
		return nil
	}
	for _, id := range trees {
		if err := visit(id, mostBases); err != nil {
			return nil, err
		}
	}
	err = s.each(setupsFolder, func(setup string, _ ID) error {
		if tree, err := s.setupTree(setup); err == nil && seen[name(treesFolder, tree)] {
			add(setup)
		}
		return nil
	})
	return names, err
}

// all are the names of all that is kept, in the order in which they are written.
func (s *Store) all() (names []string, err error) {
	for _, folder := range []string{filesFolder, treesFolder, setupsFolder} {
		err = errors.Join(err, s.each(folder, func(name string, _ ID) error {
			names = append(names, name)
			return nil
		}))
	}
	return names, err
}

// Join copies trees of another store and what they need: all, or those named. Setups that made one of them come along.
func (s *Store) Join(from *Store, trees ...ID) error {
	names, err := from.all()
	if len(trees) > 0 {
		names, err = from.needs(trees)
	}
	for _, name := range names {
		if err == nil {
			err = s.copy(from, name)
		}
	}
	if err != nil {
		return fmt.Errorf("joining %s with %s: %w", s.dir, from.dir, err)
	}
	return nil
}

func (s *Store) copy(from *Store, name string) error {
	f, err := from.get(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.put(name, func(to io.Writer) error {
		_, err := io.Copy(to, f)
		return err
	})
}

// Prune keeps the named trees and removes all others. No other process may use the store.
func (s *Store) Prune(keep ...ID) error {
	kept, err := s.needs(keep)
	if err != nil {
		return fmt.Errorf("pruning the store %s: %w", s.dir, err)
	}
	stays := setOf(kept)
	all, err := s.all()
	for _, name := range slices.Backward(all) { // no tree lacks files where this ends early
		if err == nil && !stays[name] {
			err = s.remove(name)
		}
	}
	s.planted.Clear()
	s.kept.Clear()
	return err
}

// Verify reads all that is kept, and reports what is damaged or missing.
func (s *Store) Verify(ctx context.Context) (faults []error) {
	names, err := s.all()
	if err != nil {
		return []error{err}
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return append(faults, err)
		}
		if err := s.verify(name); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

func (s *Store) verify(at string) error {
	key, err := keyOf(at)
	if err != nil {
		return err
	}
	switch filepath.Dir(filepath.Dir(at)) {
	case setupsFolder:
		tree, err := s.setupTree(at)
		if err == nil && !s.Has(tree) {
			err = fmt.Errorf("%s: %w", at, errMissing)
		}
		return err
	case treesFolder:
		return s.complete(key)
	}
	return s.sound(key, unknownSize)
}

// complete fails where a tree, or a file of it, is missing.
func (s *Store) complete(id ID) error {
	t, err := s.Tree(id)
	if err != nil {
		return err
	}
	for i := range t.Entries {
		if e := &t.Entries[i]; e.Kind == KindFile && !s.has(name(filesFolder, e.Hash)) {
			return fmt.Errorf("%q: %w", e.Path, errMissing)
		}
	}
	return nil
}

// Check reports why a tree cannot be restored, nil where it can. Known are the files that were
// read before, and what was wrong with them.
func (s *Store) Check(id ID, known map[ID]error) error {
	t, err := s.Tree(id)
	if err != nil {
		return err
	}
	for _, e := range t.Entries {
		if e.Kind != KindFile {
			continue
		}
		wrong, read := known[e.Hash]
		if !read {
			wrong = s.sound(e.Hash, e.Size)
			known[e.Hash] = wrong
		}
		if wrong != nil {
			return fmt.Errorf("%q: %w", e.Path, wrong)
		}
	}
	return nil
}

// sound reads a file and compares it with its hash.
func (s *Store) sound(key ID, size int64) error {
	hash := sha256.New()
	err := s.eachChunk(key, size, func(chunk []byte) error { hash.Write(chunk); return nil })
	if err == nil && ID(hash.Sum(nil)) != key {
		err = fmt.Errorf("%s: %w", name(filesFolder, key), errDamaged)
	}
	return err
}

// Export writes trees, and what they need, to a new tar file: without what others need, which are where it is taken.
func (s *Store) Export(path string, trees []ID, others ...ID) (err error) {
	names, err := s.needs(trees)
	if err != nil {
		return err
	}
	there, err := s.needs(others)
	if err != nil {
		return err
	}
	to, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	archive := tar.NewWriter(to)
	taken := setOf(there)
	for _, name := range names {
		if !taken[name] {
			if err := s.pack(archive, name); err != nil {
				return err
			}
		}
	}
	return archive.Close()
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

func (s *Store) pack(archive *tar.Writer, name string) error {
	f, err := s.get(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size()})
	}
	if err == nil {
		_, err = io.Copy(archive, f)
	}
	return err
}

// Import takes the trees that Export wrote, and removes the file. All that it takes is sound.
func (s *Store) Import(path string, trees []ID) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	err = s.unpack(tar.NewReader(f))
	if err == nil && !slices.ContainsFunc(trees, func(id ID) bool { return !s.Has(id) }) {
		return os.Remove(path)
	}
	return fmt.Errorf("importing %s: %w", path, cmp.Or(err, errDamaged))
}

func (s *Store) unpack(archive *tar.Reader) error {
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
		key, err := keyOf(head.Name)
		folder := filepath.Dir(filepath.Dir(head.Name))
		if err != nil || head.Name != name(folder, key) || !slices.Contains([]string{filesFolder, treesFolder, setupsFolder}, folder) {
			return fmt.Errorf("%w: %q", errDamaged, head.Name)
		}
		if s.has(head.Name) {
			continue
		}
		err = s.put(head.Name, func(to io.Writer) error {
			_, err := io.Copy(to, archive)
			return err
		})
		if err == nil {
			err = s.verify(head.Name)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%w: %w", errDamaged, err), s.remove(head.Name))
		}
	}
}
