package sweep

import (
	"context"
	"math"
	"testing"
)

func TestRunsAsACandidateWouldHaveLeftThem(t *testing.T) {
	silent := run("b", 1, 0.9, 0.2)
	silent.Scores = [][]float64{{0.9, math.NaN(), 0.2}}
	r := recorded(t, wide, run("a", 1, 0.2, 1, 0.4, 0.6), silent)
	s, err := New([]Recording{r}, []Candidate{{Name: "one", Loop: declared(t, plain+"terminate: {confidence: off}\nmax_iterations: 1\n")}, {Name: "three", Loop: declared(t, plain+"terminate: {confidence: off}\nmax_iterations: 3\n")}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	runs, left, err := s.AsIf(context.Background(), 0)
	if err != nil || left != 0 || len(runs) != 2 {
		t.Fatalf("%d runs, %d left, %v", len(runs), left, err)
	}
	a, b := runs[0], runs[1]
	if a.Signals.ID != "one/a/1" || a.Signals.Configuration != "one" || len(a.Signals.Iterations) != 1 || a.Signals.Usage.Calls != 1 || a.Signals.Outcome.Returned != 1 {
		t.Errorf("%+v", a.Signals)
	}
	if len(a.Scores) != 2 || a.Scores[0].Value != 0.2 || a.Scores[0].Run != "one/a/1" || a.Scores[1].Iteration != 1 || a.Scores[1].Name != "score" {
		t.Errorf("%+v", a.Scores)
	}
	if b.Scores[0].Unscored == "" || b.Scores[0].Value != 0 {
		t.Errorf("an unscored iteration: %+v", b.Scores)
	}
	if len(r.Runs[0].Run.Iterations) != 4 || r.Runs[0].Run.ID != "c/a/1" {
		t.Error("the recording changed")
	}
	if runs, left, _ := s.AsIf(context.Background(), 1); left != 1 || len(runs) != 1 {
		t.Errorf("%d runs, %d left", len(runs), left)
	}
}
