package tune

import (
	"context"
	"math/bits"

	"github.com/agentbench/agentbench/engine/replay"
)

// Tune chooses among candidates by what they make of recorded runs. Only those
// that the runs answer for exactly are chosen; the recommended one is the choice by
// all runs, and the validation tells what such a choice is worth on tasks that it
// has not seen. The error is that of the options, of an expression over tasks, or
// of the context; that there is nothing to recommend is none.
func Tune(ctx context.Context, of Source, o Options) (*Tuning, error) {
	t, err := newTuner(ctx, of, o)
	if err != nil {
		return nil, err
	}
	if err := t.measure(ctx); err != nil {
		return nil, err
	}
	choice, err := t.choose(ctx, 0)
	if err != nil {
		return nil, err
	}
	r := t.begin()
	r.Tried.Within = len(t.ordered(0))
	if choice.candidate >= 0 {
		r.Why = t.whyChosen(&choice, r.Tried.Within)
	} else {
		r.WhyNone = t.whyNone(0, &choice)
	}
	return r, t.report(ctx, r, &choice)
}

// report fills in what was found.
func (t *tuner) report(ctx context.Context, r *Tuning, choice *chosen) (err error) {
	for _, part := range []func(context.Context, *Tuning, *chosen) error{
		t.choices, t.against, t.neighbours, t.ends, t.limits, t.curve, t.validation, t.front, t.unanswered,
	} {
		if err = part(ctx, r, choice); err != nil {
			return err
		}
	}
	t.madeNotes(r)
	return nil
}

func (t *tuner) validation(ctx context.Context, r *Tuning, choice *chosen) (err error) {
	r.Validation, r.Luck, err = t.validate(ctx, choice.candidate)
	return err
}

// begin is what was asked for, and how many candidates were tried.
func (t *tuner) begin() *Tuning {
	r := &Tuning{
		Schema: TuningSchema, Suite: t.About.Suite, PricesAsOf: t.About.PricesAsOf, Tasks: len(t.held.tasks), Clusters: t.held.clusters, Runs: len(t.held.runs), Level: t.Level, Seed: t.Seed,
		Changes: []Change{}, Alternatives: []Choice{}, Against: []Versus{}, Front: []FrontRow{}, Neighbours: []Neighbour{},
		Stops: []Stops{}, Limits: []LimitUse{}, Curve: []CurveStep{}, Ranges: []RangeHint{}, Notes: t.notes(),
	}
	if t.held.simulated {
		r.Simulated = t.About.Simulated
	}
	r.Terms = Terms{
		Objective: t.goal.text, Minimize: t.Minimize, Cost: t.price.text, WhyCost: t.price.why,
		Rule: string(t.Choose.Rule), Number: t.Choose.Number, Folds: t.folds,
	}
	if t.score >= 0 {
		r.Terms.Score = t.held.scores[t.score]
	}
	for _, c := range t.Constraints {
		r.Terms.Constraints = append(r.Terms.Constraints, c.Text)
	}
	switch {
	case t.folds == 0:
	case t.By != nil:
		r.Terms.FoldsBy = t.By.Text
	case t.held.clusters > 0:
		r.Terms.FoldsBy = "cluster"
	default:
		r.Terms.FoldsBy = "task"
	}
	r.Tried = t.tried()
	return r
}

// notes say what a reader of all the numbers must know.
func (t *tuner) notes() []TuneNote {
	notes := []TuneNote{}
	for _, n := range append(t.held.notes(t.About.Simulated), t.About.Warnings...) {
		notes = append(notes, TuneNote(n))
	}
	return notes
}

// tried counts the candidates by what can be said of them.
func (t *tuner) tried() Tried {
	n := Tried{Candidates: len(t.candidates), Excluded: []Excluded{}, NotExact: []NotExact{}}
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
		n.Unscored += count2(t.standing[i] == notScored)
		n.Costless += count2(t.standing[i] == notCosted)
		n.Unmeasured += count2(t.standing[i] == notMeasured)
	}
	for c := range t.Constraints {
		n.Excluded = append(n.Excluded, t.excluded(c))
	}
	return n
}

// excluded counts what a constraint excludes of the candidates that are exact.
func (t *tuner) excluded(constraint int) Excluded {
	e := Excluded{Constraint: t.Constraints[constraint].Text}
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
