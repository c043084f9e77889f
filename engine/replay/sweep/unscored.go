package sweep

import (
	"context"
	"slices"

	"github.com/agentbench/agentbench/engine/replay"
)

// Unscored are the iterations, by the ids of recorded runs, that some candidate
// returns and of which one of the scores is not known, though it would be if the
// iteration was judged. What a run is worth as it was recorded is not among them.
// The error is that of the context.
func (s *Sweep) Unscored(ctx context.Context, scores []string) (map[string][]int, error) {
	var which []int
	for i, name := range s.scores {
		if slices.Contains(scores, name) {
			which = append(which, i)
		}
	}
	missing := map[string][]int{}
	if len(which) == 0 {
		return missing, nil
	}
	for candidate := range s.candidates {
		outcomes, err := s.Outcomes(ctx, candidate)
		if err != nil {
			return nil, err
		}
		r := &s.recordings[s.of[candidate].recording]
		for i := range outcomes {
			r.unscored(&r.Runs[i], &outcomes[i].Result, which, missing)
		}
	}
	return missing, nil
}

// unscored adds the iteration that a run returns where it wants a score.
func (r *Recording) unscored(run *Run, result *replay.Result, which []int, missing map[string][]int) {
	by := endingOf(result)
	if result.Verdict != replay.Exact || !result.Outcome.Counts() {
		return
	}
	for _, score := range which {
		if n := r.wanted(run, score, &by); n > 0 && !slices.Contains(missing[run.Run.ID], n) {
			missing[run.Run.ID] = append(missing[run.Run.ID], n)
		}
	}
}

// wanted is the iteration, from 1, that would have to be judged to know what a run
// is worth that ends so; 0: none, or that would not tell.
func (r *Recording) wanted(run *Run, score int, by *ending) int {
	if by.asRecorded(run.Run) || r.Reads[score] == ReadsOutput && by.returned == run.Run.Outcome.Returned {
		return 0
	}
	switch _, why := r.worthOf(run, score, by); {
	case why != NotJudged:
		return 0
	case r.Reads[score] == ReadsCourse:
		return by.made
	}
	return by.returned
}
