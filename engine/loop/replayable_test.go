package loop

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// What a record holds so that another configuration can be replayed on it.

func TestARunThatEndsBeforeAnIterationLeavesTheRequestBehind(t *testing.T) {
	refused := &model.Unanswered{Err: spent(record.ReasonBudgetCalls), Reserved: record.Usage{Calls: 1, OutputTokens: 9}}
	for name, c := range map[string]struct {
		err  error
		want record.Next
	}{
		"an agent that had nothing more to give": {model.ErrEnded, record.Next{Request: "r2"}},
		"a budget without room":                  {refused, record.Next{Request: "r2", Reserved: &refused.Reserved}},
	} {
		ends := acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
			if turn.Iteration == 2 {
				return agent.Result{Request: "r2"}, c.err
			}
			return says("a")(ctx, turn)
		})
		if r := play(t.Context(), build(t, "prompt: p", ends)); !reflect.DeepEqual(r.Next, &c.want) || len(r.Iterations) != 1 {
			t.Errorf("%s: next is %+v", name, r.Next)
		}
	}
	if r := play(t.Context(), build(t, "prompt: p\nmax_iterations: 1", says("a"))); r.Next != nil {
		t.Errorf("a run that a condition ended: next is %+v", r.Next)
	}
}

func TestAnEvaluationThatWasCutSaysSo(t *testing.T) {
	l := build(t, "prompt: p\nterminate: {timeout: 1500ms}", says("ab"))
	l.Evaluator = judges(func(context.Context, *Trial) (*record.Evaluation, []record.Call, error) {
		return &record.Evaluation{}, []record.Call{{Role: record.RoleJudge, Duration: time.Second}}, nil
	})
	if r := play(t.Context(), l); r.Next == nil || r.Next.Role != record.RoleJudge || r.Iterations[0].Cut != "timeout" {
		t.Errorf("next is %+v", r.Next)
	}
}

// An as-if clock shows calls that would not have been made: they began after
// the deadline. An agent that ended the run by then came too late.
func TestWhatBeginsAfterTheDeadlineWasNotDone(t *testing.T) {
	busy := acts(func(context.Context, *agent.Turn) (agent.Result, error) {
		call := record.Call{Role: record.RoleAgent, Duration: time.Second, Waited: time.Second, Usage: record.Usage{Calls: 1}}
		return agent.Result{
			Value: "a", Output: []byte(`"a"`), Calls: []record.Call{call, call, call}, Ended: &record.Ended{Reason: "tool_ended"},
			ToolCalls: []record.ToolCall{{Tool: "early", Start: 2 * time.Second}, {Tool: "late", Start: 4 * time.Second}},
		}, nil
	})
	for timeout, want := range map[string]struct {
		calls, tools int
		elapsed      time.Duration
	}{
		"3s":                             {2, 1, 3 * time.Second},
		"2s":                             {1, 1, 2 * time.Second},
		"{after: 2s, working: true}":     {2, 2, 4 * time.Second},
		"{after: 1500ms, working: true}": {2, 1, 3500 * time.Millisecond},
	} {
		r := play(t.Context(), build(t, "prompt: p\nterminate: {timeout: "+timeout+"}", busy))
		it := &r.Iterations[0]
		if r.Outcome.Reason != record.ReasonTimeout || len(it.Calls) != want.calls || len(it.ToolCalls) != want.tools || r.Elapsed != want.elapsed || it.Ended != nil || r.Usage.Calls != int64(want.calls) {
			t.Errorf("%s: %s with %d calls and %d tool calls in %v, %+v", timeout, r.Outcome.Reason, len(it.Calls), len(it.ToolCalls), r.Elapsed, it.Ended)
		}
		if it.Working != time.Duration(want.calls)*time.Second {
			t.Errorf("%s: worked %v", timeout, it.Working)
		}
	}
}

// sends is an agent that tells what it sends.
type sends struct{ acts }

func (sends) Sends(turn *agent.Turn) (string, error) { return turn.System + "/" + turn.Prompt, nil }

func TestRequestsAreRenderedAgain(t *testing.T) {
	l := build(t, "prompt: '{{ iteration }}'\nphases: [{name: a, max_iterations: 1}, {name: b, prompt: '{{ phase }} {{ output }}'}]", sends{says("x", "y")})
	task := &spec.Task{ID: "t"}
	state := l.Rules.Start(task, nil)
	request := func() string {
		hash, err := l.Request(t.Context(), task, 1, state.Next(), state)
		if err != nil {
			return err.Error()
		}
		return hash
	}
	if got := request(); got != "/0" {
		t.Errorf("at first %q", got)
	}
	state.Fold(&record.Iteration{N: 1, Phase: "a", Output: []byte(`"x"`)})
	if got := request(); got != "/b x" {
		t.Errorf("then %q", got)
	}
	l.Stages[1].Agent = says()
	if got := request(); got != "" {
		t.Errorf("of an agent that cannot tell %q", got)
	}
	failing := build(t, "prompt: '{{ task.vars.missing }}'", sends{says()})
	_, err := failing.Request(t.Context(), task, 1, stop.Step{Iteration: 1}, failing.Rules.Start(task, nil))
	if r := play(t.Context(), failing); err == nil || r.Outcome.Status != record.Faulted || r.Outcome.Error.Class != record.Expression || err.Error() != r.Outcome.Error.Error() {
		t.Errorf("%v, live %+v", err, r.Outcome)
	}
}
