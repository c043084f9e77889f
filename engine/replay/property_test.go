package replay

import (
	"context"
	"errors"
	"flag"
	"os"
	"reflect"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"pgregory.net/rapid"
)

// check tries a property on as many cases as AGENTBENCH_REPLAY_CASES says, by
// default 10,000.
func check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	cases := "10000"
	if testing.Short() || raceEnabled {
		cases = "500"
	}
	if more := os.Getenv("AGENTBENCH_REPLAY_CASES"); more != "" {
		cases = more
	}
	for name, value := range map[string]string{"rapid.checks": cases, "rapid.nofailfile": "true"} {
		before := flag.Lookup(name).Value.String()
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
		defer flag.Set(name, before)
	}
	rapid.Check(t, property)
}

// disagree says in what an exact result is not what happened.
func disagree(r *Result, live *record.Run) error {
	switch {
	case !reflect.DeepEqual(r.Outcome, live.Outcome):
		return errors.New("the outcome")
	case r.Iterations != len(live.Iterations):
		return errors.New("the iterations")
	case r.Usage.Most != live.Usage || r.Judging.Most != live.Judging:
		return errors.New("the usage")
	case r.Elapsed != live.Elapsed:
		return errors.New("the time")
	case lastCut(live) != "timeout" && !(r.Usage.Point() && r.Judging.Point()):
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

func told(r *record.Run) string {
	text := string(r.Outcome.Reason)
	for i := range r.Iterations {
		it := &r.Iterations[i]
		text += "\n  " + string(it.Output) + " " + it.Phase + it.Strategy + " cut:" + it.Cut + " " + it.Start.String() + "-" + it.End.String()
		if it.Error != nil {
			text += " " + it.Error.Error()
		}
	}
	return text
}

// The heart of it: a run recorded under the widest limits tells exactly what a
// live run under tighter ones does, with requests rendered again or compared as
// declared.
func TestTheWidestRecordingAnswersForTighterLimits(t *testing.T) {
	verdicts := map[Verdict]int{}
	check(t, func(t *rapid.T) {
		w, tight := drawWorld(t), drawLoop(t, false)
		wide := widest(tight)
		recorded, live := w.run(wide), w.run(tight)
		replay := New(wide, tight, Options{Renderer: w.live(tight)})
		r := replay.Run(context.Background(), recorded, task)
		hold(t, "rendered", r, live, recorded)
		verdicts[r.Verdict]++
		if r.Verdict != Exact {
			t.Fatalf("%s at %d: %s\nlive %+v after %d\nrecord %s", r.Verdict, r.At, r.Why, live.Outcome, len(live.Iterations), told(recorded))
		}
		r = New(wide, tight, Options{}).Run(context.Background(), recorded, task)
		hold(t, "declared", r, live, recorded)
		if r.Verdict != Exact {
			t.Fatalf("declared: %s at %d: %s", r.Verdict, r.At, r.Why)
		}
	})
	t.Logf("verdicts %v", verdicts)
}

// One recorded under any limits is right wherever it says that it is exact, also
// for agents that are told their limits.
func TestExactIsNeverWrong(t *testing.T) {
	verdicts := map[Verdict]int{}
	check(t, func(t *rapid.T) {
		w, one := drawWorld(t), drawLoop(t, true)
		other := changed(t, one)
		recorded, live := w.run(one), w.run(other)
		for how, o := range map[string]Options{"rendered": {Renderer: w.live(other)}, "declared": {}} {
			r := New(one, other, o).Run(context.Background(), recorded, task)
			hold(t, how, r, live, recorded)
			verdicts[r.Verdict]++
		}
	})
	t.Logf("verdicts %v", verdicts)
}

// changed is a loop that differs from another one in some respects.
func changed(t *rapid.T, l *spec.Loop) *spec.Loop {
	other := *l
	if often(t, "limits", 70) {
		drawLimits(t, &other)
	}
	if often(t, "stages", 30) {
		other.Phases, other.Strategies = nil, nil
		drawStages(t, &other, append(append([]string{}, blind...), telling...))
		if e := other.Evaluate; e != nil && e.FromPhase != "" {
			with := *e
			with.FromPhase = ""
			other.Evaluate = &with
		}
	}
	if often(t, "evaluate", 15) {
		drawEvaluate(t, &other)
	}
	if often(t, "agent", 10) {
		agent := *l.Agent
		agent.Timeout, agent.FinalResponse = l.Agent.Timeout*2, nil
		other.Agent = &agent
	}
	if often(t, "param", 30) {
		other.Param = l.Param
	}
	return &other
}

// A run replayed under its own configuration is itself.
func TestARunIsItself(t *testing.T) {
	check(t, func(t *rapid.T) {
		w, l := drawWorld(t), drawLoop(t, true)
		recorded := w.run(l)
		for how, o := range map[string]Options{"rendered": {Renderer: w.live(l)}, "declared": {}} {
			r := New(l, l, o).Run(context.Background(), recorded, task)
			hold(t, how, r, recorded, recorded)
			if r.Verdict != Exact || !r.Total().Point() {
				t.Fatalf("%s: %+v of %s", how, r, told(recorded))
			}
		}
	})
}
