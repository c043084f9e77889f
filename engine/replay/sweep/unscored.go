package sweep

import (
	"context"
	"math"
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
	returned := result.Outcome.Returned
	if result.Verdict != replay.Exact || !result.Outcome.Counts() || returned == 0 || slices.Contains(missing[run.Run.ID], returned) {
		return
	}
	for _, score := range which {
		if r.judgeable(run, score, result.Iterations, returned) {
			missing[run.Run.ID] = append(missing[run.Run.ID], returned)
			return
		}
	}
}

// judgeable says that nobody knows what an iteration is worth to a run that makes so
// many and returns it, and that judging it would tell.
func (r *Recording) judgeable(run *Run, score, made, returned int) bool {
	asRecorded := returned == run.Run.Outcome.Returned
	switch {
	case asRecorded && (made == len(run.Run.Iterations) || r.Reads[score] == ReadsOutput):
		return false
	case r.Reads[score] == ReadsAround && returned != made:
		return false
	}
	return math.IsNaN(r.worthOf(run, score, made, returned))
}
