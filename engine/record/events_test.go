package record

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// eventfulRun has an iteration with tools that overlap, one that failed, one
// that was passed over and one that was judged by a model.
func eventfulRun() *Run {
	second := time.Second
	run := sampleRun(1, 4)
	run.Iterations[0].Phase, run.Iterations[0].Strategy = "execution", "cheap"
	run.Iterations[0].Thinking = "hm"
	run.Iterations[0].Evaluation = &Evaluation{Confidence: 0.9, Feedback: "name the source"}
	run.Iterations[0].Adaptation = "feedback: name the source"
	run.Iterations[0].ToolCalls = []ToolCall{
		{Tool: "slow", Arguments: json.RawMessage(`{"q":1}`), Result: json.RawMessage(`"found"`), Duration: 3 * second},
		{Tool: "fast", Start: second, Duration: second, Error: &Error{Class: Program, Message: "exit 1"}},
	}
	run.Iterations[1].Fail(&Error{Class: NoAnswer, Message: "an empty reply"})
	run.Iterations[1].Evaluation, run.Iterations[1].Output = nil, nil
	run.Iterations[2].Skipped, run.Iterations[2].Evaluation = true, nil
	run.Iterations[3].Calls = append(run.Iterations[3].Calls, Call{
		Role: RoleJudge, Usage: Usage{Calls: 1, InputTokens: 7}, Start: 800 * time.Millisecond, Duration: second,
	})
	run.Iterations[3].End += second
	return run
}

// names are the types of events, those of tools with the tool.
func names(events []Event) string {
	var list []string
	for _, e := range events {
		list = append(list, strings.TrimSpace(string(e.Type)+" "+e.Tool))
	}
	return strings.Join(list, ", ")
}

func TestS2_7_EventsComeInTheirOrder(t *testing.T) {
	run := eventfulRun()
	want := [][]string{
		{"run_started"},
		{"iteration_started, tool_called slow, tool_called fast, tool_returned fast, tool_returned slow, message, evaluated, adapted, iteration_completed"},
		{"iteration_started, failed, iteration_completed"},
		{"iteration_started, message, iteration_completed"},
		{"iteration_started, message, evaluated, iteration_completed"},
		{"turn_completed, episode, agent_ended"},
	}
	events := slices.Collect(Events(run))
	if got := names(events); got != strings.Join(slices.Concat(want...), ", ") {
		t.Errorf("events %s", got)
	}
	parts := slices.Concat(StartEvents(run), IterationEvents(run, 0), IterationEvents(run, 1),
		IterationEvents(run, 2), IterationEvents(run, 3), EndEvents(run))
	if !reflect.DeepEqual(events, parts) {
		t.Error("a recorded run has other events than a live one")
	}
	if got := names(slices.Collect(firstOf(run, 2))); got != "run_started, iteration_started" {
		t.Errorf("stopped early: %s", got)
	}
}

func firstOf(run *Run, n int) func(func(Event) bool) {
	return func(yield func(Event) bool) {
		for e := range Events(run) {
			if n--; !yield(e) || n == 0 {
				return
			}
		}
	}
}

func TestS1_14_S2_7_EventsHoldWhatHappened(t *testing.T) {
	run := eventfulRun()
	for _, e := range IterationEvents(run, 0) {
		if e.Run != run.ID || e.Iteration != 1 || e.Phase != "execution" || e.Strategy != "cheap" {
			t.Errorf("%s: %+v", e.Type, e)
		}
	}
	for _, c := range []struct {
		of   []Event
		at   int
		want string
	}{
		{StartEvents(run), 0, `{"event":"run_started","run":"default/task-1/1","at_ns":0,"configuration":"default","task":"task-1","trial":1}`},
		{IterationEvents(run, 0), 0, `{"event":"iteration_started","run":"default/task-1/1","iteration":1,"at_ns":0,"phase":"execution","strategy":"cheap","thinking":"hm"}`},
		{IterationEvents(run, 0), 1, `{"event":"tool_called","run":"default/task-1/1","iteration":1,"at_ns":0,"phase":"execution","strategy":"cheap","tool":"slow","arguments":{"q":1}}`},
		{IterationEvents(run, 0), 3, `{"event":"tool_returned","run":"default/task-1/1","iteration":1,"at_ns":2000000000,"phase":"execution","strategy":"cheap","tool":"fast","error":{"class":"program","message":"exit 1"}}`},
		{IterationEvents(run, 0), 6, `{"event":"evaluated","run":"default/task-1/1","iteration":1,"at_ns":200000000,"phase":"execution","strategy":"cheap","confidence":0.9,"passed":false,"feedback":"name the source"}`},
		{IterationEvents(run, 0), 7, `{"event":"adapted","run":"default/task-1/1","iteration":1,"at_ns":200000000,"phase":"execution","strategy":"cheap","adaptation":"feedback: name the source"}`},
		{IterationEvents(run, 1), 1, `{"event":"failed","run":"default/task-1/1","iteration":2,"at_ns":400000000,"error":{"class":"no_answer","message":"an empty reply"},"confidence":0}`},
		{IterationEvents(run, 3), 1, `{"event":"message","run":"default/task-1/1","iteration":4,"at_ns":800000000,"output":"The answer is 42, because of the question that was asked."}`},
		{IterationEvents(run, 3), 2, `{"event":"evaluated","run":"default/task-1/1","iteration":4,"at_ns":1800000000,"confidence":0.9,"passed":true,"feedback":"fine"}`},
		{EndEvents(run), 0, `{"event":"turn_completed","run":"default/task-1/1","at_ns":800000000,"iterations":4}`},
	} {
		got, err := json.Marshal(c.of[c.at])
		if err != nil || string(got) != c.want {
			t.Errorf("event %s (%v)\nwant  %s", got, err, c.want)
		}
	}
}

func TestS2_8_EveryIterationTellsWhatItCost(t *testing.T) {
	run := eventfulRun()
	last := IterationEvents(run, 3)[3]
	wantUsage, wantJudging := Usage{Calls: 1, InputTokens: 100, OutputTokens: 20, Cost: 12345678}, Usage{Calls: 1, InputTokens: 7}
	if last.Type != IterationCompleted || *last.Usage != wantUsage || *last.Judging != wantJudging || last.Latency != 1200*time.Millisecond {
		t.Errorf("%+v, usage %+v, judging %+v", last, last.Usage, last.Judging)
	}
	if first := IterationEvents(run, 0)[8]; first.Judging != nil || first.Usage.ToolCalls != 2 {
		t.Errorf("%+v, usage %+v", first, first.Usage)
	}
}

func TestS1_14_AnEpisodeIsRecordedForEveryRun(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Run)
		want   EpisodeOutcome
		least  float64
	}{
		{"succeeded", func(*Run) {}, EpisodeSuccess, 0.9},
		{"returned its best", func(r *Run) { r.Outcome.Success = false }, EpisodePartial, 0.9},
		{"returned nothing", func(r *Run) { r.Outcome.Success, r.Outcome.Returned = false, 0 }, EpisodeFailed, 0.9},
		{"ended by a fault", func(r *Run) { r.Outcome.Success, r.Outcome.Status = false, Faulted }, EpisodeFailed, 0.9},
		{"failed at last", func(r *Run) { r.Iterations[1].Fail(&Error{Class: NoAnswer}); r.Iterations[1].Evaluation = nil }, EpisodeSuccess, 0},
		{"cut at last", func(r *Run) {
			r.Iterations[1].Cut, r.Iterations[1].Evaluation = "timeout", nil
			r.Iterations[0].Evaluation.Confidence = 0.3
		}, EpisodeSuccess, 0.3},
		{"never evaluated", func(r *Run) { r.Iterations[0].Evaluation, r.Iterations[1].Evaluation = nil, nil }, EpisodeSuccess, 0},
	} {
		run := sampleRun(1, 2)
		c.change(run)
		e := EndEvents(run)[1]
		if e.Type != EpisodeRecorded || e.Outcome != c.want || *e.Confidence != c.least || e.Action != "default" {
			t.Errorf("%s: %+v, confidence %v", c.name, e, *e.Confidence)
		}
		if want := "task task-1, trial 1: 2 iterations, ended by confidence"; e.Description != want {
			t.Errorf("%s: %q", c.name, e.Description)
		}
	}
}

func TestS3_2_PayloadsOfGuardsHoldWhatWasUsedAndTheLimit(t *testing.T) {
	for _, c := range []struct {
		reason      Reason
		used, limit float64
		want        string
	}{
		{ReasonBudgetTokens, 3000000, 2500000, `{"error":"3000000 of 2500000 tokens used","used":3000000,"limit":2500000}`},
		{ReasonBudgetCalls, 5, 5, `{"error":"5 of 5 calls made","used":5,"limit":5}`},
		{ReasonBudgetCost, 0.03125, 0.03, `{"error":"$0.03125 of $0.03 spent","used":0.03125,"limit":0.03}`},
		{ReasonBudgetTokens, 180, 250, `{"error":"180 of 250 tokens used, no room for another call","used":180,"limit":250}`},
		{ReasonStagnation, 2, 2, `{"error":"the same tool calls again and again (2 times)","used":2,"limit":2,"stagnation":true}`},
		{ReasonRepeatedOutput, 2, 2, `{"error":"the output of an earlier iteration again","used":2,"limit":2}`},
		{ReasonDegradation, 3, 3, `{"error":"the confidence fell from iteration to iteration (3 times)","used":3,"limit":3}`},
		{ReasonRepeated, 4, 4, `{"error":"the same value again and again (4 times)","used":4,"limit":4}`},
		{ReasonConsecutive, 3, 3, `{"error":"the expression was true in a row (3 times)","used":3,"limit":3}`},
		{ReasonAbsolute, 10, 10, `{"error":"reached the maximum of iterations (10)","used":10,"limit":10}`},
	} {
		run := sampleRun(1, int(min(c.used, 10)))
		run.Outcome = Outcome{Status: Completed, Reason: c.reason, Class: ByGuard, Used: c.used, Limit: c.limit}
		if got, err := json.Marshal(EndEvents(run)[2].Payload); err != nil || string(got) != c.want {
			t.Errorf("%s: payload %s (%v)\nwant %s", c.reason, got, err, c.want)
		}
	}
}

func TestS3_1_S3_6_EveryWayOutEndsTheAgent(t *testing.T) {
	failure := &Error{Class: Server, Message: "500"}
	for _, c := range []struct {
		reason  Reason
		class   Class
		failure *Error
		payload string
	}{
		{ReasonConfidence, ByCondition, nil, ""},
		{ReasonPassed, ByCondition, nil, ""},
		{ReasonWhen("done"), ByCondition, nil, ""},
		{ReasonFinalResponse, ByAgent, nil, ""},
		{ReasonAgentEnded, ByAgent, nil, ""},
		{ReasonMaxIterations, ByCondition, nil, `{"error":"reached the maximum of iterations (3)","used":3,"limit":3}`},
		{ReasonAbsolute, ByGuard, nil, `{"error":"reached the maximum of iterations (3)","used":3,"limit":3}`},
		{ReasonDegradation, ByGuard, nil, `{"error":"the confidence fell from iteration to iteration"}`},
		{ReasonBudgetTokens, ByGuard, nil, `{"error":"stopped by budget_tokens"}`},
		{ReasonCircuitBreaker, ByGuard, failure, `{"error":"server: 500"}`},
		{ReasonSuiteBudget, ByBudget, nil, `{"error":"stopped by suite_budget"}`},
		{ReasonCancelled, ByBudget, nil, `{"error":"stopped by cancelled"}`},
		{ReasonError, ByFault, failure, `{"error":"server: 500"}`},
	} {
		run := sampleRun(1, 3)
		run.Outcome.Reason, run.Outcome.Class, run.Outcome.Error = c.reason, c.class, c.failure
		e := EndEvents(run)[2]
		if e.Type != AgentEnded || e.Reason != c.reason || e.Class != c.class || !*e.Success || len(e.Output) == 0 {
			t.Errorf("%s: %+v", c.reason, e)
		}
		if payload, err := json.Marshal(e.Payload); err != nil || string(payload) != cmp.Or(c.payload, "null") {
			t.Errorf("%s: payload %s instead of %s, %v", c.reason, payload, c.payload, err)
		}
	}
	before := &Run{ID: "default/task-1/1", Outcome: Outcome{Status: Completed, Reason: ReasonAgentEnded, Class: ByAgent}}
	if got := names(slices.Collect(Events(before))); got != "run_started, turn_completed, episode, agent_ended" {
		t.Errorf("a run without iterations: %s", got)
	}
}
