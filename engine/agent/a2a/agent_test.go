package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

var must = propertytest.Must

func turn(prompt string) *agent.Turn {
	return &agent.Turn{Task: &spec.Task{ID: "t", Input: "the input"}, Trial: 1, Iteration: 1, Prompt: prompt}
}

// The iterations of one run are one conversation, those of another are another.
func TestS4_6_ARemoteAgentExecutesIterations(t *testing.T) {
	f := answers(four)
	a := &Agent{Client: f.client(t, Options{Now: ticking()}), Spec: &spec.Agent{}}
	for range 2 {
		ctx, run := tool.WithRun(t.Context())
		for _, prompt := range []string{"2+2", ""} {
			result, err := a.Execute(ctx, turn(prompt))
			if err != nil || string(result.Output) != `"four"` || result.Value != "four" || result.Ended != nil {
				t.Fatalf("%v, %+v", err, result)
			}
			call := result.Calls[0]
			if call.Role != record.RoleA2A || call.Model != "agent.test" || call.Usage.Calls != 1 || call.Usage.Unreported != 1 || call.Duration != time.Second {
				t.Errorf("call %+v", call)
			}
			if sends, err := a.Sends(turn(prompt)); err != nil || sends != result.Request || sends != call.Request || sends == "" {
				t.Errorf("it would send %s and sent %s", sends, result.Request)
			}
		}
		run.Close()
	}
	if want := []string{"2+2", "the input", "2+2", "the input"}; !slices.Equal(f.texts, want) {
		t.Errorf("sent %q", f.texts)
	}
	if want := []string{"", "ctx", "", "ctx"}; !slices.Equal(f.contexts, want) {
		t.Errorf("in %q", f.contexts)
	}
}

// ticking is a clock that moves by a second whenever it is read.
func ticking() func() time.Time {
	now := time.Unix(1e9, 0)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

func TestAQuestionEndsTheRun(t *testing.T) {
	f := &fake{states: []string{"input-required"}, parts: `[{"kind":"text","text":"which year?"}]`}
	a := &Agent{Client: f.client(t, Options{}), Spec: &spec.Agent{}}
	result, err := a.Execute(t.Context(), turn("x"))
	if err != nil || result.Ended == nil || result.Ended.Reason != "question_asked" || string(result.Ended.Output) != `"which year?"` {
		t.Errorf("%v, %+v", err, result)
	}
}

func TestWhatRemoteAgentsReply(t *testing.T) {
	for _, c := range []struct {
		parts, output, fault string
		reply                spec.Reply
		class                record.ErrorClass
	}{
		{`[{"kind":"text","text":"{\"n\": 1}"}]`, `"{\"n\": 1}"`, "", spec.ReplyText, ""},
		{`[{"kind":"text","text":"{\"n\": 1}"}]`, `{"n": 1}`, "", spec.ReplyJSON, ""},
		{`[{"kind":"text","text":"see:"},{"kind":"data","data":{"n": 1}}]`, `{"n":1}`, "", spec.ReplyJSON, ""},
		{`[{"kind":"text","text":"see:"},{"kind":"data","data":{"n": 1}}]`, `"see:\n{\"n\":1}"`, "", spec.ReplyText, ""},
		{`[{"kind":"text","text":"none"}]`, `"none"`, "the reply is not JSON", spec.ReplyJSON, ""},
		{`[]`, ``, "", spec.ReplyText, record.NoAnswer},
		{`{"code":-32603,"message":"broken"}`, ``, "", spec.ReplyText, record.Server},
	} {
		f := answers(c.parts)
		if c.class == record.Server {
			f.wrong = map[string]string{"message/send": `{"id":"1","error":` + c.parts + `}`}
		}
		result, err := (&Agent{Client: f.client(t, Options{}), Spec: &spec.Agent{Reply: c.reply}}).Execute(t.Context(), turn("x"))
		if classOf(err) != c.class || string(result.Output) != c.output || !strings.HasPrefix(result.Fault, c.fault) || len(result.Calls) != 1 {
			t.Errorf("%s: %v, %s, %s", c.parts, err, result.Output, result.Fault)
		}
		if call := result.Calls[0]; (call.Error != nil) != (c.class != "") || call.Error != nil && call.Error.Class != c.class {
			t.Errorf("%s: the call's error is %v", c.parts, call.Error)
		}
	}
}

func handing(task string) *tool.Use {
	arguments, _ := json.Marshal(map[string]string{"task": task})
	return &tool.Use{Arguments: arguments, Task: &spec.Task{ID: "t"}}
}

// A remote agent takes a task of another agent: its answer is the result, and what
// goes wrong is told as an error of the tool.
func TestS4_6_ARemoteAgentTakesATask(t *testing.T) {
	for name, c := range map[string]struct {
		state, parts, content, told string
	}{
		"a text":         {"completed", `[{"kind":"text","text":"four"}]`, `"four"`, ""},
		"data":           {"completed", `[{"kind":"data","data":{"n":4}}]`, `{"n":4}`, ""},
		"both":           {"completed", `[{"kind":"text","text":"n"},{"kind":"data","data":{"n":4}}]`, `"n\n{\"n\":4}"`, ""},
		"a question":     {"input-required", `[{"kind":"text","text":"which?"}]`, `"which?"`, ""},
		"nothing":        {"completed", `[]`, "", "tool: no_answer: the remote agent's answer is empty"},
		"a failure":      {"failed", `[{"kind":"text","text":"no"}]`, "", "tool: program: the remote agent failed: no"},
		"too much of it": {"completed", `[{"kind":"text","text":"` + strings.Repeat("x", 10<<20) + `"}]`, `"` + strings.Repeat("x", 10<<20) + `"`, ""},
	} {
		f := &fake{states: []string{c.state}, parts: c.parts}
		d := f.client(t, Options{}).Delegate("auditor", "checks")
		result, err := d.Use(t.Context(), handing("2+2"))
		told := ""
		if err != nil {
			told = err.Error()
		}
		if told != c.told || string(result.Content) != c.content || f.texts[0] != "2+2" {
			t.Errorf("%s: %v, %.80s", name, err, result.Content)
		}
		if call := result.Calls[0]; call.Role != record.RoleDelegate || call.Delegate != "auditor" || (call.Error != nil) != (err != nil) {
			t.Errorf("%s: %+v", name, call)
		}
	}
	if defined := new(Client).Delegate("auditor", "").Definition; !defined.Delegate || defined.Name != "auditor" {
		t.Errorf("%+v", defined)
	}
}

// Whoever ends the run ends what was handed over, with the same reason, and the task is cancelled.
func TestTheEndOfARunEndsWhatWasHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{states: []string{"working"}}
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
		defer cancel()
		d := f.client(t, Options{}).Delegate("auditor", "")
		if result, err := d.Use(ctx, handing("x")); err != enough || len(result.Calls) != 1 || result.Duration != time.Second || f.canceled != 1 {
			t.Errorf("%v after %v, %d cancelled", err, result.Duration, f.canceled)
		}
	})
}

// F37: tasks that are handed to remote agents are calls in the budgets, all of
// them together.
func TestF37_TasksForRemoteAgentsAreInTheBudget(t *testing.T) {
	f := answers(four)
	client := f.client(t, Options{})
	d := client.Delegate("auditor", "")
	run := pace.NewBudget(pace.Run, pace.Limits{Calls: 20})
	ctx := pace.WithRun(t.Context(), run)
	var all sync.WaitGroup
	var refused atomic.Int64
	for range 50 {
		all.Go(func() {
			result, err := d.Use(ctx, handing("x"))
			if errors.Is(err, pace.ErrBudget) && result.Calls == nil {
				refused.Add(1)
			} else if err != nil || result.Calls[0].Reserved == nil {
				t.Error(err, result)
			}
		})
	}
	all.Wait()
	if len(f.texts) != 20 || refused.Load() != 30 || run.Spent().Calls != 20 {
		t.Errorf("%d tasks, %d refused, %d paid", len(f.texts), refused.Load(), run.Spent().Calls)
	}
	a := &Agent{Client: client, Spec: &spec.Agent{}}
	if result, err := a.Execute(ctx, turn("x")); !errors.Is(err, pace.ErrBudget) || len(result.Calls) != 0 || result.Request == "" {
		t.Errorf("%v, %+v", err, result)
	}
}
