package reports_test

import (
	"encoding/json"
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
	"github.com/agentbench/agentbench/reports/pagetest"
	"github.com/agentbench/agentbench/reports/stats"
	"pgregory.net/rapid"
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

// The interval is that of STATISTICS, section 2: trials of a task are no samples of their own.
func TestTheIntervalOfTauBench(t *testing.T) {
	if s := tauBench().collect().Configurations[0].Scores[0]; !near(s.Mean.Value, 0.42, 1e-12) || !near(s.Mean.Low, 0.3230, 5e-5) || !near(s.Mean.High, 0.5236, 5e-5) {
		t.Errorf("%v, %v to %v", s.Mean, s.Mean.Low, s.Mean.High)
	}
}

// Where tasks are alike and trials are not, more trials are the advice; beyond four trials of tasks that differ they are not.
func TestMoreTrials(t *testing.T) {
	const advice = "twice the trials would narrow the interval of"
	f := one(6)
	f.manifest.Trials = 2
	for task := range 6 {
		f.scored(f.run(fmt.Sprint(task), 1, 0.5), 0, 1)
		f.scored(f.run(fmt.Sprint(task), 2, 0.5), 0, 0)
	}
	if text := pagetest.Written(t, f.collect(), page.Options{Width: 200}); !strings.Contains(text, advice+" right by a tenth or more for 1 configuration") {
		t.Error(text)
	}
	for name, of := range map[string]*fixture{"one trial": small(4), "tasks that differ": tauBench()} {
		if text := pagetest.Written(t, of.collect(), page.Options{Width: 200}); strings.Contains(text, advice) {
			t.Errorf("%s: %s", name, text)
		}
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
		return c.Scores[0].Mean.Range
	}
	if width(score(together)) < 1.5*width(score(alone)) || alone.Scores[0].Mean.Value != together.Scores[0].Mean.Value {
		t.Errorf("the score has %v alone and %v together", score(alone), score(together))
	}
	if width(together.Cost.Mean.Range) < 1.5*width(alone.Cost.Mean.Range) || width(together.Cost.PerSuccess.Range) < 1.2*width(alone.Cost.PerSuccess.Range) {
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
	if c.Cost.Mean.Known() || c.Cost.Mean.Range.Known() || c.Cost.PerSuccess.Range.Known() || !c.Latency.Mean.Known() {
		t.Errorf("an unpriced call: %+v", c.Cost)
	}
	hopeless := tauBench()
	for i := range hopeless.scores {
		hopeless.scores[i].Value = 0
	}
	if cost := hopeless.collect().Configurations[0].Cost; cost.PerSuccess.Range.Known() {
		t.Errorf("no success: %+v", cost)
	}
	lone := one(1)
	lone.scored(lone.run("a", 1, 0.5, 0.6), 0, 1)
	if c := lone.collect().Configurations[0]; c.Tokens.Known() && c.Tokens.Range.Known() || c.Latency.Mean.Range.Known() || c.Latency.P50.Range.Known() {
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
	if r := c.Cost.PerSuccess.Range; !near(c.Cost.PerSuccess.Value, 5, 1e-9) || !r.Low.Known() || r.High.Known() {
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
			within(t, "success", c.Success)
			within(t, "tokens", c.Tokens)
			within(t, "tokens in", c.InputTokens)
			within(t, "tokens out", c.OutputTokens)
			within(t, "tool calls", c.ToolCalls)
			within(t, "cost", c.Cost.Mean)
			within(t, "cost per success", c.Cost.PerSuccess)
			within(t, "latency", c.Latency.Mean)
			within(t, "median", c.Latency.P50)
			within(t, "iterations", c.Iterations.Mean)
			within(t, "calls of judges", c.Judging.Calls)
			within(t, "tokens of judges", c.Judging.Tokens)
			within(t, "cost of judges", c.Judging.Cost)
			for _, l := range c.Limits {
				within(t, "use of a limit", l.Used)
				within(t, "share of a limit", l.Share)
				within(t, "runs that reach a limit", l.Reached)
			}
			for _, s := range c.Stops {
				within(t, "share of a stop", s.Share)
				within(t, "iterations of a stop", s.Iterations)
				within(t, "score of a stop", s.Score)
			}
			for _, p := range c.Curve {
				within(t, "runs that reach a point", p.Reached)
				within(t, "gain", p.Gain)
				within(t, "cost of an iteration", p.ExtraCost)
				within(t, "time of an iteration", p.ExtraSeconds)
				within(t, "score of the curve", p.Score)
				within(t, "cost of the curve", p.Cost)
				within(t, "latency of the curve", p.Seconds)
			}
			if k := c.Calibration; k != nil {
				within(t, "gap", k.Gap)
				within(t, "Brier", k.Brier)
				within(t, "AUROC", k.AUROC)
			}
		}
	})
}

func within(t *rapid.T, what string, v page.Estimate) {
	const rounding = 1e-6 // the steps of a curve are kept with seven digits
	if !v.Known() || !v.Range.Known() {
		return
	}
	slack := rounding * math.Abs(v.Number)
	if v.Low.Known() && v.Low.Number > v.Number+slack || v.High.Known() && v.High.Number < v.Number-slack {
		t.Fatalf("%s: %v is not within %v", what, v.Value, v.Range)
	}
}

func TestMixedSpecsAreTold(t *testing.T) {
	f := small(2)
	f.manifest.Mixed = []string{"0123456789abcdef"}
	if r := f.collect(); !hasWarning(r.Warnings, reports.MixedSpecs) {
		t.Errorf("%+v", r.Warnings)
	}
}

// ofTask is what the lone configuration did on a task.
func ofTask(t *testing.T, r *reports.Report, id string) reports.TaskResult {
	t.Helper()
	for task := range r.Tasks() {
		if task.ID == id {
			return task.Results[0]
		}
	}
	t.Fatalf("no task %s", id)
	return reports.TaskResult{}
}

// trials are runs of a task with these scores; the i-th one has i iterations and
// costs i cents, and takes i seconds.
func (f *fixture) trials(task string, scores ...float64) {
	f.manifest.Trials = max(f.manifest.Trials, len(scores))
	for i, score := range scores {
		f.scored(f.run(task, i+1, make([]float64, i+1)...), 0, score)
	}
}

// By hand: 1, 2 and 3 are 2 ± t(2) 1/√3, with t(2) = 4.302653.
func TestMeansOfTasksVaryWithTheirTrials(t *testing.T) {
	f := one(2)
	f.trials("graded", 0.2, 0.4, 0.6)
	f.trials("other", 1, 1, 1)
	const half = 4.302653 / 1.7320508
	got := ofTask(t, f.collect(), "graded")
	for what, of := range map[string]struct {
		got  page.Range
		unit float64
	}{
		"score": {got.Score.Range, 0.2}, "iterations": {got.Iterations.Range, 1}, "cost": {got.Cost.Range, 0.01}, "latency": {got.Seconds.Range, 1},
	} {
		if !near(of.got.Low, (2-half)*of.unit, 1e-6) || !near(of.got.High, (2+half)*of.unit, 1e-6) {
			t.Errorf("%s: %v", what, of.got)
		}
	}
	if text := pagetest.Written(t, f.collect(), page.Options{Width: 140, Tables: []string{"tasks"}}); !strings.Contains(text, "0.00–0.90") {
		t.Errorf("the score is not shown on its scale:\n%s", text)
	}
	if got := ofTask(t, f.collect(), "other"); got.Score.Range.Known() || got.Score.Range.Low.Why() != "all equal" || !got.Cost.Range.Known() {
		t.Errorf("equal graded scores: %+v", got)
	}
}

// Where all scores are 0 or 1 it is Wilson's: 1 of 3 is 0.0615 to 0.7923, 3 of 3
// 0.4385 to 1.
func TestSharesOfTasksAreWilsons(t *testing.T) {
	f := one(2)
	f.trials("some", 0, 1, 0)
	f.trials("all", 1, 1, 1)
	for task, want := range map[string][2]float64{"some": {0.06149, 0.79234}, "all": {0.43850, 1}} {
		if got := ofTask(t, f.collect(), task).Score.Range; !near(got.Low, want[0], 1e-5) || !near(got.High, want[1], 1e-5) {
			t.Errorf("%s: %v", task, got)
		}
	}
}

func TestMeansOfTasksSayWhyTheyHaveNoInterval(t *testing.T) {
	f := one(3)
	f.trials("once", 1)
	f.trials("unpriced", 0, 1)
	f.signals[1].Usage.Unpriced = 1
	f.trials("pending", 0, 1)
	f.scores = f.scores[:len(f.scores)-1]
	r := f.collect()
	once, unpriced, pending := ofTask(t, r, "once"), ofTask(t, r, "unpriced"), ofTask(t, r, "pending")
	for what, got := range map[string][2]string{
		"one trial's score": {once.Score.Range.Low.Why(), "one trial"}, "one trial's time": {once.Seconds.Range.High.Why(), "one trial"},
		"the cost of an unpriced call": {unpriced.Cost.Range.Low.Why(), "unpriced"}, "one score": {pending.Score.Range.Low.Why(), "one trial"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q, want %q", what, got[0], got[1])
		}
	}
	if !pending.Iterations.Range.Known() || !unpriced.Seconds.Range.Known() {
		t.Errorf("what is known of them: %+v, %+v", pending, unpriced)
	}
	f.signals = append(f.signals, &record.Run{ID: record.RunID("c", "faulty", 1), Configuration: "c", Task: "faulty", Trial: 1, Outcome: record.Outcome{Status: record.Faulted}})
	for task := range f.collect().Tasks() {
		if task.ID == "faulty" {
			t.Error("a task of faults alone has a row")
		}
	}
}

// Rounding is no variance: three times the same time is all that is known.
func TestEqualTrialsHaveNoInterval(t *testing.T) {
	f := one(1)
	for trial := 1; trial <= 3; trial++ {
		s := f.run("a", trial, 0.5)
		s.Elapsed = 100 * time.Millisecond
		s.Usage.Cost = record.USD / 10
		f.scored(s, 0, 0.1)
	}
	f.manifest.Trials = 3
	got := ofTask(t, f.collect(), "a")
	for _, interval := range []page.Range{got.Score.Range, got.Iterations.Range, got.Cost.Range, got.Seconds.Range} {
		if fmt.Sprint(interval.Low.Missing, interval.High.Missing) != "all equalall equal" {
			t.Errorf("%+v", got)
		}
	}
}

// Student's interval of 0.2, 0.9 and 1 goes from -0.38 to 1.78.
func TestIntervalsOfScoresAreShownWithinTheirScale(t *testing.T) {
	for highest, want := range map[float64]string{1: "0.00–1.00", 1.01: "-0.39…1.79"} {
		f := one(3)
		for task, score := range []float64{0.2, 0.9, highest} {
			s := f.run(fmt.Sprint(task), 1, 0.5, 0.6)
			f.scored(s, 0, score)
			f.scored(s, 1, score)
		}
		for _, name := range []string{"stops", "curve"} {
			if text := pagetest.Written(t, f.collect(), page.Options{Tables: []string{name}, Width: 200}); !strings.Contains(text, want) {
				t.Errorf("%s: no %s in\n%s", name, want, text)
			}
		}
	}
}

// onePhase is the coach's "default" with all its iterations in one phase.
func onePhase(tasks int) *fixture {
	f := coach(tasks)
	head, signals := f.manifest.Configurations[1], f.signals[:0]
	head.Phases = []record.PhaseHead{{Name: "unused", Limit: 3}, {Name: "work", Limit: head.EffectiveMax}}
	f.manifest.Configurations = []record.ConfigurationHead{head}
	for _, s := range f.signals {
		if s.Configuration != head.Name {
			continue
		}
		for i := range s.Iterations {
			s.Iterations[i].Phase = "work"
		}
		signals = append(signals, s)
	}
	f.signals = signals
	return f
}

// What is kept by task and what is kept by run give the same intervals: a phase
// that has all iterations is the whole run, and judging that is all there is.
func TestWhatTasksUseVariesAsWhatRunsUse(t *testing.T) {
	for name, change := range map[string]func(*fixture){"tasks": func(*fixture) {}, "clusters": func(f *fixture) { clustered(f, 7) }} {
		f := onePhase(30)
		change(f)
		for _, s := range f.signals {
			s.Usage, s.Judging = record.Usage{}, s.Usage.Plus(s.Judging)
		}
		c := f.collect().Configurations[0]
		unused, phase, whole := c.Limits[0], c.Limits[1], c.Limits[2]
		if unused.Used.Range.Known() || unused.Reached.Number != 0 || !near(unused.Reached.Range.Low, 0, 0) {
			t.Errorf("%s: a phase that no run had: %+v", name, unused)
		}
		for what, pair := range map[string][2]page.Range{
			"use": {phase.Used.Range, whole.Used.Range}, "share": {phase.Share.Range, whole.Share.Range}, "reached": {phase.Reached.Range, whole.Reached.Range},
			"calls": {c.Judging.Calls.Range, c.Calls.Range}, "tokens": {c.Judging.Tokens.Range, c.Tokens.Range},
		} {
			if pair[0] != pair[1] || !pair[0].Low.Known() || width(pair[0]) <= 0 {
				t.Errorf("%s: %s: %v and %v", name, what, pair[0], pair[1])
			}
		}
		of, is := c.Judging.Cost.Range, c.Cost.Mean.Range
		if !near(of.Low, is.Low.Number, 1e-12) || !near(of.High, is.High.Number, 1e-12) {
			t.Errorf("%s: cost: %v and %v", name, of, is)
		}
	}
}

// The means of the runs that stopped in one way are those of a folder that holds
// no others; how many they are varies with all tasks.
func TestStopsVaryWithTheTasksThatHaveThem(t *testing.T) {
	whole, part := onePhase(30), onePhase(30)
	part.signals = nil
	for _, s := range whole.signals {
		if s.Outcome.Reason == record.ReasonConfidence {
			part.signals = append(part.signals, s)
		}
	}
	among, alone := stopBy(t, whole.collect(), record.ReasonConfidence), stopBy(t, part.collect(), record.ReasonConfidence)
	if among.Iterations.Range != alone.Iterations.Range || among.Score.Range != alone.Score.Range || !(width(among.Iterations.Range) > 0) || !(width(among.Score.Range) > 0) {
		t.Errorf("among others %+v, alone %+v", among, alone)
	}
	if !near(alone.Share.Value, 1, 0) || !(among.Share.Range.High.Number < 1 && among.Share.Range.Low.Number > 0) {
		t.Errorf("shares: among others %+v, alone %+v", among, alone)
	}
}

func stopBy(t *testing.T, r *reports.Report, reason record.Reason) reports.Stop {
	t.Helper()
	for _, s := range r.Configurations[0].Stops {
		if s.Reason == reason {
			return s
		}
	}
	t.Fatalf("nothing stopped by %s", reason)
	return reports.Stop{}
}

// Of one trial a task, without clusters, the share is Wilson's: 3 of 10 are
// 0.1078 to 0.6032 (STATISTICS, section 3).
func TestShareOfAStopIsWilsons(t *testing.T) {
	f := one(10)
	for task := range 10 {
		s := f.run(fmt.Sprint(task), 1, 0.5)
		if task < 3 {
			s.Outcome.Reason = record.ReasonConfidence
		}
		f.scored(s, 0, float64(task)/10)
	}
	stop := stopBy(t, f.collect(), record.ReasonConfidence)
	if !near(stop.Share.Range.Low, 0.10779, 1e-5) || !near(stop.Share.Range.High, 0.60322, 1e-5) {
		t.Errorf("%v", stop.Share.Range)
	}
	// 0, 0.1 and 0.2: 0.1 ± t(2) 0.1/√3, by hand.
	if !near(stop.Score.Range.Low, 0.1-4.302653*0.0577350, 1e-6) || !near(stop.Score.Range.High, 0.1+4.302653*0.0577350, 1e-6) {
		t.Errorf("%v", stop.Score.Range)
	}
}

// A run that happens to have exactly 1 does not make a graded score one of 0 or 1.
func TestScoresOfAStopAreGradedLikeTheOthers(t *testing.T) {
	f := one(3)
	for task, score := range []float64{1, 0.4, 0.7} {
		s := f.run(fmt.Sprint(task), 1, 0.5)
		if task == 0 {
			s.Outcome.Reason = record.ReasonConfidence
		}
		f.scored(s, 0, score)
	}
	stop := stopBy(t, f.collect(), record.ReasonConfidence)
	if stop.Score.Number != 1 || stop.Score.Range.Known() {
		t.Errorf("of one run the mean is %v, its interval %v", stop.Score, stop.Score.Range)
	}
}

// What is kept by task is what adding up the runs one by one gives, in any order
// of them.
func TestIntervalsOfUsageAreThoseOfItsSums(t *testing.T) {
	f := coach(24)
	f.manifest.Seed = 7
	for i, s := range f.signals {
		s.Usage.ToolCalls, s.Judging.ToolCalls = int64(i%5), int64(i%3)
		s.Usage.InputTokens += int64(i % 700)
	}
	slices.Reverse(f.signals[100:300])
	for _, c := range f.collect().Configurations {
		for what, of := range map[string]struct {
			is     page.Range
			amount func(record.Usage) int64
		}{
			"tool calls": {c.ToolCalls.Range, func(u record.Usage) int64 { return u.ToolCalls }},
			"input":      {c.InputTokens.Range, func(u record.Usage) int64 { return u.InputTokens }},
			"output":     {c.OutputTokens.Range, func(u record.Usage) int64 { return u.OutputTokens }},
		} {
			want, ok := slowly(f, c.Name, of.amount)
			if ok != of.is.Known() || ok && (!near(of.is.Low, want.Low, 1e-9) || !near(of.is.High, want.High, 1e-9)) {
				t.Errorf("%s of %s: %v, want %v, %v", what, c.Name, of.is, want, ok)
			}
		}
	}
}

// slowly draws tasks for the interval of a mean per run of the coach.
func slowly(f *fixture, configuration string, amount func(record.Usage) int64) (stats.Interval, bool) {
	sums, runs := make([]float64, 24), make([]float64, 24)
	for _, s := range f.signals {
		if s.Configuration == configuration && s.Outcome.Counts() {
			var task int
			fmt.Sscanf(s.Task, "interview-%d", &task)
			sums[task-1] += float64(amount(s.Usage.Plus(s.Judging)))
			runs[task-1]++
		}
	}
	return stats.Resample(24, 10_000, 7).Ratio(sums, runs, stats.PercentileLevel(24, stats.Level))
}

// What an iteration adds is drawn as often as the points of a curve are; runs
// that stopped before it add nothing.
func TestIntervalsOfIterationsAreThoseOfTheirSums(t *testing.T) {
	f := coach(24)
	c := f.collect().Configurations[1]
	for _, point := range c.Curve {
		cost, seconds, runs := make([]float64, 24), make([]float64, 24), make([]float64, 24)
		for _, s := range f.signals {
			if s.Configuration != c.Name || !s.Outcome.Counts() {
				continue
			}
			var task int
			fmt.Sscanf(s.Task, "interview-%d", &task)
			runs[task-1]++
			if len(s.Iterations) >= point.Iteration {
				it := s.Iterations[point.Iteration-1]
				agent, judging := it.Spent()
				cost[task-1] += agent.Plus(judging).Cost.Dollars()
				seconds[task-1] += (it.End - it.Start).Seconds()
			}
		}
		for what, of := range map[string]struct {
			is   page.Range
			sums []float64
		}{"cost": {point.ExtraCost.Range, cost}, "time": {point.ExtraSeconds.Range, seconds}} {
			want, ok := stats.Resample(24, 2_000, 0).Ratio(of.sums, runs, stats.PercentileLevel(24, stats.Level))
			if ok != of.is.Known() || ok && (!near(of.is.Low, want.Low, 1e-6*want.Low) || !near(of.is.High, want.High, 1e-6*want.High)) {
				t.Errorf("%s of iteration %d: %v, want %v, %v", what, point.Iteration, of.is, want, ok)
			}
		}
	}
}
