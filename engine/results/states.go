package results

import (
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// StateScores are scores of runs that a limit ends with a state of their workspace which was
// kept: those that were made before, and those that are kept from now on.
type StateScores struct {
	folder    *Folder
	snapshots *Snapshots
	versions  map[string]string // of scorers that need no more than a state, by name
	key       func(l *spec.Loop, tree string) (string, error)
	evaluate  bool
	made      map[runScore]record.Score // of whole runs
}

// runScore is the score of a run by a scorer.
type runScore struct{ run, scorer string }

// NewStateScores reads the scores of a folder's runs. Versions are the hashes of the scorers
// that need no more than a state, by name; key is under what a state's scores are kept. Only
// with evaluate are scores kept, and those that are assumed left out.
func NewStateScores(f *Folder, known *Snapshots, versions map[string]string, key func(l *spec.Loop, tree string) (string, error), evaluate bool) *StateScores {
	s := &StateScores{folder: f, snapshots: known, versions: versions, key: key, evaluate: evaluate, made: map[runScore]record.Score{}}
	for one, err := range record.ReadScores(f.Path) {
		if err == nil && one.Iteration == 0 {
			s.made[runScore{one.Run, one.Name}] = record.Score{Value: one.Value, Scorer: one.Scorer, Unscored: one.Unscored, Removed: one.Removed}
		}
	}
	return s
}

// Recorded is the score of a run as it was recorded, NaN unless this version of the scorer made it.
func (s *StateScores) Recorded(run *record.Run, name string) float64 {
	one, made := s.made[runScore{run.ID, name}]
	if version, ok := s.versions[name]; ok && made && one.Scorer == version && one.Unscored == "" && !one.Removed {
		return one.Value
	}
	return math.NaN()
}

// state is the state that a run returns, and its key; false where none is kept under it.
func (s *StateScores) state(as *record.Run) (iteration int, key string, ok bool) {
	n := as.Outcome.Returned
	l := s.folder.Loop(as.Configuration)
	if n == 0 || l == nil || l.Workspace == nil || as.Iterations[n-1].Workspace == nil {
		return 0, "", false
	}
	key, err := s.key(l, as.Iterations[n-1].Workspace.Tree)
	return n, key, err == nil
}

// Known is the score of a run that was made before.
func (s *StateScores) Known(as *record.Run, name string) (float64, bool) {
	n, key, ok := s.state(as)
	version, judges := s.versions[name]
	if !ok || !judges {
		return 0, false
	}
	found, _ := s.snapshots.Snapshot(as.ID, n, key)
	for _, one := range found.Scores {
		of := one.Iteration == n || one.Assumed && n == len(as.Iterations) && !s.evaluate
		if one.Name == name && of && one.Scorer == version && one.Unscored == "" {
			return one.Value, true
		}
	}
	return 0, false
}

// Keep keeps a score that was made of a run that ends with a state.
func (s *StateScores) Keep(as *record.Run, one record.Score) {
	n, key, ok := s.state(as)
	if _, judges := s.versions[one.Name]; !ok || !judges || !s.evaluate {
		return
	}
	found, _ := s.snapshots.Snapshot(as.ID, n, key)
	found.Run, found.Iteration, found.Key = as.ID, n, key
	one.Iteration = n
	found.Scores = append(slices.DeleteFunc(found.Scores, func(o record.Score) bool { return o.Name == one.Name && (o.Iteration == n || o.Assumed) }), one)
	s.snapshots.Find(found)
}

// Stepped is the loop that made a run, where it kept states at steps; nil: it did not.
func (f *Folder) Stepped(run *record.Run) *spec.Loop {
	head, known := f.Manifest.Configuration(run.Configuration)
	if !known || run.Loop != "" && head.Loop != "" && run.Loop != head.Loop {
		return nil
	}
	if l := f.Loop(run.Configuration); l.Workspace.BySteps() {
		return l
	}
	return nil
}
