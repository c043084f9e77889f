package sweep

import (
	"context"
	"math"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
)

// AsIf is a run as a candidate would have left it behind.
type AsIf struct {
	Signals record.Signals
	Scores  []record.Score // of the run, then of its iterations
}

const notTold = "the recording does not tell"

// AsIf are the runs as a candidate would have left them behind, in the order of
// Runs, under the candidate's name: those that are exact. Left is how many are
// not. The error is that of the context.
func (s *Sweep) AsIf(ctx context.Context, candidate int) (runs []AsIf, left int, err error) {
	on, err := s.fit(ctx, candidate)
	if err != nil {
		return nil, 0, err
	}
	r, c := &s.recordings[on], &s.candidates[candidate]
	replayed := s.options.replay(r.Loop, c.Declared(), r.Announced...)
	all := make([]*AsIf, len(r.Runs))
	err = each(ctx, len(all), chunk, func(i int) {
		result, made := replayed.AsIf(ctx, r.Runs[i].Run, r.Runs[i].Task)
		if made != nil {
			all[i] = r.asIf(i, c.Name, &result, made)
		}
	})
	for _, one := range all {
		if one == nil {
			left++
			continue
		}
		runs = append(runs, *one)
	}
	return runs, left, err
}

func (r *Recording) asIf(i int, name string, result *replay.Result, made *record.Run) *AsIf {
	worths := r.worth(i, result, func() *record.Run { return made })
	made.Configuration, made.ID = name, record.RunID(name, made.Task, made.Trial)
	one := &AsIf{Signals: made.Signals()}
	for s, worth := range worths {
		one.Scores = append(one.Scores, score(made.ID, r.Scores[s], 0, worth.Least))
	}
	for n := 1; n <= len(made.Iterations); n++ {
		for s, values := range r.Runs[i].Scores {
			if n < len(values) && (result.Changed == 0 || n < result.Changed || r.Reads[s] == ReadsOutput && !result.UsedUp) {
				one.Scores = append(one.Scores, score(made.ID, r.Scores[s], n, values[n]))
			}
		}
	}
	return one
}

func score(run, name string, iteration int, value float64) record.Score {
	s := record.Score{Run: run, Name: name, Iteration: iteration, Value: value}
	if math.IsNaN(value) {
		s.Value, s.Unscored = 0, notTold
	}
	return s
}
