package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/scorers/pass"
	"github.com/agentbench/agentbench/spec"
)

// stateJudge knows what runs are worth that a limit ends with a state of their workspace which was kept: scores that
// were made before, or are made now.
type stateJudge struct {
	*recordedRuns
	versions map[string]scorers.Version // of scorers of files
	made     map[runScore]record.Score  // of whole runs
}

// runScore is the score of a run by a scorer.
type runScore struct{ run, scorer string }

// stateJudge is nil where no state is known.
func (r *recordedRuns) stateJudge(set *scorers.Set) *stateJudge {
	if r.parts == nil {
		return nil
	}
	j := &stateJudge{recordedRuns: r, versions: map[string]scorers.Version{}, made: map[runScore]record.Score{}}
	for _, v := range set.Versions() {
		if !v.LooksAround && !v.OfRun {
			j.versions[v.Name] = v
		}
	}
	for s, err := range record.ReadScores(r.Path) {
		if err == nil && s.Iteration == 0 {
			j.made[runScore{s.Run, s.Name}] = record.Score{Value: s.Value, Scorer: s.Scorer, Unscored: s.Unscored, Removed: s.Removed}
		}
	}
	return j
}

// recorded is the score of a run as it was recorded, where this version of the scorer made it.
func (j *stateJudge) recorded(run *record.Run, name string) float64 {
	s, made := j.made[runScore{run.ID, name}]
	if v, ok := j.versions[name]; ok && made && s.Scorer == v.Hash && s.Unscored == "" && !s.Removed {
		return s.Value
	}
	return math.NaN()
}

// state is the state that a run returns, and its key; false where none is kept under it.
func (j *stateJudge) state(as *record.Run) (iteration int, key string, ok bool) {
	n := as.Outcome.Returned
	l := j.Loop(as.Configuration)
	if n == 0 || l == nil || l.Workspace == nil || as.Iterations[n-1].Workspace == nil {
		return 0, "", false
	}
	workspaces, err := j.parts.Workspaces(l)
	if err == nil {
		key, err = workspaces.ScoreKey(as.Iterations[n-1].Workspace.Tree)
	}
	return n, key, err == nil
}

// known is the score of a run that was made before.
func (j *stateJudge) known(as *record.Run, name string) (float64, bool) {
	n, key, ok := j.state(as)
	v, judges := j.versions[name]
	if !ok || !judges {
		return 0, false
	}
	found, _ := j.snapshots.Snapshot(as.ID, n, key)
	for _, s := range found.Scores {
		of := s.Iteration == n || s.Assumed && n == len(as.Iterations) && !j.evaluate
		if s.Name == name && of && s.Scorer == v.Hash && s.Unscored == "" {
			return s.Value, true
		}
	}
	return 0, false
}

// keep keeps a score that was made of a run that ends with a state.
func (j *stateJudge) keep(as *record.Run, s record.Score) {
	n, key, ok := j.state(as)
	if _, judges := j.versions[s.Name]; !ok || !judges || !j.evaluate {
		return
	}
	found, _ := j.snapshots.Snapshot(as.ID, n, key)
	found.Run, found.Iteration, found.Key = as.ID, n, key
	s.Iteration = n
	found.Scores = append(slices.DeleteFunc(found.Scores, func(o record.Score) bool { return o.Name == s.Name && (o.Iteration == n || o.Assumed) }), s)
	j.snapshots.Find(found)
}

// keepFound writes what was found of states into the folder, so that no command runs their tests again. Where
// it cannot be written it is found again next time.
func (r *recordedRuns) keepFound(ctx context.Context) {
	if !r.evaluate || r.parts == nil || len(r.snapshots.Found()) == 0 {
		return
	}
	err := r.writeFound(ctx)
	if _, busy := errors.AsType[*record.InUse](err); busy {
		r.warnOf(fmt.Sprintf("what was evaluated is not kept: %v", err))
	} else if err != nil {
		r.warnOf(fmt.Sprintf("what was evaluated cannot be kept: %v", err))
	}
}

func (r *recordedRuns) writeFound(ctx context.Context) error {
	journal, _, err := record.OpenScores(r.Path, r.recording())
	if err != nil {
		return err
	}
	found := r.snapshots.Found()
	steps := &pass.Steps{
		Dir: r.Path, Set: r.scorersOfFiles(), Tasks: r.Folder.Tasks(), Loop: r.loopOf, Key: r.stateKey, Cut: r.parts.Cutting(r.snapshots),
		Found: r.snapshots, Wanted: found,
	}
	_, err = steps.Make(ctx, journal)
	for run := range found {
		if rest := r.snapshots.Fresh(run); err == nil && len(rest) > 0 {
			err = journal.AppendSnapshots(run, rest, nil)
		}
	}
	return errors.Join(err, journal.Close())
}

// scorersOfFiles are those of the recorded suite that need no more than what a run left.
func (r *recordedRuns) scorersOfFiles() *scorers.Set {
	suite := r.Folder.Document.Suite
	set, _ := scorers.New(suite.Scorers, scorers.Options{Resolved: suite.Resolved, Baseline: suite.Baseline, Outside: r.parts})
	return set.Only(func(name string) bool {
		return slices.ContainsFunc(suite.Scorers, func(s spec.Scorer) bool { return s.Name == name && (s.Type == "test" || !s.Asks(suite.Scorers)) })
	})
}

// loopOf is the loop of a run whose states are scored at steps, nil: none were kept.
func (r *recordedRuns) loopOf(run *record.Run) *spec.Loop { return steppedLoop(r.Folder, run) }

func (r *recordedRuns) stateKey(l *spec.Loop, tree string) (string, error) {
	workspaces, err := r.parts.Workspaces(l)
	if err != nil {
		return "", err
	}
	return workspaces.ScoreKey(tree)
}

// steppedLoop is the loop that made a run, where it kept states at steps.
func steppedLoop(f *results.Folder, run *record.Run) *spec.Loop {
	head, known := f.Manifest.Configuration(run.Configuration)
	if !known || run.Loop != "" && head.Loop != "" && run.Loop != head.Loop {
		return nil
	}
	if l := f.Loop(run.Configuration); l.Workspace.BySteps() {
		return l
	}
	return nil
}
