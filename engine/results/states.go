package results

import (
	"math"
	"slices"
	"sync"

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
	made      map[runScore]record.Score
	tested    func() map[testedState]float64 // what tests found of states, wherever they are
}

// runScore is the score of a run by a scorer, or of an iteration of it.
type runScore struct {
	run, scorer string
	iteration   int // 0: the run
}

// testedState is a state that runs of a task may have more than once, and a scorer that runs tests in it: they read nothing else.
type testedState struct{ configuration, task, key, scorer string }

// NewStateScores reads the scores of a folder's runs. Versions are the hashes of the scorers
// that need no more than a state, by name; key is under what a state's scores are kept. Only
// with evaluate are scores kept.
func NewStateScores(f *Folder, known *Snapshots, versions map[string]string, key func(l *spec.Loop, tree string) (string, error), evaluate bool) *StateScores {
	s := &StateScores{folder: f, snapshots: known, versions: versions, key: key, evaluate: evaluate, made: map[runScore]record.Score{}}
	for one, err := range record.ReadScores(f.Path) {
		if err == nil { // who reads the recordings tells of damage
			s.made[runScore{one.Run, one.Name, one.Iteration}] = record.Score{Value: one.Value, Scorer: one.Scorer, Unscored: one.Unscored, Removed: one.Removed}
		}
	}
	s.tested = sync.OnceValue(s.findTested)
	return s
}

// findTested reads what tests found of states: at the ends of runs and of iterations, and of those that were kept at steps.
func (s *StateScores) findTested() map[testedState]float64 {
	found := map[testedState]float64{}
	for run, err := range record.ReadLight(s.folder.Path) {
		if err != nil {
			continue // as above
		}
		l := s.folder.Loop(run.Configuration)
		if l == nil || l.Workspace == nil {
			continue
		}
		put := func(key string, one *record.Score, name string) {
			at := testedState{run.Configuration, run.Task, key, name}
			if _, known := found[at]; !known && s.counts(name, one) && s.folder.scorer(name).Type == "test" {
				found[at] = one.Value
			}
		}
		for i := range run.Iterations {
			it := &run.Iterations[i]
			if it.Workspace == nil {
				continue
			}
			key, err := s.key(l, it.Workspace.Tree)
			if err != nil {
				continue
			}
			for name := range s.versions {
				one := s.made[runScore{run.ID, name, it.N}]
				put(key, &one, name)
				if one = s.made[runScore{run.ID, name, 0}]; it.N == run.Outcome.Returned {
					put(key, &one, name)
				}
			}
		}
		for _, snapshot := range s.snapshots.of(run.ID) {
			for i := range snapshot.Scores {
				if one := &snapshot.Scores[i]; one.Iteration == snapshot.Iteration {
					put(snapshot.Key, one, one.Name)
				}
			}
		}
	}
	return found
}

// counts reports whether this version of a scorer made a score.
func (s *StateScores) counts(name string, one *record.Score) bool {
	version, judges := s.versions[name]
	return judges && one.Scorer == version && one.Unscored == "" && !one.Removed
}

// Recorded is the score of a run as it was recorded, NaN unless this version of the scorer made it.
func (s *StateScores) Recorded(run *record.Run, name string) float64 {
	if one, made := s.made[runScore{run.ID, name, 0}]; made && s.counts(name, &one) {
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

// Known is the score of a run that was made before: of the state that it ends with in this iteration or, by tests, elsewhere.
func (s *StateScores) Known(as *record.Run, name string) (float64, bool) {
	n, key, ok := s.state(as)
	if !ok {
		return 0, false
	}
	found, _ := s.snapshots.Snapshot(as.ID, n, key)
	for _, one := range found.Scores {
		if one.Name == name && one.Iteration == n && s.counts(name, &one) {
			return one.Value, true
		}
	}
	value, ok := s.tested()[testedState{as.Configuration, as.Task, key, name}]
	return value, ok
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
	found.Scores = append(slices.DeleteFunc(found.Scores, func(o record.Score) bool { return o.Name == one.Name && o.Iteration == n }), one)
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
