package main

import (
	"context"
	"fmt"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// rescore makes the scores of finished runs that have none, because a crash
// came in between. It keeps their tasks, not their trajectories.
func (j *job) rescore(ctx context.Context, journal *record.Journal) error {
	if j.earlier.found == nil || len(j.earlier.found.Unscored) == 0 || len(j.Suite.Scorers) == 0 {
		return nil
	}
	unscored := map[string]*spec.Task{}
	for _, id := range j.earlier.found.Unscored {
		unscored[id] = nil
	}
	for item, err := range j.plan.Items(j.Tasks()) {
		if err != nil {
			return fmt.Errorf("scoring what was not scored: %w", err)
		}
		if _, ok := unscored[item.ID]; ok {
			unscored[item.ID] = item.Task
		}
	}
	for run, err := range record.ReadRuns(j.dir) {
		if ctx.Err() != nil {
			return nil
		}
		if unreadable(err) {
			return fmt.Errorf("scoring what was not scored: %w", err)
		}
		if err != nil || unscored[run.ID] == nil {
			continue
		}
		scores := j.engine.Score(ctx, unscored[run.ID], run)
		if ctx.Err() != nil {
			return nil // they may tell of the end only
		}
		if err := journal.AppendScores(run.ID, scores, nil); err != nil {
			return err
		}
	}
	return nil
}
