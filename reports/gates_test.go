package reports

import (
	"errors"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/reports/compare"
)

// A configuration of which nothing could be compared does not pass beside
// another that holds.
func TestPairWithoutACommonTaskHasNoAnswer(t *testing.T) {
	compared := Pair{Name: "a", Differences: []compare.Difference{{Quantity: compare.Quantity{Name: "right", Score: true}}}}
	for failOn, want := range map[string]int{FailOnWorse: exit.NotMeasured, FailOnCannotTell: exit.NotMeasured, FailOnNothing: 0} {
		c := &Comparison{Pairs: []Pair{compared, {Name: "b"}}}
		gates := Gates{FailOn: failOn}
		c.Gate(gates)
		var f *exit.Error
		code := 0
		if err := c.gatesOpen(gates); errors.As(err, &f) {
			code = f.Code
		} else if err != nil {
			t.Fatal(err)
		}
		if code != want {
			t.Errorf("--fail-on %s: exit code %d, not %d", failOn, code, want)
		}
	}
}

func TestGateMarksLinesAndGroups(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  [3]bool // of the scores a and b, and of cost_usd
	}{
		{nil, [3]bool{true, true, false}},
		{[]string{"a"}, [3]bool{true, false, false}},
		{[]string{"amounts"}, [3]bool{false, false, true}},
		{[]string{"scores", "cost_usd"}, [3]bool{true, true, true}},
	} {
		compared := &Comparison{Pairs: []Pair{{Differences: []compare.Difference{
			{Quantity: compare.Quantity{Name: "a", Score: true}}, {Quantity: compare.Quantity{Name: "b", Score: true}}, {Quantity: compare.Quantity{Name: "cost_usd"}},
		}}}}
		compared.Gate(Gates{FailOn: FailOnWorse, Lines: c.lines})
		for i, d := range compared.Pairs[0].Differences {
			if d.Gated != c.want[i] {
				t.Errorf("--gate %v: %s is gated: %v", c.lines, d.Name, d.Gated)
			}
		}
	}
}
