package reports_test

import (
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
)

// stepped is a suite whose programs made three steps in each of two runs, one of them a
// success.
func stepped() *fixture {
	f := one(2)
	f.manifest.Scorers = []string{"solved"}
	for task, solved := range map[string]float64{"a": 1, "b": 0} {
		s := f.run(task, 1, 0.5)
		s.Elapsed, s.Iterations[0].Calls = 4*time.Second, nil
		for step := range 3 {
			s.Iterations[0].Calls = append(s.Iterations[0].Calls, record.Call{
				Role: record.RoleAgent, Kind: record.MainCall, Step: step + 1, Arrived: time.Duration(step+1) * time.Second, Tree: "kept",
			})
		}
		f.scores = append(f.scores, record.Score{Run: s.ID, Name: "solved", Value: solved, Scorer: "v2"})
	}
	return f
}

func (f *fixture) collectSteps(snapshots ...record.Snapshot) *reports.Configuration {
	r, err := reports.CollectSteps(&f.manifest, each(f.signals), each(f.scores), each(snapshots))
	if err != nil {
		panic(err)
	}
	return &r.Configurations[0]
}

func atSteps(run *record.Run, version string, value float64, steps ...int) record.Snapshot {
	return record.Snapshot{
		Run: run.ID, Iteration: 1, Key: run.ID, Steps: steps,
		Scores: []record.Score{{Name: "solved", Iteration: 1, Value: value, Scorer: version}},
	}
}

// The score at a limit of steps is that of the states that the next steps found; with all
// steps it is that of the runs.
func TestScoresOfSteps(t *testing.T) {
	f := stepped()
	runs := map[string]*record.Run{}
	for _, s := range f.signals {
		runs[s.Task] = s
	}
	a, b := runs["a"], runs["b"]
	points := f.collectSteps(atSteps(a, "v2", 0, 2), atSteps(a, "v2", 1, 3), atSteps(b, "v2", 1, 2), atSteps(b, "v2", 0, 3)).Steps
	for i, want := range []struct {
		score float64
		lost  int
	}{{0.5, 1}, {0.5, 0}, {0.5, 0}} {
		if got := points[i]; !near(got.Score.Value, want.score, 1e-9) || got.Lost != want.lost || got.Unscored != 0 || got.Bounds.Known() || !got.Score.Range.Known() {
			t.Errorf("stopped at step %d: %+v, want %+v", i+1, got, want)
		}
	}

	// Where some are not known the mean has bounds, and is no number.
	points = f.collectSteps(atSteps(a, "v2", 1, 2)).Steps
	if got := points[0]; got.Score.Known() || got.Score.Range.Known() || got.Bounds.Low.Number != 0.5 || got.Bounds.High.Number != 1 || got.Unscored != 1 {
		t.Errorf("one of two states is scored, and the point is %+v", got)
	}
	if got := points[2]; !near(got.Score.Value, 0.5, 1e-9) || got.Unscored != 0 {
		t.Errorf("with all steps the runs are what they are, and the point is %+v", got)
	}

	// Scores of another version of the scorer are none; of several of a state the last one counts.
	for name, snapshots := range map[string][]record.Snapshot{
		"nothing is scored": nil,
		"another version":   {atSteps(a, "v1", 1, 2), atSteps(b, "v1", 1, 2)},
	} {
		if got := f.collectSteps(snapshots...).Steps[0]; got.Score.Known() {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := f.collectSteps(atSteps(a, "v2", 0, 2), atSteps(b, "v2", 0, 2), atSteps(a, "v2", 1, 2)).Steps[0]; !near(got.Score.Value, 0.5, 1e-9) {
		t.Errorf("the last score of a state does not count: %+v", got)
	}

	// A score of the run as it would be returned counts more than that of the state.
	returned := atSteps(a, "v2", 0, 2)
	returned.Scores = append(returned.Scores, record.Score{Name: "solved", Value: 1, Scorer: "v2"})
	if got := f.collectSteps(returned, atSteps(b, "v2", 0, 2)).Steps[0]; !near(got.Score.Value, 0.5, 1e-9) {
		t.Errorf("the run returns another iteration: %+v", got)
	}
	if c := f.collectSteps(); !c.KeptSteps {
		t.Error("nobody says that states were kept")
	}
}
