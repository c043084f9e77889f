package loop

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
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

// S3.6: a run that failed, had a fault or was cancelled ends as others do: with the
// number of its iterations, its episode and the end of its agent, once each.
func TestS3_6_RunsThatWentWrongEndTheAgent(t *testing.T) {
	fails := func(class record.ErrorClass) func(context.CancelFunc) acts {
		return func(context.CancelFunc) acts {
			return func(context.Context, *agent.Turn) (agent.Result, error) {
				return agent.Result{}, &record.Error{Class: class, Message: "oh"}
			}
		}
	}
	cancels := func(at int, calls ...record.Call) func(context.CancelFunc) acts {
		return func(cancel context.CancelFunc) acts {
			return func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
				if turn.Iteration < at {
					return says("a", "ab")(ctx, turn)
				}
				cancel()
				return agent.Result{Calls: calls}, ctx.Err()
			}
		}
	}
	for name, c := range map[string]struct {
		loop       string
		agent      func(context.CancelFunc) acts
		status     record.Status
		reason     record.Reason
		class      record.Class
		iterations int
		episode    record.EpisodeOutcome
		payload    string
	}{
		"the agent failed":             {"", fails(record.Program), record.Failed, record.ReasonError, record.ByFault, 1, record.EpisodeFailed, "program: oh"},
		"a fault":                      {"", fails(record.Network), record.Faulted, record.ReasonError, record.ByFault, 1, record.EpisodeFailed, "network: oh"},
		"a fault of an expression":     {"terminate: {when: 'task.vars.missing == 1'}", func(context.CancelFunc) acts { return says("a") }, record.Faulted, record.ReasonError, record.ByFault, 1, record.EpisodeFailed, "expression: "},
		"cancelled before a call":      {"", cancels(1), record.Cancelled, record.ReasonCancelled, record.ByBudget, 0, record.EpisodeFailed, "stopped by cancelled"},
		"cancelled after a call":       {"", cancels(1, record.Call{Role: record.RoleAgent}), record.Cancelled, record.ReasonCancelled, record.ByBudget, 1, record.EpisodeFailed, "stopped by cancelled"},
		"cancelled between iterations": {"", cancels(3), record.Cancelled, record.ReasonCancelled, record.ByBudget, 2, record.EpisodeFailed, "stopped by cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var live []record.Event
			r := build(t, "prompt: p\n"+c.loop, c.agent(cancel)).Run(ctx, "c/t/1", &spec.Task{ID: "t"}, 1, func(e record.Event) { live = append(live, e) })
			if r.Outcome.Status != c.status {
				t.Fatalf("the outcome is %+v, want %s", r.Outcome, c.status)
			}
			if recorded := slices.Collect(record.Events(r)); !reflect.DeepEqual(live, recorded) {
				t.Errorf("live events\n%+v\nevents of the record\n%+v", live, recorded)
			}
			var ends []record.Event
			for _, e := range live {
				switch e.Type {
				case record.TurnCompleted, record.EpisodeRecorded, record.AgentEnded:
					ends = append(ends, e)
				}
			}
			if len(ends) != 3 || !reflect.DeepEqual(ends, live[max(0, len(live)-3):]) {
				t.Fatalf("the run ends with %+v", ends)
			}
			turn, episode, end := ends[0], ends[1], ends[2]
			if turn.Type != record.TurnCompleted || *turn.Iterations != c.iterations {
				t.Errorf("%+v after %d iterations", turn, *turn.Iterations)
			}
			if episode.Type != record.EpisodeRecorded || episode.Outcome != c.episode {
				t.Errorf("episode %+v", episode)
			}
			if end.Type != record.AgentEnded || end.Reason != c.reason || end.Class != c.class || *end.Success || end.Error != r.Outcome.Error {
				t.Errorf("end %+v", end)
			}
			if end.Payload == nil || !strings.HasPrefix(end.Payload.Error, c.payload) {
				t.Errorf("payload %+v, want %q", end.Payload, c.payload)
			}
		})
	}
}
