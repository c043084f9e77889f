package choose

import (
	"context"
	"fmt"
	"math"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/reports/tune"
)

// validate tries the rule on tasks that it did not choose by.
func (t *chooser) validate(ctx context.Context, choice *chosen) (*tune.Validation, *tune.Luck, error) {
	switch {
	case t.HoldOut > 0:
		return t.validateHoldOut(ctx, choice)
	case t.folds == 0:
		return nil, nil, nil
	}
	v := &tune.Validation{Folds: []tune.Fold{}}
	all := make([]chosen, t.folds)
	for f := range all {
		var err error
		if all[f], err = t.choose(ctx, f+1); err != nil {
			return nil, nil, fmt.Errorf("choosing without fold %d: %w", f, err)
		}
		v.Folds = append(v.Folds, t.foldOf(f, &all[f]))
		v.Agree += count(choice.candidate >= 0 && all[f].candidate >= 0 && t.steps.rung[all[f].candidate] == t.steps.rung[choice.candidate])
	}
	luck, err := t.sumUp(ctx, v, all, choice.candidate)
	return v, luck, err
}

// foldOf reports what a fold chose, on both sides.
func (t *chooser) foldOf(f int, c *chosen) tune.Fold {
	fold := tune.Fold{Fold: f, Chosen: c.candidate, Train: noCount(), HeldOut: noCount()}
	out := &sums{}
	for i := range t.recordedCells.cells {
		if t.cellFold[i] == f {
			out.add(&t.recordedCells.cells[i])
		}
	}
	fold.Tasks = int(math.Round(out.tasks))
	if c.candidate < 0 {
		fold.Why = t.whyNone(f+1, c)
		return fold
	}
	candidate := &t.candidates[c.candidate]
	fold.Name, fold.Params = candidate.Name, tune.Params(candidate.Params)
	fold.Train, fold.HeldOut = t.counted(t.over(&sums{}, c.candidate, f+1)), t.counted(&t.sums[c.candidate][f])
	return fold
}

func noCount() tune.Counted {
	none := page.Missing(page.Nothing)
	return tune.Counted{Score: none, Tokens: none, Cost: none, Seconds: none}
}

// counted shows sums; those of no run know nothing.
func (t *chooser) counted(s *sums) tune.Counted {
	if s.runs == 0 {
		return noCount()
	}
	c := tune.Counted{
		Tasks: int(math.Round(s.tasks)), Runs: int(s.runs), Score: s.score(t.score), Iterations: int64(s.iterations),
		Tokens: s.usedTokens(), Cost: s.cost(), Seconds: page.Known(s.seconds),
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
func (t *chooser) sumUp(ctx context.Context, v *tune.Validation, all []chosen, choice int) (*tune.Luck, error) {
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
	return &tune.Luck{
		Over: name, Objective: t.gain(ctx, &t.goal, mine, held, over, t.Minimize), Cost: t.gain(ctx, &t.price, mine, held, over, true),
	}, nil
}

// measures are the recording and today's configuration on the same tasks. What is
// gained is gained over the last of them that is answered for.
func (t *chooser) measures(ctx context.Context, v *tune.Validation, kept func(fold int) bool) (over *profile, name string, err error) {
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
func (t *chooser) gain(ctx context.Context, of *term, mine, held, over *profile, falling bool) tune.Gain {
	base := t.worthOf(ctx, of, t.sum(over, 0), falling)
	return t.gained(ctx, of, t.worthOf(ctx, of, t.sum(mine, 0), falling)-base, held, over, falling)
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

// gained holds an apparent gain against the one on tasks left out.
func (t *chooser) gained(ctx context.Context, of *term, apparent float64, held, over *profile, falling bool) tune.Gain {
	honest := t.worthOf(ctx, of, t.sum(held, 0), falling) - t.worthOf(ctx, of, t.sum(over, 0), falling)
	g := tune.Gain{
		Apparent: valueOf(apparent, page.Nothing), Honest: valueOf(honest, page.Nothing), Luck: valueOf(apparent-honest, page.Nothing),
		HonestInterval: noRange(page.Nothing),
	}
	if d := differences(t.influence(ctx, held, 0, of), t.influence(ctx, over, 0, of)); d != nil {
		for i := range d {
			d[i] *= signOf(falling)
		}
		g.HonestInterval = t.interval(d)
	}
	return g
}

// interval is that of the mean of pseudo-values; where they do not vary there is
// none.
func (t *chooser) interval(values []float64) page.Range {
	interval, ok := stats.MeanInterval(values, t.Level)
	if !ok {
		return noRange(page.Nothing)
	}
	return page.Range{Low: page.ValueOf(interval.Low, true), High: page.ValueOf(interval.High, true)}
}

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
