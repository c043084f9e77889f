package scorers

import (
	"context"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/record"
)

func TestASetJudgesWhereItIsAsked(t *testing.T) {
	s := set(t, `
- {name: right, type: exact}
- {name: short, type: cel, expr: 'size(string(output)) < 2', score: returned}
- {name: stopped, type: cel, expr: 'stop.reason == "max_iterations"'}`)
	r := run(`"b"`, `"a"`, `"cc"`)
	r.Outcome.Returned = 2
	want := "right 0 1 (a)\nshort 0 1\nstopped 0 0: stop.reason == \"max_iterations\" is false\nright 3 0 (cc): want a, got cc\nshort 3 0: size(string(output)) < 2 is false"
	expect.Equal(t, "result", shownAll(s.At(context.Background(), task(t, `"a"`), r, 3, 4, -1, 0)), want)
	r.Outcome.Reason = record.ReasonMaxIterations
	stopped := s.Only(func(name string) bool { return name == "stopped" })
	expect.Equal(t, "of one scorer alone", shownAll(stopped.Score(context.Background(), task(t, `"a"`), r)), "stopped 0 1")
}
