package agent

import (
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// S3.5: a structured final response ends the loop at once and is returned whole.
func TestS3_5_FinalResponse(t *testing.T) {
	for reply, want := range map[string]bool{
		`{"final": true, "answer": [1, {"b": 2}]}`: true,
		`{"final": false}`:                         false,
		`{"thought": "not yet"}`:                   false, // an error in the expression is no final response
		`final`:                                    false, // nor is a reply that is not JSON
	} {
		program, faults := expr.Loop(expr.Any).Compile(`output == "final" || bool(output.final)`, expr.WantBool)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		a := spec.Agent{Reply: spec.ReplyJSON, FinalResponse: &spec.Expr{Program: program}}
		result, err := chat(says(reply, "stop"), a).Execute(t.Context(), turn())
		if err != nil {
			t.Fatalf("%s: %v", reply, err)
		}
		if (result.Ended != nil) != want {
			t.Errorf("%s: ended %+v", reply, result.Ended)
		}
		if e := result.Ended; e != nil && (e.Reason != string(record.ReasonFinalResponse) || string(e.Output) != reply) {
			t.Errorf("%s: ended %+v with %s", reply, e, e.Output)
		}
	}
}
