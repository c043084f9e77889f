package loop

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// converses calls a tool at each of its steps, each in a second, until it is cut
// or made so many.
func converses(steps int, stepped func(n int)) acts {
	return func(_ context.Context, turn *agent.Turn) (agent.Result, error) {
		result := agent.Result{Prompt: turn.Prompt, Value: "a", Output: []byte(`"a"`)}
		for n := range steps {
			result.Calls = append(result.Calls, record.Call{Role: record.RoleAgent, Start: result.Took, Duration: time.Second})
			result.Took += time.Second
			result.Steps = append(result.Steps, record.Step{Text: "look", Call: n + 1, Tools: 1})
			result.ToolCalls = append(result.ToolCalls, record.ToolCall{Tool: "look", Arguments: json.RawMessage(`{}`), Result: json.RawMessage(`1`), Start: result.Took})
			cut := turn.AfterStep(&result)
			stepped(n)
			if result.Cut = cut; cut != "" {
				break
			}
		}
		return result, nil
	}
}

func TestS2_7_StepsAreStreamedAsTheyHappen(t *testing.T) {
	for name, c := range map[string]struct {
		loop  string
		steps int
	}{
		"whole":                {"prompt: p\nmax_iterations: 2", 3},
		"cut by a guard":       {"prompt: p\nguards: {stagnation: {window: 2, scope: step}}", 3},
		"cut by a timeout":     {"prompt: p\nterminate: {timeout: 2s}", 4},
		"in later iterations":  {"prompt: p\nmax_iterations: 3\nguards: {stagnation: {window: 5, scope: step}}", 2},
		"of an iteration each": {"prompt: p\nmax_iterations: 3", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var live []record.Event
			replies := 0
			l := build(t, "phases: [{name: only, tools: [{name: look, cel: \"1\"}]}]\n"+c.loop, converses(c.steps, func(n int) {
				told := slices.ContainsFunc(live, func(e record.Event) bool { return e.Type == record.AgentResponse && e.Step == n+1 })
				if told {
					replies++
				}
			}))
			r := l.Run(t.Context(), "c/t/1", &spec.Task{ID: "t"}, 1, func(e record.Event) { live = append(live, e) })
			if recorded := slices.Collect(record.Events(r)); !reflect.DeepEqual(live, recorded) {
				t.Errorf("live events\n%+v\nevents of the record\n%+v", live, recorded)
			}
			if replies == 0 {
				t.Error("no step was told before its iteration ended")
			}
		})
	}
}
