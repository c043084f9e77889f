package choose

import (
	"context"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
)

// ends tells which limit bound: how the runs of the recommended configuration, of
// today's and of the recording end.
func (t *chooser) ends(ctx context.Context, r *tune.Tuning, choice *chosen) error {
	for _, of := range append(t.described(choice), role{"recording", theRecording}) {
		outcomes := t.held.Recorded
		if of.candidate != theRecording {
			var err error
			if outcomes, err = t.Outcomes(ctx, of.candidate); err != nil {
				return err
			}
		}
		r.Stops = append(r.Stops, tune.Stops{Of: of.name, Stops: tune.StopCounts(outcomes), Unknown: notExactRuns(outcomes)})
	}
	return nil
}

func notExactRuns(outcomes []sweep.Outcome) (n int) {
	for i := range outcomes {
		n += count(outcomes[i].At > 0)
	}
	return n
}
