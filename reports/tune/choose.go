package tune

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// chosen is what a rule makes of the candidates on a subset of the runs.
type chosen struct {
	candidate int // -1: none
	best      int // the one with the best objective; -1: there is none to choose
	// top is the best of all that is known, and topValue what it is worth at least:
	// the best candidate, a recording, or a candidate that has bounds only. What is
	// chosen is compared with it.
	top      int
	topValue float64
	next     []int
	// passing is one that the rule allows where none is chosen, because by beats it,
	// which the rule does not allow; -1: there is none.
	passing, by int
	// unproven means that the rule allows nothing but the recording itself, which says nothing of
	// today's configuration: the recorded runs do not answer for that.
	unproven bool
	loss     loss // what MaxLoss decided by
}

// mostNext is how many alternatives are looked for, among so many candidates that
// come after the chosen one and are better.
const mostNext, nextLooked = 3, 50

// choose takes the cheapest candidate that the rule allows, by the runs of a
// subset alone.
func (t *chooser) choose(ctx context.Context, subset int) (chosen, error) {
	c := chosen{candidate: -1, best: -1, passing: -1}
	order := t.ordered(subset)
	if len(order) == 0 {
		return c, nil
	}
	c.best = t.best(order, subset)
	c.top, c.topValue = t.topOf(c.best, subset)
	front := t.unbeaten(order, subset)
	allow := t.allowing(ctx, subset, &c)
	err := t.take(front, subset, allow, &c)
	if err == nil && c.candidate < 0 && t.Choose.Rule == MaxLoss && subset == 0 {
		err = t.passOver(order, front, allow, &c)
	}
	if c.candidate >= 0 && t.isRecording(c.candidate) {
		c.candidate, c.next, c.unproven = -1, nil, true
	}
	return c, err
}

// passOver finds one of the loosest configurations that passes and is beaten. Where
// none of these passes, none does.
func (t *chooser) passOver(order, front []int, allow func(candidate int) (bool, error), c *chosen) error {
	for _, i := range order {
		if t.steps.rungs[t.steps.rung[i]].level > 0 {
			continue
		}
		ok, err := allow(i)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		c.passing = i
		for _, c.by = range front {
			if t.cost[0][c.by] <= t.cost[0][i] && t.value[0][c.by] >= t.value[0][i] {
				return nil
			}
		}
	}
	return nil
}

// isRecording reports whether a candidate is the recording itself, where that says nothing of today's
// configuration.
func (t *chooser) isRecording(candidate int) bool {
	today := t.today()
	return today >= 0 && !t.can[today] && t.print[candidate] == t.recordedPrint
}

// take finds the chosen one, and for what is recommended what would have come next:
// of those that cost more, what is better.
func (t *chooser) take(order []int, subset int, allow func(candidate int) (bool, error), c *chosen) error {
	at := 0
	for ; at < len(order) && c.candidate < 0; at++ {
		ok, err := allow(order[at])
		if err != nil {
			return err
		}
		if ok {
			c.candidate = order[at]
		}
	}
	if subset != 0 || c.candidate < 0 {
		return nil
	}
	c.candidate = t.kept(c.candidate)
	for _, i := range t.closer(order, c.candidate) {
		before := *c
		ok, err := allow(i)
		if err != nil {
			return err
		}
		if ok {
			c.candidate = i
			break
		}
		*c = before
	}
	decided, last, looked := *c, c.candidate, 0
	for ; at < len(order) && len(decided.next) < mostNext && looked < nextLooked; at++ {
		if t.value[subset][order[at]] <= t.value[subset][last] {
			continue
		}
		looked++
		ok, err := allow(order[at])
		if err != nil {
			return err
		}
		if ok {
			last = order[at]
			decided.next = append(decided.next, last)
		}
	}
	*c = decided
	return nil
}

// ordered are the candidates that can be chosen and that satisfy the constraints:
// the cheapest first, of those the better, of those the faster, of those the smaller
// parameters.
func (t *chooser) ordered(subset int) []int {
	value, cost, seconds := t.value[subset], t.cost[subset], t.seconds[subset]
	order := []int{}
	for i := range t.candidates {
		if t.can[i] && t.within[subset][i] && !math.IsNaN(value[i]) && !math.IsNaN(cost[i]) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(cost[a], cost[b]), cmp.Compare(value[b], value[a]), cmp.Compare(seconds[a], seconds[b]), cmp.Compare(t.rank[a], t.rank[b]))
	})
	return order
}

// kept is, of the candidates that make the same of every run as the chosen one, the
// one that differs from today's configuration in the fewest parameters: a parameter
// whose change changes no run keeps today's value.
func (t *chooser) kept(chosen int) int {
	return slices.MinFunc(t.steps.rungs[t.steps.rung[chosen]].candidates, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.changed(a), t.changed(b)), cmp.Compare(t.rank[a], t.rank[b]))
	})
}

// closer are the candidates that tie with the chosen one and change fewer of today's parameters,
// those that change the fewest first.
func (t *chooser) closer(order []int, chosen int) (all []int) {
	for _, i := range order {
		if t.changed(i) < t.changed(chosen) && t.ties(i, chosen, 0) {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.changed(a), t.changed(b)), cmp.Compare(t.rank[a], t.rank[b]))
	})
	return all[:min(len(all), nextLooked)]
}

// ties reports whether two candidates cost as much, are worth as much and take as long.
func (t *chooser) ties(a, b, subset int) bool {
	return t.pointOf(a, subset) == t.pointOf(b, subset)
}

// changed is in how many parameters a candidate differs from today's configuration.
func (t *chooser) changed(candidate int) (n int) {
	if today := t.today(); today >= 0 {
		for path, at := range t.at[today] {
			n += count(t.at[candidate][path] != at)
		}
	}
	return n
}

// unbeaten leaves those that no other beats in cost, objective and latency at once:
// those on the front. Their order stays.
func (t *chooser) unbeaten(order []int, subset int) []int {
	points := make([]stats.Point, len(order))
	for k, i := range order {
		points[k] = t.pointOf(i, subset)
	}
	front := map[stats.Point]bool{}
	for _, at := range stats.Front(points) {
		front[points[at]] = true
	}
	kept := make([]int, 0, len(order))
	for k, i := range order {
		if front[points[k]] {
			kept = append(kept, i)
		}
	}
	return kept
}

// pointOf is what a candidate costs, is worth and takes.
func (t *chooser) pointOf(candidate, subset int) stats.Point {
	p := stats.Point{Cost: t.cost[subset][candidate], Quality: t.value[subset][candidate]}
	if t.known.times {
		p.Delay = t.seconds[subset][candidate]
	}
	return p
}

// best is the first with the best objective.
func (t *chooser) best(order []int, subset int) int {
	return slices.MaxFunc(order, func(a, b int) int { return cmp.Compare(t.value[subset][a], t.value[subset][b]) })
}

// allowing is the rule on a subset.
func (t *chooser) allowing(ctx context.Context, subset int, c *chosen) func(candidate int) (bool, error) {
	value, top := t.value[subset], c.topValue
	if t.Choose.Rule == AtLeast {
		bound := top - (1-t.Choose.Number)*math.Abs(top)
		return func(i int) (bool, error) { return value[i] >= bound-slack(bound), nil }
	}
	passes := t.stepped(ctx, subset, c)
	return func(i int) (bool, error) {
		if t.goal.native != nil && value[i]+t.Choose.Number < top-slack(top) {
			return false, nil // what the recording does not answer for is better by more
		}
		return passes(i)
	}
}

// slack is the rounding that a bound may have.
func slack(bound float64) float64 { return 1e-9 * math.Abs(bound) }

// mostFlipped is up to how many differences that are not 0 are flipped; more are
// tested by Student's t, as reports/compare does.
const mostFlipped = 2_000

// same is the chance of such differences where there is none; 1 where all are 0.
func (t *chooser) same(d []float64) float64 {
	switch n := differing(d); {
	case d == nil:
		return 0
	case n == 0:
		return 1
	case n > mostFlipped:
		estimate, _ := stats.MeanOf(d)
		test, _ := estimate.Test()
		return test.P
	}
	test, ok := stats.SignFlip(d, t.Seed)
	if !ok {
		return 0
	}
	return test.P
}

// choices describes the recommended configuration and those beside it.
func (t *chooser) choices(ctx context.Context, r *Tuning, choice *chosen) (err error) {
	if r.Recording, err = t.choice(ctx, theRecording); err != nil {
		return err
	}
	best := choice.best
	if today := t.today(); best >= 0 && today >= 0 && t.can[today] && t.within[0][today] && t.ties(today, best, 0) {
		best = today // no other is better
	} else if best >= 0 && choice.candidate >= 0 && t.ties(choice.candidate, best, 0) {
		best = choice.candidate
	} else if best >= 0 && r.Guess != nil && r.Guess.Candidate >= 0 && t.ties(r.Guess.Candidate, best, 0) {
		best = r.Guess.Candidate
	} else if best >= 0 {
		best = t.kept(best)
	}
	if choice.candidate < 0 {
		choice.next = t.tradeOff(r.Guess)
	}
	if err := t.replay(ctx, append([]int{choice.candidate, t.today(), best}, choice.next...)...); err != nil {
		return err
	}
	for _, one := range []struct {
		into **Choice
		at   int
	}{{&r.Recommended, choice.candidate}, {&r.Today, t.today()}, {&r.Best, best}} {
		if one.at < 0 {
			continue
		}
		if *one.into, err = t.choice(ctx, one.at); err != nil {
			return err
		}
	}
	for _, next := range choice.next {
		c, err := t.choice(ctx, next)
		if err != nil {
			return err
		}
		r.Alternatives = append(r.Alternatives, *c)
	}
	t.change(r, choice.candidate)
	return nil
}

// mostTraded is how many configurations show what more money buys.
const mostTraded = 8

// tradeOff shows what more money buys where nothing is recommended: the cheapest candidate
// that can be chosen, and those that are better than every cheaper one, thinned evenly. The
// guess is one of them.
func (t *chooser) tradeOff(guess *Guess) (shown []int) {
	best, today := 0.0, t.today()
	alike := func(i, other int) bool { return other >= 0 && t.can[other] && t.ties(i, other, 0) }
	for _, i := range t.ordered(0) {
		switch value := t.value[0][i]; {
		case len(shown) > 0 && value <= best+slack(best):
			continue
		case guess != nil && alike(i, guess.Candidate):
			best, shown = value, append(shown, guess.Candidate)
		case alike(i, today):
			best, shown = value, append(shown, today)
		default:
			best, shown = value, append(shown, t.kept(i))
		}
	}
	if guess == nil || guess.Candidate < 0 || slices.Contains(shown, guess.Candidate) {
		return thinnedTo(shown, mostTraded)
	}
	return append([]int{guess.Candidate}, thinnedTo(shown, mostTraded-1)...)
}

// thinnedTo keeps at most so many of a list, evenly, with its ends.
func thinnedTo(all []int, most int) []int {
	if len(all) <= most {
		return all
	}
	kept := make([]int, most)
	for i := range kept {
		kept[i] = all[i*(len(all)-1)/(most-1)]
	}
	return kept
}

func (t *chooser) change(r *Tuning, to int) {
	if to < 0 {
		return
	}
	from := t.Recordings()[0].Loop
	if today := t.today(); today >= 0 {
		from = t.candidates[today].Declared()
		r.Unchanged = today == to || slices.Equal(t.at[today], t.at[to])
	}
	r.Changes = changes(from, &t.candidates[to])
}

func (t *chooser) choice(ctx context.Context, candidate int) (*Choice, error) {
	outcomes, of := t.held.Recorded(), &sweep.Candidate{Name: LabelRecorded}
	if candidate != theRecording {
		var err error
		if outcomes, err = t.Outcomes(ctx, candidate); err != nil {
			return nil, err
		}
		of = &t.candidates[candidate]
	}
	c := &Choice{Configuration: t.held.summed(of, page.EachOf(outcomes)), Candidate: candidate}
	if candidate == theRecording {
		c.Recorded, c.Label = true, LabelRecorded
		if len(t.Recordings()) > 1 {
			c.Name = t.Recordings()[0].Configuration
		}
	}
	return c, t.worth(ctx, c, outcomes)
}

// worth fills in what a configuration is worth by the terms. What is bounded is no
// point.
func (t *chooser) worth(ctx context.Context, c *Choice, outcomes []sweep.Outcome) error {
	p := t.profileOf(outcomes)
	scope := t.scope(t.sum(p, 0))
	if t.quantiles {
		everyRunOf(outcomes).into(scope.sums, t.fold, -1)
	}
	value, why := t.goal.of(ctx, scope)
	cost, whyCost := t.price.of(ctx, scope)
	c.Objective, c.ChoiceCost = valueOf(value, why), valueOf(cost, whyCost)
	c.Intervals, c.LostMost = noIntervals(page.Nothing), page.Missing(page.Nothing)
	if c.Exact < c.Runs {
		c.Objective, c.ChoiceCost = page.Missing(c.Label), page.Missing(c.Label)
		return nil
	}
	c.Intervals = t.intervals(ctx, p, 0)
	if t.score < 0 {
		return nil
	}
	s := &scope.scores[t.score]
	c.Lost, c.Gained = int(s.lost), int(s.gained)
	if c.Candidate == theRecording {
		return nil
	}
	l, err := t.lossAlone(ctx, c.Candidate, 0)
	c.LostMost, c.LossIsNet = l.LostMost, l.LossIsNet
	return err
}

// lossAlone is what a candidate loses on a subset, with the bound of one that is named
// beforehand.
func (t *chooser) lossAlone(ctx context.Context, candidate, subset int) (Loss, error) {
	if t.score < 0 {
		return Loss{LostMost: page.Missing(page.Nothing)}, nil
	}
	l, err := t.lossOf(ctx, candidate, subset, t.Level, true)
	return Loss{Lost: l.lost, Gained: l.gained, LostMost: valueOf(l.most, page.Nothing), LossIsNet: l.net}, err
}

// all describes every candidate that can be chosen, where that was asked for.
func (t *chooser) all(ctx context.Context, r *Tuning, choice *chosen) error {
	if !t.ChoiceOptions.All {
		return nil
	}
	order := []int{}
	for i := range t.candidates {
		if t.can[i] {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.cost[0][a], t.cost[0][b]), cmp.Compare(t.rank[a], t.rank[b]))
	})
	for _, i := range order {
		l, err := t.lossAlone(ctx, i, 0)
		if err != nil {
			return err
		}
		r.All = append(r.All, AllRow{
			Candidate: i, Name: t.candidates[i].Name, Params: Params(t.candidates[i].Params), Objective: t.shownValue(t.value[0][i]), ChoiceCost: page.Known(t.cost[0][i]),
			Counted: t.counted(t.over(&sums{}, i, 0)), Within: t.within[0][i], Loss: l, Alpha: t.steps.rungs[t.steps.rung[i]].alpha, Recommended: i == choice.candidate, Today: i == t.today(),
		})
	}
	return nil
}

// whyChosen says by which numbers the rule took its choice.
func (t *chooser) whyChosen(c *chosen, within int) string {
	of := "the cheapest of " + page.Plural(within, "configuration", "configurations")
	switch {
	case t.Choose.Rule == AtLeast:
		return fmt.Sprintf("%s with at least %s of the best objective: %s of %s", of, percent(t.Choose.Number), t.shown(c.candidate), t.shown(c.best))
	case c.loss.net:
		return fmt.Sprintf("%s whose mean %s is shown to fall by at most %.3g", of, t.held.Scores[t.score], t.Choose.Number)
	}
	return fmt.Sprintf("%s that is shown to lose at most %s of the runs' successes; it loses %d of %d", of, percent(t.Choose.Number), c.loss.lost, c.loss.runs)
}

// shown is the objective as it was asked for.
func (t *chooser) shown(candidate int) string {
	return fmt.Sprintf("%.4g", t.shownValue(t.value[0][candidate]).Number)
}

// percent is a share with two digits that count.
func percent(share float64) string { return fmt.Sprintf("%.3g%%", 100*share) }

// whyNone says why the rule finds nothing on a subset.
func (t *chooser) whyNone(ctx context.Context, subset int, c *chosen) (string, error) {
	if c.best < 0 {
		return t.whyNothingLeft(subset), nil
	}
	if c.unproven {
		return "no limit that is tighter than the recorded ones is allowed, and looser ones, today's among them, cannot be judged: the runs ended before", nil
	}
	units, what := t.lossUnits(subset)
	switch {
	case c.top != c.best && (t.Choose.Rule != MaxLoss || t.beaten(c)):
		return t.whyBeaten(c), nil
	case t.Choose.Rule != MaxLoss:
		return "the rule allows none", nil
	}
	if c.passing >= 0 {
		return fmt.Sprintf("%s is proven to lose at most %s, but %s, which is not, beats it", t.candidates[c.passing].Name, percent(t.Choose.Number), t.candidates[c.by].Name), nil
	}
	text := fmt.Sprintf("no configuration is proven to lose at most %s", percent(t.Choose.Number))
	alpha := t.steps.largest()
	if needed := t.leastUnits(subset); needed > 0 {
		least := percent(t.noLoss(subset).AtMost(1 - alpha))
		text = fmt.Sprintf("%s: %s at best, it takes at least %.0f", text, page.Plural(units, strings.TrimSuffix(what, "s")+" proves "+least, what+" prove "+least), needed)
	}
	least, ok, err := t.leastShown(ctx, subset)
	if ok && least > mostAdvised {
		text = fmt.Sprintf("%s; these %s cannot rule out a loss of %s", text, what, percent(least))
	} else if ok {
		text = fmt.Sprintf("%s; the smallest bound that they prove is --choose max_loss:%v", text, roundedUp(least))
	}
	return text, err
}

// leastUnits is how many units prove that what loses nothing loses at most what is
// allowed; 0 where so many do.
func (t *chooser) leastUnits(subset int) (units float64) {
	alpha, none := t.steps.largest(), t.noLoss(subset)
	if !none.Shows(t.Choose.Number, 1-alpha) {
		units, _ = none.Needed(t.Choose.Number, 1-alpha)
	}
	return units
}

// mostAdvised is the largest loss that a hint suggests to allow.
const mostAdvised = 0.2

// mostLeast is of how many rungs at most it is said what the least loss is that these
// tasks can show.
const mostLeast = 2_000

// leastShown is the smallest max_loss at which something is recommended: the least
// bound on the front, where looser ones have passed.
func (t *chooser) leastShown(ctx context.Context, subset int) (least float64, ok bool, err error) {
	if subset > 0 || len(t.steps.rungs) > mostLeast {
		return 0, false, nil
	}
	known := map[int]float64{}
	var opens func(r int) float64
	bound := func(r int) float64 {
		l, e := t.lossOf(ctx, t.steps.rungs[r].candidates[0], subset, 1-t.steps.rungs[r].alpha, true)
		err = cmp.Or(err, e)
		for _, looser := range t.steps.rungs[r].looser {
			l.most = max(l.most, opens(looser))
		}
		return l.most
	}
	opens = func(r int) float64 {
		if _, is := known[r]; !is {
			known[r] = 0
			if t.print[t.steps.rungs[r].candidates[0]] != t.recordedPrint {
				known[r] = bound(r)
			} else {
				for _, looser := range t.steps.rungs[r].looser {
					known[r] = max(known[r], opens(looser))
				}
			}
		}
		return known[r]
	}
	least = math.Inf(1)
	for _, i := range t.unbeaten(t.ordered(subset), subset) {
		if !t.isRecording(i) {
			least = min(least, bound(t.steps.rung[i]))
		}
	}
	return least, least > t.Choose.Number && least < 1 && err == nil, err
}

// whyBeaten says what is better than every configuration that could be recommended.
func (t *chooser) whyBeaten(c *chosen) string {
	best := fmt.Sprintf("the best configuration that the recording answers for, %s, has %.4g of %s", t.candidates[c.best].Name, t.shownValue(t.value[0][c.best]).Number, t.goal.text)
	top := t.shownValue(c.topValue).Number
	if c.top < 0 {
		return fmt.Sprintf("%s, and %s has %.4g as recorded", best, t.Recordings()[theRecording-c.top].Configuration, top)
	}
	return fmt.Sprintf("%s, and %s, of which only bounds are known, has at least %.4g", best, t.candidates[c.top].Name, top)
}

// roundedUp is a number above 0 with two digits that count, and no smaller.
func roundedUp(x float64) float64 {
	digits := 1 - int(math.Floor(math.Log10(x)))
	scale := math.Pow10(digits)
	return math.Ceil(x*scale) / scale
}

// lossUnits are what bounds of losses count: runs that are scored, or tasks or clusters
// of them.
func (t *chooser) lossUnits(subset int) (n int, what string) {
	if t.independent && t.score >= 0 {
		return int(t.recordedSums[subset].scores[t.score].known), "runs"
	} else if t.independent {
		return int(t.recordedSums[subset].runs), "runs"
	}
	seen := map[int]bool{}
	for c := range t.cellUnit {
		scores := t.recordedCells.cells[c].Scores
		if scored := t.score < 0 || t.score < len(scores) && scores[t.score].Known > 0; scored && t.in(c, subset) {
			seen[t.cellUnit[c]] = true
		}
	}
	if t.held.Clusters > 0 {
		return len(seen), "clusters"
	}
	return len(seen), "tasks"
}

// whyNothingLeft says which step left no candidate.
func (t *chooser) whyNothingLeft(subset int) string {
	var exact, can int
	for i := range t.candidates {
		exact += count(t.standing[i] != notExact)
		can += count(t.can[i])
	}
	all := page.Plural(len(t.candidates), "configuration", "configurations")
	switch {
	case exact == 0:
		return fmt.Sprintf("of %s the recording answers for none exactly", all)
	case can == 0:
		return fmt.Sprintf("of %s none has all numbers: %s", all, t.firstWhy())
	case subset == 0:
		return fmt.Sprintf("of %s none satisfies the constraints", all)
	}
	return fmt.Sprintf("of %s none satisfies the constraints on the other folds", all)
}

// tighterUnscored is why tighter limits cannot be judged, and what to do.
const tighterUnscored = "the score of a run that stops there is unknown: score every iteration, or import the log with --when-cut 0 if a run that is cut has failed"

// firstWhy is why the first candidate that lacks a number does.
func (t *chooser) firstWhy() string {
	for i, why := range t.why {
		if t.standing[i] == faulty {
			return "runs that stop there would have a fault"
		}
		if t.standing[i] == notScored {
			return tighterUnscored
		}
		if why != "" {
			return why
		}
	}
	return "nothing is known"
}

func (t *chooser) madeNotes(r *Tuning) {
	if t.folds == 0 && t.Folds >= 0 {
		r.Notes = append(r.Notes, Note{Kind: NoFolds})
	}
	if v := r.Validation; v != nil && r.Recommended != nil {
		without := 0
		for i := range v.Folds {
			without += count(v.Folds[i].Chosen < 0)
		}
		if without > 0 {
			r.Notes = append(r.Notes, Note{Kind: FoldsWithout, Count: without, Of: len(v.Folds)})
		}
	}
	t.excluded(r)
	if r.Recommended != nil {
		t.sensitive(r, r.Recommended.Candidate)
	}
	if t.score >= 0 && !t.independent {
		n, what := t.lossUnits(0)
		r.Notes = append(r.Notes, Note{Kind: LossByUnits, Count: n, Name: what[:len(what)-1]})
	}
}
