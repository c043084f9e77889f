package command

import (
	"errors"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
)

// A configuration of which nothing could be compared does not pass beside
// another that holds.
func TestPairWithoutACommonTaskHasNoAnswer(t *testing.T) {
	compared := reports.Pair{Name: "a", Differences: []reports.Difference{{Quantity: "right", Gated: true}}}
	nobody := &sides{base: &results.Place{Results: &record.Results{}}, new: &results.Place{Results: &record.Results{}}}
	for failOn, want := range map[string]int{failOnWorse: exit.NotMeasured, failOnCannotTell: exit.NotMeasured, failOnNothing: 0} {
		d := &diffed{Comparison: &reports.Comparison{FailOn: failOn, Pairs: []reports.Pair{compared, {Name: "b"}}}, sides: nobody, flags: &diffFlags{}}
		var f *exit.Error
		code := 0
		if err := d.gatesOpen(); errors.As(err, &f) {
			code = f.Code
		} else if err != nil {
			t.Fatal(err)
		}
		if code != want {
			t.Errorf("--fail-on %s: exit code %d, not %d", failOn, code, want)
		}
	}
}
