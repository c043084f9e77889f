package sweep_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
)

// imported is a recording of a log, with one of its scores.
func imported(t *testing.T, mapping, score string, paths ...string) sweep.Recording {
	t.Helper()
	d, faults := spec.Load("../../../suites/mappings/"+mapping+".yaml", spec.Options{})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	im := imports.New(d.Import)
	r := sweep.Recording{Scores: []string{score}}
	for _, path := range paths {
		f, err := os.Open(recordingtest.File(t, path))
		spectest.Must(t, err)
		defer f.Close()
		for one, err := range im.Read(filepath.Base(path), f) {
			spectest.Must(t, err)
			r.Runs = append(r.Runs, sweep.Run{Recorded: replay.Recorded{Run: one.Run, Task: one.Task}, Scores: [][]float64{values(one, score)}})
		}
	}
	recorded, err := im.Recorded(im.Configurations()[0])
	spectest.Must(t, err)
	r.Loop = recorded.Loop
	return r
}

func values(one *imports.Imported, name string) []float64 {
	all := make([]float64, 1+len(one.Run.Iterations))
	for i := range all {
		all[i] = math.NaN()
	}
	for _, s := range one.Scores {
		if s.Name == name && s.Unscored == "" {
			all[s.Iteration] = s.Value
		}
	}
	return all
}

// totals are those of conditions or guards set beside no other.
func totals(t *testing.T, r sweep.Recording, set func(l *spec.Loop)) sweep.Totals {
	t.Helper()
	l := *r.Loop
	l.Terminate, l.Guards = spec.Tree{}, spec.Guards{}
	l.Guards.AbsoluteMaxIterations.Off = true
	set(&l)
	s, err := sweep.New([]sweep.Recording{r}, []sweep.Candidate{{Loop: &l}}, sweep.Options{})
	spectest.Must(t, err)
	var all sweep.Totals
	spectest.Must(t, s.Totals(context.Background(), make([]int, len(r.Runs)), 1, func(_ int, totals []sweep.Totals) { all = totals[0] }))
	return all
}

func maximum(n int) func(l *spec.Loop) {
	return func(l *spec.Loop) {
		l.Terminate.Any = []spec.Condition{{Kind: spec.KindMaxIterations, MaxIterations: n}}
	}
}

// The numbers are those of expected.json.
func TestInterCodeByItsMaximum(t *testing.T) {
	r := imported(t, "intercode", "solved", "intercode/ic_sql_multiturn_gpt-4_10_turns.json")
	for _, c := range []struct{ maximum, solved, steps int }{{1, 73, 1034}, {8, 731, 5282}, {10, 762, 5867}} {
		got := totals(t, r, maximum(c.maximum))
		if got.Scores[0].Hits != c.solved || got.Iterations != int64(c.steps) || got.Label() != replay.PointExact || got.Scores[0].Lost != 762-c.solved {
			t.Errorf("at most %d: %+v", c.maximum, got)
		}
	}
}

// Five runs of tau-bench were cut at 30 steps: nobody knows what they are worth
// beyond. A run that is cut is worth nothing.
func TestTauBenchBeyondItsLimit(t *testing.T) {
	r := imported(t, "tau-bench", "reward", "taubench/gpt-4o-airline.json")
	for _, c := range []struct {
		maximum     int
		label       replay.Label
		least, most float64
	}{{1, replay.PointExact, 0, 0}, {30, replay.PointExact, 84, 84}, {31, replay.Bounded, 84, 89}} {
		got := totals(t, r, maximum(c.maximum))
		if s := got.Scores[0]; got.Label() != c.label || s.Least != c.least || s.Most != c.most || s.Known != 200 || fmt.Sprintf("%.6f", s.PerTask.Least) != fmt.Sprintf("%.6f", c.least/4) {
			t.Errorf("at most %d: %+v", c.maximum, got)
		}
	}
}

// Budgets are decided after the step that crosses them, which is paid for.
func TestTau2ByItsBudget(t *testing.T) {
	r := imported(t, "tau2", "reward", "tau2/claude-sonnet-4-5_airline.json")
	for _, c := range []struct {
		usd    float64
		solved int
		steps  int64
		cost   float64
	}{{0.02, 0, 123, 1.470594}, {0.05, 1, 200, 3.25158}} {
		got := totals(t, r, func(l *spec.Loop) { l.Guards.Budget = &spec.RunBudget{CostUSD: c.usd} })
		if got.Scores[0].Hits != c.solved || got.Iterations != c.steps || got.Most.Cost != record.Money(math.Round(c.cost*1e12)) || got.Least != got.Most {
			t.Errorf("%v USD: %+v", c.usd, got)
		}
	}
}
