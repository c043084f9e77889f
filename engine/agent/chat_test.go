package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// replies is a model made of a function.
type replies func(ctx context.Context, r *model.Request) (*model.Reply, error)

func (f replies) Call(ctx context.Context, r *model.Request) (*model.Reply, error) { return f(ctx, r) }

func says(text, finish string) replies {
	return func(context.Context, *model.Request) (*model.Reply, error) {
		return &model.Reply{Text: text, Finish: finish, Usage: record.Usage{Calls: 1, OutputTokens: 3}, Duration: time.Second}, nil
	}
}

func fails(err error) replies {
	return func(context.Context, *model.Request) (*model.Reply, error) { return nil, err }
}

func turn() *Turn {
	return &Turn{
		Task: &spec.Task{ID: "x", Target: "secret"}, Trial: 2, Iteration: 3,
		System: "be brief", Prompt: "hello", Calls: map[string]int{"m": 5},
	}
}

func chat(m model.Model, a spec.Agent) *Chat { return &Chat{Model: m, ModelName: "m", Spec: &a} }

func TestWhatIsSent(t *testing.T) {
	temperature, seed := 0.0, int64(1)
	var got *model.Request
	m := replies(func(ctx context.Context, r *model.Request) (*model.Reply, error) {
		got = r
		return says("hi", "stop")(ctx, r)
	})
	tu := turn()
	a := spec.Agent{Temperature: &temperature, Seed: &seed, MaxOutputTokens: 9, Reply: spec.ReplyJSON}
	result, err := chat(m, a).Execute(t.Context(), tu)
	if err != nil {
		t.Fatal(err)
	}
	want := &model.Request{
		Messages:    []model.Message{{Role: "system", Text: "be brief"}, {Role: "user", Text: "hello"}},
		Temperature: &temperature, Seed: &seed, MaxOutputTokens: 9, JSON: true,
		Draw: model.Draw{Task: "x", Trial: 2, Call: 5, Iteration: 3, Of: spec.JudgedTask{Task: tu.Task}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sent %+v\nwant %+v", got, want)
	}
	if tu.Calls["m"] != 6 {
		t.Errorf("%d calls are counted, want 6", tu.Calls["m"])
	}
	if result.Request != want.Hash("m") || result.Calls[0].Request != result.Request {
		t.Errorf("the hash is %s, the call's %s", result.Request, result.Calls[0].Request)
	}
}

func TestReplies(t *testing.T) {
	for name, c := range map[string]struct {
		reply        spec.Reply
		text, finish string
		output       string
		fault        string
		failed       record.ErrorClass
	}{
		"text":                {"", "hi \"you\"", "stop", `"hi \"you\""`, "", ""},
		"text like JSON":      {"", `{"a":1}`, "stop", `"{\"a\":1}"`, "", ""},
		"JSON":                {"json", ` {"a": 1.0, "b": [12345678901234567890]} `, "stop", `{"a": 1.0, "b": [12345678901234567890]}`, "", ""},
		"fenced":              {"json", "```json\n{\"a\":1}\n```", "stop", `{"a":1}`, "", ""},
		"not JSON":            {"json", "Sorry.", "stop", `"Sorry."`, "the reply is not JSON: at byte 1: 'S' where a JSON value should begin", ""},
		"cut JSON":            {"json", `{"a":`, "length", `"{\"a\":"`, "the reply is not JSON: at byte 6: end of text where a JSON value should begin (it was cut at its limit of output tokens)", ""},
		"cut text":            {"", "half an ans", "length", `"half an ans"`, "", ""},
		"empty":               {"", " \n", "stop", "", "", record.NoAnswer},
		"empty JSON":          {"json", "", "stop", "", "", record.NoAnswer},
		"nothing but thought": {"", "", "length", "", "", record.NoAnswer},
		"filtered":            {"", "half", "content_filter", "", "", record.ContentFilter},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := chat(says(c.text, c.finish), spec.Agent{Reply: c.reply}).Execute(t.Context(), turn())
			if string(result.Output) != c.output || result.Fault != c.fault {
				t.Errorf("output %s, fault %q", result.Output, result.Fault)
			}
			var failed *record.Error
			if errors.As(err, &failed); (failed == nil) != (c.failed == "") || failed != nil && failed.Class != c.failed {
				t.Errorf("error %v, want %s", err, c.failed)
			}
			if len(result.Calls) != 1 || result.Calls[0].Usage.OutputTokens != 3 || result.Calls[0].Finish != c.finish {
				t.Errorf("calls %+v", result.Calls)
			}
			if c.output != "" {
				sameValue(t, result)
			}
		})
	}
}

// sameValue: what expressions see is what is recorded.
func sameValue(t *testing.T, result Result) {
	t.Helper()
	value, err := expr.ParseJSON(result.Output)
	if err != nil || !expr.Equal(value, result.Value) {
		t.Errorf("the record has %s, expressions see %v (%v)", result.Output, result.Value, err)
	}
}

func TestFailedCalls(t *testing.T) {
	other := errors.New("something else")
	for name, c := range map[string]struct {
		err   error
		calls int // that are recorded and counted
		class record.ErrorClass
		after time.Duration
	}{
		"with a class":   {model.Fail(record.Server, "500", time.Second), 1, record.Server, time.Second},
		"without one":    {other, 1, record.Internal, 0},
		"ended":          {model.ErrEnded, 0, "", 0},
		"no budget left": {fmt.Errorf("x: %w", model.ErrRefused), 0, "", 0},
	} {
		tu := turn()
		result, err := chat(fails(c.err), spec.Agent{}).Execute(t.Context(), tu)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: error %v", name, err)
		}
		if len(result.Calls) != c.calls || tu.Calls["m"] != 5+c.calls {
			t.Errorf("%s: %d recorded, %d counted", name, len(result.Calls), tu.Calls["m"]-5)
		}
		if c.calls == 1 {
			if call := result.Calls[0]; call.Error.Class != c.class || call.Duration != c.after || call.Usage.Calls != 1 {
				t.Errorf("%s: %+v", name, call)
			}
		}
	}
}

// A timeout means the same whether time passes or only counts.
func TestTimeoutOfACall(t *testing.T) {
	waits := replies(func(ctx context.Context, _ *model.Request) (*model.Reply, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	for name, m := range map[string]model.Model{"really": waits, "as-if": says("late", "stop")} {
		synctest.Test(t, func(t *testing.T) {
			result, err := chat(m, spec.Agent{Timeout: 300 * time.Millisecond}).Execute(t.Context(), turn())
			want := record.Error{Class: record.CallTimeout, Message: "the call took longer than 300ms"}
			var failed *record.Error
			if !errors.As(err, &failed) || *failed != want {
				t.Errorf("%s: error %v", name, err)
			}
			if call := result.Calls[0]; call.Duration != 300*time.Millisecond || *call.Error != want {
				t.Errorf("%s: call %+v", name, call)
			}
			if result.Output != nil {
				t.Errorf("%s: output %s", name, result.Output)
			}
		})
	}
}

// What a call waits for its turn does not use up its timeout.
func TestWaitingIsNoPartOfATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queues := replies(func(ctx context.Context, _ *model.Request) (*model.Reply, error) {
			resume := model.Waiting(ctx)
			time.Sleep(time.Minute)
			resume()
			return &model.Reply{Text: "a", Finish: "stop", Waited: time.Minute}, context.Cause(ctx)
		})
		result, err := chat(queues, spec.Agent{Timeout: time.Second}).Execute(t.Context(), turn())
		if err != nil || result.Calls[0].Waited != time.Minute {
			t.Errorf("error %v, calls %+v", err, result.Calls)
		}
	})
}

// A call that failed tells its attempts and what it waited, like any other.
func TestAttemptsOfAFailedCall(t *testing.T) {
	fails := replies(func(context.Context, *model.Request) (*model.Reply, error) {
		err := model.Fail(record.Server, "no", time.Second)
		err.Attempts, err.Waited = 4, time.Minute
		return nil, err
	})
	result, _ := chat(fails, spec.Agent{}).Execute(t.Context(), turn())
	if call := result.Calls[0]; call.Attempts != 4 || call.Waited != time.Minute || call.Duration != time.Second {
		t.Errorf("%+v", call)
	}
}

// The end of the run's context is no fault of the call.
func TestCancelledCall(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	m := replies(func(ctx context.Context, _ *model.Request) (*model.Reply, error) {
		cancel(cause)
		return nil, context.Cause(ctx)
	})
	result, err := chat(m, spec.Agent{Timeout: time.Minute}).Execute(ctx, turn())
	if err != cause || len(result.Calls) != 1 || result.Calls[0].Error != nil {
		t.Errorf("error %v, calls %+v", err, result.Calls)
	}
}

func TestUnfence(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                                  "{}",
		" \n{} ":                              "{}",
		"```json\n{}\n```":                    "{}",
		"```JSON \n{}\n```":                   "{}",
		"```\n{}\n```":                        "{}",
		"```\r\n{}\r\n```\n":                  "{}",
		"Here it is:\n```json\n{}\n```\nBye.": "{}",
		"```json\n{\"a\":\"```\"}\n```":       "{\"a\":\"```\"}",
		"```python\nx\n```":                   "```python\nx\n```",
		"```json\n{}\n```\n```json\n[]\n```":  "{}\n```\n```json\n[]", // and so no JSON
		"```json\n{}":                         "```json\n{}",
		"{\"a\": \"```\\n1\\n```\"}":          "{\"a\": \"```\\n1\\n```\"}",
		"````":                                "````",
		"`````":                               "`````",
		"``````":                              "``````",
		"```":                                 "```",
		"":                                    "",
	} {
		if got := model.Unfence(text); got != want {
			t.Errorf("Unfence(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzUnfence(f *testing.F) {
	f.Add("```json\n{}\n```")
	f.Add("a ``` b\n```")
	f.Add("````")
	f.Fuzz(func(t *testing.T, text string) {
		var r Result
		r.SetReply(text, spec.ReplyJSON)
		if len(r.Output) == 0 {
			t.Fatalf("%q has no output", text)
		}
		if value, err := expr.ParseJSON(r.Output); err != nil || r.Fault == "" && !expr.Equal(value, r.Value) {
			t.Errorf("%q: output %s, value %v, %v", text, r.Output, r.Value, err)
		}
	})
}
