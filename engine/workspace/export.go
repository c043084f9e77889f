package workspace

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// firstPack is the name of the pack of a store that has one.
const firstPack = "pack-000001"

// Parcel is a file with trees and what they need, on its way from one store to another.
type Parcel struct {
	// Path is of the file. It may be removed; the parcel still tells what was in it.
	Path string
	// content are the records that the trees consist of. What stores keep them as
	// differences from is no part of it: other stores do it another way.
	content map[ID]place
}

// Has reports whether a store keeps a tree, and so all of its files.
func (s *Store) Has(tree ID) bool {
	_, ok := s.find(tree)
	return ok
}

// Export writes trees, and what they need that other parcels do not have, to a new file. Who
// takes it has to have taken the others.
func (s *Store) Export(path string, trees []ID, beside ...*Parcel) (_ *Parcel, err error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), "export-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, Remove(dir)) }()
	only, err := Open(dir)
	if err != nil {
		return nil, err
	}
	for _, other := range beside {
		maps.Copy(only.index, other.content)
	}
	err = only.acquireScratch() // a parcel without a record is a parcel
	if err == nil && len(trees) > 0 {
		err = only.Join(s, trees...)
	}
	p := &Parcel{Path: path}
	if err == nil {
		p.content, err = s.content(trees)
	}
	if err = errors.Join(err, only.Close()); err != nil {
		return nil, err
	}
	return p, os.Rename(filepath.Join(dir, firstPack), path)
}

// content are the records of trees, of their files and of the chunks of those.
func (s *Store) content(trees []ID) (map[ID]place, error) {
	all := map[ID]place{}
	add := func(key ID) place {
		at, _ := s.find(key)
		all[key] = at
		return at
	}
	for _, id := range trees {
		tree, err := s.Tree(id)
		if err != nil {
			return nil, err
		}
		add(id)
		for i := range tree.Entries {
			e := &tree.Entries[i]
			if e.Kind != KindFile || add(e.Hash).kind != kindList {
				continue
			}
			chunks, err := s.get(e.Hash)
			if err != nil {
				return nil, err
			}
			for key := range slices.Chunk(chunks, len(ID{})) {
				add(ID(key))
			}
		}
	}
	return all, nil
}

// Import takes what Export wrote, and removes the file.
func (s *Store) Import(path string) (err error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), "import-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, Remove(dir)) }()
	if err := os.Rename(path, filepath.Join(dir, firstPack)); err != nil {
		return err
	}
	from, err := Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if len(from.packs) == 0 || from.torn() {
		return fmt.Errorf("importing %s: %w", path, errDamaged)
	}
	return s.Join(from)
}

// torn reports whether a pack has more than whole records.
func (s *Store) torn() bool {
	for _, p := range s.packs {
		info, err := p.file.Stat()
		if err != nil || p.end < int64(packHeader) || p.end != info.Size() || len(p.damaged) > 0 {
			return true
		}
	}
	return false
}
