package choose

import (
	"context"

	"github.com/agentbench/agentbench/engine/replay/sweep"
)

// everyRun are the lengths and times of all runs under a candidate, for quantiles.
type everyRun struct{ iterations, seconds []float64 }

// everyRun replays a candidate. A Source serves one caller at a time.
func (t *chooser) everyRun(ctx context.Context, candidate int) (*everyRun, error) {
	t.one.Lock()
	defer t.one.Unlock()
	outcomes, err := t.Source.Outcomes(ctx, candidate)
	if err != nil {
		return nil, err
	}
	return everyRunOf(outcomes), nil
}

func everyRunOf(outcomes []sweep.Outcome) *everyRun {
	runs := &everyRun{make([]float64, len(outcomes)), make([]float64, len(outcomes))}
	for i := range outcomes {
		runs.iterations[i], runs.seconds[i] = float64(outcomes[i].Iterations), outcomes[i].Elapsed.Seconds()
	}
	return runs
}

// into puts the runs of all folds but one into sums.
func (r *everyRun) into(s *sums, fold []int, without int) {
	for i := range r.iterations {
		if without < 0 || fold[i] != without {
			s.everyIteration = append(s.everyIteration, r.iterations[i])
			s.everySecond = append(s.everySecond, r.seconds[i])
		}
	}
}
