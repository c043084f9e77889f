package replay

import (
	"context"
	"errors"
	"maps"
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

// slowly is a count by the reference.
func slowly(base, target *spec.Loop, runs []Recorded, what Counting) (count Count, reasons map[Reason]int) {
	count, reasons = Count{Sums: make([]int64, len(what.Quantities))}, map[Reason]int{}
	replay, endless := New(base, target, Options{}), New(base, Endless(base), Options{})
	for i := range runs {
		r := replay.Run(context.Background(), runs[i].Run, runs[i].Task)
		itself := endless.Run(context.Background(), runs[i].Run, runs[i].Task)
		count.Iterations += int64(r.Iterations)
		if r.Verdict == Exact {
			count.Stops++
			if failure(&r, &itself, runs[i].Run) {
				count.Failures++
			}
			if r.Outcome.Success {
				count.Successes++
			}
			reasons[Reason{r.Outcome.Reason, r.Outcome.Status}]++
		}
		for q := range what.Quantities {
			if what.Quantities[q].Stopped != nil && r.Verdict == Exact && r.Iterations > 0 && !failure(&r, &itself, runs[i].Run) {
				count.Sums[q] += what.Quantities[q].Stopped(i, r.Iterations, r.Outcome.Returned)
			}
			for n := range r.Iterations {
				if what.Quantities[q].Made != nil {
					count.Sums[q] += what.Quantities[q].Made(i, n)
				}
			}
		}
	}
	return count, reasons
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
		path := endless.Path(context.Background(), runs[i].Run, runs[i].Task)
		got, want := stops.Along(&path), whole.Run(context.Background(), runs[i].Run, runs[i].Task)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("along %+v\nwhole %+v", got, want)
		}
	}
}

// traces are those of runs recorded under a loop.
func traces(p *Points, l *spec.Loop, runs []Recorded) []*Trace {
	replay, tracer := New(l, Endless(l), Options{}), p.Tracer()
	all := make([]*Trace, len(runs))
	for i := range runs {
		path := replay.Path(context.Background(), runs[i].Run, runs[i].Task)
		trace := tracer.Trace(&path)
		all[i] = &trace
	}
	return all
}

// byReason are the stops of a configuration by reason.
func byReason(counted *Counted, configuration int) map[Reason]int {
	reasons := map[Reason]int{}
	for i, n := range counted.Counts[configuration].Reasons {
		if n > 0 {
			reasons[counted.Reasons[i]] = int(n)
		}
	}
	return reasons
}

// quantities are a score of 0 or 1, money, and what a returned iteration weighs.
func quantities(runs []Recorded) []Quantity {
	return []Quantity{
		{Stopped: func(run, made, returned int) int64 { return int64(run+returned) % 2 }},
		{Stopped: func(run, made, returned int) int64 { return int64(run*31 + returned*1000) }},
		{Made: func(run, n int) int64 {
			agent, judging := runs[run].Run.Iterations[n].Spent()
			return int64(agent.Plus(judging).Cost)
		}},
	}
}

func drawRuns(t *rapid.T, l *spec.Loop) []Recorded {
	w := drawWorld(t)
	var runs []Recorded
	for range draw(t, "runs", 1, 2, 63, 64, 65, 150) {
		w.seed++
		runs = append(runs, Recorded{w.run(l), task})
	}
	return runs
}

// The fast path counts what the reference counts: stops, iterations, money, and
// the reason of every stop.
func TestTheFastPathIsTheReference(t *testing.T) {
	counted := 0
	propertytest.CheckCases(t, 60, func(t *rapid.T) {
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
		what := Counting{Quantities: quantities(runs), Reasons: true, Successes: true}
		table := points.Table(traces(points, base, runs))
		counts := table.Count(configurations, what)
		quick := table.Count(configurations, Counting{Quantities: what.Quantities[:1]})
		for i, got := range counts.Counts {
			want, reasons := slowly(base, loops[i], runs, what)
			counted += want.Stops
			along(t, base, loops[i], runs)
			if got.Successes != want.Successes || got.Failures != want.Failures {
				t.Fatalf("counted %+v, want %+v of %v", got, want, reasons)
			}
			if got.Stops != want.Stops || got.Iterations != want.Iterations || !maps.Equal(byReason(&counts, i), reasons) {
				t.Fatalf("counted %+v, want %+v\n%+v", got, want, loops[i].Terminate)
			}
			if q := quick.Counts[i]; q.Stops != want.Stops || q.Iterations != want.Iterations || q.Sums[0] != want.Sums[0] {
				t.Fatalf("quickly counted %+v, want %+v", q, want)
			}
			for q := range want.Sums {
				if got.Sums[q] != want.Sums[q] {
					t.Fatalf("quantity %d is %d, want %d", q, got.Sums[q], want.Sums[q])
				}
			}
		}
	})
	if counted == 0 {
		t.Error("no run ever stopped")
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

// Runs that ended before an iteration count, too.
func TestRunsWithoutIterations(t *testing.T) {
	l := declared(t, plainLoop)
	p := NewPoints(l)
	c, _ := p.Configuration(l)
	runs := []Recorded{{recordedRun(record.ReasonAgentEnded), task}, {recordedRun(record.ReasonCancelled), task}, {recordedRun(record.ReasonAgentEnded, 0.2), task}}
	counted := p.Table(traces(p, l, runs)).Count([]Configuration{c}, Counting{Reasons: true})
	got := counted.Counts[0]
	if got.Stops != 2 || got.Iterations != 1 || byReason(&counted, 0)[Reason{record.ReasonAgentEnded, record.Completed}] != 2 {
		t.Errorf("%+v", got)
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
		along(t, l, target, []Recorded{{run, task}})
	}
	worth := Quantity{Stopped: func(run, made, returned int) int64 { return int64(made) }}
	counted := p.Table(traces(p, l, []Recorded{{run, task}})).Count(configurations, Counting{Quantities: []Quantity{worth}, Reasons: true, Successes: true})
	for i, want := range []struct {
		failures, successes, worth int
		reason                     Reason
	}{
		{1, 0, 0, Reason{record.ReasonError, record.Faulted}},
		{0, 1, 1, Reason{record.ReasonConfidence, record.Completed}},
		{1, 0, 0, Reason{record.ReasonError, record.Faulted}},
	} {
		got := counted.Counts[i]
		if got.Stops != 1 || got.Failures != want.failures || got.Successes != want.successes || got.Sums[0] != int64(want.worth) || byReason(&counted, i)[want.reason] != 1 {
			t.Errorf("%d: %+v, %v", i, got, byReason(&counted, i))
		}
	}
	path := New(l, Endless(l), Options{}).Path(context.Background(), run, task)
	if path.Faults() {
		t.Error("a condition may come before the fault")
	}
}

// A timeout that cancels is counted as the condition that it is.
func TestReasonsOfTimeoutsThatCancel(t *testing.T) {
	loop := plainLoop + "terminate: {confidence: {threshold: 0.8}, timeout: 120s}\n"
	l := declared(t, loop)
	p := NewPoints(l)
	c, err := p.Configuration(l)
	if err != nil {
		t.Fatal(err)
	}
	runs := []Recorded{{recordedRun(record.ReasonMaxIterations, 0.2, 0.4, 0.6), task}, {recordedRun(record.ReasonMaxIterations, 0.2, 0.9, 0.4), task}}
	along(t, l, l, runs)
	counted := p.Table(traces(p, l, runs)).Count([]Configuration{c}, Counting{Reasons: true})
	reasons := byReason(&counted, 0)
	if len(reasons) != 2 || reasons[Reason{record.ReasonTimeout, record.Completed}] != 1 || reasons[Reason{record.ReasonConfidence, record.Completed}] != 1 {
		t.Errorf("%v", reasons)
	}
}
