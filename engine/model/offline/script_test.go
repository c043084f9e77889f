package offline

import (
	"errors"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"reflect"
	"testing"
	"time"
)

func ask(t *testing.T, m *Script, task string, call int) (string, error) {
	t.Helper()
	reply, err := m.Call(t.Context(), &model.Request{Draw: model.Draw{Task: task, Trial: 1, Call: call}})
	if err != nil {
		return "", err
	}
	return reply.Text, nil
}

func texts(replies ...string) []spec.Answer {
	all := make([]spec.Answer, len(replies))
	for i, reply := range replies {
		all[i].Text = reply
	}
	return all
}

// S4.8: the replies are deterministic, one per call of a run.
func TestS4_8_RepliesInOrder(t *testing.T) {
	m := &Script{Name: "canned", All: texts("one", "two")}
	for range 2 { // another run starts again
		for i, want := range m.All {
			if got, err := ask(t, m, "x", i); got != want.Text || err != nil {
				t.Errorf("call %d: %q, %v", i+1, got, err)
			}
		}
	}
}

// A scripted reply is what a server would have sent: calls have IDs, and the
// model stopped for a reason.
func TestRepliesThatCallTools(t *testing.T) {
	called := []spec.AnswerCall{{Name: "f", Arguments: "{}"}, {ID: "x", Name: "g", Arguments: "not JSON"}}
	m := &Script{All: []spec.Answer{
		{Text: "a", Thinking: "b", ToolCalls: called},
		{Text: "done"},
		{ToolCalls: called[:1], Finish: "length"},
	}}
	for i, want := range []model.Reply{
		{Text: "a", Thinking: "b", Finish: "tool_calls", ToolCalls: []model.ToolCall{{ID: "call_1", Name: "f", Arguments: "{}"}, {ID: "x", Name: "g", Arguments: "not JSON"}}},
		{Text: "done", Finish: "stop"},
		{Finish: "length", ToolCalls: []model.ToolCall{{ID: "call_1", Name: "f", Arguments: "{}"}}},
	} {
		got, err := m.Call(t.Context(), &model.Request{Draw: model.Draw{Call: i}})
		must(t, err)
		want.Usage = record.Usage{Calls: 1, OutputTokens: model.EstimateTokens(want.Bytes()), Estimated: 1}
		if !reflect.DeepEqual(got, &want) {
			t.Errorf("got  %+v\nwant %+v", got, &want)
		}
	}
	if called[0].ID != "" {
		t.Error("a call changed the script")
	}
}

func TestAfterTheLastReply(t *testing.T) {
	const short = `the script "canned" has 2 replies for task "x"; call 3 has none`
	for _, c := range []struct {
		after   AfterLast
		replies []string
		call    int
		want    string
		message string
		ended   bool
	}{
		{"", []string{"one", "two"}, 2, "", short, false},
		{Error, []string{"one", "two"}, 2, "", short, false},
		{Error, []string{"one"}, 5, "", `the script "canned" has 1 reply for task "x"; call 6 has none`, false},
		{Repeat, []string{"one", "two"}, 7, "two", "", false},
		{Repeat, nil, 0, "", `the script "canned" has 0 replies for task "x"; call 1 has none`, false},
		{End, []string{"one", "two"}, 2, "", "", true},
		{End, nil, 0, "", "", true},
	} {
		m := &Script{Name: "canned", ByTask: map[string][]spec.Answer{"x": texts(c.replies...)}, AfterLast: c.after}
		got, err := ask(t, m, "x", c.call)
		var failed *record.Error
		if got != c.want || errors.Is(err, model.ErrEnded) != c.ended || errors.As(err, &failed) != (c.message != "") {
			t.Errorf("%s after %d: got %q, %v", c.after, len(c.replies), got, err)
		}
		if failed != nil && (failed.Class != record.Exhausted || failed.Message != c.message) {
			t.Errorf("%s after %d: error %v, want %s", c.after, len(c.replies), failed, c.message)
		}
	}
	_, err := ask(t, &Script{Name: "canned", ByTask: map[string][]spec.Answer{"x": texts("one")}, AfterLast: Repeat}, "y", 0)
	if want := `exhausted: the script "canned" has no replies for task "y"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// What varies belongs to the run and the call, not to the order of calls.
func TestTimesDoNotDependOnTheOrder(t *testing.T) {
	m := &Script{Name: "m", All: texts("a", "b", "c"), Time: Call{
		Latency: spec.Latency{Median: time.Second, Sigma: 1},
		Tokens:  spec.TokenCounts{Input: 100, Output: 100, Spread: 0.5},
	}}
	times := func(calls ...int) map[int]model.Reply {
		seen := map[int]model.Reply{}
		for _, call := range calls {
			reply, err := m.Call(t.Context(), &model.Request{Draw: model.Draw{Task: "x", Trial: 1, Call: call}})
			must(t, err)
			seen[call] = *reply
		}
		return seen
	}
	forth, back := times(0, 1, 2), times(2, 1, 0)
	for call := range 3 {
		if !reflect.DeepEqual(forth[call], back[call]) {
			t.Errorf("call %d: %+v and %+v", call, forth[call], back[call])
		}
	}
	if forth[0].Duration == forth[1].Duration {
		t.Error("two calls take exactly as long")
	}
}
