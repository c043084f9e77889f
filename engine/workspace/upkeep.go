package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Join copies trees of another store and what they need: all, or those named.
// Setups that made one of them come along.
func (s *Store) Join(from *Store, trees ...ID) error {
	if err := errors.Join(s.refresh(), from.refresh()); err != nil {
		return err
	}
	from.mu.RLock()
	keys, names := slices.Clone(trees), map[ID]bool{}
	for key, at := range from.index {
		if at.kind == kindName {
			names[key] = true
		} else if len(trees) == 0 {
			keys = append(keys, key)
		}
	}
	from.mu.RUnlock()
	for _, key := range keys {
		if err := s.transfer(from, key); err != nil {
			return fmt.Errorf("joining %s with %s: %w", s.dir, from.dir, err)
		}
	}
	for key := range names {
		r, tree, err := from.read(key)
		if err != nil {
			return err
		}
		if len(trees) > 0 && !slices.Contains(trees, ID(tree)) {
			continue
		}
		if err := s.append(r, tree); err != nil {
			return err
		}
	}
	return nil
}

// transfer copies a record as it is stored, after what it needs.
func (s *Store) transfer(from *Store, key ID) error {
	if _, ok := s.find(key); ok {
		return nil
	}
	r, payload, err := from.read(key)
	if err != nil {
		return err
	}
	needs := func(keys []byte) error {
		for key := range slices.Chunk(keys, len(ID{})) {
			if err := s.transfer(from, ID(key)); err != nil {
				return err
			}
		}
		return nil
	}
	if r.codec == codecBeside || r.codec == codecDelta {
		if err := needs(payload[:len(ID{})]); err != nil {
			return err
		}
		base, _ := s.find(ID(payload))
		r.depth = base.depth + 1
	}
	if r.kind == kindList {
		raw, err := from.decode(r, payload, mostDepth)
		if err != nil {
			return err
		}
		if err := needs(raw); err != nil {
			return err
		}
	}
	if r.depth > mostDepth { // what it needs may be here alone
		raw, err := s.decode(r, payload, mostDepth+1)
		if err != nil {
			return err
		}
		return s.put(r.kind, key, raw, ID{})
	}
	if r.kind == kindTree {
		if err := s.transferFiles(from, r, payload); err != nil {
			return err
		}
	}
	return s.append(r, payload)
}

// transferFiles copies the files that a record of a tree names. Those that it shares
// with the tree it is a difference from came with that one.
func (s *Store) transferFiles(from *Store, r record, payload []byte) error {
	whole := r.codec != codecDelta
	if !whole {
		r.codec, payload = codecZstd, payload[len(ID{}):]
	}
	raw, err := from.decode(r, payload, mostDepth)
	if err != nil {
		return err
	}
	entries, err := decodeEntries(bytes.TrimPrefix(raw, []byte(treeVersion)))
	for _, e := range entries {
		if e.Kind == KindFile && err == nil {
			err = s.transfer(from, e.Hash)
		}
	}
	return err
}

// Prune keeps the named trees and removes all others. No other process may use the store, and
// folders that are followed have to be tracked anew.
func (s *Store) Prune(keep ...ID) error {
	if err := s.prune(keep); err != nil {
		return fmt.Errorf("pruning the store %s: %w", s.dir, err)
	}
	return nil
}

func (s *Store) prune(keep []ID) error {
	if err := s.refresh(); err != nil {
		return err
	}
	if err := s.takeAll(); err != nil {
		return err
	}
	fresh, err := Open(filepath.Join(s.scratch(), "pruned"))
	if err != nil {
		return err
	}
	if len(keep) > 0 {
		err = fresh.Join(s, keep...)
	}
	if err = errors.Join(err, fresh.acquireScratch(), fresh.Sync(), fresh.Close()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var last int
	if _, err := fmt.Sscanf(filepath.Base(slices.Max(slices.Collect(maps.Keys(s.packs)))), "pack-%d", &last); err != nil {
		return err
	}
	// A crash between these steps leaves records twice, which does no harm.
	if err := os.Rename(filepath.Join(fresh.dir, "pack-000001"), filepath.Join(s.dir, fmt.Sprintf("pack-%06d", last+1))); err != nil {
		return err
	}
	scratch := s.scratch()
	for old, p := range s.packs {
		if err := errors.Join(os.Remove(old), p.close()); err != nil {
			return err
		}
	}
	s.packs, s.index, s.own = map[string]*pack{}, map[ID]place{}, nil
	s.planted.Clear()
	s.kept.Clear()
	return Remove(scratch)
}

// takeAll makes sure that no other process appends to a pack.
func (s *Store) takeAll() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.acquire(); err != nil {
		return err
	}
	for name, p := range s.packs {
		if p == s.own {
			continue
		}
		if free, err := tryLock(p.file); err != nil || !free {
			return fmt.Errorf("another process uses %s", filepath.Base(name))
		}
	}
	return nil
}

// Verify reads all records and reports what is damaged or missing.
func (s *Store) Verify(ctx context.Context) (faults []error) {
	if err := s.refresh(); err != nil {
		return []error{err}
	}
	s.mu.RLock()
	places := make([]place, 0, len(s.index))
	for _, p := range s.packs {
		for _, at := range p.damaged {
			faults = append(faults, fmt.Errorf("%s, byte %d: %w", filepath.Base(p.file.Name()), at, errDamaged))
		}
	}
	for _, at := range s.index {
		places = append(places, at)
	}
	s.mu.RUnlock()
	slices.SortFunc(places, func(a, b place) int { return bytes.Compare(a.key[:], b.key[:]) })
	for _, at := range places {
		if err := ctx.Err(); err != nil {
			return append(faults, err)
		}
		if err := s.verify(at); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", at.key, err))
		}
	}
	return faults
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
			wrong = s.sound(e.Hash)
			known[e.Hash] = wrong
		}
		if wrong != nil {
			return fmt.Errorf("%q: %w", e.Path, wrong)
		}
	}
	return nil
}

// sound reads a file and compares it with its hash.
func (s *Store) sound(key ID) error {
	hash := sha256.New()
	err := s.eachChunk(key, func(chunk []byte) error { hash.Write(chunk); return nil })
	if err == nil && ID(hash.Sum(nil)) != key {
		err = errDamaged
	}
	return err
}

func (s *Store) verify(at place) error {
	payload, err := at.payload()
	if err != nil {
		return err
	}
	switch at.kind {
	case kindName:
		_, err := s.Tree(ID(payload))
		return err
	case kindTree:
		t, err := s.Tree(at.key)
		if err != nil {
			return err
		}
		for _, e := range t.Entries {
			if _, ok := s.find(e.Hash); e.Kind == KindFile && !ok {
				return fmt.Errorf("%q: %w", e.Path, errMissing)
			}
		}
		return nil
	}
	return s.sound(at.key)
}
