package reports_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

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
		if unused.UsedInterval.Known() || unused.Reached.Number != 0 || !near(unused.ReachedInterval.Low, 0, 0) {
			t.Errorf("%s: a phase that no run had: %+v", name, unused)
		}
		for what, pair := range map[string][2]page.Range{
			"use": {phase.UsedInterval, whole.UsedInterval}, "share": {phase.ShareInterval, whole.ShareInterval}, "reached": {phase.ReachedInterval, whole.ReachedInterval},
			"calls": {c.Judging.CallsInterval, c.CallsInterval}, "tokens": {c.Judging.TokensInterval, c.TokensInterval},
		} {
			if pair[0] != pair[1] || !pair[0].Low.Known() || width(pair[0]) <= 0 {
				t.Errorf("%s: %s: %v and %v", name, what, pair[0], pair[1])
			}
		}
		of, is := c.Judging.CostInterval, c.Cost.MeanInterval
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
	if among.IterationsInterval != alone.IterationsInterval || among.ScoreInterval != alone.ScoreInterval || !(width(among.IterationsInterval) > 0) || !(width(among.ScoreInterval) > 0) {
		t.Errorf("among others %+v, alone %+v", among, alone)
	}
	if !near(alone.Share, 1, 0) || !(among.ShareInterval.High.Number < 1 && among.ShareInterval.Low.Number > 0) {
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
	if !near(stop.ShareInterval.Low, 0.10779, 1e-5) || !near(stop.ShareInterval.High, 0.60322, 1e-5) {
		t.Errorf("%v", stop.ShareInterval)
	}
	// 0, 0.1 and 0.2: 0.1 ± t(2) 0.1/√3, by hand.
	if !near(stop.ScoreInterval.Low, 0.1-4.302653*0.0577350, 1e-6) || !near(stop.ScoreInterval.High, 0.1+4.302653*0.0577350, 1e-6) {
		t.Errorf("%v", stop.ScoreInterval)
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
	if stop.Score.Number != 1 || stop.ScoreInterval.Known() {
		t.Errorf("of one run the mean is %v, its interval %v", stop.Score, stop.ScoreInterval)
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
			"tool calls": {c.ToolCallsInterval, func(u record.Usage) int64 { return u.ToolCalls }},
			"input":      {c.InputTokensInterval, func(u record.Usage) int64 { return u.InputTokens }},
			"output":     {c.OutputTokensInterval, func(u record.Usage) int64 { return u.OutputTokens }},
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
		}{"cost": {point.ExtraCostInterval, cost}, "time": {point.ExtraSecondsInterval, seconds}} {
			want, ok := stats.Resample(24, 2_000, 0).Ratio(of.sums, runs, stats.PercentileLevel(24, stats.Level))
			if ok != of.is.Known() || ok && (!near(of.is.Low, want.Low, 1e-6*want.Low) || !near(of.is.High, want.High, 1e-6*want.High)) {
				t.Errorf("%s of iteration %d: %v, want %v, %v", what, point.Iteration, of.is, want, ok)
			}
		}
	}
}
