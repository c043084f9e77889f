package reports_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

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
		"score": {got.ScoreInterval, 0.2}, "iterations": {got.IterationsInterval, 1}, "cost": {got.CostInterval, 0.01}, "latency": {got.SecondsInterval, 1},
	} {
		if !near(of.got.Low, (2-half)*of.unit, 1e-6) || !near(of.got.High, (2+half)*of.unit, 1e-6) {
			t.Errorf("%s: %v", what, of.got)
		}
	}
	if text := pagetest.Written(t, f.collect(), page.Options{Width: 140, Tables: []string{"tasks"}}); !strings.Contains(text, "0.00–0.90") {
		t.Errorf("the score is not shown on its scale:\n%s", text)
	}
	if got := ofTask(t, f.collect(), "other"); got.ScoreInterval.Known() || got.ScoreInterval.Low.Why() != "all equal" || !got.CostInterval.Known() {
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
		if got := ofTask(t, f.collect(), task).ScoreInterval; !near(got.Low, want[0], 1e-5) || !near(got.High, want[1], 1e-5) {
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
		"one trial's score": {once.ScoreInterval.Low.Why(), "one trial"}, "one trial's time": {once.SecondsInterval.High.Why(), "one trial"},
		"the cost of an unpriced call": {unpriced.CostInterval.Low.Why(), "unpriced"}, "one score": {pending.ScoreInterval.Low.Why(), "one trial"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q, want %q", what, got[0], got[1])
		}
	}
	if !pending.IterationsInterval.Known() || !unpriced.SecondsInterval.Known() {
		t.Errorf("what is known of them: %+v, %+v", pending, unpriced)
	}
	f.signals = append(f.signals, &record.Signals{ID: record.RunID("c", "faulty", 1), Configuration: "c", Task: "faulty", Trial: 1, Outcome: record.Outcome{Status: record.Faulted}})
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
	for _, interval := range []page.Range{got.ScoreInterval, got.IterationsInterval, got.CostInterval, got.SecondsInterval} {
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
