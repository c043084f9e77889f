package pass

import (
	"context"
	"errors"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// pair has a run judged beside those of the same task and trial of other
// configurations.
func (m *maker) pair(ctx context.Context, task *spec.Task, run *record.Run, j *judge) []record.Score {
	return j.alone.Pair(ctx, task, run, func(configuration string) *record.Run { return m.beside(run, configuration) })
}

// beside is the run of a configuration beside another one; nil where there is none
// that can be read. Whether it counts the scorer sees.
func (m *maker) beside(run *record.Run, configuration string) *record.Run {
	if configuration == run.Configuration {
		return run
	}
	other, err := m.runs.Run(record.RunID(configuration, run.Task, run.Trial))
	var bad *record.Problem
	if err != nil && !errors.Is(err, record.ErrNoRun) && !errors.As(err, &bad) {
		m.fail(err)
	}
	return other
}
