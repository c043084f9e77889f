package workspace

import (
	"context"
	"sync"
)

// A Search looks for something in the files of states. Each file is read once, whatever states have it. It is safe for concurrent use.
type Search struct {
	Store *Store
	// Holds reports whether bytes have what is looked for, of which nothing is longer than Longest.
	Holds   func([]byte) bool
	Longest int
	// Most is how many bytes are read at most for the states of one call of Find.
	Most int64

	read sync.Map // whether it was found, by the hash of a file
}

// Find reports whether states have it in a file that none of the seeds has. All is whether that is known of every file.
func (s *Search) Find(ctx context.Context, seeds, states []ID) (found, all bool, err error) {
	apart := map[ID]bool{}
	for _, id := range seeds {
		seed, err := s.Store.Tree(id)
		if err != nil {
			return false, false, err
		}
		for i := range seed.Entries {
			apart[seed.Entries[i].Hash] = true
		}
	}
	left := s.Most
	for _, id := range states {
		state, err := s.Store.Tree(id)
		if err != nil {
			return false, false, err
		}
		for i := range state.Entries {
			e := &state.Entries[i]
			switch {
			case e.Kind == KindLink && s.Holds([]byte(e.Link)):
				return true, true, nil
			case e.Kind != KindFile || apart[e.Hash]:
				continue
			}
			apart[e.Hash] = true
			holds, known := s.read.Load(e.Hash)
			if !known {
				if left -= e.Size; left < 0 {
					return false, false, nil
				}
				if holds, err = s.holds(ctx, e); err != nil {
					return false, false, err
				}
				s.read.Store(e.Hash, holds)
			}
			if holds.(bool) {
				return true, true, nil
			}
		}
	}
	return false, true, nil
}

// holds looks into a file, also where its chunks meet.
func (s *Search) holds(ctx context.Context, file *Entry) (found bool, err error) {
	var end []byte // of the chunk before
	err = s.Store.eachChunk(file.Hash, file.Size, func(chunk []byte) error {
		if err := ctx.Err(); err != nil || found {
			return err
		}
		beyond := max(0, s.Longest-1)
		end = append(end, chunk[:min(beyond, len(chunk))]...)
		found = s.Holds(end) || s.Holds(chunk)
		end = append(end[:0], chunk[max(0, len(chunk)-beyond):]...)
		return nil
	})
	return found, err
}
