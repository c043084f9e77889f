package tune

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/spec"
)

// ErrNoScore says that nothing is scored, so that it is unknown what a candidate loses.
var ErrNoScore = errors.New("nothing is scored in these runs")

// ErrLossOfSmall says that max_loss counts what a score falls by, which is no loss
// where a small score is the better one.
var ErrLossOfSmall = errors.New("max_loss counts what a score falls by, and a small score is asked for: take at_least")

// chooser has what all steps of a choice share: what is asked for, the recorded runs and how
// they are divided, the candidates, what was measured of them, and what is kept of replays.
type chooser struct {
	Candidates
	ChoiceOptions
	held *Held
	division
	terms
	*grid
	*measured
	steps *steps
	memory
}

// terms are what candidates are chosen by, and what is known of that.
type terms struct {
	goal, price term
	known       usageKnown
	score       int   // the score that losses are of; -1: none
	needs       []int // the scores that have to be known
	graded      bool  // some value of the score is neither 0 nor 1
	wide        bool  // some value of the score lies outside of 0 and 1
	quantiles   bool  // some expression needs every run, not sums
}

// division is how recorded runs are divided. Units are what the jackknife and the bootstrap
// leave out or draw: tasks, or clusters. The runs of one unit and fold are a cell.
type division struct {
	fold               []int // by run
	folds              int   // 0: none
	units              int
	cell               []int // by run
	cellUnit, cellFold []int // by cell
	parts              *sweep.Parts
	independent        bool // each task has one run and stands for itself
}

// memory is what is kept of replays, which are asked for again and again.
type memory struct {
	profiles map[int]*profile
	outcomes map[int][]sweep.Outcome
	// losses are, by candidate, of the cells that differ from the recording's; of that, all.
	losses     map[int][]lossCell
	lossesKept int // cells
}

// newChooser prepares what does not depend on the candidates' outcomes.
func newChooser(ctx context.Context, of Candidates, o ChoiceOptions) (t *chooser, err error) {
	held := Hold(of.Runs(), of.Scores())
	if len(held.Runs) == 0 {
		return nil, errors.New("there are no recorded runs")
	}
	if err := o.Check(held.Scores); err != nil {
		return nil, err
	}
	o.Level = cmp.Or(o.Level, stats.Level)
	if o.Choose.Rule == "" {
		o.Choose.Rule, o.Choose.Number = MaxLoss, cmp.Or(o.Choose.Number, DefaultMaxLoss)
	}
	t = &chooser{
		Candidates: of, ChoiceOptions: o, held: held, terms: termsOf(held, &o), grid: gridOf(of.Candidates()),
		memory: memory{profiles: map[int]*profile{}, outcomes: map[int][]sweep.Outcome{}, losses: map[int][]lossCell{}},
	}
	if t.division, err = divide(ctx, held, &o); err != nil {
		return nil, err
	}
	best, err := t.reference(ctx)
	if err != nil {
		return nil, err
	}
	if best != 0 {
		of.Lead(best)
		t.held = Hold(of.Runs(), of.Scores())
		clear(t.profiles)
		if t.division, err = divide(ctx, t.held, &o); err != nil {
			return nil, err
		}
	}
	t.look(t.held)
	return t, nil
}

// Check finds what is wrong with the options where runs have such scores: before any
// are there.
func (o *ChoiceOptions) Check(scores []string) error {
	rule := cmp.Or(o.Choose.Rule, MaxLoss)
	switch {
	case !slices.Contains(rules, rule):
		return fmt.Errorf("%q is not a rule: want one of %v", rule, rules)
	case o.Choose.Number < 0 || o.Choose.Number > 1:
		return fmt.Errorf("%s: %v is not a number from 0 to 1", rule, o.Choose.Number)
	case o.Minimize && rule == MaxLoss && (o.Objective == nil || scoreRead(o.Objective, scores) >= 0):
		return ErrLossOfSmall
	case len(scores) == 0:
		return ErrNoScore
	}
	for _, path := range o.reads() {
		if name, ok := scoreNamed(path); ok && !slices.Contains(scores, name) {
			return &UnknownScoreError{Name: name, Known: scores}
		}
	}
	return nil
}

// termsOf are the terms of a choice. The scores that they read have to be known of a
// candidate that is chosen.
func termsOf(held *Held, o *ChoiceOptions) terms {
	t := terms{score: scoreRead(o.Objective, held.Scores), known: knownOf(held).byIteration(held.Runs), quantiles: readsQuantiles(o.reads())}
	if t.score < 0 && len(held.Scores) > 0 {
		t.score = 0
	}
	if t.score >= 0 {
		t.needs = append(t.needs, t.score)
	}
	for _, path := range o.reads() {
		if name, ok := scoreNamed(path); ok {
			if at := slices.Index(held.Scores, name); !slices.Contains(t.needs, at) {
				t.needs = append(t.needs, at)
			}
		}
	}
	t.price, t.goal = costTerm(o.Choose.Cost, t.known), objective(o.Objective, held.Scores, max(0, t.score))
	return t
}

// look finds out of what kind the score is.
func (t *terms) look(held *Held) {
	if t.score < 0 {
		return
	}
	for i := range held.Runs {
		for _, v := range held.Runs[i].Scores[t.score] {
			t.graded = t.graded || v == v && v != 0 && v != 1
			t.wide = t.wide || v < 0 || v > 1
		}
	}
}

// divide puts runs into folds and units.
func divide(ctx context.Context, held *Held, o *ChoiceOptions) (d division, err error) {
	d.fold = make([]int, len(held.Runs))
	if k := cmp.Or(o.Folds, DefaultFolds); k > 1 {
		if d.fold, d.folds, err = foldsOf(ctx, held.Runs, k, o.By, o.Seed); err != nil {
			return d, err
		}
	}
	if d.folds < 2 {
		clear(d.fold)
		d.folds = 0
	}
	unit, units := unitsOf(held.Runs, o.Seed)
	d.units, d.independent = units, held.Clusters == 0 && len(held.Tasks) == len(held.Runs)
	at := map[[2]int]int{}
	for i := range held.Runs {
		key := [2]int{unit[i], d.fold[i]}
		if _, known := at[key]; !known {
			at[key] = len(d.cellUnit)
			d.cellUnit, d.cellFold = append(d.cellUnit, unit[i]), append(d.cellFold, d.fold[i])
		}
		d.cell = append(d.cell, at[key])
	}
	d.parts = sweep.Divide(held.Runs, d.cell, len(d.cellUnit))
	return d, nil
}

// in reports whether a cell is in a subset of the runs: 0 is all of them, fold + 1 those outside of a fold.
func (d *division) in(cell, subset int) bool { return subset == 0 || d.cellFold[cell] != subset-1 }

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
	order := slices.Sorted(maps.Keys(at))
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

// everyRun are the lengths and times of all runs under a candidate, for quantiles.
type everyRun struct{ iterations, seconds []float64 }

// everyRun replays a candidate. A Source serves one caller at a time.
func (t *chooser) everyRun(ctx context.Context, candidate int) (*everyRun, error) {
	t.asking.Lock()
	defer t.asking.Unlock()
	outcomes, err := t.Candidates.Outcomes(ctx, candidate)
	if err != nil {
		return nil, err
	}
	return everyRunOf(outcomes[0]), nil
}

func everyRunOf(outcomes []sweep.Outcome) *everyRun {
	runs := &everyRun{make([]float64, len(outcomes)), make([]float64, len(outcomes))}
	for i := range outcomes {
		runs.iterations[i], runs.seconds[i] = float64(outcomes[i].Iterations), outcomes[i].Elapsed.Seconds()
	}
	return runs
}

// into puts the runs of all folds but one into sums.
func (r *everyRun) into(s *sums, fold []int, without int) {
	for i := range r.iterations {
		if without < 0 || fold[i] != without {
			s.everyIteration = append(s.everyIteration, r.iterations[i])
			s.everySecond = append(s.everySecond, r.seconds[i])
		}
	}
}

// grid are the candidates, their parameters, and the values that each of these takes, the
// smallest first.
type grid struct {
	candidates []sweep.Candidate
	paths      []string // in the order declared
	values     [][]any  // by path; nil is off, or not set
	at         [][]int  // by candidate and path, the place of its value; the last is that of its base
	order      []int    // of candidates, the one with the smaller parameters first
	rank       []int    // by candidate: its place in that order
}

// gridOf finds them. Numbers and durations are ordered as such, other values as
// they first come; off is the largest.
func gridOf(candidates []sweep.Candidate) *grid {
	a := &grid{candidates: candidates, at: make([][]int, len(candidates))}
	column := map[string]int{}
	var first []map[string]int // by path: in which order texts come
	for i := range candidates {
		for _, p := range candidates[i].Params {
			at, known := column[p.Path]
			if !known {
				at = len(a.paths)
				column[p.Path] = at
				a.paths, a.values, first = append(a.paths, p.Path), append(a.values, nil), append(first, map[string]int{})
			}
			key := keyOf(p.Value)
			if _, seen := first[at][key]; !seen {
				first[at][key] = len(a.values[at])
				a.values[at] = append(a.values[at], p.Value)
			}
		}
	}
	a.sort(column, first)
	return a
}

// sort puts the values, and the candidates by them, into order.
func (a *grid) sort(column map[string]int, first []map[string]int) {
	candidates := a.candidates
	var bases []string
	for i := range candidates {
		bases = append(bases, candidates[i].Base)
	}
	slices.Sort(bases)
	places := make([]map[string]int, len(a.paths))
	for at := range a.paths {
		slices.SortFunc(a.values[at], func(x, y any) int { // numbers before texts, and off behind all
			one, oneKind := amountOf(x)
			other, otherKind := amountOf(y)
			return cmp.Or(cmp.Compare(oneKind, otherKind), cmp.Compare(one, other), cmp.Compare(first[at][keyOf(x)], first[at][keyOf(y)]))
		})
		places[at] = map[string]int{}
		for i, v := range a.values[at] {
			places[at][keyOf(v)] = i
		}
	}
	width := len(a.paths) + 1
	all := make([]int, len(candidates)*width)
	for i := range candidates {
		a.at[i] = all[i*width : (i+1)*width]
		a.at[i][len(a.paths)], _ = slices.BinarySearch(bases, candidates[i].Base)
		for at := range a.paths {
			a.at[i][at] = absent(places[at], len(a.values[at]))
		}
		for _, p := range candidates[i].Params {
			a.at[i][column[p.Path]] = places[column[p.Path]][keyOf(p.Value)]
		}
	}
	a.rank, a.order = make([]int, len(a.at)), make([]int, len(a.at))
	for i := range a.order {
		a.order[i] = i
	}
	slices.SortStableFunc(a.order, func(x, y int) int { return slices.Compare(a.at[x], a.at[y]) })
	for place, i := range a.order {
		a.rank[i] = place
	}
}

// absent is the place of a parameter that is not set: beside off, the last.
func absent(places map[string]int, n int) int {
	if at, ok := places[keyOf(nil)]; ok {
		return at
	}
	return n
}

// beside is the candidate that differs only in one parameter, by steps up or down
// among its values.
func (a *grid) beside(candidate, path, steps int) (other int, ok bool) {
	own := a.at[candidate]
	place := own[path] + steps
	if place < 0 || place >= len(a.values[path]) {
		return 0, false
	}
	at, ok := slices.BinarySearchFunc(a.order, own, func(i int, own []int) int {
		is := a.at[i]
		return cmp.Or(slices.Compare(is[:path], own[:path]), cmp.Compare(is[path], place), slices.Compare(is[path+1:], own[path+1:]))
	})
	if !ok {
		return 0, false
	}
	return a.order[at], true
}

// param is the value of a parameter of a candidate, nil where it is off or not set.
func (a *grid) param(candidate, path int) any {
	if at := a.at[candidate][path]; at < len(a.values[path]) {
		return a.values[path][at]
	}
	return nil
}

func amountOf(value any) (amount float64, kind int) {
	switch v := value.(type) {
	case float64:
		return v, 0
	case int64:
		return float64(v), 0
	case int:
		return float64(v), 0
	case time.Duration:
		return v.Seconds(), 1
	case string:
		if d, err := time.ParseDuration(v); err == nil {
			return d.Seconds(), 1
		}
		if v != off {
			return 0, 2
		}
		return 0, 4
	case nil:
		return 0, 4
	}
	return 0, 3
}

// off is how people write that a limit is none.
const off = "off"

// keyOf tells equal values from others.
func keyOf(value any) string {
	switch n, kind := amountOf(value); kind {
	case 0, 1:
		return strconv.FormatFloat(n, 'g', -1, 64) + [...]string{"", "s"}[kind]
	case 4:
		value = nil
	}
	return jsonText(value)
}

func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	return string(text)
}

// changes are the parameters in which a candidate differs from a loop, which may
// be nil: then nothing is known of it.
func changes(from *spec.Loop, to *sweep.Candidate) []Change {
	all, before := []Change{}, []spec.Value{}
	if from != nil {
		before = from.Values()
	}
	for _, p := range to.Params {
		change := Change{Path: p.Path, To: valueText(p.Value)}
		at := slices.IndexFunc(before, func(v spec.Value) bool {
			return v.Parameter && (v.Path == p.Path || strings.HasSuffix(v.Path, "."+p.Path))
		})
		switch {
		case at >= 0 && keyOf(before[at].Value) == keyOf(p.Value):
			continue
		case at >= 0:
			change.From = valueText(before[at].Value)
		case from != nil:
			change.From = valueText(from.ValueAt(spec.FullPath(p.Path)))
		}
		if change.From != change.To {
			all = append(all, change)
		}
	}
	declared := to.Declared()
	if from == nil || declared == nil {
		return all
	}
	for _, d := range spec.Differences(from, declared) { // of the configuration that the parameters are set in
		set := slices.ContainsFunc(to.Params, func(p spec.Param) bool {
			return strings.HasPrefix(d.Path, spec.FullPath(p.Path)) || strings.HasPrefix(spec.FullPath(p.Path), d.Path)
		})
		if was, is := from.ValueAt(d.Path), declared.ValueAt(d.Path); !set && (was != nil || is != nil) {
			all = append(all, Change{Path: d.Path, From: shortText(was), To: shortText(is)})
		}
	}
	return all
}

// mostOfChange is how many characters of a text that changes are shown.
const mostOfChange = 40

func shortText(value any) string {
	text := []rune(valueText(value))
	if len(text) <= mostOfChange {
		return string(text)
	}
	return string(text[:mostOfChange-1]) + "…"
}

func valueText(value any) string {
	switch v := value.(type) {
	case nil:
		return off
	case string:
		return v
	case time.Duration:
		return v.String()
	}
	return jsonText(value)
}

// profile is what a candidate makes of every cell of the runs: those of one unit
// and one fold.
type profile struct{ cells []sweep.Totals }

// theRecording is the number that stands for the recording among candidates.
const theRecording = -1

// mostProfiles are kept at a time: a megabyte each where there are many tasks.
const mostProfiles = 16

// mostOutcomes are kept at a time, of all candidates together: some 1,000 bytes each.
const mostOutcomes = 30_000

// replay replays candidates together, as many as are kept, which takes little longer
// than one of them. Those below 0 are no candidates.
func (t *chooser) replay(ctx context.Context, candidates ...int) error {
	most := max(1, mostOutcomes/len(t.held.Runs))
	var kept, asked []int
	for _, i := range candidates {
		switch _, known := t.outcomes[i]; {
		case i < 0 || len(kept)+len(asked) == most || slices.Contains(kept, i) || slices.Contains(asked, i):
		case known:
			kept = append(kept, i)
		default:
			asked = append(asked, i)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	if len(t.outcomes)+len(asked) > most {
		maps.DeleteFunc(t.outcomes, func(i int, _ []sweep.Outcome) bool { return !slices.Contains(kept, i) })
	}
	all, err := t.Candidates.Outcomes(ctx, asked...)
	if err != nil {
		return err
	}
	for k, i := range asked {
		t.outcomes[i] = all[k]
	}
	return nil
}

// Outcomes replays a candidate, unless its outcomes are kept.
func (t *chooser) Outcomes(ctx context.Context, candidate int) ([]sweep.Outcome, error) {
	err := t.replay(ctx, candidate)
	return t.outcomes[candidate], err
}

// profile replays a candidate, or is that of a recording.
func (t *chooser) profile(ctx context.Context, candidate int) (*profile, error) {
	if p, ok := t.profiles[candidate]; ok {
		return p, nil
	}
	var p *profile
	switch {
	case candidate >= 0:
		p = &profile{}
		err := t.Sums(ctx, t.parts, []int{candidate}, func(_ int, sums *sweep.Sums) {
			if p.cells = sums.Totals(); t.score >= 0 {
				t.rememberLosses(candidate, sums)
			}
		})
		if err != nil {
			return nil, err
		}
	case candidate == theRecording:
		p = t.profileOf(t.held.Recorded())
	default:
		p = t.profileOf(Hold(t.Recordings()[theRecording-candidate].Runs, t.held.Scores).Recorded())
	}
	if len(t.profiles) >= mostProfiles {
		clear(t.profiles)
	}
	t.profiles[candidate] = p
	return p, nil
}

func (t *chooser) profileOf(outcomes []sweep.Outcome) *profile {
	return &profile{t.parts.Sum(outcomes).Totals()}
}

func (t *chooser) sum(p *profile, subset int) *sums {
	s := &sums{}
	for c := range p.cells {
		if t.in(c, subset) {
			s.add(&p.cells[c])
		}
	}
	return s
}

// influence are the pseudo-values of a term for the units of a subset, whose mean
// and spread are those of the term (M. H. Quenouille, Biometrika 43, 1956; J. W.
// Tukey, 1958): for a mean over units of one size they are the units' means. They
// are moved so that their mean is the term itself. It is nil where the term has no
// value, or where quantiles are read, which the jackknife does not fit.
func (t *chooser) influence(ctx context.Context, p *profile, subset int, of *term) []float64 {
	byUnit := make([][]*sweep.Totals, t.units)
	for c := range p.cells {
		if t.in(c, subset) && p.cells[c].Runs > 0 {
			byUnit[t.cellUnit[c]] = append(byUnit[t.cellUnit[c]], &p.cells[c])
		}
	}
	all := t.sum(p, subset)
	scope := t.scope(&sums{})
	scope.set(all)
	whole, _ := of.of(ctx, scope)
	if of.program != nil && t.quantiles || math.IsNaN(whole) {
		return nil
	}
	values, mean := []float64{}, 0.0
	for _, cells := range byUnit {
		if len(cells) == 0 {
			continue
		}
		scope.set(all)
		for _, c := range cells {
			scope.sums.include(c, -1)
		}
		without, _ := of.of(ctx, scope)
		values = append(values, without)
		mean += without
	}
	return pseudo(values, whole, mean/float64(len(values)))
}

// pseudo turns what the term is without each unit into pseudo-values.
func pseudo(without []float64, whole, mean float64) []float64 {
	if math.IsNaN(mean) || len(without) < 2 {
		return nil
	}
	n := float64(len(without))
	for i, x := range without {
		without[i] = whole + (n-1)*(mean-x)
	}
	return without
}
