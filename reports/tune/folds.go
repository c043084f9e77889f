package tune

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// DefaultFolds is into how many parts the tasks are put unless one is told.
const DefaultFolds = 5

// group is what tasks share a fold by.
type group struct {
	key    string
	number int64 // the fold, before it is taken mod k
	whole  bool  // there is a number
}

// foldsOf are the folds of the runs, from 0. Groups without a number are dealt out
// in the order of their hashes with the seed, so that folds are alike in size.
// Fewer than two folds are none.
func foldsOf(ctx context.Context, runs []sweep.Run, k int, by *Term, seed uint64) (fold []int, folds int, err error) {
	groups, err := groupsOf(ctx, runs, by)
	if err != nil {
		return nil, 0, err
	}
	dealt := deal(groups, k, seed)
	fold = make([]int, len(runs))
	for i, g := range groups {
		fold[i] = dealt[g.key]
		if g.whole {
			fold[i] = int(((g.number % int64(k)) + int64(k)) % int64(k))
		}
	}
	used := slices.Compact(slices.Sorted(slices.Values(fold))) // folds without runs are left out
	for i, f := range fold {
		fold[i], _ = slices.BinarySearch(used, f)
	}
	return fold, len(used), nil
}

func groupsOf(ctx context.Context, runs []sweep.Run, by *Term) (groups []group, err error) {
	groups = make([]group, len(runs))
	known := map[string]group{}
	for i := range runs {
		task := runs[i].Run.Task
		g, ok := known[task]
		if !ok {
			if g, err = groupOf(ctx, &runs[i], by); err != nil {
				return nil, err
			}
			known[task] = g
		}
		groups[i] = g
	}
	return groups, nil
}

func groupOf(ctx context.Context, run *sweep.Run, by *Term) (group, error) {
	alone := group{key: "task " + run.Run.Task}
	if by == nil {
		if run.Run.Cluster != "" {
			return group{key: "cluster " + run.Run.Cluster}, nil
		}
		return alone, nil
	}
	if run.Task == nil {
		return group{}, fmt.Errorf("the folds read the task, and the recording does not have task %q", run.Run.Task)
	}
	value, err := by.Value(ctx, ofTask{run.Task})
	if err != nil {
		return group{}, fmt.Errorf("the fold of task %q: %w", run.Run.Task, err)
	}
	switch v := value.(type) {
	case nil:
		return alone, nil
	case int64:
		return numbered(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return numbered(int64(v)), nil
		}
	}
	text, err := expr.AppendJSON([]byte("value "), value)
	return group{key: string(text)}, err
}

func numbered(number int64) group {
	return group{key: fmt.Sprintf("number %d", number), number: number, whole: true}
}

// ofTask is what expressions over a task alone see.
type ofTask struct{ *spec.Task }

// Lookup implements [expr.Scope].
func (t ofTask) Lookup(name string) (any, bool) {
	if name != "task" {
		return nil, false
	}
	return spec.TaskFields{Task: t.Task}, true
}

// deal gives each group without a number its fold.
func deal(groups []group, k int, seed uint64) map[string]int {
	dealt := map[string]int{}
	for _, g := range groups {
		if !g.whole {
			dealt[g.key] = 0
		}
	}
	for i, key := range shuffled(dealt, seed) {
		dealt[key] = i % k
	}
	return dealt
}

// shuffled are the keys in an order that only they and the seed decide.
func shuffled[T any](keys map[string]T, seed uint64) []string {
	type hashed struct {
		key string
		sum [sha256.Size]byte
	}
	var all []hashed
	for key := range keys {
		all = append(all, hashed{key, sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, seed), key...))})
	}
	slices.SortFunc(all, func(a, b hashed) int {
		return cmp.Or(bytes.Compare(a.sum[:], b.sum[:]), cmp.Compare(a.key, b.key))
	})
	order := make([]string, len(all))
	for i := range all {
		order[i] = all[i].key
	}
	return order
}

// validate tries the rule on tasks that it did not choose by.
func (t *chooser) validate(ctx context.Context, choice *chosen) (*Validation, *Luck, error) {
	if t.folds == 0 {
		return nil, nil, nil
	}
	v := &Validation{Folds: []Fold{}}
	all := make([]chosen, t.folds)
	for f := range all {
		var err error
		if all[f], err = t.choose(ctx, f+1); err != nil {
			return nil, nil, fmt.Errorf("choosing without fold %d: %w", f, err)
		}
		fold, err := t.foldOf(ctx, f, &all[f])
		if err != nil {
			return nil, nil, err
		}
		v.Folds = append(v.Folds, fold)
		v.Agree += count(choice.candidate >= 0 && all[f].candidate >= 0 && (t.steps.rung[all[f].candidate] == t.steps.rung[choice.candidate] || t.ties(all[f].candidate, choice.candidate, 0)))
	}
	luck, err := t.sumUp(ctx, v, all, choice.candidate)
	return v, luck, err
}

// foldOf reports what a fold chose, on both sides.
func (t *chooser) foldOf(ctx context.Context, f int, c *chosen) (Fold, error) {
	fold := Fold{Fold: f, Chosen: c.candidate, Train: noCount(), HeldOut: noCount()}
	out := &sums{}
	for i := range t.recordedCells.cells {
		if t.cellFold[i] == f {
			out.add(&t.recordedCells.cells[i])
		}
	}
	fold.Tasks = int(math.Round(out.tasks))
	if c.candidate < 0 {
		why, err := t.whyNone(ctx, f+1, c)
		fold.Why = why
		return fold, err
	}
	candidate := &t.candidates[c.candidate]
	fold.Name, fold.Params = candidate.Name, Params(candidate.Params)
	fold.Train, fold.HeldOut = t.counted(t.over(&sums{}, c.candidate, f+1)), t.counted(&t.sums[c.candidate][f])
	return fold, nil
}

func noCount() Counted {
	none := page.Missing(page.Nothing)
	return Counted{Score: none, Tokens: none, Cost: none, Seconds: none}
}

// counted shows sums; those of no run know nothing.
func (t *chooser) counted(s *sums) Counted {
	if s.runs == 0 {
		return noCount()
	}
	c := Counted{
		Tasks: int(math.Round(s.tasks)), Runs: int(s.runs), Score: s.score(t.score), Iterations: int64(s.iterations),
		Tokens: s.sumOf("tokens"), Cost: s.sumOf("cost_usd"), Seconds: s.sumOf("latency"),
	}
	if t.score >= 0 && t.score < len(s.scores) {
		c.Hits = int(s.scores[t.score].hits)
	}
	if !t.known.times {
		c.Seconds = page.Missing(page.Unknown)
	}
	return c
}

// sumUp adds up what the folds' choices make of the tasks left out, and holds it
// against the choice by all tasks.
func (t *chooser) sumUp(ctx context.Context, v *Validation, all []chosen, choice int) (*Luck, error) {
	held, err := t.heldOut(ctx, all)
	if err != nil {
		return nil, err
	}
	v.HeldOut, v.InSample = t.counted(t.sum(held, 0)), noCount()
	chose := func(fold int) bool { return all[fold].candidate >= 0 }
	over, name, err := t.measures(ctx, v, chose)
	if err != nil || choice < 0 {
		return nil, err
	}
	mine, err := t.on(ctx, choice, chose)
	if err != nil {
		return nil, err
	}
	v.InSample = t.counted(t.sum(mine, 0))
	return &Luck{
		Over: name, Objective: t.gain(ctx, &t.goal, mine, held, over, t.Minimize), Cost: t.gain(ctx, &t.price, mine, held, over, true),
	}, nil
}

// measures are the recording and today's configuration on the same tasks. What is
// gained is gained over the last of them that is answered for.
func (t *chooser) measures(ctx context.Context, v *Validation, kept func(fold int) bool) (over *profile, name string, err error) {
	if over, err = t.on(ctx, theRecording, kept); err != nil {
		return nil, "", err
	}
	v.Recording = t.counted(t.sum(over, 0))
	today := t.todayAnswered()
	if today < 0 {
		return over, "recording", nil
	}
	if over, err = t.on(ctx, today, kept); err != nil {
		return nil, "", err
	}
	counted := t.counted(t.sum(over, 0))
	v.Today = &counted
	return over, "today", nil
}

// heldOut is a profile that has of each fold what the fold's choice makes of it.
func (t *chooser) heldOut(ctx context.Context, all []chosen) (*profile, error) {
	held := &profile{make([]sweep.Totals, len(t.cellUnit))}
	for f := range all {
		if all[f].candidate < 0 {
			continue
		}
		p, err := t.profile(ctx, all[f].candidate)
		if err != nil {
			return nil, err
		}
		for c := range p.cells {
			if t.cellFold[c] == f {
				held.cells[c] = p.cells[c]
			}
		}
	}
	return held, nil
}

// on is the profile of a candidate on some of the folds.
func (t *chooser) on(ctx context.Context, candidate int, in func(fold int) bool) (*profile, error) {
	p, err := t.profile(ctx, candidate)
	if err != nil {
		return nil, err
	}
	kept := &profile{make([]sweep.Totals, len(p.cells))}
	for c := range p.cells {
		if in(t.cellFold[c]) {
			kept.cells[c] = p.cells[c]
		}
	}
	return kept, nil
}

// gain compares what a choice gains over another configuration in the sample and
// on tasks left out. Less of it is better if falling.
func (t *chooser) gain(ctx context.Context, of *term, mine, held, over *profile, falling bool) Gain {
	base := t.worthOf(ctx, of, t.sum(over, 0), falling)
	apparent, honest := t.worthOf(ctx, of, t.sum(mine, 0), falling)-base, t.worthOf(ctx, of, t.sum(held, 0), falling)-base
	g := Gain{
		Apparent: valueOf(apparent, page.Nothing), Honest: valueOf(honest, page.Nothing), Luck: valueOf(apparent-honest, page.Nothing),
		HonestInterval: page.NoRange(page.Nothing),
	}
	if d := differences(t.influence(ctx, held, 0, of), t.influence(ctx, over, 0, of)); d != nil {
		for i := range d {
			d[i] *= signOf(falling)
		}
		g.HonestInterval = t.interval(d)
	}
	return g
}

// worthOf is what sums are worth by a term: the larger the better.
func (t *chooser) worthOf(ctx context.Context, of *term, s *sums, falling bool) float64 {
	x, _ := of.of(ctx, t.scope(s))
	return signOf(falling) * x
}

func signOf(falling bool) float64 {
	if falling {
		return -1
	}
	return 1
}

// interval is that of the mean of pseudo-values; where they do not vary there is
// none.
func (t *chooser) interval(values []float64) page.Range {
	return reports.RangeOf(stats.MeanInterval(values, t.Level))
}

// intervals are those of a candidate on a subset.
func (t *chooser) intervals(ctx context.Context, p *profile, subset int) Intervals {
	all := noIntervals(page.Nothing)
	terms := map[*term]*page.Range{&t.goal: &all.ObjectiveInterval, &t.price: &all.CostInterval}
	if t.known.times {
		terms[&latency] = &all.LatencyInterval
	}
	for of, interval := range terms {
		if values := t.influence(ctx, p, subset, of); values != nil {
			*interval = t.interval(values)
		}
	}
	return all
}

func noIntervals(why string) Intervals {
	return Intervals{page.NoRange(why), page.NoRange(why), page.NoRange(why)}
}

// latency is the mean time of a run.
var latency = term{text: "latency.mean", native: perRuns(1, "latency")}

// todayAnswered is today's configuration if the recording answers for it in every
// run, else -1: nothing is gained or saved against bounds, and the runs that are
// exact are not like the others.
func (t *chooser) todayAnswered() int {
	if today := t.today(); today >= 0 && t.standing[today] != notExact && t.standing[today] != faulty && t.standing[today] != notScored {
		return today
	}
	return -1
}

// today is the candidate that is today's configuration, -1 for none.
func (t *chooser) today() int {
	if t.Today < 0 || t.Today >= len(t.candidates) {
		return -1
	}
	return t.Today
}
