// Package tune decides what recorded runs say of other configurations, and which one to
// take. It makes no call and reads no file.
//
// The stages of the data, in order: a Source, which is a sweep, says what each
// candidate makes of the recorded runs. Collect makes a Replay of it: a row for each
// Configuration, with points where all runs are exact and bounds elsewhere, what runs
// take (Spending), why runs are not exact, and what stops those that are. Choose
// divides the tasks into folds, measures all candidates by an objective and a cost,
// applies constraints, takes one by a Rule, and tries the same rule on folds of the
// tasks that it was not made on. The same runs give the same Tuning, in whatever order
// they and the candidates come. A Race says which candidates leave while runs are made.
//
// A Replay and a Tuning are pages (page.Page), plain data with JSON of a documented
// schema. Missing numbers say why and are never 0.
//
// It is no stable API.
package tune

import (
	"context"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec/expr"
)

// Candidates are candidates and what they make of recorded runs; a *sweep.Sweep is
// one.
type Candidates interface {
	Source
	// Totals visits every candidate, several at a time, with its sums over every part
	// of the runs: part[i] is that of run i.
	Totals(ctx context.Context, part []int, parts int, visit func(candidate int, totals []sweep.Totals)) error
	// Sums visits some candidates, one after the other, with their sums over other parts of the runs, valid until the next one.
	Sums(ctx context.Context, parts *sweep.Parts, candidates []int, visit func(candidate int, sums *sweep.Sums)) error
	// Recordings are those that answer, and Recording is the one that a candidate is replayed on. The first, 0, has
	// the Runs, and is the reference that losses are counted against; Lead makes
	// another one the first.
	Recordings() []sweep.Recording
	Recording(ctx context.Context, candidate int) (int, error)
	Lead(recording int)
}

// ChoiceOptions say how to choose. The zero value has all defaults.
type ChoiceOptions struct {
	// Objective is CEL over the metrics of a configuration ([expr.Objective]);
	// nil: the mean of the first score. The larger is the better unless Minimize.
	Objective *Term
	Minimize  bool
	// Constraints are CEL over the same metrics; all have to hold.
	Constraints []Term
	Choose      ChoiceRule
	// Folds is into how many parts the tasks are put, to choose by all but one and
	// report on that one; 0: 5, below 0: none. By says which tasks belong together
	// ([expr.Fold]): a whole number g is fold g mod Folds, tasks of another equal
	// value share a fold that the seed deals out; nil: the cluster of a task, or
	// the task.
	Folds int
	By    *Term
	Seed  uint64
	// Today is the number of the candidate that is today's configuration; below 0:
	// none is.
	Today int
	// All describes every candidate that can be chosen, not only those on the front.
	All bool
	// Level is that of intervals and bounds; 0: 0.95.
	Level float64
	About ReplayOptions
	// Tuned is the configuration whose parameters are tried; "": there are several.
	Tuned string
}

// Term is an expression as it was written, and compiled.
type Term struct {
	Text string
	*expr.Program
}

// ChoiceRule says by which rule, with which number, and what is cheap.
type ChoiceRule struct {
	Rule   Rule    // "": MaxLoss
	Number float64 // most loss, or least share; 0 with the rule "": DefaultMaxLoss
	// Cost is CEL over the metrics; nil: the mean cost in USD where all of it is
	// known, else the tokens, else the iterations.
	Cost *Term
}

// Rule says which of the candidates is chosen.
type Rule string

// The rules. Each takes the cheapest candidate that it allows; of equally cheap
// ones the better, then the one with the smaller parameters.
const (
	// MaxLoss allows what loses hardly a success that the recording has: the upper
	// bound of the share of runs that do is at most a number.
	MaxLoss Rule = "max_loss"
	// AtLeast allows what reaches a share of the best objective.
	AtLeast Rule = "at_least"
)

var rules = []Rule{MaxLoss, AtLeast}

// DefaultMaxLoss is the number of MaxLoss unless one is given.
const DefaultMaxLoss = 0.02

// Choose chooses among candidates by what they make of recorded runs. Only those
// that the runs answer for exactly are chosen; the recommended one is the choice by
// all runs, and the validation tells what such a choice is worth on tasks that it has not seen. The error is that of the options, of an expression over tasks, or
// of the context; that there is nothing to recommend is none.
func Choose(ctx context.Context, of Candidates, o ChoiceOptions) (*Tuning, error) {
	t, err := newChooser(ctx, of, o)
	if err != nil {
		return nil, err
	}
	if err := t.measure(ctx); err != nil {
		return nil, err
	}
	if t.recordedSums[0].scores[t.score].known == 0 {
		return nil, ErrNoScore
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
		if r.WhyNone, err = t.whyNone(ctx, 0, &choice); err != nil {
			return nil, err
		}
	}
	return r, t.report(ctx, r, &choice)
}

// report fills in what was found.
func (t *chooser) report(ctx context.Context, r *Tuning, choice *chosen) (err error) {
	for _, part := range []func(context.Context, *Tuning, *chosen) error{
		t.guess, t.choices, t.bound, t.against, t.limits, t.curve, t.validation, t.mapped, t.front, t.all, t.unanswered,
	} {
		if err = part(ctx, r, choice); err != nil {
			return err
		}
	}
	t.madeNotes(r)
	return nil
}

func (t *chooser) validation(ctx context.Context, r *Tuning, choice *chosen) (err error) {
	r.Validation, r.Luck, err = t.validate(ctx, choice)
	return err
}

// begin is what was asked for, and how many candidates were tried.
func (t *chooser) begin() *Tuning {
	r := &Tuning{
		Schema: Schema, Suite: t.About.Suite, Tuned: t.Tuned, PricesAsOf: t.About.PricesAsOf, Tasks: len(t.held.Tasks), Clusters: t.held.Clusters, Runs: len(t.held.Runs), Level: t.Level, Seed: t.Seed,
		Changes: []Change{}, Alternatives: []Choice{}, Against: []Versus{}, Front: []FrontRow{},
		Limits: []LimitUse{}, Curve: []CurveStep{}, Ranges: []RangeHint{}, Notes: []Note{},
	}
	if t.held.Simulated {
		r.Simulated = t.About.Simulated
	}
	r.Terms = Terms{
		Objective: t.goal.text, Minimize: t.Minimize, Cost: t.price.text, WhyCost: t.price.why,
		Rule: string(t.Choose.Rule), Number: t.Choose.Number, Folds: t.folds,
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
	for _, n := range append(t.held.Notes(t.About.Simulated), t.About.Warnings...) {
		r.Notes = append(r.Notes, Note(n))
	}
	r.Tried = t.tried()
	return r
}

// tried counts the candidates by what can be said of them.
func (t *chooser) tried() Tried {
	n := Tried{Candidates: len(t.candidates)}
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
	return n
}
