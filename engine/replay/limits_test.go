package replay

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
	"pgregory.net/rapid"
)

// drawStopping draws limits that only decide after an iteration.
func drawStopping(t *rapid.T, l *spec.Loop) *spec.Loop {
	other := *l
	drawLimits(t, &other)
	other.OnError, other.Param = l.OnError, l.Param
	var plain func(conditions []spec.Condition)
	plain = func(conditions []spec.Condition) {
		for i := range conditions {
			c := &conditions[i]
			if c.Kind == spec.KindTimeout {
				never := false
				c.Timeout.Cancel = &never
			}
			if c.Kind == spec.KindWhen && (strings.Contains(c.When.Text, "param") || strings.Contains(c.When.Text, "since")) {
				c.Off = true
			}
			plain(c.Nested)
		}
	}
	plain(other.Terminate.Any)
	if b := other.Guards.Budget; b != nil {
		b.Hard = false
	}
	afterIterations(&other)
	return &other
}

// afterIterations takes out the guards that look at steps.
func afterIterations(l *spec.Loop) {
	if !l.Converses(l.Agent) {
		return
	}
	g := &l.Guards
	g.CircuitBreaker = nil
	if g.Stagnation != nil && g.Stagnation.Scope == spec.ScopeStep {
		g.Stagnation = nil
	}
	g.Repeated = slices.DeleteFunc(g.Repeated, func(r spec.NamedRepeated) bool { return r.Scope == spec.ScopeStep })
	g.Consecutive = slices.DeleteFunc(g.Consecutive, func(c spec.NamedConsecutive) bool { return c.Scope == spec.ScopeStep })
}

// end is how a run ends under a configuration by the reference: after so many iterations, 0 if it is not known after how many, or by itself; and
// whether an expression failed.
func end(t fataler, base, target *spec.Loop, run Recorded) (r Result, iterations int, failed bool) {
	r = New(base, target, Options{}).Run(context.Background(), run.Run, run.Task)
	itself := New(base, Endless(base), Options{}).Run(context.Background(), run.Run, run.Task)
	if r.Verdict != Exact {
		return r, 0, false
	}
	return r, r.Iterations, r.Iterations > 0 && failure(&r, &itself, run.Run)
}

// failure says that an expression of a condition could not be evaluated: the run
// ends with a fault where it does not end by itself.
func failure(r, endless *Result, run *record.Run) bool {
	return r.Verdict == Exact && r.Outcome.Status == record.Faulted && (run.Iterations[r.Iterations-1].Error == nil || endless.Outcome.Reason != record.ReasonError || endless.Iterations > r.Iterations)
}

// along fails where a walk along paths is not the replay.
func along(t fataler, base, target *spec.Loop, runs []Recorded) {
	stops, whole := NewStops(target), New(base, target, Options{})
	endless := New(base, Endless(base), Options{})
	for i := range runs {
		path := pathUnder(endless, target, runs[i])
		got, want := stops.Along(&path), whole.Run(context.Background(), runs[i].Run, runs[i].Task)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("along %+v\nwhole %+v", got, want)
		}
	}
}

// pathUnder is the path that the hard budget of a loop makes of the one that has room for everything.
func pathUnder(endless *Replay, target *spec.Loop, run Recorded) Path {
	path := endless.Path(context.Background(), nil, run.Run, run.Task)
	if b := target.Guards.Budget; b != nil && b.Hard {
		if refusal := Refused(path.Reserved, new(stop.LimitsOf(b))); refusal.Limit != "" {
			path = endless.PathTo(context.Background(), nil, run.Run, run.Task, refusal)
		}
	}
	return path
}

// courses are runs that were recorded under a loop under all limits.
func courses(limits *Limits, l *spec.Loop, runs []Recorded) []Course {
	replay, watcher := New(l, Endless(l), Options{}), limits.Watcher()
	all := make([]Course, len(runs))
	for i := range runs {
		all[i] = watcher.Course(new(replay.Path(context.Background(), nil, runs[i].Run, runs[i].Task)))
	}
	return all
}

func drawRuns(t *rapid.T, l *spec.Loop) []Recorded {
	w := drawWorld(t)
	var runs []Recorded
	for range number(t, "runs", 1, 8) {
		w.seed++
		runs = append(runs, Recorded{Run: w.run(l), Task: task})
	}
	return runs
}

// Masks stop every run where the reference does, with the same result but for why it stops, and the loop believes in as many.
func TestMasksAreTheReference(t *testing.T) {
	stopped, failures, own := 0, 0, 0
	propertytest.CheckCases(t, 60, func(t *rapid.T) {
		l := drawLoop(t, false)
		base := widest(l)
		base.OnError, base.Guards = l.OnError, spec.Guards{AbsoluteMaxIterations: off[int]()}
		runs := drawRuns(t, base)
		limits := NewLimits(base)
		var loops []*spec.Loop
		var configurations []stop.Configuration
		for range 12 {
			target := drawStopping(t, base)
			if why := limits.Serves(target); why != "" && !strings.Contains(why, "since_improvement") {
				t.Fatalf("the limits do not serve %+v: %s", target.Terminate, why)
			}
			c, err := limits.Configuration(target)
			spectest.Must(t, err)
			loops, configurations = append(loops, target), append(configurations, c)
		}
		all := courses(limits, base, runs)
		for i := range configurations {
			along(t, base, loops[i], runs)
			for run := range runs {
				course := &all[run]
				n, fails := course.Stop(&configurations[i])
				got := course.Result(n, fails)
				want, iterations, failed := end(t, base, loops[i], runs[run])
				believed := !fails && course.Believed[n] >= configurations[i].Threshold
				if iterations != got.Iterations && want.Verdict == Exact || (fails || got.Excluded() && want.Verdict == Exact) != (failed || want.Excluded() && want.Verdict == Exact) || believed != want.Outcome.Success {
					t.Fatalf("run %d stops after %d (%v), believed %v, want %d (%v), %v\n%+v %+v", run, n, fails, believed, iterations, failed, want.Outcome.Success, loops[i].Terminate, loops[i].Guards)
				}
				if want.Outcome = (record.Outcome{Status: want.Outcome.Status, Returned: want.Outcome.Returned}); !want.Excluded() && want.Verdict == Exact {
					got.Outcome = record.Outcome{Status: got.Outcome.Status, Returned: got.Outcome.Returned}
				} else {
					got.Outcome = want.Outcome
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("run %d: %+v, want %+v", run, got, want)
				}
				switch {
				case fails:
					failures++
				case n == 0:
					own++
				default:
					stopped++
				}
			}
		}
	})
	if stopped == 0 || failures == 0 || own == 0 {
		t.Errorf("%d runs stopped, %d failed, %d came to their own end: the property says little", stopped, failures, own)
	}
}

func TestWhatIsReplayedByItself(t *testing.T) {
	limits := NewLimits(spectest.Loop(t, plainLoop))
	for text, why := range map[string]string{
		plainLoop + "guards: {budget: {calls: 3, hard: true}}":                               "hard budgets limit different amounts",
		plainLoop + "terminate: {when: since_improvement > 2}":                               "since_improvement",
		plainLoop + "terminate: {when: iteration > param.max_iterations}\nmax_iterations: 3": "param",
	} {
		var general *GeneralError
		if _, err := limits.Configuration(spectest.Loop(t, text)); !errors.As(err, &general) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %s", text, err, why)
		}
	}
}

// Where the end of a phase cannot be evaluated the run ends with a fault, unless a
// condition holds, which comes before.
func TestTheEndOfAPhaseMayFail(t *testing.T) {
	const phases = "agent: {model: m, reply: json}\nevaluate: {confidence: '0.5'}\nphases:\n- {name: a, prompt: p, until: 'output.c > 0.5'}\n- {name: b, prompt: p}\n"
	run := recordedRun(record.ReasonError, 0.9)
	run.Iterations[0].Phase = "a" // its output is a text, without c
	l := spectest.Loop(t, phases+"terminate: {confidence: off}\n")
	limits := NewLimits(l)
	for _, c := range []struct {
		terminate string
		fails     bool
	}{{"{confidence: off}", true}, {"{confidence: {threshold: 0.8}}", false}, {"{confidence: {threshold: 0.95}}", true}} {
		target := spectest.Loop(t, phases+"terminate: "+c.terminate+"\n")
		configuration, err := limits.Configuration(target)
		spectest.Must(t, err)
		runs := []Recorded{{Run: run, Task: task}}
		along(t, l, target, runs)
		course := courses(limits, l, runs)[0]
		if n, fails := course.Stop(&configuration); n != 1 || fails != c.fails {
			t.Errorf("%s: %d, %v", c.terminate, n, fails)
		}
	}
}
