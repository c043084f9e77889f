package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// loss is how much of a score a candidate may lose against the recording.
type loss struct {
	lost, gained, runs int
	// most is the one-sided upper bound of the share of runs that lose their
	// success; where runs may also gain one, or the score is graded, of what the
	// mean loses.
	most float64
	net  bool // the latter
	// sample is what most is the bound of; nil where Student's t has to do.
	sample *stats.Bounded
}

// lossOf bounds the loss on a subset, at a level. Not in full, the bound is max_loss where
// it is no larger, else infinite.
func (t *chooser) lossOf(ctx context.Context, candidate, subset int, level float64, inFull bool) (l loss, err error) {
	on, err := t.Recording(ctx, candidate)
	if err != nil {
		return l, err
	}
	same := on == 0 // it is replayed on the recording that losses are counted against
	switch {
	case same && t.independent && !t.graded:
		l = t.flips(candidate, subset)
		l.most, l.net, l.sample = math.Inf(1), l.gained > 0, l.ofRuns()
	case same && !inFull && t.hopeless(candidate, subset, level):
		l = t.flips(candidate, subset)
		l.most = math.Inf(1)
	default:
		if _, known := t.losses[candidate]; same && !inFull && !known {
			if err := t.findLosses(ctx, t.looserThan(candidate)...); err != nil {
				return l, err
			}
		}
		if l, err = t.clusteredLoss(ctx, candidate, subset, level); err != nil {
			return l, err
		}
	}
	switch {
	case l.sample == nil:
	case inFull:
		l.most = l.sample.AtMost(level)
	case l.sample.Shows(t.Choose.Number, level):
		l.most = t.Choose.Number
	}
	return l, nil
}

// flips are the successes lost and gained on a subset, by the totals.
func (t *chooser) flips(candidate, subset int) loss {
	s := &t.over(&sums{}, candidate, subset).scores[t.score]
	return loss{lost: int(s.lost), gained: int(s.gained), runs: int(s.known)}
}

// ofRuns is a sample of runs that do not depend on each other.
func (l *loss) ofRuns() *stats.Bounded {
	sample, _ := stats.NewBounded([]stats.Units{{Sum: 1, Size: 1, Count: float64(l.lost)}, {Sum: -1, Size: 1, Count: float64(l.gained)}, {Size: 1, Count: float64(l.runs - l.lost - l.gained)}}, -1, 1)
	return sample
}

// hopeless reports whether a candidate loses more than is allowed without any bound, or
// with that of independent runs, so that its runs need not be looked at.
func (t *chooser) hopeless(candidate, subset int, level float64) bool {
	if l := t.flips(candidate, subset); !t.graded && l.gained == 0 {
		return !l.ofRuns().Shows(t.Choose.Number, level)
	}
	before, now := t.recordedSums[subset], t.over(&sums{}, candidate, subset)
	return numberOf(before.score(t.score))-numberOf(now.score(t.score)) > t.Choose.Number
}

// lossCell is what a candidate loses and gains in a cell, and what its score sums up
// to: what bounds of losses need of a profile, which is much larger.
type lossCell struct {
	cell, lost, gained, known int32
	sum, tasks                float64 // of the score, tasks counting alike, and over so many tasks
}

// mostLossCells are kept at a time, of all candidates together.
const mostLossCells = 2_000_000

// mostTogether is of how many candidates losses are found at a time.
const mostTogether = 32

// lossCells finds what a candidate loses, and remembers it: the folds ask for the same candidates again and again.
func (t *chooser) lossCells(ctx context.Context, candidate int) ([]lossCell, error) {
	if _, known := t.losses[candidate]; !known {
		if err := t.findLosses(ctx, candidate); err != nil {
			return nil, err
		}
	}
	return t.losses[candidate], nil
}

// findLosses finds what candidates lose.
func (t *chooser) findLosses(ctx context.Context, candidates ...int) error {
	return t.Sums(ctx, t.parts, candidates, func(i int, sums *sweep.Sums) { t.rememberLosses(i, sums) })
}

func (t *chooser) rememberLosses(candidate int, sums *sweep.Sums) {
	before := t.recordedLosses()
	if t.lossesKept > mostLossCells {
		clear(t.losses)
		t.losses[theRecording], t.lossesKept = before, 0
	}
	var cells []lossCell
	for c, of := range sums.Score(t.score) {
		if cell := t.lossCell(c, &of); cell != before[c] {
			cells = append(cells, cell)
		}
	}
	t.losses[candidate], t.lossesKept = cells, t.lossesKept+len(cells)
}

// lossCell is that of a cell with such a score. In every candidate a cell has as many runs.
func (t *chooser) lossCell(cell int, of *sweep.ScoreTotals) lossCell {
	score := scoreOf(of, &t.recordedCells.cells[cell])
	return lossCell{int32(cell), int32(of.Lost), int32(of.Gained), int32(of.Known), score.sum, score.tasks}
}

// recordedLosses are those of the recording, in every cell.
func (t *chooser) recordedLosses() []lossCell {
	cells, known := t.losses[theRecording]
	if !known {
		for c := range t.recordedCells.cells {
			var of sweep.ScoreTotals
			if scores := t.recordedCells.cells[c].Scores; t.score < len(scores) {
				of = scores[t.score]
			}
			cells = append(cells, t.lossCell(c, &of))
		}
		t.losses[theRecording] = cells
	}
	return cells
}

// looserThan are a candidate and some of those that have to pass before it and of which no losses are known: along one
// parameter as far as possible, as sums of candidates that differ in one number take little longer than those of one.
func (t *chooser) looserThan(candidate int) []int {
	all, seen := []int{candidate}, map[int]bool{}
	for rungs := []int{t.steps.rung[candidate]}; len(rungs) > 0; {
		last := len(rungs) - 1
		looser := t.steps.rungs[rungs[last]].looser
		rungs = rungs[:last]
		for _, r := range looser {
			first := t.steps.rungs[r].candidates[0]
			if _, known := t.losses[first]; known || seen[r] {
				continue
			}
			if all = append(all, first); len(all) == mostTogether {
				return all
			}
			seen[r], rungs = true, append(rungs, r)
		}
	}
	return all
}

// clusteredLoss is by tasks, or clusters of them. The share of runs that lose their success
// is bounded where scores are zeros and ones and none gains it, else what the mean of the
// score falls by, in which tasks count alike.
func (t *chooser) clusteredLoss(ctx context.Context, candidate, subset int, level float64) (l loss, err error) {
	cells, err := t.lossCells(ctx, candidate)
	if err != nil {
		return l, err
	}
	shares, falls, scores := make([]stats.Units, t.units), make([]stats.Units, t.units), make([]stats.Units, t.units)
	for before, s := range t.lossesOn(cells, subset) {
		l.lost, l.gained, l.runs = l.lost+int(s.lost), l.gained+int(s.gained), l.runs+int(s.known)
		unit := t.cellUnit[s.cell]
		u := &shares[unit]
		*u = stats.Units{Sum: u.Sum + float64(s.lost), Size: u.Size + float64(s.known), Count: 1}
		if u = &falls[unit]; s.tasks > 0 {
			score := before.sum / before.tasks * s.tasks
			*u = stats.Units{Sum: u.Sum + score - s.sum, Size: u.Size + s.tasks, Count: 1}
			scores[unit] = stats.Units{Sum: scores[unit].Sum + score, Size: u.Size, Count: 1}
		}
	}
	l.net, l.most = t.graded || l.gained > 0, math.Inf(1)
	switch {
	case t.wide:
		l.most = t.meanLoss(cells, subset, level)
	case !l.net:
		l.sample, _ = stats.NewBounded(filled(shares), -1, 1)
	default:
		if sample, ok := stats.NewBounded(filled(falls), -1, 1); ok {
			l.sample = sample.Losing(filled(scores))
		}
	}
	return l, nil
}

// lossesOn goes through the cells of a subset, as recorded and under a candidate, of which those cells are given that
// differ.
func (t *chooser) lossesOn(cells []lossCell, subset int) iter.Seq2[*lossCell, *lossCell] {
	return func(yield func(before, now *lossCell) bool) {
		recorded, next := t.recordedLosses(), 0
		for c := range recorded {
			before := &recorded[c]
			now := before
			if next < len(cells) && cells[next].cell == int32(c) {
				now = &cells[next]
				next++
			}
			if t.in(c, subset) && !yield(before, now) {
				return
			}
		}
	}
}

// means are the pseudo-values of the mean of the score for the units of a subset, as
// influence has them of any term.
func (t *chooser) means(cells []lossCell, subset int) []float64 {
	units := make([]lossCell, t.units)
	var all lossCell
	for _, s := range t.lossesOn(cells, subset) {
		u := &units[t.cellUnit[s.cell]]
		u.sum, u.tasks, u.known = u.sum+s.sum, u.tasks+s.tasks, u.known+1
		all.sum, all.tasks = all.sum+s.sum, all.tasks+s.tasks
	}
	values, mean := []float64{}, 0.0
	for _, u := range units {
		if u.known > 0 {
			without := (all.sum - u.sum) / (all.tasks - u.tasks)
			values = append(values, without)
			mean += without
		}
	}
	return pseudo(values, all.sum/all.tasks, mean/float64(len(values)))
}

func filled(units []stats.Units) []stats.Units {
	return slices.DeleteFunc(units, func(u stats.Units) bool { return u.Size == 0 })
}

// noLoss is a sample like the recording that loses nothing.
func (t *chooser) noLoss(subset int) *stats.Bounded {
	units := make([]stats.Units, t.units)
	for c := range t.recordedCells.cells {
		if cell := &t.recordedCells.cells[c]; t.in(c, subset) && t.score < len(cell.Scores) && cell.Runs > 0 {
			size := float64(cell.Scores[t.score].Known)
			if t.graded {
				size *= cell.PerTask.Tasks / float64(cell.Runs)
			}
			u := &units[t.cellUnit[c]]
			u.Size, u.Count = u.Size+size, 1
		}
	}
	if t.independent {
		n, _ := t.lossUnits(subset)
		units = []stats.Units{{Size: 1, Count: float64(n)}}
	}
	sample, _ := stats.NewBounded(filled(units), -1, 1)
	return sample
}

// fewDiffer is below how many units that lose or gain something Student's t is not
// relied on alone: two of them may be near to each other by chance.
const fewDiffer = 10

// meanLoss is the one-sided bound of what the mean of a score without a scale falls by, by
// Student's t: it assumes that no loss is rare and large. Where few units lose or gain
// anything, it is no less than the share of units that might.
func (t *chooser) meanLoss(cells []lossCell, subset int, level float64) float64 {
	d := differences(t.means(nil, subset), t.means(cells, subset))
	estimate, ok := stats.MeanOf(d)
	quantile, known := stats.StudentQuantile(level, estimate.Degrees)
	switch none := t.noLoss(subset).AtMost(level); {
	case !ok || !known:
		return math.Inf(1)
	case estimate.SE == 0:
		return estimate.Value + none
	case differing(d) < fewDiffer:
		return max(estimate.Value+quantile*estimate.SE, none)
	}
	return estimate.Value + quantile*estimate.SE
}

func differing(d []float64) (n int) {
	for _, x := range d {
		n += count(x != 0)
	}
	return n
}

// differences are those of two lists of one length, nil where they are not.
func differences(a, b []float64) []float64 {
	if a == nil || len(a) != len(b) {
		return nil
	}
	d := make([]float64, len(a))
	for i := range d {
		if d[i] = a[i] - b[i]; math.Abs(d[i]) < 1e-9 {
			d[i] = 0
		}
	}
	return d
}

// reference finds the recording that losses are counted against: the one with the
// best objective, the first by name among equals. Its place among Recordings is
// where it stood in the folder, which must not matter.
func (t *chooser) reference(ctx context.Context) (best int, err error) {
	most := math.Inf(-1)
	recordings := t.Recordings()
	for r := range recordings {
		value, _, err := t.recordingOn(ctx, r, 0)
		if err != nil {
			return 0, err
		}
		if math.IsNaN(value) {
			value = math.Inf(-1)
		}
		if c := cmp.Compare(value, most); c > 0 || c == 0 && recordings[r].Configuration < recordings[best].Configuration {
			best, most = r, value
		}
	}
	return best, nil
}

// recordingOn is what a recording is worth on a subset, the larger the better, NaN
// where that is not known, and whether it satisfies the constraints.
func (t *chooser) recordingOn(ctx context.Context, recording, subset int) (value float64, within bool, err error) {
	p, err := t.profile(ctx, recordingNumber(recording))
	if err != nil {
		return 0, false, err
	}
	scope := t.scope(t.sum(p, subset))
	if t.quantiles {
		everyRunOf(Hold(t.Recordings()[recording].Runs, t.held.Scores).Recorded()).into(scope.sums, t.fold, subset-1)
	}
	value, _ = t.goal.of(ctx, scope)
	if t.Minimize {
		value = -value
	}
	within = true
	for c := range t.Constraints {
		ok, _ := holds(ctx, &t.Constraints[c], scope)
		within = within && ok
	}
	return value, within, ctx.Err()
}

// recordingNumber stands for a recording among candidates: theRecording for the
// first one.
func recordingNumber(recording int) int { return theRecording - recording }

func (t *chooser) measureRecordings(ctx context.Context) error {
	for s := range t.subsets {
		t.recorded = append(t.recorded, nil)
		for r := range t.Recordings() {
			value, within, err := t.recordingOn(ctx, r, s)
			if err != nil {
				return err
			}
			if !within {
				value = math.NaN()
			}
			t.recorded[s] = append(t.recorded[s], value)
		}
	}
	return nil
}

// measureLeast fills in what a candidate that is not exact is worth at least: the
// mean of the score when every run whose end is not known fails. With another
// objective, with constraints, and where the agent was told a limit, nothing is
// known.
func (t *chooser) measureLeast(ctx context.Context, candidate int, totals []sweep.Totals) {
	if t.goal.native == nil || t.Minimize || len(t.Constraints) > 0 {
		return
	}
	if slices.ContainsFunc(totals, func(part sweep.Totals) bool { return part.Told > 0 }) {
		return
	}
	scope := t.scope(&sums{})
	for s := range t.subsets {
		scope.clear()
		t.over(scope.sums, candidate, s)
		if !math.IsInf(scope.sums.score(t.score).Number, 0) {
			t.least[s][candidate], _ = t.goal.of(ctx, scope)
		}
	}
}

// topOf is the best of all that is known on a subset, and what it is worth at least:
// the best candidate, else the recording or the candidate of which only bounds are
// known that is better by more than rounding.
func (t *chooser) topOf(best, subset int) (top int, value float64) {
	top, value = best, t.value[subset][best]
	better := func(number int, is float64) {
		if is > value+slack(value) {
			top, value = number, is
		}
	}
	for r, is := range t.recorded[subset] {
		better(recordingNumber(r), is)
	}
	for i, is := range t.least[subset] {
		better(i, is)
	}
	return top, value
}

// thousand is how many runs savings are told for.
const thousand = 1_000

// against compares the recommended configuration with today's, where that is
// answered for, and with what was recorded.
func (t *chooser) against(ctx context.Context, r *Tuning, choice *chosen) error {
	if choice.candidate < 0 {
		return nil
	}
	mine, err := t.Outcomes(ctx, choice.candidate)
	if err != nil {
		return err
	}
	if today := t.todayAnswered(); today >= 0 {
		base, err := t.Outcomes(ctx, today)
		if err != nil {
			return err
		}
		if err := t.compare(ctx, r, "today", t.candidates[today].Name, base, mine); err != nil {
			return err
		}
	}
	return t.compare(ctx, r, "recording", LabelRecorded, t.held.Recorded(), mine)
}

func (t *chooser) compare(ctx context.Context, r *Tuning, what, name string, base, mine []sweep.Outcome) error {
	v := Versus{What: what, Name: name, All: []compare.Difference{}, Saved: []Saving{}}
	result, err := compare.Sides(t.side(base), t.side(mine), compare.Options{Alpha: 1 - t.Level, Seed: t.Seed})
	if err != nil && !errors.Is(err, compare.ErrNoCommonTask) {
		return fmt.Errorf("comparing with %s: %w", what, err)
	}
	v.All = append(v.All, result.Differences...)
	for i := range mine {
		lost, gained := flip(&base[i], &mine[i], t.score)
		v.Lost, v.Gained = v.Lost+count(lost), v.Gained+count(gained)
	}
	v.Saved = t.savings(ctx, base, mine)
	r.Against = append(r.Against, v)
	return nil
}

// flip says whether a run loses or gains a success, by a score.
func flip(base, mine *sweep.Outcome, score int) (lost, gained bool) {
	if score < 0 {
		return false, false
	}
	before, now := ScoreOf(base, score), ScoreOf(mine, score)
	if !before.Known() || !now.Known() {
		return false, false
	}
	return before.Least >= Success && now.Most < Success, before.Most < Success && now.Least >= Success
}

// side is what is compared: the runs, grouped by task. What is no point is left
// out.
func (t *chooser) side(outcomes []sweep.Outcome) *compare.Side {
	s := &compare.Side{}
	order := make([]int, 0, len(outcomes))
	for i := range t.held.Tasks {
		runs := t.held.Tasks[i].Runs
		first := t.held.Runs[runs[0]].Run
		s.Tasks, s.Starts = append(s.Tasks, first.Task), append(s.Starts, int32(len(order)))
		if t.held.Clusters > 0 {
			s.Clusters = append(s.Clusters, first.Cluster)
		}
		byTrial := slices.SortedFunc(slices.Values(runs), func(a, b int) int { return t.held.Runs[a].Run.Trial - t.held.Runs[b].Run.Trial })
		order = append(order, byTrial...)
	}
	s.Starts = append(s.Starts, int32(len(order)))
	for _, i := range order {
		s.Trials = append(s.Trials, int32(t.held.Runs[i].Run.Trial))
	}
	for at, name := range t.held.Scores {
		s.Columns = append(s.Columns, column(name, true, order, func(i int) float64 {
			if r := ScoreOf(&outcomes[i], at); r.Least == r.Most {
				return r.Least
			}
			return math.NaN()
		}))
	}
	for _, a := range t.amountsKnown() {
		s.Columns = append(s.Columns, column(a.name, false, order, func(i int) float64 { return a.of(&outcomes[i]) }))
	}
	return s
}

func column(name string, isScore bool, order []int, of func(i int) float64) compare.Column {
	c := compare.Column{Quantity: compare.Quantity{Name: name, Score: isScore}}
	for _, i := range order {
		v := of(i)
		if math.IsNaN(v) {
			c.Missing = page.Unknown
		}
		c.Values = append(c.Values, v)
	}
	return c
}

// amountOfRun is an amount of which less is better. One that has bounds counts at
// its most.
type amountOfRun struct {
	name string
	of   func(o *sweep.Outcome) float64
}

func (t *chooser) amountsKnown() []amountOfRun {
	var all []amountOfRun
	add := func(name string, s *Spending) {
		all = append(all, amountOfRun{name, func(o *sweep.Outcome) float64 {
			used := o.Total()
			if s.Missing(used.Most) != "" {
				return math.NaN()
			}
			_, most := s.Of(o, &used)
			return float64(most) / s.Unit
		}})
	}
	if t.known.cost {
		add("cost_usd", &Cost)
	}
	if t.known.times {
		add("latency_s", &Time)
	}
	if t.known.tokens {
		add("tokens", &Tokens)
	}
	add("iterations", &Iterations)
	return all
}

// savings are how much less a thousand runs take.
func (t *chooser) savings(ctx context.Context, base, mine []sweep.Outcome) []Saving {
	all := []Saving{}
	before, after := t.profileOf(base), t.profileOf(mine)
	for _, a := range t.amountsKnown() {
		per := term{text: a.name, native: perRuns(thousand, a.name)}
		x, _ := per.of(ctx, t.scope(t.sum(before, 0)))
		y, _ := per.of(ctx, t.scope(t.sum(after, 0)))
		s := Saving{Quantity: a.name, Saved: valueOf(x-y, page.Unknown), Interval: page.NoRange(page.Nothing)}
		if d := differences(t.influence(ctx, before, 0, &per), t.influence(ctx, after, 0, &per)); d != nil {
			s.Interval = t.interval(d)
		}
		all = append(all, s)
	}
	return all
}
