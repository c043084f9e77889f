package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/scorers/pass"
	"github.com/agentbench/agentbench/spec"
)

// states is what is known of states of workspaces; nil where nothing is.
func (r *recordedRuns) states(set *scorers.Set) *results.StateScores {
	if r.parts == nil {
		return nil
	}
	versions := map[string]string{}
	for _, v := range set.Versions() {
		if !v.LooksAround && !v.OfRun {
			versions[v.Name] = v.Hash
		}
	}
	return results.NewStateScores(r.Folder, r.snapshots, versions, r.parts.StateKey, r.evaluate)
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
		Dir: r.Path, Set: r.scorersOfFiles(), Tasks: r.Folder.Tasks(), Loop: r.Folder.Stepped, Key: r.parts.StateKey, Cut: r.parts.Cutting(r.snapshots),
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
