package agent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
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
	propertytest.Must(t, err)
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
		"not JSON":            {"json", "Sorry.", "stop", `"Sorry."`, "the reply is not JSON: at byte 1: invalid character 'S' at start of value", ""},
		"cut JSON":            {"json", `{"a":`, "length", `"{\"a\":"`, "the reply is not JSON: at byte 6: the text ends too early (it was cut at its limit of output tokens)", ""},
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
	other, tried := errors.New("something else"), model.Fail(record.Server, "500", time.Second)
	tried.Attempts, tried.Waited = 4, time.Minute
	for name, c := range map[string]struct {
		err   error
		calls int // that are recorded and counted
		class record.ErrorClass
		want  record.Call
	}{
		"with a class":   {tried, 1, record.Server, record.Call{Duration: time.Second, Attempts: 4, Waited: time.Minute}},
		"without one":    {other, 1, record.Internal, record.Call{}},
		"ended":          {model.ErrEnded, 0, "", record.Call{}},
		"no budget left": {fmt.Errorf("x: %w", model.ErrRefused), 0, "", record.Call{}},
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
			call := result.Calls[0]
			if call.Error.Class != c.class || call.Usage.Calls != 1 || call.Duration != c.want.Duration || call.Attempts != c.want.Attempts || call.Waited != c.want.Waited {
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

// turn are messages of four tokens each, but for the first, which has more.
func memoryTurn(name string, messages, more int) []model.Message {
	made := make([]model.Message, messages)
	for i := range made {
		made[i].Text = fmt.Sprintf("%-16s", fmt.Sprint(name, ".", i))
	}
	made[0].Text += strings.Repeat("x", 4*more)
	return made
}

func told(messages []model.Message) string {
	names := make([]string, len(messages))
	for i, m := range messages {
		names[i], _, _ = strings.Cut(m.Text, " ")
	}
	return strings.Join(names, " ")
}

func TestS2_5_TheOldestTurnsAreLeftOut(t *testing.T) {
	earlier := [][]model.Message{memoryTurn("p1", 1, 0), memoryTurn("a1", 3, 0), memoryTurn("b1", 1, 0)}
	current := [][]model.Message{memoryTurn("p2", 1, 0), memoryTurn("a2", 2, 0), memoryTurn("b2", 3, 0)}
	for _, c := range []struct {
		most   int64
		want   string
		pruned int
	}{
		{0, "p1.0 a1.0 a1.1 a1.2 b1.0 p2.0 a2.0 a2.1 b2.0 b2.1 b2.2", 0},
		{54, "p1.0 a1.0 a1.1 a1.2 b1.0 p2.0 a2.0 a2.1 b2.0 b2.1 b2.2", 0},
		{53, "a1.0 a1.1 a1.2 b1.0 p2.0 a2.0 a2.1 b2.0 b2.1 b2.2", 1},
		{50, "a1.0 a1.1 a1.2 b1.0 p2.0 a2.0 a2.1 b2.0 b2.1 b2.2", 1},
		{49, "b1.0 p2.0 a2.0 a2.1 b2.0 b2.1 b2.2", 4}, // of an exchange no part stays
		{37, "p2.0 a2.0 a2.1 b2.0 b2.1 b2.2", 5},
		{33, "p2.0 b2.0 b2.1 b2.2", 7},
		{1, "p2.0 b2.0 b2.1 b2.2", 7}, // the open exchange and its prompt stay
	} {
		kept, pruned := window(earlier, current, 10, c.most)
		if told(kept) != c.want || pruned != c.pruned {
			t.Errorf("%d tokens: %s, %d pruned; want %s, %d", c.most, told(kept), pruned, c.want, c.pruned)
		}
	}
	large := [][]model.Message{memoryTurn("p", 1, 0), memoryTurn("a", 1, 0), memoryTurn("large", 2, 9), memoryTurn("b", 1, 0)}
	if kept, pruned := window(earlier, large, 0, 16); told(kept) != "p.0 b.0" || pruned != 8 {
		t.Errorf("there is no gap in what stays: %s, %d pruned", told(kept), pruned)
	}
	if kept, pruned := window(nil, nil, 0, 1); len(kept) != 0 || pruned != 0 {
		t.Errorf("of nothing: %v, %d", kept, pruned)
	}
	if kept, _ := window(earlier, current[:1], 0, 8); told(kept) != "b1.0 p2.0" {
		t.Errorf("at the first step: %s", told(kept))
	}
}

func drawTurns(t *rapid.T, name string, least int) [][]model.Message {
	turns := make([][]model.Message, rapid.IntRange(least, 6).Draw(t, name))
	for i := range turns {
		turns[i] = memoryTurn(fmt.Sprint(name, i), rapid.IntRange(1, 4).Draw(t, "messages"), rapid.IntRange(0, 5).Draw(t, "more"))
		for j := range turns[i] {
			if rapid.Bool().Draw(t, "calls") {
				turns[i][j].ToolCalls = []model.ToolCall{{ID: "call_1", Name: "search", Arguments: `{"for": "something"}`}}
			}
		}
	}
	return turns
}

func tokens(messages []model.Message) int64 {
	return (&model.Request{Messages: messages}).InputTokens()
}

func TestS2_5_WhatStaysIsWholeAndFits(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		earlier, current := drawTurns(t, "earlier", 0), drawTurns(t, "current", 1)
		fixed := rapid.Int64Range(0, 40).Draw(t, "fixed")
		most := rapid.Int64Range(1, 400).Draw(t, "most")
		kept, pruned := window(earlier, current, fixed, most)

		all := slices.Concat(slices.Concat(earlier...), slices.Concat(current...))
		if len(kept)+pruned != len(all) {
			t.Fatalf("%d messages stay and %d are pruned, of %d", len(kept), pruned, len(all))
		}
		if !slices.ContainsFunc(selections(earlier, current), func(s []model.Message) bool { return reflect.DeepEqual(s, kept) }) {
			t.Fatalf("%s is no prompt with the newest turns", told(kept))
		}
		least := selections(earlier, current)[0]
		if fixed+tokens(kept) > most && len(kept) > len(least) {
			t.Fatalf("%d tokens stay, %d are allowed", fixed+tokens(kept), most)
		}
		more, _ := window(earlier, current, fixed, most+1)
		if len(more) < len(kept) || len(more) > len(kept) && fixed+tokens(more) <= most {
			t.Fatalf("%d tokens hold %s, one more %s", most, told(kept), told(more))
		}
	})
}

// selections are all that may stay, the fewest first.
func selections(earlier, current [][]model.Message) (all [][]model.Message) {
	since := current[1:]
	for n := min(1, len(since)); n <= len(since); n++ {
		all = append(all, slices.Concat(current[0], slices.Concat(since[len(since)-n:]...)))
	}
	for n := 1; n <= len(earlier); n++ {
		all = append(all, slices.Concat(slices.Concat(earlier[len(earlier)-n:]...), slices.Concat(current...)))
	}
	return all
}
