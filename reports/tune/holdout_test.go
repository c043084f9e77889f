package tune_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// splitTable has ten tasks that are recorded right in 2 steps for 20 cents. In 1 step for
// 10 cents the tasks are right that stand in the list.
func splitTable(right map[int]bool) *table {
	short := make([]cell, 10)
	for i := range short {
		short[i] = cell{float64(toInt(right[i])), 1, 10}
	}
	return made(10, 1, map[limits][]cell{{2}: cells(10, 10, 2, 20), {1}: short}, limits{2}, limits{1})
}

// heldOut are the tasks that a hold-out of the seed puts aside: those that a candidate
// which is right in just one of them has its success on.
func heldOut(t *testing.T, o tune.ChoiceOptions) (tasks []int) {
	t.Helper()
	for i := range 10 {
		got := tuned(t, splitTable(map[int]bool{i: true}), tune.ChoiceOptions{HoldOut: o.HoldOut, Seed: o.Seed, Today: 0, Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0}})
		if name(got.Recommended) != "[1 0 0]" {
			t.Fatal(got.WhyNone)
		}
		if f := got.Validation.Folds[0]; f.HeldOut.Hits+f.Train.Hits != 1 {
			t.Fatalf("%+v", f)
		} else if f.HeldOut.Hits == 1 {
			tasks = append(tasks, i)
		}
	}
	return tasks
}

// What is right on all tasks of the choice and wrong on all others is recommended,
// and the held-out tasks say what it is worth: by hand, all of it is luck.
func TestAHoldOutIsNotSeenByTheChoice(t *testing.T) {
	o := tune.ChoiceOptions{HoldOut: 0.3, Seed: 4, Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 1}}
	out := heldOut(t, o)
	if len(out) != 3 {
		t.Fatalf("%v of 10 tasks are held out, want 3", out)
	}
	right := map[int]bool{}
	for i := range 10 {
		right[i] = true
	}
	for _, i := range out {
		right[i] = false
	}
	got := tuned(t, splitTable(right), o)
	v := got.Validation
	if name(got.Recommended) != "[1 0 0]" || len(v.Folds) != 1 || got.Terms.HoldOut != 0.3 || got.Terms.Folds != 0 || got.Terms.FoldsBy != "task" {
		t.Fatalf("%s (%s), %d folds, %+v", name(got.Recommended), got.WhyNone, len(v.Folds), got.Terms)
	}
	if f := v.Folds[0]; f.Tasks != 3 || f.Train.Hits != 7 || f.Train.Runs != 7 || f.HeldOut.Hits != 0 || f.HeldOut.Runs != 3 || f.Name != "[1 0 0]" {
		t.Errorf("%+v", f)
	}
	if v.HeldOut.Hits != 0 || v.InSample.Hits != 7 || v.Today.Hits != 3 || v.Recording.Hits != 3 || v.Today.Tasks != 3 {
		t.Errorf("%+v", v)
	}
	if l := got.Luck; l.Over != "today" || l.Objective.Apparent.Number != 0 || l.Objective.Honest.Number != -1 || l.Objective.Luck.Number != 1 {
		t.Errorf("%+v", l.Objective)
	}
	if l := got.Luck.Cost; !near(l.Apparent.Number, 0.1) || !near(l.Honest.Number, 0.1) || !near(l.Luck.Number, 0) {
		t.Errorf("%+v", l)
	}
	if !strings.Contains(got.Why, "1 of 1, on the tasks that are not held out") || got.Recommended.Objective.Number != 0.7 {
		t.Errorf("%s; %+v", got.Why, got.Recommended.Objective)
	}
	if folds := tuned(t, splitTable(right), tune.ChoiceOptions{Seed: 4, Choose: o.Choose, Folds: -1}); name(folds.Recommended) != "[2 0 0]" {
		t.Errorf("by all tasks %s", name(folds.Recommended))
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// A constraint is held against the tasks of the choice.
func TestConstraintsDoNotSeeTheHoldOut(t *testing.T) {
	o := tune.ChoiceOptions{HoldOut: 0.3, Seed: 4, Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0}}
	right := map[int]bool{}
	for _, i := range heldOut(t, o) {
		right[i] = true
	}
	o.Constraints = []tune.Term{*compiled(t, expr.Objective(), expr.WantBool, `scores["right"].mean > 0.1`)}
	got := tuned(t, splitTable(right), o) // 3 of 10, and 0 of the 7 that are chosen on
	if name(got.Recommended) != "[2 0 0]" || got.Tried.Within != 1 || got.Tried.Excluded[0].Candidates != 1 {
		t.Errorf("%s, %+v", name(got.Recommended), got.Tried)
	}
	o.Constraints = append(o.Constraints, *compiled(t, expr.Objective(), expr.WantBool, `latency.mean < 0.5`))
	none := tuned(t, splitTable(right), o)
	if none.Recommended != nil || none.Luck != nil || !strings.Contains(none.WhyNone, "none satisfies the constraints, on the tasks that are not held out") || none.Validation.Folds[0].Chosen != -1 {
		t.Errorf("%s, %s, %+v", name(none.Recommended), none.WhyNone, none.Validation)
	}
}

// What is gained in sums is told for as many runs as are held out.
func TestLuckInSumsIsOfAsManyRuns(t *testing.T) {
	o := tune.ChoiceOptions{HoldOut: 0.3, Seed: 4, Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0, Cost: compiled(t, expr.Objective(), expr.WantNumber, "iterations.sum")}}
	got := tuned(t, splitTable(nil), o)
	if l := got.Luck.Cost; !near(l.Apparent.Number, 3) || !near(l.Honest.Number, 3) || !near(l.Luck.Number, 0) {
		t.Errorf("%+v, want one iteration saved in each of 3 runs", l)
	}
}

// Clusters, trials and what an expression puts together are on one side; what is
// nearest to the share is held out, and neither side is empty.
func TestAHoldOutKeepsGroupsTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("one thing at a time, for long; it runs without -short")
	}
	whole := compiled(t, expr.Fold(), expr.WantAny, "int(task.id.substring(1)) / 10") // 0, 1 and 2
	for _, c := range []struct {
		share   float64
		cluster int // tasks of one
		by      *tune.Term
		want    int
	}{
		{0.3, 1, nil, 9}, {0.001, 1, nil, 1}, {0.999, 1, nil, 29}, {0.5, 10, nil, 20}, {0.49, 10, nil, 10}, {0.01, 10, nil, 10}, {0.99, 15, nil, 15},
		{0.3, 1, whole, 10}, {0.7, 15, whole, 20},
	} {
		for seed := range uint64(5) {
			source := random(30, 2, seed)
			for i := range source.runs {
				run := &source.runs[i]
				if c.cluster > 1 {
					run.Run.Cluster = fmt.Sprint("c", i/2/c.cluster)
				}
				run.Task = &spec.Task{ID: run.Run.Task}
			}
			o := tune.ChoiceOptions{HoldOut: c.share, Seed: seed, By: c.by, Choose: choosing[1]}
			got := tuned(t, source, o)
			f := got.Validation.Folds[0]
			if f.Tasks != c.want || f.HeldOut.Runs != 2*c.want || f.Train.Runs != 60-2*c.want {
				t.Errorf("%v by %d (%v), seed %d: %d tasks, %d and %d runs; want %d", c.share, c.cluster, c.by != nil, seed, f.Tasks, f.HeldOut.Runs, f.Train.Runs, c.want)
			}
			if other := tuned(t, inAnotherOrder(source), o); !bytes.Equal(anonymous(t, got), anonymous(t, other)) {
				t.Errorf("%v, seed %d: the order of runs matters", c.share, seed)
			}
		}
	}
}

// inAnotherOrder has the same runs.
func inAnotherOrder(source *table) *table {
	other := *source
	other.runs, other.outcomes = nil, make([][]sweep.Outcome, len(source.outcomes))
	for _, i := range rand.New(rand.NewPCG(3, 4)).Perm(len(source.runs)) {
		other.runs = append(other.runs, source.runs[i])
		for c := range source.outcomes {
			other.outcomes[c] = append(other.outcomes[c], source.outcomes[c][i])
		}
	}
	return &other
}

// What the choice makes of the tasks that are held out does not change the choice.
func TestTheHeldOutRunsDoNotMoveTheChoice(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one thing at a time, for long; it runs without -short")
	}
	for seed, by := range choosing {
		o := tune.ChoiceOptions{HoldOut: 0.4, Seed: 9, Choose: by, Today: -1}
		source := random(60, 1, uint64(seed))
		out := map[int]bool{}
		for i := range source.runs {
			lone := random(60, 1, uint64(seed))
			for c := range lone.outcomes {
				lone.outcomes[c][i].Iterations += 1000
			}
			f := tuned(t, lone, tune.ChoiceOptions{HoldOut: 0.4, Seed: 9, Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0}, Today: -1}).Validation.Folds[0]
			out[i] = f.HeldOut.Iterations >= 1000
		}
		want := tuned(t, source, o)
		for i := range source.runs {
			for c := range source.outcomes {
				if out[i] {
					source.outcomes[c][i].Scores[0] = sweep.Range{Least: 0, Most: 0}
				}
			}
		}
		got := tuned(t, source, o)
		if name(got.Recommended) != name(want.Recommended) || got.Why != want.Why || got.WhyNone != want.WhyNone {
			t.Errorf("%v: %s (%s%s), not %s (%s%s)", by.Rule, name(got.Recommended), got.Why, got.WhyNone, name(want.Recommended), want.Why, want.WhyNone)
		}
		if want.Recommended != nil && (got.Validation.HeldOut.Hits != 0 || want.Validation.HeldOut.Hits == 0) {
			t.Errorf("%v: %+v and %+v", by.Rule, got.Validation.HeldOut, want.Validation.HeldOut)
		}
	}
}

func TestNothingIsHeldOutOfOneGroup(t *testing.T) {
	for share, want := range map[float64]string{0.3: "there is one task", 1: "not a share", -0.1: "not a share"} {
		_, err := tune.Choose(t.Context(), random(1, 4, 5), tune.ChoiceOptions{HoldOut: share})
		var alone *tune.OneGroupError
		if err == nil || !strings.Contains(err.Error(), want) || errors.As(err, &alone) != (share == 0.3) {
			t.Errorf("%v: %v, want %s", share, err, want)
		}
	}
	source := random(4, 1, 5)
	for i := range source.runs {
		source.runs[i].Run.Cluster = "c"
	}
	if _, err := tune.Choose(t.Context(), source, tune.ChoiceOptions{HoldOut: 0.3}); err == nil || !strings.Contains(err.Error(), "all 4 tasks belong together") {
		t.Error(err)
	}
}
