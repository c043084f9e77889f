package reports_test

import (
	"math"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

// Costs that add up to more than can be counted are told as that: not as the most
// that fits, and not as what is left after an overflow.
func TestMoreMoneyThanCanBeCounted(t *testing.T) {
	f := small(3)
	for _, s := range f.signals {
		if s.Configuration == "once" {
			s.Usage.Cost = record.Countless / 2
			for i := range s.Iterations {
				s.Iterations[i].Calls[0].Usage.Cost = record.Countless / 2
			}
		}
	}
	r := f.collect()
	c := r.Configurations[0]
	for what, v := range map[string]page.Value{"mean": c.Cost.Mean, "total": c.Cost.Total, "per success": c.Cost.PerSuccess, "curve": c.Curve[0].Cost} {
		if v.Known() || v.Missing != "over $9.2M" {
			t.Errorf("%s: %v", what, v)
		}
	}
	if c.Cost.MeanInterval.Known() || !c.Tokens.Known() {
		t.Errorf("%+v", c)
	}
	text := pagetest.Written(t, r, page.Options{Width: 160})
	if !strings.Contains(text, "over $9.2M") || strings.Contains(text, "$-") || strings.Contains(text, "-$") || strings.Contains(text, "922") {
		t.Errorf("%s", text)
	}
	// One run alone is worth counting: the comparison has it, and says nothing of those that are too large.
	f.signals[0].Usage.Cost = record.Countless
	d := differing(t, small(3).collect(), f.collect(), reports.DiffOptions{BaseConfiguration: "once", NewConfiguration: "once"})
	if cost := quantity(t, &d.Pairs[0], "cost_usd"); cost.Tasks != 2 || cost.LeftOut != 1 {
		t.Errorf("%+v", cost)
	}
}

// Tokens beyond what can be counted stay the most that fits, and no interval
// turns below zero.
func TestMoreTokensThanCanBeCounted(t *testing.T) {
	f := one(3)
	f.manifest.Trials = 2
	for _, task := range []string{"a", "b", "c"} {
		for trial := range 2 {
			s := f.run(task, trial+1, 0.5)
			s.Usage.InputTokens = math.MaxInt64
			if task == "a" {
				s.Usage.InputTokens = 5
			}
		}
	}
	c := f.collect().Configurations[0]
	if got := c.InputTokensInterval; !got.Known() || got.Low.Number < 5 || c.OutputTokensInterval.Low.Number < 0 {
		t.Errorf("%v and %v", got, c.OutputTokensInterval)
	}
}
