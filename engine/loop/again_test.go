package loop

import (
	"testing"

	"github.com/agentbench/agentbench/engine/model/offline"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// again judges an iteration with an output, recorded as given, by a declared
// evaluation.
func again(t *testing.T, a Again, it *record.Iteration) (*record.Evaluation, *record.Error, bool) {
	t.Helper()
	task := &spec.Task{ID: "t"}
	state := stop.Compile(&spec.Loop{Agent: &spec.Agent{Model: "m", Reply: spec.ReplyJSON}, Evaluate: a.Evaluator.Spec}).Start(task, nil)
	unjudged := *it
	unjudged.Evaluation, unjudged.Error = nil, nil
	state.Append(&unjudged, nil)
	return a.Judge(t.Context(), task, it, state)
}

func TestRecordedOutputsAreJudgedAgain(t *testing.T) {
	recorded := &record.Iteration{N: 1, Output: []byte(`{"c": 0.7}`), Evaluation: &record.Evaluation{Confidence: 0.1}}
	a := Again{Evaluator: &DeclaredEvaluator{Spec: &spec.Evaluate{Confidence: compile(t, "double(output.c)", expr.WantNumber), Passed: compile(t, "confidence > 0.5", expr.WantBool)}}}
	v, failure, ok := again(t, a, recorded)
	if !ok || failure != nil || v.Confidence != 0.7 || !v.Passed {
		t.Errorf("%+v, %v, %v", v, failure, ok)
	}
	_, failure, ok = again(t, a, &record.Iteration{N: 1, Output: []byte(`{}`), Evaluation: &record.Evaluation{}})
	if !ok || failure == nil || failure.Class != record.Unjudged {
		t.Errorf("an output without a confidence: %v, %v", failure, ok)
	}
	v, _, ok = again(t, a, &record.Iteration{N: 1, Output: []byte(`"no JSON"`), Evaluation: &record.Evaluation{Fault: "no JSON"}})
	if !ok || v.Fault != "no JSON" || v.Confidence != 0 {
		t.Errorf("a reply that is not JSON: %+v, %v", v, ok)
	}
}

func TestWhatCannotBeJudgedAgain(t *testing.T) {
	evaluated := &record.Iteration{N: 1, Output: []byte(`{"c": 0.7}`), Evaluation: &record.Evaluation{}}
	confidence := compile(t, "0.5", expr.WantNumber)
	for name, c := range map[string]struct {
		again Again
		it    *record.Iteration
	}{
		"with a judge":                     {Again{Evaluator: &DeclaredEvaluator{Spec: &spec.Evaluate{Judge: &spec.Judge{Model: "j"}}, Judge: &offline.Script{}}}, evaluated},
		"with a program":                   {Again{Evaluator: &DeclaredEvaluator{Spec: &spec.Evaluate{Command: &spec.Command{Argv: []string{"x"}}}}}, evaluated},
		"a program's own confidence":       {Again{Evaluator: &DeclaredEvaluator{Spec: &spec.Evaluate{Passed: compile(t, "true", expr.WantBool)}}, Programs: true}, evaluated},
		"what the recording did not judge": {Again{Evaluator: &DeclaredEvaluator{Spec: &spec.Evaluate{Confidence: confidence}}}, &record.Iteration{N: 1, Output: []byte(`1`)}},
		"an iteration that failed":         {Again{Evaluator: &DeclaredEvaluator{Spec: &spec.Evaluate{Confidence: confidence}}}, &record.Iteration{N: 1, Error: &record.Error{Class: record.Program}}},
	} {
		if _, _, ok := again(t, c.again, c.it); ok {
			t.Errorf("%s: it was judged", name)
		}
	}
}
