package choose

import (
	"context"
	"math/bits"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/reports/tune"
)

// Among chooses among candidates by what they make of recorded runs. Only those
// that the runs answer for exactly are chosen; the recommended one is the choice by
// all runs, or by those that are not held out, and the validation tells what such a choice is worth on tasks that it
// has not seen. The error is that of the options, of an expression over tasks, or
// of the context; that there is nothing to recommend is none.
func Among(ctx context.Context, of Source, o Options) (*tune.Tuning, error) {
	t, err := newChooser(ctx, of, o)
	if err != nil {
		return nil, err
	}
	if err := t.measure(ctx); err != nil {
		return nil, err
	}
	choice, err := t.choose(ctx, t.chosenOn)
	if err != nil {
		return nil, err
	}
	r := t.begin()
	r.Tried.Within = len(t.ordered(t.chosenOn))
	if choice.candidate >= 0 {
		r.Why = t.whyChosen(&choice, r.Tried.Within) + t.where()
	} else {
		r.WhyNone = t.whyNone(t.chosenOn, &choice) + t.where()
	}
	return r, t.report(ctx, r, &choice)
}

// report fills in what was found.
func (t *chooser) report(ctx context.Context, r *tune.Tuning, choice *chosen) (err error) {
	for _, part := range []func(context.Context, *tune.Tuning, *chosen) error{
		t.choices, t.bound, t.guess, t.against, t.neighbours, t.ends, t.limits, t.curve, t.validation, t.front, t.all, t.unanswered,
	} {
		if err = part(ctx, r, choice); err != nil {
			return err
		}
	}
	t.madeNotes(r)
	return nil
}

func (t *chooser) validation(ctx context.Context, r *tune.Tuning, choice *chosen) (err error) {
	r.Validation, r.Luck, err = t.validate(ctx, choice)
	return err
}

// begin is what was asked for, and how many candidates were tried.
func (t *chooser) begin() *tune.Tuning {
	r := &tune.Tuning{
		Schema: tune.Schema, Suite: t.About.Suite, Tuned: t.Tuned, PricesAsOf: t.About.PricesAsOf, Tasks: len(t.held.Tasks), Clusters: t.held.Clusters, Runs: len(t.held.Runs), Level: t.Level, Seed: t.Seed,
		Changes: []tune.Change{}, Alternatives: []tune.Choice{}, Against: []tune.Versus{}, Front: []tune.FrontRow{}, Neighbours: []tune.Neighbour{},
		Stops: []tune.Stops{}, Limits: []tune.LimitUse{}, Curve: []tune.CurveStep{}, Ranges: []tune.RangeHint{}, Notes: t.notes(),
	}
	if t.held.Simulated {
		r.Simulated = t.About.Simulated
	}
	r.Terms = tune.Terms{
		Objective: t.goal.text, Minimize: t.Minimize, Cost: t.price.text, WhyCost: t.price.why,
		Rule: string(t.Choose.Rule), Number: t.Choose.Number, Folds: t.folds,
	}
	if t.HoldOut > 0 {
		r.Terms.Folds, r.Terms.HoldOut = 0, t.HoldOut
	}
	r.Reference, r.References = t.Recordings()[0].Configuration, len(t.Recordings())
	if t.score >= 0 {
		r.Terms.Score = t.held.Scores[t.score]
	}
	for _, c := range t.Constraints {
		r.Terms.Constraints = append(r.Terms.Constraints, c.Text)
	}
	switch {
	case t.folds == 0:
	case t.By != nil:
		r.Terms.FoldsBy = t.By.Text
	case t.held.Clusters > 0:
		r.Terms.FoldsBy = "cluster"
	default:
		r.Terms.FoldsBy = "task"
	}
	r.Tried = t.tried()
	return r
}

// notes say what a reader of all the numbers must know.
func (t *chooser) notes() []tune.Note {
	notes := []tune.Note{}
	for _, n := range append(t.held.Notes(t.About.Simulated), t.About.Warnings...) {
		notes = append(notes, tune.Note(n))
	}
	return notes
}

// tried counts the candidates by what can be said of them.
func (t *chooser) tried() tune.Tried {
	n := tune.Tried{Candidates: len(t.candidates), Excluded: []tune.Excluded{}, NotExact: []tune.NotExact{}}
	for i := range t.candidates {
		switch t.labels[i] {
		case replay.PointExact:
			n.Exact++
		case replay.Bounded:
			n.Bounded++
		case replay.NeedsCalls:
			n.NeedsCalls++
		default:
			n.Counterfactual++
		}
		n.Faulty += count(t.standing[i] == faulty)
		n.Unscored += count(t.standing[i] == notScored)
		n.Costless += count(t.standing[i] == notCosted)
		n.Unmeasured += count(t.standing[i] == notMeasured)
	}
	for c := range t.Constraints {
		n.Excluded = append(n.Excluded, t.excluded(c))
	}
	return n
}

// excluded counts what a constraint excludes of the candidates that are exact.
func (t *chooser) excluded(constraint int) tune.Excluded {
	e := tune.Excluded{Constraint: t.Constraints[constraint].Text}
	for word := range t.fails[constraint] {
		var others uint64
		for c := range t.fails {
			if c != constraint {
				others |= t.fails[c][word]
			}
		}
		e.Candidates += bits.OnesCount64(t.fails[constraint][word])
		e.Alone += bits.OnesCount64(t.fails[constraint][word] &^ others)
		e.Unknown += bits.OnesCount64(t.unknown[constraint][word])
	}
	return e
}
