package tune_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec/expr"
)

// ready is a table whose totals are there: what is measured is the choosing.
type ready struct {
	*table
	totals [][]sweep.Totals
	parts  int
}

func (s *ready) Totals(ctx context.Context, part []int, parts int, visit func(int, []sweep.Totals)) error {
	if s.parts != parts {
		s.totals, s.parts = make([][]sweep.Totals, len(s.outcomes)), parts
		if err := s.table.Totals(ctx, part, parts, func(i int, totals []sweep.Totals) { s.totals[i] = totals }); err != nil {
			return err
		}
	}
	for i := range s.totals {
		visit(i, s.totals[i])
	}
	return nil
}

// large is candidates that stop runs of many tasks at some iteration.
func large(tasks, candidates int) *ready {
	r := rand.New(rand.NewPCG(1, 2))
	recorded := make([]cell, tasks)
	solved := make([]int, tasks)
	price := make([]int64, tasks)
	for i := range recorded {
		solved[i], price[i] = 1+r.IntN(40), 1+r.Int64N(1000)
		recorded[i] = cell{1, 40, 40 * price[i]}
	}
	all, order := map[limits][]cell{{40}: recorded}, []limits{{40}}
	for k := range candidates - 1 {
		l := limits{1 + k%40, 1 + k/40}
		order = append(order, l)
		made := make([]cell, tasks)
		for i := range made {
			steps := min(l[0], l[1]+i%11)
			made[i] = cell{float64(toInt(steps >= solved[i])), steps, int64(steps) * price[i]}
		}
		all[l] = made
	}
	return &ready{table: made(tasks, 1, all, order...)}
}

// What choosing costs beside the replays, of 1,000 configurations of 10,000 runs.
func BenchmarkTune(b *testing.B) {
	source := large(10_000, 1_000)
	for b.Loop() {
		tuned(b, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.3}, Today: 0})
	}
}

// Choosing and folds by expressions over the metrics of 100,000 configurations.
func BenchmarkChoose(b *testing.B) {
	source := large(50, 1_000)
	few := source.candidates
	var totals [][]sweep.Totals
	one := make([][]sweep.Totals, len(few))
	if err := source.table.Totals(b.Context(), foldsOf(50), 5, func(c int, totals []sweep.Totals) { one[c] = totals }); err != nil {
		b.Fatal(err)
	}
	for i := range 100 {
		for c := range few {
			if i > 0 {
				source.candidates, source.outcomes = append(source.candidates, few[c]), append(source.outcomes, source.outcomes[c])
				source.candidates[len(source.candidates)-1].Params = limits{1 + c%40, 1 + c/40, 1 + i}.params()
			}
			totals = append(totals, slices.Clone(one[c]))
		}
	}
	source.totals, source.parts = totals, 5
	o := tune.ChoiceOptions{Today: -1, Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.9, Cost: compiled(b, expr.Objective(), expr.WantNumber, "cost_usd.mean + 0.1 * latency.mean")},
		Objective: compiled(b, expr.Objective(), expr.WantNumber, `scores["right"].mean`)}
	for b.Loop() {
		tuned(b, source, o)
	}
}

func foldsOf(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i % 5
	}
	return all
}
