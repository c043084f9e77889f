package reports_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
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

func TestCurveOfRunsWithoutAnOutput(t *testing.T) {
	f := one(1)
	s := f.run("a", 1, -1, 0.5)
	f.scored(s, 2, 1)
	f.scored(s, 0, 1)
	curve := f.collect().Configurations[0].Curve
	if curve[0].Score != (page.Value{}) || curve[1].Score.Number != 1 {
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
			if point.Score != cut.Scores[0].Mean || !close(point.Cost, cut.Cost.Mean) || !close(point.Seconds, cut.Latency.Mean) {
				rt.Fatalf("stopped at %d: the curve says %+v, the cut runs %+v %+v %+v", k+1, point, cut.Scores[0], cut.Cost, cut.Latency)
			}
		}
	})
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
	s.Iterations[0].Evaluated = false // the last output stands while nothing is evaluated
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
					if point.Gain.Known() || point.GainInterval.Known() {
						t.Errorf("%s: the first iteration gains %v", name, point.GainInterval)
					}
					continue
				}
				want := quantity(t, &differing(t, at(k), at(k+1), reports.DiffOptions{}).Pairs[0], "right")
				if got := point.GainInterval; !near(point.Gain, want.Change.Number, 1e-9) || !near(got.Low, want.Low.Number, 1e-9) || !near(got.High, want.High.Number, 1e-9) {
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
	if got := point.ReachedInterval; !near(point.Reached, 0.25, 0) || !near(got.Low, 0.11186, 1e-5) || !near(got.High, 0.46870, 1e-5) {
		t.Errorf("%v in %v", point.Reached, got)
	}
}
