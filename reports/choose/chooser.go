package choose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/reports/tune"
)

// ErrNoScore says that nothing is scored, so that no candidate can be held against
// what it loses.
var ErrNoScore = errors.New("nothing is scored in these runs")

// ErrLossOfSmall says that max_loss counts what a score falls by, which is no loss
// where a small score is the better one.
var ErrLossOfSmall = errors.New("max_loss counts what a score falls by, and a small score is asked for: take at_least, within_one_se or indistinguishable")

// errNoJackknife says that a rule needs what quantiles do not have.
var errNoJackknife = errors.New("the rule needs the spread of the objective, which is not known of one that reads quantiles: take max_loss or at_least")

// errOneUnit says that a rule needs the spread over tasks, and there is one.
var errOneUnit = errors.New("the rule needs the spread over tasks or clusters, and there is only one: take max_loss or at_least")

// chooser has what all steps of a choice share.
type chooser struct {
	Source
	held *tune.Held
	Options
	candidates []sweep.Candidate
	*axes
	fold  []int // by run
	folds int   // 0: none; 2 with a hold-out, of which 0 is what is held out
	// chosenOn is the subset by which the recommended one is chosen: all runs, or
	// those that are not held out. So many subsets leave out a fold.
	chosenOn, without int
	// Units are what the jackknife and the bootstrap leave out or draw: tasks, or
	// clusters. The runs of one unit and fold are a cell.
	units              int
	cell               []int // by run
	cellUnit, cellFold []int // by cell
	parts              *sweep.Parts

	goal, price term
	known       usageKnown
	score       int   // the score that losses are of; -1: none
	reads       []int // the scores that have to be known
	graded      bool  // some value of the score is neither 0 nor 1
	wide        bool  // some value of the score lies outside of 0 and 1
	independent bool  // each task has one run and stands for itself

	quantiles bool // some expression needs every run, not sums

	one  sync.Mutex // held while the Source is asked by several
	sums [][]sums   // by candidate and fold
	// recordedSums are those of the recording, by subset.
	recordedSums  []*sums
	recordedCells *profile
	print         []uint64 // by candidate: equal where they make the same of every run
	recordedPrint uint64   // that of what makes of every run what was recorded
	steps         *steps
	*measured
	profiles map[int]*profile
	outcomes map[int][]sweep.Outcome
	bounds   map[counted]float64
	losses   map[int][]lossCell // by candidate
}

// newChooser prepares what does not depend on the candidates' outcomes.
func newChooser(ctx context.Context, of Source, o Options) (*chooser, error) {
	t := &chooser{Source: of, held: tune.Hold(of.Runs(), of.Scores()), Options: o, candidates: of.Candidates(), profiles: map[int]*profile{}, outcomes: map[int][]sweep.Outcome{}, bounds: map[counted]float64{}, losses: map[int][]lossCell{}}
	if err := t.fill(); err != nil {
		return nil, err
	}
	t.axes = axesOf(t.candidates)
	if err := t.divide(ctx); err != nil {
		return nil, err
	}
	t.known = knownOf(t.held).byIteration(t.held.Runs)
	t.price = costTerm(o.Choose.Cost, t.known)
	t.goal = objective(o.Objective, t.held.Scores, max(0, t.score))
	if best := t.reference(ctx); best != 0 {
		of.Lead(best)
		t.held = tune.Hold(of.Runs(), of.Scores())
		clear(t.profiles)
		if err := t.divide(ctx); err != nil {
			return nil, err
		}
	}
	t.look()
	return t, nil
}

// fill puts defaults in the place of zeros, and finds the scores.
func (t *chooser) fill() error {
	if t.Level == 0 {
		t.Level = stats.Level
	}
	if t.Choose.Rule == "" {
		t.Choose.Rule = MaxLoss
		if t.Choose.Number == 0 {
			t.Choose.Number = DefaultMaxLoss
		}
	}
	switch {
	case len(t.held.Runs) == 0:
		return errors.New("there are no recorded runs")
	case !slices.Contains(rules, t.Choose.Rule):
		return fmt.Errorf("%q is not a rule: want one of %v", t.Choose.Rule, rules)
	case t.HoldOut < 0 || t.HoldOut >= 1 || t.HoldOut != t.HoldOut:
		return fmt.Errorf("%v is not a share of tasks to hold out: want one above 0 and below 1", t.HoldOut)
	case t.Choose.Number < 0 || t.Choose.Number > 1:
		return fmt.Errorf("%s: %v is not a number from 0 to 1", t.Choose.Rule, t.Choose.Number)
	}
	t.score = scoreRead(t.Objective, t.held.Scores)
	if t.score < 0 && len(t.held.Scores) > 0 {
		t.score = 0
	}
	if t.Minimize && t.Choose.Rule == MaxLoss && (t.Objective == nil || scoreRead(t.Objective, t.held.Scores) >= 0) {
		return ErrLossOfSmall
	}
	if t.score < 0 && (t.Objective == nil || t.Choose.Rule == MaxLoss) {
		return fmt.Errorf("%w: an objective and another rule than %s may serve", ErrNoScore, MaxLoss)
	}
	t.quantiles = readsQuantiles(t.Options.reads())
	return t.readScores()
}

// readScores finds the scores that are read, which have to be known of a candidate
// that is chosen.
func (t *chooser) readScores() error {
	if t.score >= 0 {
		t.reads = append(t.reads, t.score)
	}
	for _, path := range t.Options.reads() {
		name, ok := scoreNamed(path)
		if !ok {
			continue
		}
		at := slices.Index(t.held.Scores, name)
		if at < 0 {
			return &UnknownScoreError{Name: name, Known: t.held.Scores}
		}
		if !slices.Contains(t.reads, at) {
			t.reads = append(t.reads, at)
		}
	}
	return nil
}

// part puts the runs into folds, or holds some out.
func (t *chooser) part(ctx context.Context) (err error) {
	if t.HoldOut > 0 {
		t.fold, err = heldOutOf(ctx, t.held.Runs, t.HoldOut, t.By, t.Seed)
		t.folds, t.without, t.chosenOn = 2, 1, 1
		return err
	}
	k := t.Folds
	if k == 0 {
		k = DefaultFolds
	}
	t.fold = make([]int, len(t.held.Runs))
	if k > 1 {
		if t.fold, t.folds, err = foldsOf(ctx, t.held.Runs, k, t.By, t.Seed); err != nil {
			return err
		}
	}
	if t.folds < 2 {
		clear(t.fold)
		t.folds = 0
	}
	t.without = t.folds
	return nil
}

// divide puts the runs into folds and units.
func (t *chooser) divide(ctx context.Context) error {
	if err := t.part(ctx); err != nil {
		return err
	}
	unit, units := unitsOf(t.held.Runs, t.Seed)
	t.units = units
	t.cell, t.cellUnit, t.cellFold = nil, nil, nil
	at := map[[2]int]int{}
	for i := range t.held.Runs {
		key := [2]int{unit[i], t.fold[i]}
		if _, known := at[key]; !known {
			at[key] = len(t.cellUnit)
			t.cellUnit, t.cellFold = append(t.cellUnit, unit[i]), append(t.cellFold, t.fold[i])
		}
		t.cell = append(t.cell, at[key])
	}
	t.parts = sweep.Divide(t.held.Runs, t.cell, len(t.cellUnit))
	return nil
}

// look finds out of what kind the scores and the tasks are.
func (t *chooser) look() {
	t.independent = t.held.Clusters == 0 && len(t.held.Tasks) == len(t.held.Runs)
	if t.score < 0 {
		return
	}
	for i := range t.held.Runs {
		for _, v := range t.held.Runs[i].Scores[t.score] {
			t.graded = t.graded || v == v && v != 0 && v != 1
			t.wide = t.wide || v < 0 || v > 1
		}
	}
}

// mostUnits is into how many groups tasks or clusters are gathered at most, to be
// drawn anew or left out. More would cost more and say hardly more.
const mostUnits = 2_000

// unitsOf are the clusters of the runs, or their tasks, numbered by their names;
// beyond mostUnits they are dealt out to so many groups.
func unitsOf(runs []sweep.Run, seed uint64) (unit []int, units int) {
	at := map[string]int{}
	key := func(r *sweep.Run) string {
		if r.Run.Cluster != "" {
			return "cluster " + r.Run.Cluster
		}
		return "task " + r.Run.Task
	}
	for i := range runs {
		at[key(&runs[i])] = 0
	}
	order := make([]string, 0, len(at))
	for name := range at {
		order = append(order, name)
	}
	slices.Sort(order)
	if len(order) > mostUnits {
		order = shuffled(at, seed)
	}
	for i, name := range order {
		at[name] = i % mostUnits
	}
	unit = make([]int, len(runs))
	for i := range runs {
		unit[i] = at[key(&runs[i])]
	}
	return unit, min(len(order), mostUnits)
}
