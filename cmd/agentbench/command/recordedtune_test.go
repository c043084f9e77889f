package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tunedPage is what tune says in JSON, as far as these tests read it.
type tunedPage struct {
	Recommended *tunedRow
	Front       []struct{ Counted foldCount }
	Validation  struct {
		Folds []struct {
			Params  []struct{ Value any }
			Train   foldCount `json:"train"`
			HeldOut foldCount `json:"held_out"`
		}
		HeldOut   foldCount `json:"held_out"`
		InSample  foldCount `json:"in_sample"`
		Recording foldCount
	}
}

type tunedRow struct {
	Params   []struct{ Value any }
	Label    string
	Cost     float64 `json:"choice_cost"`
	Lost     int
	LostMost *float64 `json:"lost_most"`
	Scores   []replayedScore
}

type foldCount struct {
	Hits       int
	Iterations float64
}

func (c foldCount) is(successes, steps int) bool {
	return c.Hits == successes && c.Iterations == float64(steps)
}

// recommends runs tune, which is to end with an exit code.
func recommends(t *testing.T, code int, dir string, flags ...string) (page tunedPage) {
	t.Helper()
	var out, errs bytes.Buffer
	args := append([]string{"tune", dir, "--json"}, flags...)
	if got := run(context.Background(), args, dataFolderOnly, strings.NewReader(""), &out, &errs); got != code {
		t.Fatalf("%v: exit code %d, want %d: %s", args, got, code, errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	return page
}

// dataFolderOnly is an environment that names the recordings, if anything.
func dataFolderOnly(name string) string {
	if name != "AGENTBENCH_DATA" {
		return ""
	}
	return os.Getenv(name)
}

// interCodeGrid are the 300 configurations of expected.json, with steps as cost.
var interCodeGrid = []string{
	"--set", "terminate.repeated={of: output.action, times: off}", "--cost", "iterations.sum",
	"-p", "max_iterations=1,2,3,4,5,6,7,8,9,10", "-p", "terminate.no_improvement.patience=1,2,3,4,5,6,7,8,9,off", "-p", "terminate.repeated.times=2,3,off",
}

// tunedExpected is the part of expected.json on tuning one of the recordings.
type tunedExpected struct {
	Sweep struct {
		Front    [][2]int               `json:"pareto_steps_success"`
		Cheapest map[string]expectedRow `json:"cheapest_reaching"`
	}
	Tuning struct {
		Folds []struct {
			Selected struct {
				Turns    int `json:"max_iterations"`
				Patience any
				Repeated any `json:"repeated_action"`
			}
			TrainSuccesses   int `json:"train_successes"`
			TrainSteps       int `json:"train_steps"`
			HeldOutSuccesses int `json:"heldout_successes"`
			HeldOutSteps     int `json:"heldout_steps"`
		} `json:"per_fold"`
		Successes     int `json:"heldout_successes"`
		Steps         int `json:"heldout_steps"`
		FullSuccesses int `json:"full_successes"`
		FullSteps     int `json:"full_steps"`
	} `json:"cross_validated_tuning"`
	Losses []struct {
		K, Lost int
		Upper   float64 `json:"loss_upper95"`
	} `json:"k_loss_vs_full"`
	Smallest map[string]*int `json:"smallest_k_noninferior"`
}

// Tuning on the runs of InterCode: chosen on four folds and counted on the fifth,
// the front of all 300 configurations, and the cheapest that reaches a share.
func TestTuneOfInterCode(t *testing.T) {
	skipRaces(t)
	for key, files := range interCode {
		t.Run(key, func(t *testing.T) {
			var want tunedExpected
			expectedPart(t, key, &want)
			dir := imported(t, "intercode", files)
			got := recommends(t, 0, dir, append([]string{"--choose", "at_least:0.98", "--folds", "5", "--fold-by", "int(task.metadata.task_id)"}, interCodeGrid...)...)
			want.verifyFolds(t, &got)
			want.verifyFront(t, &got)
			for share, row := range want.Sweep.Cheapest {
				chosen := recommends(t, 0, dir, append([]string{"--choose", "at_least:" + share, "--folds", "0"}, interCodeGrid...)...).Recommended
				if chosen.Label != "exact" || chosen.Scores[0].Successes != row.Successes || chosen.Cost != float64(row.TotalSteps) {
					t.Errorf("at least %s: %+v, want %+v", share, chosen, row)
				}
			}
			want.verifyLosses(t, dir)
		})
	}
}

// The same, said in YAML: tune records the suite once, and recommends from that.
func TestTuneOfInterCodeInYAML(t *testing.T) {
	skipRaces(t)
	var want tunedExpected
	expectedPart(t, "intercode_bash_gpt-4", &want)
	suite, err := filepath.Abs("../../../testdata/recorded/intercode-bash-tune.suite.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	got := recommends(t, 0, suite)
	want.verifyFolds(t, &got)
	want.verifyFront(t, &got)
}

func (e *tunedExpected) verifyFolds(t *testing.T, got *tunedPage) {
	t.Helper()
	v := &got.Validation
	if len(v.Folds) != len(e.Tuning.Folds) || len(v.Folds) != 5 {
		t.Fatalf("%d folds", len(v.Folds))
	}
	for i, want := range e.Tuning.Folds {
		f := &v.Folds[i]
		var chosen []any
		for _, p := range f.Params[len(f.Params)-3:] { // before them stands what is set in all
			chosen = append(chosen, p.Value)
		}
		selected := []any{float64(want.Selected.Turns), orOff(want.Selected.Patience), orOff(want.Selected.Repeated)}
		if fmt.Sprint(chosen) != fmt.Sprint(selected) || !f.Train.is(want.TrainSuccesses, want.TrainSteps) || !f.HeldOut.is(want.HeldOutSuccesses, want.HeldOutSteps) {
			t.Errorf("fold %d: %v, %+v, %+v; want %+v", i, chosen, f.Train, f.HeldOut, want)
		}
	}
	if !v.HeldOut.is(e.Tuning.Successes, e.Tuning.Steps) || !v.Recording.is(e.Tuning.FullSuccesses, e.Tuning.FullSteps) {
		t.Errorf("held out %+v, recorded %+v; want %+v", v.HeldOut, v.Recording, e.Tuning)
	}
}

func orOff(value any) any {
	if value == nil {
		return "off"
	}
	return value
}

// verifyFront holds the front to the expected one, the cheapest first.
func (e *tunedExpected) verifyFront(t *testing.T, got *tunedPage) {
	t.Helper()
	var front [][2]int
	for _, point := range got.Front {
		front = append(front, [2]int{int(point.Counted.Iterations), point.Counted.Hits})
	}
	if fmt.Sprint(front) != fmt.Sprint(e.Sweep.Front) {
		t.Errorf("the front is %v, want %v", front, e.Sweep.Front)
	}
}

// verifyLosses holds the smallest limit that loses little to the expected one;
// where there is none, that is the answer.
func (e *tunedExpected) verifyLosses(t *testing.T, dir string) {
	t.Helper()
	for loss, k := range e.Smallest {
		flags := []string{"--choose", "max_loss:" + loss, "--folds", "0", "-p", "max_iterations=1..10"}
		if k == nil {
			if got := recommends(t, 1, dir, flags...); got.Recommended != nil {
				t.Errorf("a loss of %s: %+v, want none", loss, got.Recommended)
			}
			continue
		}
		got, want := recommends(t, 0, dir, flags...).Recommended, e.Losses[*k-1]
		if got.Params[0].Value != float64(*k) || want.K != *k || got.Lost != want.Lost || got.LostMost == nil || !near(*got.LostMost, want.Upper) {
			t.Errorf("a loss of %s: %+v, want %+v", loss, got, want)
		}
	}
}
