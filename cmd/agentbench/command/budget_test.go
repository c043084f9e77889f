package command

import (
	"bytes"
	"testing"

	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// P7: what exceeds a budget is reported.
func TestF40_AnOvershootIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		budget spec.SuiteBudget
		want   string
	}{
		"none":   {spec.SuiteBudget{CostUSD: 2, Tokens: 1000}, ""},
		"cost":   {spec.SuiteBudget{CostUSD: 1}, "agentbench: warning: the budget of $1.00 was exceeded: $1.25 spent, because calls used more than was reserved for them\n"},
		"tokens": {spec.SuiteBudget{Tokens: 900}, "agentbench: warning: the budget of 900 tokens was exceeded: 950 spent, because calls used more than was reserved for them\n"},
	} {
		b := pace.OfSuite(c.budget)
		b.Charge(record.Usage{Calls: 1, InputTokens: 900, OutputTokens: 50, Cost: record.USD * 5 / 4}, record.Usage{})
		var errs bytes.Buffer
		(&program{err: &errs}).tellOvershoot(b)
		if errs.String() != c.want {
			t.Errorf("%s: %q, want %q", name, errs.String(), c.want)
		}
	}
}
