package replay

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
	"pgregory.net/rapid"
)

// check tries a property on 2,000 cases, and on fewer where these take long.
func check(t *testing.T, property func(*rapid.T), seeds ...uint64) {
	t.Helper()
	cases := 2_000
	if testing.Short() { // as under the race detector
		cases = 500
	}
	propertytest.CheckCases(t, cases, property, seeds...)
}

// disagree says in what an exact result is not what happened.
func disagree(r *Result, live *record.Run) error {
	switch {
	case !reflect.DeepEqual(r.Outcome, live.Outcome):
		return errors.New("the outcome")
	case r.Iterations != len(live.Iterations):
		return errors.New("the iterations")
	case r.Usage.Most != live.Usage || r.Judging.Most != live.Judging || r.User.Most != live.User:
		return errors.New("the usage")
	case r.Elapsed != live.Elapsed:
		return errors.New("the time")
	case lastCut(live) != "timeout" && !r.Total().Point():
		return errors.New("the span, which is no point")
	}
	return nil
}

// lastCut is what cut the last iteration.
func lastCut(r *record.Run) string {
	if n := len(r.Iterations); n > 0 {
		return r.Iterations[n-1].Cut
	}
	return ""
}

type fataler interface {
	Fatalf(format string, args ...any)
}

// hold fails unless a replay is right where it says that it is exact.
func hold(t fataler, how string, r Result, live, recorded *record.Run) {
	if r.Verdict != Exact {
		return
	}
	if err := disagree(&r, live); err != nil {
		t.Fatalf("%s: %v differs\nreplay %+v, %d iterations, %+v %+v in %v\nlive   %+v, %d iterations, %+v %+v in %v\nrecord %s", how, err,
			r.Outcome, r.Iterations, r.Usage, r.Judging, r.Elapsed,
			live.Outcome, len(live.Iterations), live.Usage, live.Judging, live.Elapsed, told(recorded))
	}
}

// tellsEnd reports whether the end of the run is known: where it comes as far as the fault that ended the recording, the
// live one has that fault.
func tellsEnd(r *Result, live *record.Run) bool {
	return r.Verdict == Exact || r.Excluded() && live.Outcome.Status == record.Faulted
}

// refusedToDelegate says that a hard budget has no room for a delegate: what would
// become of its task is not recorded.
func refusedToDelegate(r *Result) bool { return strings.Contains(r.Why, "a call of a delegate") }

func told(r *record.Run) string {
	text := string(r.Outcome.Reason)
	for i := range r.Iterations {
		it := &r.Iterations[i]
		text += "\n  " + string(it.Output) + " " + it.Phase + it.Strategy + " cut:" + it.Cut + " " + it.Start.String() + "-" + it.End.String()
		if it.Error != nil {
			text += " " + it.Error.Error()
		}
		for _, stretch := range stop.Timeline(it) {
			text += fmt.Sprintf("\n    stretch %+v", stretch)
		}
		for _, call := range it.ToolCalls {
			text += fmt.Sprintf("\n    %s %s at %v for %v: %s %v", call.Tool, call.Arguments, call.Start, call.Duration, call.Result, call.Error)
		}
		for _, step := range it.Steps {
			text += fmt.Sprintf("\n    step of %d tools: %q, user %q", step.Tools, step.Text, step.User)
		}
	}
	return text
}

// The heart of it: a run recorded under the widest limits tells exactly what a
// live run under tighter ones does, with requests rendered again or compared as
// declared.
func TestTheWidestRecordingAnswersForTighterLimits(t *testing.T) {
	census := newCensus()
	check(t, func(t *rapid.T) {
		w, tight := drawWorld(t), drawLoop(t, false)
		wide := widest(tight)
		recorded, live := w.run(wide), w.run(tight)
		replay := New(wide, tight, Options{Renderer: w.live(tight)})
		r := replay.Run(context.Background(), recorded, task)
		hold(t, "rendered", r, live, recorded)
		census.add(tight, live)
		if refusedToDelegate(&r) {
			return
		}
		if !tellsEnd(&r, live) {
			t.Fatalf("%s at %d: %s\nlive %+v after %d\nrecord %s", r.Verdict, r.At, r.Why, live.Outcome, len(live.Iterations), told(recorded))
		}
		r = New(wide, tight, Options{}).Run(context.Background(), recorded, task)
		hold(t, "declared", r, live, recorded)
		if !tellsEnd(&r, live) {
			t.Fatalf("declared: %s at %d: %s", r.Verdict, r.At, r.Why)
		}
	})
	census.hold(t)
}

// One recorded under any limits is right wherever it says that it is exact, also
// for agents that are told their limits.
func TestExactIsNeverWrong(t *testing.T) {
	verdicts := map[Verdict]int{}
	check(t, func(t *rapid.T) {
		w, one := drawWorld(t), drawLoop(t, true)
		other := changed(t, one)
		recorded, live := w.run(one), w.run(other)
		for how, o := range map[string]Options{
			"rendered": {Renderer: w.live(other)}, "declared": {}, "judged": {Renderer: w.live(other), Judge: w.again(other)}, "judged, declared": {Judge: w.again(other)},
		} {
			r := New(one, other, o).Run(context.Background(), recorded, task)
			hold(t, how, r, live, recorded)
			verdicts[r.Verdict]++
			remembering := New(one, other, o).Remember()
			for _, asked := range []string{"first", "again"} {
				if again := remembering.Run(context.Background(), recorded, task); !reflect.DeepEqual(again, r) {
					t.Fatalf("%s: a remembering replay, asked %s: %+v instead of %+v", how, asked, again, r)
				}
			}
		}
	}, otherChecksToFix)
	t.Logf("verdicts %v", verdicts)
}

// changed is a loop that differs from another one in some respects.
func changed(t *rapid.T, l *spec.Loop) *spec.Loop {
	other := *l
	if often(t, "limits", 70) {
		drawLimits(t, &other)
	}
	if often(t, "stages", 15) {
		other.Phases, other.Strategies = nil, nil
		drawStages(t, &other, append(append([]string{}, blind...), telling...))
		if e := other.Evaluate; e != nil && e.FromPhase != "" {
			with := *e
			with.FromPhase = ""
			other.Evaluate = &with
		}
	}
	if often(t, "evaluate", 15) {
		drawEvaluate(t, &other, true)
	}
	if e := other.Evaluate; e != nil && len(other.Phases) > 1 && often(t, "from", 30) {
		with := *e
		with.FromPhase = draw(t, "from", "", other.Phases[1].Name)
		other.Evaluate = &with
	}
	if len(other.Strategies) == 0 && other.Evaluate != nil && often(t, "pattern", 10) {
		other.Pattern = draw(t, "pattern", spec.PatternNone, spec.PatternConfidence, spec.PatternImprovement, spec.PatternChecklist)
	}
	if other.Pattern == spec.PatternNone && often(t, "nothing", 10) {
		other.Evaluate = nil
	}
	if often(t, "agent", 10) {
		agent := *l.Agent
		agent.Timeout, agent.FinalResponse = l.Agent.Timeout*2, nil
		other.Agent = &agent
	}
	if l.Converses(l.Agent) && often(t, "talk", 40) {
		changeTalk(t, &other)
	}
	for i := range other.Phases {
		if often(t, "no prompt", 20) && i < len(l.Phases) { // another phase that sends the same
			other.Phases = slices.Clone(other.Phases)
			other.Phases[i].MaxIterations, other.Phases[i].Prompt = number(t, "limit", 0, 3), l.Phases[0].Prompt
		}
	}
	if often(t, "param", 30) {
		other.Param = l.Param
	}
	return &other
}

// What passes may be declared otherwise, and weights: recorded outputs are judged
// again.
func TestRecordedOutputsAreJudgedAgain(t *testing.T) {
	rejudged := 0
	check(t, func(t *rapid.T) {
		w, tight := drawWorld(t), drawLoop(t, false)
		tight.Prompt = prompt("hello")
		for i := range tight.Phases {
			tight.Phases[i].Prompt, tight.Phases[i].Until = nil, nil
		}
		for i := range tight.Strategies {
			tight.Strategies[i].Prompt = nil
		}
		if tight.Evaluate == nil || tight.Evaluate.Judge != nil {
			tight.Evaluate = &spec.Evaluate{Confidence: cel("double(output.c)", expr.WantNumber), Passed: cel("previous != null && output.c > 0.5", expr.WantBool)}
		}
		wide := widest(tight)
		with := *tight.Evaluate
		with.Passed, with.Feedback = cel("false", expr.WantBool), cel("'none'", expr.WantString)
		wide.Evaluate = &with
		recorded, live := w.run(wide), w.run(tight)
		for how, o := range map[string]Options{"rendered": {Renderer: w.live(tight), Judge: w.again(tight)}, "declared": {Judge: w.again(tight)}} {
			r := New(wide, tight, o).Run(context.Background(), recorded, task)
			hold(t, how, r, live, recorded)
			if !tellsEnd(&r, live) && !refusedToDelegate(&r) {
				t.Fatalf("%s: %s at %d: %s", how, r.Verdict, r.At, r.Why)
			}
		}
		if live.Outcome.Reason != recorded.Outcome.Reason {
			rejudged++
		}
	})
	if rejudged == 0 {
		t.Error("no run ended otherwise than its recording: the property says little")
	}
}

// A run replayed under its own configuration is itself.
func TestARunIsItself(t *testing.T) {
	check(t, func(t *rapid.T) {
		w, l := drawWorld(t), drawLoop(t, true)
		recorded := w.run(l)
		for how, o := range map[string]Options{"rendered": {Renderer: w.live(l)}, "declared": {}} {
			r := New(l, l, o).Run(context.Background(), recorded, task)
			hold(t, how, r, recorded, recorded)
			if !tellsEnd(&r, recorded) || !r.Total().Point() || r.Changed != 0 {
				t.Fatalf("%s: %+v of %s", how, r, told(recorded))
			}
		}
	}, cutBetweenTools...)
}

// otherChecksToFix is a prompt that reads failing, of which evaluate.fix decides how
// many it lists.
const otherChecksToFix = 18279899904887536885

// cutBetweenTools are runs that a timeout on working time cuts while a step uses
// several tools: one of them ends, or waited, at that very moment.
var cutBetweenTools = []uint64{4750834461095976530, 11263856579124115569}

// The run as the configuration would have left it behind is the one that it
// leaves behind.
func TestAsIfIsTheLiveRun(t *testing.T) {
	propertytest.CheckCases(t, 1000, func(t *rapid.T) {
		w, tight := drawWorld(t), drawLoop(t, false)
		wide := widest(tight)
		recorded, live := w.run(wide), w.run(tight)
		r, got := New(wide, tight, Options{Renderer: w.live(tight)}).AsIf(context.Background(), recorded, task)
		hold(t, "as if", r, live, recorded)
		if (got != nil) != (r.Verdict == Exact) {
			t.Fatalf("%s and %v", r.Verdict, got)
		}
		if got == nil {
			return
		}
		if !alikeButForTheLoop(got, live) {
			t.Fatalf("as if %+v\nlive  %+v", got.Light(), live.Light())
		}
	})
}

// alikeButForTheLoop reports whether two runs leave the same, but for texts.
func alikeButForTheLoop(one, other *record.Run) bool {
	a, b := one.WithoutVolatile().Light(), other.WithoutVolatile().Light()
	a.Loop, a.Next, b.Loop, b.Next = "", nil, "", nil
	return reflect.DeepEqual(a, b)
}

// An agent that may make fewer steps reaches its maximum where the recorded one went
// on: with what it then says in place of an answer the iteration is known, and so is
// the run where it ends with that.
func TestFewerStepsAreExactWhereTheyAreUsedUp(t *testing.T) {
	usedUp := 0
	propertytest.CheckCases(t, 1500, func(t *rapid.T) {
		w, tight := drawWorld(t), drawLoop(t, false)
		if !tight.Converses(tight.Agent) {
			drawTalk(t, tight, false)
		}
		tight.User = nil
		tight.Guards.AbsoluteMaxIterations = set(number(t, "iterations", 1, 2))
		wide := widest(tight)
		agent := *tight.Agent
		agent.MaxSteps = tight.Agent.MaxSteps + number(t, "more", 1, 4)
		wide.Agent = &agent
		recorded, live := w.run(wide), w.run(tight)
		o := Options{Renderer: w.live(tight), Judge: w.again(tight)}
		r, got := New(wide, tight, o).AsIf(context.Background(), recorded, task)
		hold(t, "rendered", r, live, recorded)
		if got != nil && !alikeButForTheLoop(got, live) {
			t.Fatalf("as if %+v\nlive  %+v", got.Light(), live.Light())
		}
		reaches := len(live.Iterations) == 1 && live.Next == nil && strings.HasPrefix(string(live.Iterations[0].Output), `"Reached maximum reasoning steps`)
		if !reaches || refusedToDelegate(&r) || asksToJudge(tight) && live.Iterations[0].Evaluation != nil && live.Iterations[0].Evaluation.Fault == "" {
			return
		}
		if usedUp++; r.Verdict != Exact {
			t.Fatalf("%s at %d: %s\nlive %+v\nrecord %s", r.Verdict, r.At, r.Why, live.Outcome, told(recorded))
		}
	})
	if usedUp == 0 {
		t.Error("no agent used up its steps: the property says little")
	}
	t.Logf("%d runs use up their steps", usedUp)
}

func asksToJudge(l *spec.Loop) bool { return l.Evaluate != nil && l.Evaluate.Judge != nil }

// A recording that ends in a fault of the infrastructure tells what a live run does that stops before it, and is in no
// number where the run comes so far.
func TestARunWithAFaultAnswersForWhatStopsBefore(t *testing.T) {
	before, after := 0, 0
	check(t, func(t *rapid.T) {
		w, tight := drawWorld(t), drawLoop(t, false)
		tight.OnError = nil
		wide := widest(tight)
		recorded, live := w.run(wide), w.run(tight)
		if len(recorded.Iterations) == 0 {
			return
		}
		at := number(t, "fault", 1, len(recorded.Iterations))
		broken := *recorded
		broken.Iterations, broken.Next = slices.Clone(recorded.Iterations[:at]), nil
		last := &broken.Iterations[at-1]
		last.Evaluation, last.Ended, last.Cut = nil, nil, ""
		last.Fail(record.Errorf(record.Network, "the server is gone"))
		broken.Outcome = record.Outcome{Status: record.Faulted, Reason: record.ReasonError, Class: record.ByFault, Fired: string(record.Network), Error: last.Error}
		r := New(wide, tight, Options{}).Run(context.Background(), &broken, task)
		switch {
		case refusedToDelegate(&r):
		case len(live.Iterations) < at && live.Outcome.Counts():
			before++
			if hold(t, "before the fault", r, live, &broken); r.Verdict != Exact {
				t.Fatalf("%s at %d: %s", r.Verdict, r.At, r.Why)
			}
		case r.Verdict == Censored:
			after++
			if !r.Excluded() || r.Label() != Bounded {
				t.Fatalf("not excluded: %+v", r)
			}
		}
	})
	if before == 0 || after == 0 {
		t.Errorf("%d before the fault, %d after it", before, after)
	}
}
