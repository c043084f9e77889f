package stop

import (
	"encoding/json"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Leaves that watch the same expression share its answer at each iteration, and
// at no other.
func TestWatchersShareAnswers(t *testing.T) {
	program, faults := expr.Evaluate(expr.Any).Compile("output", expr.WantAny)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var conditions []spec.Condition
	for times := 2; times < 5; times++ {
		of := &spec.Expr{Text: "output", Program: program}
		conditions = append(conditions, spec.Condition{Kind: spec.KindRepeated, Repeated: spec.Repeated{Of: of, Times: source.Maybe[int]{Set: true, Value: times}}})
	}
	rules, _ := Compile(&spec.Loop{}).Watch(conditions, nil)
	s := rules.Start(nil, nil)
	for i, output := range []string{`"a"`, `"b"`, `"b"`, `"b"`, `"c"`} {
		s.Fold(&record.Iteration{Output: json.RawMessage(output)})
		if len(s.answers) != 1 {
			t.Errorf("%d answers to one question", len(s.answers))
		}
		for k, want := range [][]bool{{false, false, true, true, false}, {false, false, false, true, false}, {}} {
			held, err := s.Held(k)
			if err != nil || held != (i < len(want) && want[i]) {
				t.Errorf("iteration %d, %d times: %v, %v", i+1, k+2, held, err)
			}
		}
	}
}
