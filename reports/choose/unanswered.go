package choose

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/tune"
)

// mostUnanswered are how many candidates that are not exact are told of.
const mostUnanswered = 10

// unanswered tells of candidates that the recording does not answer for: those
// with the most runs that are exact first. They have bounds, and no point.
func (t *chooser) unanswered(ctx context.Context, r *tune.Tuning, _ *chosen) error {
	var all []int
	for i := range t.candidates {
		if t.standing[i] == notExact {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.labels[a], t.labels[b]), cmp.Compare(t.exact[b], t.exact[a]), cmp.Compare(t.rank[a], t.rank[b]))
	})
	for _, i := range all[:min(len(all), mostUnanswered)] {
		n, err := t.notExact(ctx, i)
		if err != nil {
			return err
		}
		r.Tried.NotExact = append(r.Tried.NotExact, n)
	}
	return nil
}

func (t *chooser) notExact(ctx context.Context, candidate int) (tune.NotExact, error) {
	n := tune.NotExact{Candidate: candidate, Name: t.candidates[candidate].Name, Label: t.labels[candidate].String(), Score: noRange(page.Nothing)}
	outcomes, err := t.Outcomes(ctx, candidate)
	if err != nil {
		return n, nil
	}
	whole := wholeOf(sweep.Sum(outcomes, t.held.Runs, t.fold, max(1, t.folds)))
	n.Exact, n.Censored, n.Branches = whole.Exact, whole.Censored, whole.Branches
	if t.score >= 0 && t.labels[candidate] != replay.Counterfactual {
		s := &whole.Scores[t.score]
		n.Score.Low = page.ValueOf(s.PerTask.Least/whole.PerTask.Tasks, s.Known == whole.Runs)
		n.Score.High = page.ValueOf(s.PerTask.Most/whole.PerTask.Tasks, s.Known == whole.Runs)
	}
	if why := tune.Unknowns(outcomes); len(why) > 0 {
		n.Why = why[0].Why
	}
	return n, nil
}
