package results

import (
	"slices"
	"sync"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
)

// Snapshots are what is known of states of workspaces that were kept when calls arrived: what a folder has, and
// what was found since. The zero value knows nothing. They are safe for concurrent use.
type Snapshots struct {
	mu    sync.Mutex
	all   map[string][]record.Snapshot // by run, those that count
	fresh map[string]map[string]bool   // by run, the keys of those that the folder does not have so
}

// OpenSnapshots reads those of a folder.
func OpenSnapshots(dir string) (*Snapshots, error) {
	s := &Snapshots{}
	for one, err := range record.ReadSnapshots(dir) {
		if err != nil {
			return nil, exit.Unmeasured(err)
		}
		s.put(one)
	}
	return s, nil
}

// put keeps a snapshot in the place of the one of the same state.
func (s *Snapshots) put(one record.Snapshot) {
	of := s.all[one.Run]
	if at := indexOf(of, one.Iteration, one.Key); at >= 0 {
		of[at] = one
	} else {
		if s.all == nil {
			s.all = map[string][]record.Snapshot{}
		}
		s.all[one.Run] = append(of, one)
	}
}

func indexOf(all []record.Snapshot, iteration int, key string) int {
	return slices.IndexFunc(all, func(o record.Snapshot) bool { return o.Iteration == iteration && o.Key == key })
}

// Snapshot implements loop.Found.
func (s *Snapshots) Snapshot(run string, iteration int, key string) (known record.Snapshot, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := indexOf(s.all[run], iteration, key)
	if at < 0 {
		return known, false
	}
	known = s.all[run][at]
	known.Scores = slices.Clone(known.Scores)
	return known, true
}

// of are the snapshots of a run.
func (s *Snapshots) of(run string) []record.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all[run])
}

// Find implements loop.Found. What was found is written by Fresh's caller.
func (s *Snapshots) Find(one record.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(one)
	if s.fresh == nil {
		s.fresh = map[string]map[string]bool{}
	}
	if s.fresh[one.Run] == nil {
		s.fresh[one.Run] = map[string]bool{}
	}
	s.fresh[one.Run][one.Key] = true
}

// Fresh takes what was found of a run since it was last asked: it is to be written.
func (s *Snapshots) Fresh(run string) (fresh []record.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all[run] {
		if s.fresh[run][one.Key] {
			fresh = append(fresh, one)
		}
	}
	delete(s.fresh, run)
	return fresh
}

// Found are the runs of which anything was found that is not written, and the keys of its states.
func (s *Snapshots) Found() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string][]string{}
	for run, keys := range s.fresh {
		for key := range keys {
			found[run] = append(found[run], key)
		}
	}
	return found
}
