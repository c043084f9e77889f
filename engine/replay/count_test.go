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
	"github.com/agentbench/agentbench/spec"
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

// ends are how runs end under a configuration by the reference, and in how many of them
// the loop believes.
func ends(base, target *spec.Loop, runs []Recorded) (all []End, believed int) {
	replay, endless := New(base, target, Options{}), New(base, Endless(base), Options{})
	for i := range runs {
		r := replay.Run(context.Background(), runs[i].Run, runs[i].Task)
		itself := endless.Run(context.Background(), runs[i].Run, runs[i].Task)
		switch {
		case r.Verdict != Exact || r.Iterations == 0:
			all = append(all, 0)
			continue
		case failure(&r, &itself, runs[i].Run):
			all = append(all, End(-r.Iterations))
		default:
			all = append(all, End(r.Iterations))
		}
		if r.Outcome.Success {
			believed++
		}
	}
	return all, believed
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
		path := endless.Path(context.Background(), nil, runs[i].Run, runs[i].Task)
		got, want := stops.Along(&path), whole.Run(context.Background(), runs[i].Run, runs[i].Task)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("along %+v\nwhole %+v", got, want)
		}
	}
}

// table puts runs that were recorded under a loop into a table.
func table(p *Points, l *spec.Loop, runs []Recorded, part []int) *Table {
	replay, tracer := New(l, Endless(l), Options{}), p.Tracer()
	all := make([]*Trace, len(runs))
	for i := range runs {
		path := replay.Path(context.Background(), nil, runs[i].Run, runs[i].Task)
		trace := tracer.Trace(&path)
		all[i] = &trace
	}
	return tracer.Table(all, part)
}

func drawRuns(t *rapid.T, l *spec.Loop) []Recorded {
	w := drawWorld(t)
	var runs []Recorded
	for range draw(t, "runs", 1, 2, 63, 64, 65, 150) {
		w.seed++
		runs = append(runs, Recorded{Run: w.run(l), Task: task})
	}
	return runs
}

// A cursor ends every run where the reference does, and believes in as many, whatever
// configuration it comes from; runs of no part stay without an end.
func TestTheFastPathIsTheReference(t *testing.T) {
	stopped, failed, moved := 0, 0, 0
	propertytest.CheckCases(t, 30, func(t *rapid.T) {
		l := drawLoop(t, false)
		base := widest(l)
		base.OnError, base.Guards = l.OnError, spec.Guards{AbsoluteMaxIterations: off[int]()}
		runs := drawRuns(t, base)
		points := NewPoints(base)
		var loops []*spec.Loop
		var configurations []Configuration
		for range 12 {
			target := drawStopping(t, base)
			if why := points.Serves(target); why != "" && !strings.Contains(why, "since_improvement") {
				t.Fatalf("the points do not serve %+v: %s", target.Terminate, why)
			}
			c, err := points.Configuration(target)
			if err != nil {
				t.Fatal(err)
			}
			loops, configurations = append(loops, target), append(configurations, c)
		}
		part := rapid.SliceOfN(rapid.IntRange(-1, 2), len(runs), len(runs)).Draw(t, "part")
		all := table(points, base, runs, make([]int, len(runs)))
		some := table(points, base, runs, part)
		whole, parted, believed, byPart := all.Cursor(), some.Cursor(), make([]int, 1), make([]int, 3)
		var alone [3]*Table
		for n := range alone {
			only := make([]int, len(runs))
			for i := range part {
				if only[i] = -1; part[i] == n {
					only[i] = 0
				}
			}
			alone[n] = table(points, base, runs, only)
		}
		kept := make([]End, len(runs))
		for i := range configurations {
			want, believes := ends(base, loops[i], runs)
			along(t, base, loops[i], runs)
			for _, c := range whole.Move(&configurations[i]) {
				if c.Before != kept[c.Run] || c.Before == c.After {
					t.Fatalf("run %d changes from %d to %d, but it is %d", c.Run, c.Before, c.After, kept[c.Run])
				}
				kept[c.Run] = c.After
				moved++
			}
			if whole.Believed(&configurations[i], believed); believed[0] != believes {
				t.Fatalf("%d believed, want %d", believed[0], believes)
			}
			if !slices.Equal(kept, want) || !slices.Equal(whole.Ends(), want) {
				t.Fatalf("%v, want %v\n%+v %+v", kept, want, loops[i].Terminate, loops[i].Guards)
			}
			parted.Move(&configurations[i])
			for run, end := range parted.Ends() {
				if part[run] >= 0 && end != want[run] || part[run] < 0 && end != 0 {
					t.Fatalf("run %d of part %d ends at %d, want %d", run, part[run], end, want[run])
				}
				if end > 0 {
					stopped++
				} else if end < 0 {
					failed++
				}
			}
			parted.Believed(&configurations[i], byPart)
			for n := range alone {
				first := alone[n].Cursor()
				first.Move(&configurations[i])
				if first.Believed(&configurations[i], believed); believed[0] != byPart[n] {
					t.Fatalf("%d of part %d believed, alone %d", byPart[n], n, believed[0])
				}
			}
		}
	})
	if stopped == 0 || failed == 0 || moved == 0 {
		t.Errorf("%d runs stopped, %d failed, %d moved: the property says little", stopped, failed, moved)
	}
}

func TestWhatTheFastPathLeavesToTheReference(t *testing.T) {
	p := NewPoints(declared(t, plainLoop))
	for text, why := range map[string]string{
		plainLoop + "guards: {budget: {calls: 3, hard: true}}":                               "hard",
		plainLoop + "terminate: {when: since_improvement > 2}":                               "since_improvement",
		plainLoop + "terminate: {when: iteration > param.max_iterations}\nmax_iterations: 3": "param",
	} {
		var general *GeneralError
		if _, err := p.Configuration(declared(t, text)); !errors.As(err, &general) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %s", text, err, why)
		}
	}
}

func TestEqualConditionsAreOneNode(t *testing.T) {
	p := NewPoints(declared(t, plainLoop))
	a, _ := p.Configuration(declared(t, plainLoop+"terminate: {all: [{confidence: {threshold: 0.5}}, {when: iteration > 2}]}\nmax_iterations: 3"))
	b, _ := p.Configuration(declared(t, plainLoop+"terminate: {all: [{confidence: {threshold: 0.5}}, {when: iteration > 2}], confidence: off}\nmax_iterations: 4"))
	if len(a.Tree) != 1 || len(b.Tree) != 1 || a.Tree[0] != b.Tree[0] || a.Maxima[0] == b.Maxima[0] || a.Guards[0] != b.Guards[0] {
		t.Errorf("%v and %v", a, b)
	}
	if p.All() != Never || p.Any() != Never || p.Any(a.Tree[0]) != a.Tree[0] {
		t.Error("trees of nothing or of one")
	}
}

// A kind that this package does not know is told apart by whatever fields it has.
func TestConditionsOfANewKindAreNotOneNode(t *testing.T) {
	p, one, other := NewPoints(declared(t, plainLoop)), spec.Condition{Kind: "new"}, spec.Condition{Kind: "new"}
	one.Consecutive.Times.Value, other.Consecutive.Times.Value = 2, 3
	if p.Condition(&one) == p.Condition(&other) {
		t.Error("two conditions that differ in a field are one")
	}
}

// Where the end of a phase cannot be evaluated the run ends with a fault, unless a
// condition holds, which comes before.
func TestTheEndOfAPhaseMayFail(t *testing.T) {
	const phases = "agent: {model: m, reply: json}\nevaluate: {confidence: '0.5'}\nphases:\n- {name: a, prompt: p, until: 'output.c > 0.5'}\n- {name: b, prompt: p}\n"
	run := recordedRun(record.ReasonError, 0.9)
	run.Iterations[0].Phase = "a" // its output is a text, without c
	l := declared(t, phases+"terminate: {confidence: off}\n")
	p := NewPoints(l)
	var configurations []Configuration
	for _, text := range []string{"terminate: {confidence: off}\n", "terminate: {confidence: {threshold: 0.8}}\n", "terminate: {confidence: {threshold: 0.95}}\n"} {
		target := declared(t, phases+text)
		if why := p.Serves(target); why != "" {
			t.Fatal(why)
		}
		c, _ := p.Configuration(target)
		configurations = append(configurations, c)
		along(t, l, target, []Recorded{{Run: run, Task: task}})
	}
	only := table(p, l, []Recorded{{Run: run, Task: task}}, []int{0})
	cursor, believed := only.Cursor(), make([]int, 1)
	for i, want := range []struct {
		end      End
		believed int
	}{{-1, 0}, {1, 1}, {-1, 0}} {
		cursor.Move(&configurations[i])
		if cursor.Believed(&configurations[i], believed); cursor.Ends()[0] != want.end || believed[0] != want.believed {
			t.Errorf("%d: %v, %v", i, cursor.Ends(), believed)
		}
	}
	path := New(l, Endless(l), Options{}).Path(context.Background(), nil, run, task)
	if path.Faults() {
		t.Error("a condition may come before the fault")
	}
}

// A timeout that cancels is the condition that it is.
func TestEndsByTimeoutsThatCancel(t *testing.T) {
	loop := plainLoop + "terminate: {confidence: {threshold: 0.8}, timeout: 120s}\n"
	l := declared(t, loop)
	p := NewPoints(l)
	c, err := p.Configuration(l)
	if err != nil {
		t.Fatal(err)
	}
	runs := []Recorded{{Run: recordedRun(record.ReasonMaxIterations, 0.2, 0.4, 0.6), Task: task}, {Run: recordedRun(record.ReasonMaxIterations, 0.2, 0.9, 0.4), Task: task}}
	along(t, l, l, runs)
	all := table(p, l, runs, []int{0, 0})
	cursor := all.Cursor()
	want, _ := ends(l, l, runs)
	if cursor.Move(&c); !slices.Equal(cursor.Ends(), want) || slices.Contains(want, 0) {
		t.Errorf("%v, want %v", cursor.Ends(), want)
	}
}
