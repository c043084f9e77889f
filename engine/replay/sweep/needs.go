package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// NeedsTexts says why a loop can be replayed on whole records only, and not on
// runs without texts (record.ReadLight); "" where both say the same.
func NeedsTexts(recorded, target *spec.Loop) string {
	if texts := replay.New(recorded, target, replay.Options{}).Texts(); len(texts) > 0 {
		return "it reads " + strings.Join(texts, ", ")
	}
	if _, _, cancels := stop.Compile(target).CancelAt(); cancels {
		return "a timeout cancels the iteration in flight"
	}
	if budget := target.Guards.Budget; budget != nil && (budget.Hard || budget.Steps > 0) {
		return "a budget cuts the iteration in flight"
	}
	if converses(target) && timed(target.Terminate.Any, func(t *spec.Timeout) bool { return t.Working }) {
		return "a timeout goes by the working time, which the tools of a conversation tell"
	}
	if apart := replay.Apart(recorded, target); apart != "" {
		return fmt.Sprintf("it takes another path: %s", apart)
	}
	return ""
}

// MissingSignals says what a loop goes by that a log does not tell: usage, prices or
// times, which are then unknown and not zero. "" where it goes by nothing such.
func MissingSignals(l *spec.Loop, recordings []Recording) string {
	budget := l.Guards.Budget
	if budget == nil {
		budget = &spec.RunBudget{}
	}
	reads := func(paths ...string) bool {
		return slices.ContainsFunc(replay.Reads(l), func(path string) bool { return slices.Contains(paths, path) })
	}
	tokens, cost := unused(record.Usage.TokensTold), unused(record.Usage.Priced)
	for _, goes := range []struct {
		by     bool
		what   string
		untold func(*record.Run) bool
	}{
		{budget.Tokens > 0, "guards.budget.tokens goes by tokens", tokens},
		{budget.CostUSD > 0, "guards.budget.cost_usd goes by cost", cost},
		{timed(l.Terminate.Any, func(*spec.Timeout) bool { return true }), "a timeout goes by time", untimed},
		{reads("usage", "usage.tokens", "usage.input_tokens", "usage.output_tokens"), "an expression reads tokens", tokens},
		{reads("usage", "usage.cost_usd"), "an expression reads the cost", cost},
		{reads("elapsed", "best.elapsed", "previous.elapsed"), "an expression reads the time", untimed},
	} {
		if n, of := untold(recordings, goes.untold); goes.by && n > 0 {
			return fmt.Sprintf("%s, which %s of %s recorded runs do not tell", goes.what, spec.Thousands(n), spec.Thousands(of))
		}
	}
	return ""
}

// unused reports of a run whether it, or some iteration of it, does not tell what it
// used: what only the whole run tells decides nothing inside it.
func unused(told func(record.Usage) bool) func(*record.Run) bool {
	return func(r *record.Run) bool {
		return !told(r.Total()) || slices.ContainsFunc(r.Iterations, func(it record.Iteration) bool { return !told(it.Total()) })
	}
}

// untimed reports of a run whether some of its times are unknown.
func untimed(r *record.Run) bool {
	return r.Untimed || slices.ContainsFunc(r.Iterations, func(it record.Iteration) bool { return it.Untimed })
}

func untold(recordings []Recording, is func(*record.Run) bool) (n, of int64) {
	for i := range recordings {
		for k := range recordings[i].Runs {
			of++
			if is(recordings[i].Runs[k].Run) {
				n++
			}
		}
	}
	return n, of
}

// timed reports whether one of the conditions is such a timeout.
func timed(conditions []spec.Condition, is func(*spec.Timeout) bool) bool {
	return slices.ContainsFunc(conditions, func(c spec.Condition) bool {
		return !c.Off && (c.Kind == spec.KindTimeout && is(&c.Timeout) || timed(c.Nested, is))
	})
}
