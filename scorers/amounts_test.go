package scorers

import (
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/record"
)

// spent is a run of two iterations: 2 and 3 seconds, 100 and 200 tokens, one cent and two, one call and one of a judge
// beside it.
func spent() *record.Run {
	r := run(`"a"`, `"b"`)
	for i := range r.Iterations {
		n := int64(i + 1)
		agent := record.Usage{Calls: 1, InputTokens: 60 * n, OutputTokens: 40 * n, Cost: record.Money(n) * record.USD / 100}
		r.Iterations[i].Calls = append(r.Iterations[i].Calls, record.Call{Role: record.RoleAgent, Usage: agent, Finish: []string{"length", "stop"}[i]})
		r.Usage = r.Usage.Plus(agent)
	}
	judge := record.Usage{Calls: 1}
	r.Iterations[1].Calls = append(r.Iterations[1].Calls, record.Call{Role: record.RoleJudge, Usage: judge, Finish: "length"})
	r.Judging = judge
	r.Iterations[0].End, r.Iterations[1].End, r.Elapsed = 2*time.Second, 5*time.Second, 5*time.Second
	return r
}

// Amounts are those up to the iteration that is judged, evaluations included.
func TestAmounts(t *testing.T) {
	for _, c := range []struct{ scorer, run, first string }{
		{`type: latency, at_most: 4`, `0 (5): want at most 4, got 5`, `1 (2)`},
		{`type: latency, range: [10, 2]`, `0.625 (5): 2 is worth 1, 10 0`, `1 (2)`},
		{`type: latency, range: [4, 3]`, `0 (5): 3 is worth 1, 4 0`, `1 (2)`},
		{`type: latency, at_most: 4, not: true`, `1 (5)`, `0 (2): it holds, and not is set`},
		{`type: cost, at_most: 0.03`, `1 (0.03)`, `1 (0.01)`},
		{`type: cost, at_most: 0.02`, `0 (0.03): want at most 0.02, got 0.03`, `1 (0.01)`},
		{`type: tokens, range: [500, 100]`, `0.5 (300): 100 is worth 1, 500 0`, `1 (100)`},
		{`type: tokens, range: [0, 300]`, `1 (300)`, `0.3333 (100): 300 is worth 1, 0 0`},
		{`type: iterations, at_most: 1`, `0 (2): want at most 1, got 2`, `1 (1)`},
		{`type: calls, at_most: 2`, `0 (3): want at most 2, got 3`, `1 (1)`},
		{`type: finish_reason`, `1 (stop)`, `0 (length): want stop, got length`},
		{`type: finish_reason, options: [stop, length]`, `1 (stop)`, `1 (length)`},
	} {
		s := set(t, "- {name: s, "+c.scorer+"}")
		scores := s.Score(t.Context(), task(t, ""), spent())
		expect.Equal(t, c.scorer, shown(scores[0]), c.run)
		expect.Equal(t, c.scorer, shown(scores[1]), c.first)
	}
}

// What is not known is unscored, and not an amount of 0.
func TestAmountsThatAreNotKnown(t *testing.T) {
	for _, c := range []struct {
		scorer string
		change func(r *record.Run)
		want   string
	}{
		{`type: latency, at_most: 4`, func(r *record.Run) { r.Elapsed = 0 }, `the record has no times`},
		{`type: cost, at_most: 4`, func(r *record.Run) { r.Usage.Unpriced = 1 }, `the cost is unknown: a model has no price`},
		{`type: cost, at_most: 4`, func(r *record.Run) { r.Judging.Unreported = 1 }, `the cost is unknown: a program did not report what it used`},
		{`type: tokens, range: [9, 1]`, func(r *record.Run) { r.User.Unreported = 1 }, `the tokens are unknown: not every call said what it used`},
		{`type: calls, at_most: 9`, func(r *record.Run) { r.Usage.Unreported = 1 }, `the calls are unknown: a program did not report what it used`},
		{`type: finish_reason`, func(r *record.Run) { r.Iterations[1].Calls[0].Finish = "" }, `the finish reason of the last call of iteration 2 is unknown`},
		{`type: finish_reason`, func(r *record.Run) { r.Iterations[1].Calls = nil }, `the finish reason of the last call of iteration 2 is unknown`},
	} {
		r := spent()
		c.change(r)
		if score := set(t, "- {name: s, "+c.scorer+", not: true}").Score(t.Context(), task(t, ""), r)[0]; score.Unscored != c.want {
			t.Errorf("%s: %s, want unscored: %s", c.scorer, shown(score), c.want)
		}
	}
}

// A run that returned nothing did not end well; what it took is known all the same.
func TestAmountsOfARunThatReturnsNothing(t *testing.T) {
	r := spent()
	r.Outcome.Returned = 0
	s := set(t, "- {name: ended, type: finish_reason}\n- {name: quick, type: latency, at_most: 9}")
	if got, want := shownAll(s.Score(t.Context(), task(t, ""), r)[:2]), "ended 0 0 (none)\nquick 0 1 (5)"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
