package loop

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// talks makes two steps of a call of a second, two tools beside each other that
// take two, and in the first an answer of the user in one.
func talks(_ context.Context, turn *agent.Turn) (agent.Result, error) {
	r := agent.Result{Prompt: turn.Prompt, Value: "a", Output: []byte(`"a"`), Servers: []record.ToolServer{{Name: "s"}}}
	if len(turn.Servers) > 0 {
		r.Servers = nil
	}
	call := func(role record.Role, waited time.Duration) {
		r.Calls = append(r.Calls, record.Call{Role: role, Start: r.Took, Duration: time.Second, Waited: waited, Usage: record.Usage{Calls: 1}})
		r.Took += time.Second + waited
		r.Waited += waited
	}
	call(record.RoleAgent, time.Second)
	r.Steps = append(r.Steps, record.Step{Text: "one", Call: 1, User: "go on"})
	call(record.RoleUser, 0)
	if r.Cut = turn.AfterStep(&r); r.Cut != "" {
		return r, nil
	}
	call(record.RoleAgent, 0)
	r.Steps = append(r.Steps, record.Step{Text: "two", Call: 3, Tools: 2})
	for range 2 {
		r.ToolCalls = append(r.ToolCalls, record.ToolCall{Tool: "look", Start: r.Took, Duration: 2 * time.Second, Result: []byte(`1`)})
	}
	r.Took += 2 * time.Second
	r.Cut = turn.AfterStep(&r)
	return r, nil
}

func TestTimesAndLedgersOfAConversation(t *testing.T) {
	r := play(t.Context(), build(t, "prompt: p\nmax_iterations: 2", acts(talks)))
	second := r.Iterations[1]
	if second.Start != 6*time.Second || second.End != 12*time.Second || second.Working != 5*time.Second || r.Elapsed != 12*time.Second {
		t.Errorf("%v to %v, %v of it working; elapsed %v", second.Start, second.End, second.Working, r.Elapsed)
	}
	var starts []time.Duration
	for _, c := range second.Calls {
		starts = append(starts, c.Start)
	}
	if want := []time.Duration{6 * time.Second, 8 * time.Second, 9 * time.Second}; !slices.Equal(starts, want) || second.ToolCalls[1].Start != 10*time.Second {
		t.Errorf("calls begin at %v, the tools at %v", starts, second.ToolCalls[1].Start)
	}
	if r.Usage.Calls != 4 || r.Usage.ToolCalls != 4 || r.User.Calls != 2 || r.Total().Calls != 6 || r.Volatile.Paid.Calls != 6 {
		t.Errorf("the agent used %+v, the user %+v, paid %+v", r.Usage, r.User, r.Volatile.Paid)
	}
	if want := []record.ToolServer{{Name: "s"}}; !reflect.DeepEqual(r.Servers, want) {
		t.Errorf("servers %+v", r.Servers)
	}
}

// What an agent is told of the run so far.
func TestWhatAConversingAgentIsTold(t *testing.T) {
	type told struct{ earlier, tools, remaining, servers int }
	var got []told
	l := build(t, "prompt: p\nmax_iterations: 3", acts(func(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
		got = append(got, told{len(turn.Earlier), turn.ToolCalls, turn.Remaining, len(turn.Servers)})
		return talks(ctx, turn)
	}))
	play(t.Context(), l)
	if want := []told{{0, 0, 3, 0}, {1, 2, 2, 1}, {2, 4, 1, 1}}; !slices.Equal(got, want) {
		t.Errorf("told %+v, want %+v", got, want)
	}
}

// A timeout that passes as-if within a conversation leaves what had begun; what
// was in flight counts whole.
func TestATimeoutWithinAConversation(t *testing.T) {
	for _, c := range []struct {
		after        string
		calls, tools int
		steps        int
		user         string
		until        time.Duration
	}{
		{"1s", 1, 0, 1, "", time.Second},
		{"2500ms", 2, 0, 1, "go on", 2500 * time.Millisecond},
		{"3500ms", 3, 0, 2, "go on", 3500 * time.Millisecond},
		{"5s", 3, 2, 2, "go on", 5 * time.Second},
		{"{after: 4s, working: true}", 3, 2, 2, "go on", 5 * time.Second},
	} {
		var told []record.Event
		l := build(t, "prompt: p\nterminate: {timeout: "+c.after+"}", acts(talks))
		r := l.Run(t.Context(), "c/t/1", &spec.Task{ID: "t"}, 1, func(e record.Event) { told = append(told, e) })
		it := r.Iterations[0]
		if it.Cut != "timeout" || r.Outcome.Reason != record.ReasonTimeout || it.End != c.until || r.Elapsed != c.until {
			t.Errorf("%s: cut %q, ended by %s at %v", c.after, it.Cut, r.Outcome.Reason, it.End)
		}
		if len(it.Calls) != c.calls || len(it.ToolCalls) != c.tools || len(it.Steps) != c.steps || it.Steps[0].User != c.user {
			t.Errorf("%s: %d calls, tools %+v, steps %+v", c.after, len(it.Calls), it.ToolCalls, it.Steps)
		}
		if !reflect.DeepEqual(told, slices.Collect(record.Events(r))) {
			t.Errorf("%s: told of %+v", c.after, told)
		}
	}
}

// A prompt that cannot be rendered after an iteration with steps has all of its
// events told.
func TestEventsAfterAConversation(t *testing.T) {
	l := build(t, "prompt: '{{ iteration == 1 ? string(int(feedback)) : \"p\" }}'\nmax_iterations: 3\non_error: {continue_if: 'true'}", acts(talks))
	var told []record.Event
	r := l.Run(t.Context(), "c/t/1", &spec.Task{ID: "t"}, 1, func(e record.Event) { told = append(told, e) })
	if len(r.Iterations) != 3 || r.Iterations[1].Error == nil {
		t.Fatalf("%+v", r.Outcome)
	}
	if recorded := slices.Collect(record.Events(r)); !reflect.DeepEqual(told, recorded) {
		t.Errorf("told of %+v\nrecorded %+v", told, recorded)
	}
}
