package reports_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

// tauBench is what tau-bench's gpt-4o scored at the airline's 50 tasks, four
// trials each: 14 tasks were never solved, 12 once, and so on (expected.json).
func tauBench() *fixture {
	f := one(50)
	f.manifest.Trials = 4
	task := 0
	for successes, tasks := range []int{14, 12, 10, 4, 10} {
		for range tasks {
			task++
			for trial := 1; trial <= 4; trial++ {
				f.scored(f.run(fmt.Sprint("airline-", task), trial, 0.5), 0, number(trial <= successes))
			}
		}
	}
	return f
}

func near(v page.Value, want, tolerance float64) bool {
	return v.Known() && math.Abs(v.Number-want) <= tolerance
}

// The numbers are those of STATISTICS, sections 2 and 3: trials of a task are no
// samples of their own, and beyond four trials tasks are worth more.
func TestResidueOfTauBench(t *testing.T) {
	c := tauBench().collect().Configurations[0]
	if s := c.Scores[0]; !near(s.Mean, 0.42, 1e-12) || !near(s.Low, 0.3230, 5e-5) || !near(s.High, 0.5236, 5e-5) {
		t.Errorf("%v, %v to %v", s.Mean, s.Low, s.High)
	}
	p := c.Residue[0]
	for name, is := range map[string]bool{
		"tasks and trials": p.Tasks == 50 && near(p.Trials, 4, 0), "between": near(p.Between, 0.0997, 5e-5), "within": near(p.Within, 0.1467, 5e-5),
		"ICC": near(p.ICC, 0.40, 5e-3), "agreement": near(p.Agreement, 0.70667, 5e-6), "now": near(p.SE, 0.0522, 5e-5), "advice": p.Advice == "more tasks",
	} {
		if !is {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for i, want := range []float64{0.0702, 0.0588, 0.0522, 0.0486, 0.0467} {
		if !near(p.With[i].SE, want, 5e-5) {
			t.Errorf("%d trials: a standard error of %v, want %v", p.With[i].Trials, p.With[i].SE, want)
		}
	}
}

func TestResidueWantsTrials(t *testing.T) {
	if parts := small(4).collect().Configurations[0].Residue; len(parts) != 0 {
		t.Errorf("one trial: %+v", parts)
	}
	text := pagetest.Written(t, small(4).collect(), page.Options{})
	if strings.Contains(text, "What varies inside") {
		t.Error("the table is there")
	}
	f := one(6) // all tasks are alike, trials are not
	f.manifest.Trials = 2
	for task := range 6 {
		f.scored(f.run(fmt.Sprint(task), 1, 0.5), 0, 1)
		f.scored(f.run(fmt.Sprint(task), 2, 0.5), 0, 0)
	}
	if p := f.collect().Configurations[0].Residue[0]; p.Advice != "more trials" || !near(p.ICC, 0, 0) || !near(p.Agreement, 0, 0) {
		t.Errorf("%+v", p)
	}
	f.scores[0].Value = 0.5
	if p := f.collect().Configurations[0].Residue[0]; p.Agreement.Known() {
		t.Errorf("graded scores agree: %+v", p)
	}
}

// clustered puts the tasks into so many clusters, each of neighbours.
func clustered(f *fixture, clusters int) *fixture {
	of := map[string]int{}
	for _, s := range f.signals {
		if _, known := of[s.Task]; !known {
			of[s.Task] = len(of)
		}
	}
	for _, s := range f.signals {
		s.Cluster = fmt.Sprint("c", of[s.Task]*clusters/len(of))
	}
	return f
}

func width(r page.Range) float64 { return r.High.Number - r.Low.Number }

// Tasks that are alike within their clusters tell less: all intervals know.
func TestClustersWidenIntervals(t *testing.T) {
	plain, grouped := tauBench(), clustered(tauBench(), 10)
	for _, f := range []*fixture{plain, grouped} {
		for i, s := range f.signals { // the cost follows the task, and so does the cluster
			s.Usage.Cost = record.Money(i) * record.USD / 1000
		}
	}
	r := grouped.collect()
	alone, together := plain.collect().Configurations[0], r.Configurations[0]
	if r.Clusters != 10 || plain.collect().Clusters != 0 {
		t.Errorf("%d clusters", r.Clusters)
	}
	score := func(c reports.Configuration) page.Range {
		return page.Range{Low: c.Scores[0].Low, High: c.Scores[0].High}
	}
	if width(score(together)) < 1.5*width(score(alone)) || alone.Scores[0].Mean != together.Scores[0].Mean {
		t.Errorf("the score has %v alone and %v together", score(alone), score(together))
	}
	if width(together.Cost.MeanInterval) < 1.5*width(alone.Cost.MeanInterval) || width(together.Cost.PerSuccessInterval) < 1.2*width(alone.Cost.PerSuccessInterval) {
		t.Errorf("costs have %v alone and %v together", alone.Cost, together.Cost)
	}
	if text := pagetest.Written(t, r, page.Options{Width: 120}); !strings.Contains(text, "50 tasks in 10 clusters × 4 trials") || !strings.Contains(text, "the tasks are in 10 clusters") {
		t.Errorf("clusters are not told:\n%s", text)
	}
}

// Clusters of one task each are no clusters.
func TestClustersOfOneTaskChangeNothing(t *testing.T) {
	plain, alone := tauBench(), tauBench()
	for _, s := range alone.signals {
		s.Cluster = "of " + s.Task
	}
	a, _ := json.Marshal(plain.collect().Configurations)
	b, _ := json.Marshal(alone.collect().Configurations)
	if string(a) != string(b) {
		t.Errorf("%s\n%s", a, b)
	}
}

// What is drawn depends on the suite's seed and on nothing else.
func TestIntervalsComeFromTheSeed(t *testing.T) {
	intervals := func(seed int64) string {
		f := coach(12)
		f.manifest.Seed = seed
		text, err := json.Marshal(f.collect().Configurations[1].Cost)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first, again, other := intervals(1), intervals(1), intervals(2)
	if first != again || first == other {
		t.Errorf("%s, again %s, by another seed %s", first, again, other)
	}
}

func TestIntervalsAreMissingWithTheirNumber(t *testing.T) {
	unpriced := tauBench()
	unpriced.signals[3].Usage.Unpriced = 2
	c := unpriced.collect().Configurations[0]
	if c.Cost.Mean.Known() || c.Cost.MeanInterval.Known() || c.Cost.PerSuccessInterval.Known() || !c.Latency.Mean.Known() {
		t.Errorf("an unpriced call: %+v", c.Cost)
	}
	hopeless := tauBench()
	for i := range hopeless.scores {
		hopeless.scores[i].Value = 0
	}
	if cost := hopeless.collect().Configurations[0].Cost; cost.PerSuccessInterval.Known() {
		t.Errorf("no success: %+v", cost)
	}
	lone := one(1)
	lone.scored(lone.run("a", 1, 0.5, 0.6), 0, 1)
	if c := lone.collect().Configurations[0]; c.Tokens.Known() && c.TokensInterval.Known() || c.Latency.MeanInterval.Known() || c.Latency.P50Interval.Known() {
		t.Errorf("one task: %+v", c.Latency)
	}
	text, err := json.Marshal(page.Range{Low: page.Value{Number: 0.5}, High: page.Value{Missing: "∞"}})
	if err != nil || string(text) != "[0.5,null]" {
		t.Errorf("an open interval is %s, %v", text, err)
	}
}

// Of a single success among few tasks every third draw holds none: then nothing
// bounds what one costs.
func TestCostPerSuccessMayHaveNoBound(t *testing.T) {
	f := one(5)
	for task := range 5 {
		s := f.run(fmt.Sprint(task), 1, 0.5)
		s.Usage.Cost = record.USD
		f.scored(s, 0, number(task == 0))
	}
	c := f.collect().Configurations[0]
	if r := c.Cost.PerSuccessInterval; !near(c.Cost.PerSuccess, 5, 1e-9) || !r.Low.Known() || r.High.Known() {
		t.Errorf("%v", r)
	}
	if text := pagetest.Written(t, f.collect(), page.Options{Width: 160}); !strings.Contains(text, "–∞") {
		t.Errorf("no open end in\n%s", text)
	}
}

// Means lie within their intervals, whatever the runs.
func TestMeansLieWithinTheirIntervals(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		f := coach(rapid.IntRange(2, 9).Draw(t, "tasks"))
		f.manifest.Seed = rapid.Int64().Draw(t, "seed")
		if rapid.Bool().Draw(t, "clustered") {
			clustered(f, 3)
		}
		for _, c := range f.collect().Configurations {
			within(t, "success", c.Success, c.SuccessInterval)
			within(t, "tokens", c.Tokens, c.TokensInterval)
			within(t, "tokens in", c.InputTokens, c.InputTokensInterval)
			within(t, "tokens out", c.OutputTokens, c.OutputTokensInterval)
			within(t, "tool calls", c.ToolCalls, c.ToolCallsInterval)
			within(t, "cost", c.Cost.Mean, c.Cost.MeanInterval)
			within(t, "cost per success", c.Cost.PerSuccess, c.Cost.PerSuccessInterval)
			within(t, "latency", c.Latency.Mean, c.Latency.MeanInterval)
			within(t, "median", c.Latency.P50, c.Latency.P50Interval)
			within(t, "iterations", c.Iterations.Mean, c.Iterations.MeanInterval)
			within(t, "calls of judges", c.Judging.Calls, c.Judging.CallsInterval)
			within(t, "tokens of judges", c.Judging.Tokens, c.Judging.TokensInterval)
			within(t, "cost of judges", c.Judging.Cost, c.Judging.CostInterval)
			for _, l := range c.Limits {
				within(t, "use of a limit", l.Used, l.UsedInterval)
				within(t, "share of a limit", l.Share, l.ShareInterval)
				within(t, "runs that reach a limit", l.Reached, l.ReachedInterval)
			}
			for _, s := range c.Stops {
				within(t, "share of a stop", s.Share, s.ShareInterval)
				within(t, "iterations of a stop", s.Iterations, s.IterationsInterval)
				within(t, "score of a stop", s.Score, s.ScoreInterval)
			}
			for _, p := range c.Curve {
				within(t, "runs that reach a point", p.Reached, p.ReachedInterval)
				within(t, "gain", p.Gain, p.GainInterval)
				within(t, "cost of an iteration", p.ExtraCost, p.ExtraCostInterval)
				within(t, "time of an iteration", p.ExtraSeconds, p.ExtraSecondsInterval)
				within(t, "score of the curve", p.Score, p.ScoreInterval)
				within(t, "cost of the curve", p.Cost, p.CostInterval)
				within(t, "latency of the curve", p.Seconds, p.SecondsInterval)
			}
			if k := c.Calibration; k != nil {
				within(t, "gap", k.Gap, k.GapInterval)
				within(t, "Brier", k.Brier, k.BrierInterval)
				within(t, "AUROC", k.AUROC, k.AUROCInterval)
			}
		}
	})
}

func within(t *rapid.T, what string, v page.Value, r page.Range) {
	const rounding = 1e-6 // the steps of a curve are kept with seven digits
	if !v.Known() || !r.Known() {
		return
	}
	slack := rounding * math.Abs(v.Number)
	if r.Low.Known() && r.Low.Number > v.Number+slack || r.High.Known() && r.High.Number < v.Number-slack {
		t.Fatalf("%s: %v is not within %v", what, v, r)
	}
}

func TestMixedSpecsAreTold(t *testing.T) {
	f := small(2)
	f.manifest.Mixed = []string{"0123456789abcdef"}
	if r := f.collect(); !hasWarning(r.Warnings, reports.MixedSpecs) {
		t.Errorf("%+v", r.Warnings)
	}
}
