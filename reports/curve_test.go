package reports_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"pgregory.net/rapid"
)

// The best by confidence counts at each iteration, not the last one, and runs
// that stopped keep what they returned.
func TestCurve(t *testing.T) {
	f := one(2)
	a := f.run("a", 1, 0.5, 0.4, 0.9)
	for i, value := range []float64{0, 1, 1} {
		f.scored(a, i+1, value)
	}
	f.scored(a, 0, 1)
	b := f.run("b", 1, 0.9)
	f.scored(b, 0, 1)
	curve := f.collect().Configurations[0].Curve
	for i, want := range []struct{ score, reached, cost, seconds float64 }{
		{0.5, 1, 0.01, 1}, {0.5, 0.5, 0.015, 1.5}, {1, 0.5, 0.02, 2},
	} {
		got := curve[i]
		if got.Score.Number != want.score || got.Reached.Number != want.reached ||
			got.Cost.Number != want.cost || got.Seconds.Number != want.seconds {
			t.Errorf("point %d = %+v, want %+v", i+1, got, want)
		}
	}
	if gain := curve[2].Gain.Number; gain != 0.5 {
		t.Errorf("gain of iteration 3 = %v, want 0.5", gain)
	}
}

func TestCurveLeavesOutRunsWithUnscoredIterations(t *testing.T) {
	f := one(2)
	f.scored(f.run("a", 1, 0.4, 0.9), 0, 1) // its first iteration has no score
	b := f.run("b", 1, 0.4, 0.9)
	f.scored(b, 1, 0)
	f.scored(b, 2, 0)
	f.scored(b, 0, 0)
	c := f.collect().Configurations[0]
	if c.Curve[0].Score.Number != 0 || c.Curve[1].Score.Number != 0 || !hasWarning(c.Warnings, reports.CurveCut) {
		t.Errorf("curve = %+v, warnings %v; want only run b in it", c.Curve, c.Warnings)
	}
}

// The curve of the score takes half of the runs at least: fewer are mostly those that ended early.
func TestCurveOfFewerThanHalfOfTheRuns(t *testing.T) {
	f := one(3)
	for _, task := range []string{"a", "b"} {
		f.scored(f.run(task, 1, 0.4, 0.9), 0, 1) // the first iteration has no score
	}
	f.scored(f.run("c", 1, 0.9), 0, 1)
	c := f.collect().Configurations[0]
	for _, p := range c.Curve {
		if p.Score.Known() || p.Gain.Known() || p.Gain.Range.Known() || !p.Cost.Known() {
			t.Errorf("point %+v; want no score, and a cost", p)
		}
	}
	if at := slices.IndexFunc(c.Warnings, func(w reports.Warning) bool { return w.Kind == reports.CurveCut }); at < 0 || c.Warnings[at].Count != 2 || c.Warnings[at].Of != 3 {
		t.Errorf("warnings %v", c.Warnings)
	}
}

func TestCurveOfRunsWithoutAnOutput(t *testing.T) {
	f := one(1)
	s := f.run("a", 1, -1, 0.5)
	f.scored(s, 2, 1)
	f.scored(s, 0, 1)
	curve := f.collect().Configurations[0].Curve
	if curve[0].Score.Value != (page.Value{}) || curve[1].Score.Number != 1 {
		t.Errorf("curve = %+v, want 0 while there is no output, then 1", curve)
	}
}

// A point of the curve is what the report says of the same runs cut there.
func TestCurveAgreesWithCutRuns(t *testing.T) {
	propertytest.Check(t, func(rt *rapid.T) {
		runs := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]float64{-1, 0, 0.2, 0.5, 0.5, 0.9}), 1, 5), 1, 6).Draw(rt, "runs")
		right := func(task, iteration int) float64 { return math.Round(draw("curve", task, iteration)) }
		whole := cutAt(runs, 5, right).collect().Configurations[0]
		for k, point := range whole.Curve {
			cut := cutAt(runs, k+1, right).collect().Configurations[0]
			if point.Score != cut.Scores[0].Mean || !close(point.Cost.Value, cut.Cost.Mean.Value) || !close(point.Seconds.Value, cut.Latency.Mean.Value) {
				rt.Fatalf("stopped at %d: the curve says %+v, the cut runs %+v %+v %+v", k+1, point, cut.Scores[0], cut.Cost, cut.Latency)
			}
		}
	})
}

// A point of the curve of steps is what the runs had when the next step arrived: calls in
// flight whole, others that had begun, and of shorter runs all.
func TestCurveOfSteps(t *testing.T) {
	f := one(3)
	long := f.run("a", 1, 0.5, 0.9)
	long.Elapsed = 10 * time.Second
	call := func(step int, arrived time.Duration, cost record.Money) record.Call {
		return record.Call{
			Role: record.RoleAgent, Kind: record.MainCall, Step: step, Arrived: arrived * time.Second, Start: arrived*time.Second + 1,
			Usage: record.Usage{Calls: 1, InputTokens: int64(cost), Cost: cost * 1e9},
		}
	}
	side := call(0, 3, 40)
	side.Kind = record.SideCall
	judge := record.Call{Role: record.RoleJudge, Start: 4 * time.Second, Usage: record.Usage{Calls: 1, InputTokens: 100, Cost: 100e9}}
	long.Iterations[0].Calls = []record.Call{call(1, 1, 10), side, call(2, 2, 20), judge}
	long.Iterations[1].Calls = []record.Call{call(3, 5, 80)}
	short := f.run("b", 1, 0.5)
	short.Elapsed = 4 * time.Second
	short.Iterations[0].Calls = []record.Call{call(1, 3, 5)}
	without := f.run("c", 1, 0.5)
	without.Elapsed, without.Iterations[0].Calls = time.Second, nil
	for _, s := range []*record.Run{long, short, without} {
		s.Usage = record.Usage{}
		for i := range s.Iterations {
			for _, c := range s.Iterations[i].Calls {
				s.Usage = s.Usage.Plus(c.Usage)
			}
		}
	}
	points := f.collect().Configurations[0].Steps
	for i, want := range []struct{ reached, spent, seconds float64 }{{2, 10 + 5, 2 + 4 + 1}, {1, 10 + 20 + 40 + 100 + 5, 5 + 4 + 1}, {1, 250 + 5, 10 + 4 + 1}} {
		got := points[i]
		if got.Step != i+1 || !near(got.Reached.Value, want.reached/3, 1e-9) || !near(got.Tokens.Value, want.spent/3, 1e-9) || !near(got.Cost.Value, want.spent/3e3, 1e-9) || !near(got.Seconds.Value, want.seconds/3, 1e-9) {
			t.Errorf("stopped at step %d: %+v, want %v runs of 3, %v tokens and %v s in all", i+1, got, want.reached, want.spent, want.seconds)
		}
		if !got.Tokens.Range.Known() || !got.Reached.Range.Known() {
			t.Errorf("no intervals at step %d: %+v", i+1, got)
		}
	}
	if len(points) != 3 {
		t.Errorf("%d points, want one for each of 3 steps", len(points))
	}
	if steps := coach(1).collect().Configurations[0].Steps; steps != nil {
		t.Errorf("without programs there are no steps, got %+v", steps)
	}
}

func close(a, b page.Value) bool { return math.Abs(a.Number-b.Number) < 1e-9 }

func cutAt(runs [][]float64, limit int, right func(task, iteration int) float64) *fixture {
	f := one(len(runs))
	for task, confidences := range runs {
		s := f.run(fmt.Sprint(task), 1, confidences[:min(limit, len(confidences))]...)
		for i := range s.Iterations {
			f.scored(s, i+1, right(task, i+1))
		}
		final := 0.0
		if s.Outcome.Returned > 0 {
			final = right(task, s.Outcome.Returned)
		}
		f.scored(s, 0, final)
	}
	return f
}

// What is not evaluated, cut or skipped is never the best.
func TestCurveOfUnevaluatedIterations(t *testing.T) {
	f := one(1)
	s := f.run("a", 1, 0.1, 0.9, 0.5, 0.8, 0.3)
	s.Iterations[0].Evaluation = nil // the last output stands while nothing is evaluated
	s.Iterations[1].Cut = "timeout"
	s.Iterations[3].Skipped = true
	s.Outcome.Returned = 5
	for i, value := range []float64{0.1, 0.2, 0.3, 0.4, 0.5} {
		f.scored(s, i+1, value)
	}
	f.scored(s, 0, 0.5)
	for i, want := range []float64{0.1, 0.1, 0.3, 0.3, 0.5} {
		if got := f.collect().Configurations[0].Curve[i].Score.Number; got != want {
			t.Errorf("stopped at %d: score %v, want %v", i+1, got, want)
		}
	}
}

// The interval of a gain is what diff says of the same runs cut at both points.
func TestGainIsTheDifferenceOfCutRuns(t *testing.T) {
	for name, right := range map[string]func(task, iteration int) float64{
		"hits":   func(task, iteration int) float64 { return math.Round(draw("gain", task, iteration)) },
		"graded": func(task, iteration int) float64 { return draw("gain", task, iteration) },
		"rare":   func(task, iteration int) float64 { return number(task == 3 && iteration > 2) },
	} {
		for _, clusters := range []int{0, 5} {
			at := func(limit int) *reports.Report {
				f := cutAt(longRuns(20), limit, right)
				pending(f, "6")
				if clusters > 0 {
					clustered(f, clusters)
				}
				return f.collect()
			}
			for k, point := range at(5).Configurations[0].Curve {
				if k == 0 {
					if point.Gain.Known() || point.Gain.Range.Known() {
						t.Errorf("%s: the first iteration gains %v", name, point.Gain.Range)
					}
					continue
				}
				want := quantity(t, &differing(t, at(k), at(k+1), reports.DiffOptions{}).Pairs[0], "right")
				if got := point.Gain.Range; !near(point.Gain.Value, float64(want.Change), 1e-9) || !near(got.Low, float64(want.Low), 1e-9) || !near(got.High, float64(want.High), 1e-9) {
					t.Errorf("%s in %d clusters at %d: %v in %v, diff says %v in %v to %v", name, clusters, k+1, point.Gain, got, want.Change, want.Low, want.High)
				}
			}
		}
	}
}

// pending leaves a task without any score, in no curve.
func pending(f *fixture, task string) {
	f.scores = slices.DeleteFunc(f.scores, func(s record.Score) bool { return s.Run == record.RunID("c", task, 1) })
}

// longRuns have two to five iterations with confidences that rise and fall.
func longRuns(tasks int) [][]float64 {
	runs := make([][]float64, tasks)
	for task := range runs {
		for n := range 2 + task%4 {
			runs[task] = append(runs[task], draw("long", task, n))
		}
	}
	return runs
}

// Of one trial a task it is Wilson's: 5 of 20 runs have five iterations.
func TestReachedIsAShare(t *testing.T) {
	point := cutAt(longRuns(20), 5, func(int, int) float64 { return 1 }).collect().Configurations[0].Curve[4]
	if got := point.Reached.Range; !near(point.Reached.Value, 0.25, 0) || !near(got.Low, 0.11186, 1e-5) || !near(got.High, 0.46870, 1e-5) {
		t.Errorf("%v in %v", point.Reached, got)
	}
}

// Consistently early: reduce. Consistently at the limit: increase. One phase
// takes too much: rebalance.
func TestS0_6_HintsFromHowLimitsAreUsed(t *testing.T) {
	for name, test := range map[string]struct {
		used int // iterations in the phase "execution", of at most 6
		want string
	}{
		"early":        {used: 2, want: "hardly any run reaches it: 2 would do"},
		"at the limit": {used: 6, want: "most runs reach it"},
	} {
		limit := phasedRuns(2, test.used, 6).collect().Configurations[0].Limits[1]
		if limit.Hint != test.want {
			t.Errorf("%s: hint %q, want %q", name, limit.Hint, test.want)
		}
	}
	between := phasedRuns(2, 6, 6)
	for _, s := range between.signals[:5] {
		s.Iterations = s.Iterations[:6]
	}
	if hint := between.collect().Configurations[0].Limits[1].Hint; hint != "" {
		t.Errorf("half of the runs reach the limit: hint %q, want none", hint)
	}
	few := phasedRuns(2, 6, 6)
	few.signals = few.signals[:4]
	if hint := few.collect().Configurations[0].Limits[1].Hint; hint != "" {
		t.Errorf("four runs: hint %q, want none", hint)
	}
	balance := phasedRuns(1, 9, 10)
	balance.manifest.Configurations[0].Phases[0].Limit = 8
	if hint := balance.collect().Configurations[0].Limits[1].Hint; !strings.Contains(hint, "takes 90% of all iterations") {
		t.Errorf("hint %q, want one on the balance", hint)
	}
}

// A larger limit is advised where the last iteration gains, and a smaller one where it only costs.
func TestHintsOfTheMaximumReadTheCurve(t *testing.T) {
	for name, test := range map[string]struct {
		scores []float64 // by iteration
		want   string
	}{
		"gains":   {[]float64{0, 0, 1}, "most runs reach it: try a larger limit"},
		"flat":    {[]float64{1, 1, 1}, "the last iteration adds nothing: try a smaller limit"},
		"loses":   {[]float64{0, 1, 0}, "the last iteration adds nothing: try a smaller limit"},
		"unknown": {nil, "most runs reach it"},
	} {
		f := one(5)
		f.manifest.Configurations[0].MaxIterations, f.manifest.Configurations[0].EffectiveMax = 3, 3
		for task := range 5 {
			run := f.run(fmt.Sprint(task), 1, 0.1, 0.2, 0.3)
			for i, score := range test.scores {
				f.scored(run, i+1, score)
			}
			f.scored(run, 0, 1)
		}
		limits := f.collect().Configurations[0].Limits
		if len(limits) != 1 || limits[0].Hint != test.want {
			t.Errorf("%s: limits %+v, want the hint %q", name, limits, test.want)
		}
	}
}

func TestUseOfPhaseLimits(t *testing.T) {
	limits := phasedRuns(1, 3, 6).collect().Configurations[0].Limits
	planning, execution, total := limits[0], limits[1], limits[2]
	if planning.Share.Number != 0.5 || planning.Reached.Number != 0 {
		t.Errorf("planning: %+v, want half of 2 used", planning)
	}
	if execution.Name != "phases.execution.max_iterations" || execution.Used.Number != 3 || execution.Share.Number != 0.5 || execution.Enough != 3 {
		t.Errorf("execution: %+v, want half of 6 used", execution)
	}
	if total.Name != "max_iterations" || !total.Derived || total.Used.Number != 4 || total.Share.Number != 0.5 {
		t.Errorf("total: %+v, want 4 of 8 used", total)
	}
}

// A limit of 1 cannot be lowered to 1, and a maximum that only follows from the
// phases is nothing that could be set.
func TestNoHintAtALimitOf1NorAtADerivedMaximum(t *testing.T) {
	unused := phasedRuns(0, 3, 6)
	unused.manifest.Configurations[0].Phases[0].Limit = 1
	limits := unused.collect().Configurations[0].Limits
	if planning := limits[0]; planning.Limit != 1 || planning.Enough != 0 || planning.Hint != "" {
		t.Errorf("planning is never used: %+v, want no hint", planning)
	}
	if total := limits[2]; !total.Derived || total.Enough >= total.Limit || total.Hint != "" {
		t.Errorf("the derived maximum: %+v, want no hint", total)
	}
	if hint := phasedRuns(0, 3, 6).collect().Configurations[0].Limits[0].Hint; hint != "hardly any run reaches it: 1 would do" {
		t.Errorf("of a limit of 2 that is never used: hint %q", hint)
	}
	reached := phasedRuns(2, 6, 6).collect().Configurations[0].Limits[2]
	if !reached.Derived || reached.Reached.Number != 1 || reached.Hint != "" {
		t.Errorf("a derived maximum that is reached: %+v, want no hint", reached)
	}
	own := phasedRuns(1, 3, 6)
	own.manifest.Configurations[0].MaxIterations = 8
	if hint := own.collect().Configurations[0].Limits[2].Hint; hint != "hardly any run reaches it: 4 would do" {
		t.Errorf("of a maximum of its own: hint %q", hint)
	}
}

// phasedRuns are ten runs with so many iterations in each of two phases.
func phasedRuns(planning, execution, limit int) *fixture {
	f := one(10)
	f.manifest.Configurations[0] = record.ConfigurationHead{
		Name: "c", EffectiveMax: 8, Phases: []record.PhaseHead{{Name: "planning", Limit: 2}, {Name: "execution", Limit: limit}},
	}
	for task := range 10 {
		s := f.run(fmt.Sprint(task), 1, make([]float64, planning+execution)...)
		for i := range s.Iterations {
			s.Iterations[i].Phase = "execution"
			if i < planning {
				s.Iterations[i].Phase = "planning"
			}
		}
	}
	return f
}

func TestStops(t *testing.T) {
	f := one(3)
	for i, task := range []string{"a", "b", "c"} {
		s := f.run(task, 1, make([]float64, i+1)...)
		if i > 0 {
			s.Outcome.Reason, s.Outcome.Fired, s.Outcome.Class = record.ReasonWhen("done"), "done", record.ByCondition
			f.scored(s, 0, float64(i-1))
		}
	}
	stops := f.collect().Configurations[0].Stops
	if len(stops) != 2 || stops[0].Name() != "when:done" || stops[0].Runs != 2 || stops[0].Iterations.Number != 2.5 ||
		stops[0].Score.Number != 0.5 || stops[1].Score.Known() {
		t.Errorf("stops = %+v", stops)
	}
}

func TestCalibration(t *testing.T) {
	f := one(3)
	for task, test := range map[string]struct {
		confidence, score float64
		believed          bool
	}{"a": {0.9, 1, true}, "b": {0.8, 0, true}, "c": {0.4, 1, false}} {
		s := f.run(task, 1, test.confidence)
		s.Outcome.Success = test.believed
		f.scored(s, 0, test.score)
	}
	got := f.collect().Configurations[0].Calibration
	if got.Runs != 3 || got.Confirmed != 1 || got.FalseAlarm != 1 || got.Missed != 1 || !got.Brier.Known() ||
		got.Confidence.Number < 0.699 || got.Confidence.Number > 0.701 || got.AUROC.Number != 0.5 {
		t.Errorf("calibration = %+v", got)
	}
}

// Steps are told where agents make several in an iteration: of max_steps the
// longest iteration of each run, and all of a run beside what stopped it.
func TestStepsInLimitsAndStops(t *testing.T) {
	f := one(6)
	f.manifest.Configurations[0] = record.ConfigurationHead{
		Name: "c", MaxIterations: 2, EffectiveMax: 2,
		Steps: []record.StepsHead{{Path: "agent.max_steps", Limit: 5}, {Path: "phases.act.agent.max_steps", Stage: "act", Limit: 4}},
	}
	for task := range 6 {
		s := f.run(fmt.Sprint(task), 1, 0, 0)
		steps := func(n int) []record.Step { return make([]record.Step, n) }
		s.Iterations[0].Steps, s.Iterations[1].Steps = steps(2), steps(3)
		s.Iterations[1].Phase = "act"
		switch task {
		case 1:
			s.Iterations[0].Steps = steps(1)
		case 0:
			s.Iterations[0].Steps, s.Iterations[1].Steps = steps(5), steps(4)
			s.Outcome.Reason, s.Outcome.Fired, s.Outcome.Class = record.ReasonStagnation, "stagnation", record.ByGuard
		}
	}
	r := f.collect()
	limits, stops := r.Configurations[0].Limits, r.Configurations[0].Stops
	all, act := limits[1], limits[2]
	if all.Name != "agent.max_steps" || all.Limit != 5 || all.Used.Number != 20.0/6 || all.Share.Number != 20.0/30 || all.Reached.Number != 1.0/6 || all.Enough != 5 {
		t.Errorf("all steps: %+v", all)
	}
	if act.Name != "phases.act.agent.max_steps" || act.Used.Number != 19.0/6 || act.Reached.Number != 1.0/6 || !act.Used.Range.Low.Known() {
		t.Errorf("the steps of a phase: %+v", act)
	}
	if len(stops) != 2 || stops[0].Steps.Number != 4.8 || stops[1].Steps.Number != 9 || !stops[0].Steps.Range.Low.Known() {
		t.Errorf("stops %+v", stops)
	}
	f.manifest.Configurations[0].Steps = nil
	if stop := f.collect().Configurations[0].Stops[0]; stop.Steps.Known() {
		t.Errorf("an agent that answers at once made %v steps", stop.Steps)
	}
}

// Where an agent may say that the task is done, the loop believes or does not,
// though it evaluates nothing.
func TestALoopBelievesInCompletedTasks(t *testing.T) {
	f := one(4)
	for task := range 4 {
		s := f.run(fmt.Sprint(task), 1, 0)
		s.Iterations[0].Evaluation, s.Outcome.Success = nil, task == 0
	}
	if share := f.collect().Configurations[0].Success; share.Known() {
		t.Errorf("nothing is evaluated, and %v of the runs are believed", share)
	}
	f.manifest.Configurations[0].Completes = true
	if share := f.collect().Configurations[0].Success; share.Number != 0.25 {
		t.Errorf("%v of the runs are believed, want a quarter", share)
	}
}
