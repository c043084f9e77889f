package tune

import (
	"context"

	"github.com/agentbench/agentbench/engine/replay/sweep"
)

// ends tells which limit bound: how the runs of the recommended configuration, of
// today's and of the recording end.
func (t *tuner) ends(ctx context.Context, r *Tuning, choice *chosen) error {
	for _, of := range append(t.described(choice), role{"recording", theRecording}) {
		outcomes := t.held.recorded
		if of.candidate != theRecording {
			var err error
			if outcomes, err = t.Outcomes(ctx, of.candidate); err != nil {
				return err
			}
		}
		r.Stops = append(r.Stops, Stops{Of: of.name, Stops: stopsOf(outcomes), Unknown: notExactRuns(outcomes)})
	}
	return nil
}

func notExactRuns(outcomes []sweep.Outcome) (n int) {
	for i := range outcomes {
		n += count2(outcomes[i].At > 0)
	}
	return n
}
