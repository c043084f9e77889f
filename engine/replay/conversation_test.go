package replay

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
)

const talkingLoop = "agent: {model: m, memory: {max_tokens: 1000}}\nprompt: hello\nevaluate: {judge: {model: j, rubric: good}, confidence: double(judge.confidence)}\n"

// sender renders every request to the same, and none where it fails.
type sender struct{ fails *record.Error }

func (s sender) Request(context.Context, *spec.Task, int, stop.Step, *stop.State) (string, error) {
	return "r", nil
}

func (s sender) Retrace(context.Context, *spec.Task, stop.Step, *stop.State, *record.Run) (record.Trace, bool, error) {
	if s.fails != nil {
		return record.Trace{}, true, s.fails
	}
	return record.Trace{Requests: []string{"r"}}, true, nil
}

// The prompt of a conversation could not be rendered when it was recorded: that is
// what happens where it cannot be rendered again, and another path where it can.
func TestAConversationWhosePromptFailed(t *testing.T) {
	failed := record.Error{Class: record.Expression, Message: "rendering the prompt: there is no key"}
	r := &record.Run{ID: "c/t/1", Outcome: record.Outcome{Reason: record.ReasonError}, Iterations: []record.Iteration{{N: 1, Error: &failed}}}
	again := failed
	loop := spectest.Loop(t, talkingLoop)
	for name, c := range map[string]struct {
		renders sender
		want    Verdict
		why     string
	}{"fails again": {sender{&again}, Exact, ""}, "is rendered": {sender{}, Branches, otherRequest}} {
		got := New(loop, loop, Options{Renderer: c.renders}).Run(context.Background(), r, task)
		if got.Verdict != c.want || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A timeout on working time cut a step that used several tools. What the first of
// them waited put the end off, though the longest one waited nothing: a
// configuration whose timeout is longer would have used more of them.
func TestATimeoutBetweenToolsCutsAtTheSamePlace(t *testing.T) {
	r := recordedRun(record.ReasonTimeout, 0.2)
	it := &r.Iterations[0]
	it.Steps = []record.Step{{Call: 1, Tools: 3}}
	it.ToolCalls = []record.ToolCall{
		{Tool: "waits", Start: time.Minute, Duration: 4 * time.Minute, Waited: 4 * time.Minute},
		{Tool: "first", Start: time.Minute, Duration: 30 * time.Second},
		{Tool: "second", Start: 90 * time.Second, Duration: 7 * time.Minute},
	}
	it.Cut, it.Evaluation, it.Output = string(record.ReasonTimeout), nil, nil
	it.End, r.Elapsed = 6*time.Minute, 6*time.Minute
	after := func(d string) *spec.Loop {
		return spectest.Loop(t, talkingLoop+"terminate: {timeout: {after: "+d+", working: true}}\n")
	}
	for limit, want := range map[string]Result{
		"2m":  {Verdict: Exact, Elapsed: 6 * time.Minute},
		"90s": {Verdict: Exact, Elapsed: 5*time.Minute + 30*time.Second},
		"3m":  {Verdict: Censored},
	} {
		got := New(after("2m"), after(limit), Options{}).Run(context.Background(), r, task)
		if got.Verdict != want.Verdict || got.Elapsed != want.Elapsed {
			t.Errorf("%s: %+v", limit, got)
		}
	}
}
