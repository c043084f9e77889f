package choose

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
)

// OneGroupError says that tasks cannot be held out, because all of them belong
// together.
type OneGroupError struct{ Tasks int }

// Error says so in the number of tasks.
func (e *OneGroupError) Error() string {
	if e.Tasks == 1 {
		return "there is one task, and nothing is left to choose by when it is held out"
	}
	return fmt.Sprintf("all %d tasks belong together, and nothing is left to choose by when they are held out", e.Tasks)
}

// heldOutOf puts the runs of the tasks that are held out into fold 0, and all others
// into fold 1. Groups are taken in the order of their hashes with the seed, for as
// long as that brings the tasks nearer to the share; the first is always held out,
// the last never.
func heldOutOf(ctx context.Context, runs []sweep.Run, share float64, by *Term, seed uint64) (fold []int, err error) {
	groups, err := groupsOf(ctx, runs, by)
	if err != nil {
		return nil, err
	}
	tasks := map[string]map[string]bool{}
	all := 0
	for i, g := range groups {
		if tasks[g.key] == nil {
			tasks[g.key] = map[string]bool{}
		}
		if task := runs[i].Run.Task; !tasks[g.key][task] {
			tasks[g.key][task] = true
			all++
		}
	}
	if len(tasks) < 2 {
		return nil, &OneGroupError{Tasks: all}
	}
	order := shuffled(tasks, seed)
	held, out := 0, map[string]bool{}
	for i, key := range order[:len(order)-1] {
		n := len(tasks[key])
		if i > 0 && float64(held)+float64(n)/2 > share*float64(all) {
			break
		}
		held, out[key] = held+n, true
	}
	fold = make([]int, len(runs))
	for i, g := range groups {
		fold[i] = count(!out[g.key])
	}
	return fold, nil
}

// validateHoldOut holds what is recommended against the tasks that it was not
// chosen on.
func (t *chooser) validateHoldOut(ctx context.Context, choice *chosen) (*tune.Validation, *tune.Luck, error) {
	v := &tune.Validation{Folds: []tune.Fold{t.foldOf(0, choice)}, HeldOut: noCount(), InSample: noCount()}
	heldOut := func(fold int) bool { return fold == 0 }
	over, name, err := t.measures(ctx, v, heldOut)
	if err != nil || choice.candidate < 0 {
		return v, nil, err
	}
	held, err := t.on(ctx, choice.candidate, heldOut)
	if err != nil {
		return nil, nil, err
	}
	v.HeldOut, v.InSample, v.Agree = t.counted(t.sum(held, 0)), v.Folds[0].Train, 1
	luck, err := t.heldOutLuck(ctx, choice.candidate, held, over, name)
	return v, luck, err
}

// heldOutLuck compares what is gained on the tasks of the choice with what is gained
// on those that are held out.
func (t *chooser) heldOutLuck(ctx context.Context, choice int, held, over *profile, name string) (*tune.Luck, error) {
	base := theRecording
	if name == "today" {
		base = t.todayAnswered()
	}
	mine, err := t.profile(ctx, choice)
	if err != nil {
		return nil, err
	}
	before, err := t.profile(ctx, base)
	if err != nil {
		return nil, err
	}
	gain := func(of *term, falling bool) tune.Gain {
		size := func(p *profile) *sums { return t.sizedAs(t.sum(held, 0), t.sum(p, t.chosenOn), of) }
		apparent := t.worthOf(ctx, of, size(mine), falling) - t.worthOf(ctx, of, size(before), falling)
		return t.gained(ctx, of, apparent, held, over, falling)
	}
	return &tune.Luck{Over: name, Objective: gain(&t.goal, t.Minimize), Cost: gain(&t.price, true)}, nil
}

// sizedAs makes sums over some runs those over as many runs as others are, where a
// term reads totals: these grow with the number of runs.
func (t *chooser) sizedAs(like, s *sums, of *term) *sums {
	if of.program == nil || !slices.ContainsFunc(of.program.Reads(), isTotal) {
		return s
	}
	return s.times(like.runs / math.Max(s.runs, 1))
}

func isTotal(path string) bool {
	return strings.HasSuffix(path, ".sum") || strings.HasSuffix(path, ".total") || strings.HasSuffix(path, ".n") || path == "n" || path == "runs"
}
