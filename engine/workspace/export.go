package workspace

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

// firstPack is the name of the pack of a store that has one.
const firstPack = "pack-000001"

// Parcel is a file with trees and what they need, on its way from one store to another.
type Parcel struct {
	// Path is of the file. It may be removed; the parcel still tells what was in it.
	Path  string
	index map[ID]place
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
		maps.Copy(only.index, other.index)
	}
	err = only.acquireScratch() // a parcel without a record is a parcel
	if err == nil && len(trees) > 0 {
		err = only.Join(s, trees...)
	}
	p := &Parcel{Path: path, index: only.index}
	if err = errors.Join(err, only.Close()); err != nil {
		return nil, err
	}
	return p, os.Rename(filepath.Join(dir, firstPack), path)
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
