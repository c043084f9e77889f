package tune

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// guess is what looks best where nothing is recommended, and how many tasks would
// prove it.
func (t *chooser) guess(ctx context.Context, r *Tuning, choice *chosen) error {
	if choice.candidate >= 0 || choice.best < 0 {
		return nil
	}
	switch {
	case choice.top != choice.best && (t.Choose.Rule != MaxLoss || t.beaten(choice)):
		return t.guessTop(ctx, r, choice)
	case t.Choose.Rule != MaxLoss:
		return nil
	}
	if err := t.guessCheap(ctx, r); err != nil || r.Guess != nil {
		return err
	}
	return t.guessBest(ctx, r, choice)
}

// guessBest guesses, where nothing cheaper looks as good as the recording, today's
// configuration if none has a better objective, else the one that has.
func (t *chooser) guessBest(ctx context.Context, r *Tuning, choice *chosen) error {
	today := t.today()
	if today < 0 || !t.can[today] || !t.within[0][today] {
		return nil
	}
	g := &Guess{Candidate: today, Unchanged: true, Best: t.shownValue(t.value[0][choice.best])}
	cheapest := t.ordered(0)[0]
	if t.value[0][today] < t.value[0][choice.best] {
		g.Candidate, g.Unchanged = t.kept(choice.best), false
	} else if now := t.cost[0][today]; t.cost[0][cheapest] >= now-slack(now) {
		for _, can := range t.can {
			g.Unjudged += count(!can)
		}
		g.Cheapest = true
	}
	l, err := t.lossOf(ctx, g.Candidate, 0, t.Level, true)
	if err != nil {
		return err
	}
	g.Name, g.Value = t.candidates[g.Candidate].Name, t.shownValue(t.value[0][g.Candidate])
	if !g.Cheapest {
		g.Tasks = t.tasksOf(t.leastUnits(0))
	}
	g.Lost, g.Gained, g.Runs = l.lost, l.gained, l.runs
	r.Guess = g
	return nil
}

// beaten reports whether what is not exact is better than every candidate by more than
// max_loss.
func (t *chooser) beaten(c *chosen) bool {
	return t.goal.native != nil && t.value[0][c.best]+t.Choose.Number < c.topValue-slack(c.topValue)
}

// guessTop guesses what is better than every configuration that could be chosen: the
// recording, or a configuration of which only bounds are known.
func (t *chooser) guessTop(ctx context.Context, r *Tuning, c *chosen) error {
	g := &Guess{Candidate: c.top, Least: true, Value: t.shownValue(c.topValue), Best: t.shownValue(t.value[0][c.best])}
	if c.top < 0 {
		g.Name, g.Least, g.Recorded = t.Recordings()[theRecording-c.top].Configuration, false, true
	} else {
		g.Name = t.candidates[c.top].Name
	}
	top, err := t.profile(ctx, c.top)
	if err != nil {
		return err
	}
	best, err := t.profile(ctx, c.best)
	if err != nil {
		return err
	}
	if d := differences(t.influence(ctx, top, 0, &t.goal), t.influence(ctx, best, 0, &t.goal)); d != nil {
		estimate, _ := stats.MeanOf(d)
		power := stats.Power{Alpha: 1 - t.Level, Power: 0.8}
		if needed, ok := power.Needed(estimate.SE*estimate.SE*float64(len(d)), estimate.Value); ok && (g.Least || needed > float64(len(d))) {
			g.Tasks = t.tasksOf(max(needed, float64(len(d))))
		}
	}
	r.Guess = g
	return nil
}

// shownValue is an objective as it was asked for.
func (t *chooser) shownValue(value float64) page.Value {
	if t.Minimize {
		value = -value
	}
	return page.Known(value)
}

// guessCheap guesses, among the configurations that lose at most half of what is
// allowed on the tasks that there are, the one that takes the fewest tasks to prove,
// the cheapest among equals. What makes of every run what was recorded loses nothing
// by definition: that needs no proof. What is no cheaper is nothing to guess.
func (t *chooser) guessCheap(ctx context.Context, r *Tuning) error {
	recorded, _ := t.price.of(ctx, t.scope(t.recordedSums[0])) // NaN, where it is not known
	front := t.unbeaten(t.ordered(0), 0)
	fewest := map[stats.Point]int{} // changes, of those that tie
	for _, i := range front {
		p := t.pointOf(i, 0)
		if n, known := fewest[p]; !known || t.changed(i) < n {
			fewest[p] = t.changed(i)
		}
	}
	for _, i := range front {
		if t.changed(i) > fewest[t.pointOf(i, 0)] {
			continue
		}
		level := 1 - t.steps.rungs[t.steps.rung[i]].alpha
		l, err := t.lossOf(ctx, i, 0, level, true)
		if err != nil {
			return err
		}
		share := float64(l.lost-l.gained) / float64(max(1, l.runs))
		if l.net {
			p, err := t.profile(ctx, i)
			if err != nil {
				return err
			}
			share = numberOf(t.recordedSums[0].score(t.score)) - numberOf(t.sum(p, 0).score(t.score)) // that the mean falls by
		}
		if share > t.Choose.Number/2 || math.IsInf(l.most, 0) || t.print[i] == t.recordedPrint || t.cost[0][i] >= recorded-slack(recorded) {
			continue
		}
		units, _ := t.lossUnits(0)
		needed, ok := neededUnits(share, &l, float64(units), t.Choose.Number, level)
		tasks := t.tasksOf(needed)
		if !ok || r.Guess != nil && r.Guess.Tasks <= tasks {
			continue
		}
		kept := t.kept(i)
		r.Guess = &Guess{Candidate: kept, Name: t.candidates[kept].Name, Kept: kept == t.today(), Lost: l.lost, Gained: l.gained, Runs: l.runs, Tasks: tasks,
			Value: t.shownValue(t.value[0][i]), Best: t.shownValue(t.value[0][i])}
	}
	return nil
}

// neededUnits is how many units show that a share is at most so much, if it stays
// what it is. Student's bound comes closer with the root of their number.
func neededUnits(share float64, l *loss, units, allowed, level float64) (needed float64, ok bool) {
	if l.sample != nil {
		needed, ok = l.sample.Needed(allowed, level)
	} else {
		needed, ok = math.Ceil(units*math.Pow((l.most-share)/(allowed-share), 2)), allowed > share
	}
	return max(needed, units+1), ok
}

// tasksOf is how many tasks so many units are: clusters have several.
func (t *chooser) tasksOf(units float64) int {
	if t.held.Clusters > 0 {
		units *= float64(len(t.held.Tasks)) / float64(max(1, t.units))
	}
	return int(math.Ceil(units))
}

// bound is what the recommended configuration may lose, as it holds after the choice.
func (t *chooser) bound(ctx context.Context, r *Tuning, choice *chosen) error {
	if choice.candidate < 0 || t.score < 0 {
		return nil
	}
	if recorded := t.Recordings()[0].Loop; recorded != nil && recorded.Hash() == t.candidates[choice.candidate].Hash() {
		return nil // the reference loses nothing by definition
	}
	if t.Choose.Rule == MaxLoss {
		r.Bound = &Bound{Most: page.Known(t.Choose.Number), Net: choice.loss.net, Method: InSteps, Tests: len(t.steps.rungs), AssumesNoRareLoss: t.wide}
		return nil
	}
	n := len(t.steps.rungs)
	l, err := t.lossOf(ctx, choice.candidate, 0, 1-(1-t.Level)/float64(n), true)
	if err != nil {
		return fmt.Errorf("bounding the loss: %w", err)
	}
	r.Bound = &Bound{Most: valueOf(l.most, page.Nothing), Net: l.net, Method: Corrected, Tests: n, AssumesNoRareLoss: t.wide}
	return nil
}

// described are candidates that are described in full, by their roles.
type described struct {
	name      string
	candidate int
}

// described are the recommended configuration and today's.
func (t *chooser) described(choice *chosen) (all []described) {
	if choice.candidate >= 0 {
		all = append(all, described{"recommended", choice.candidate})
	}
	if today := t.today(); today >= 0 && today != choice.candidate {
		all = append(all, described{"today", today})
	}
	return all
}

// unanswered says why candidates are not exact, by the one with the most runs that are.
func (t *chooser) unanswered(ctx context.Context, r *Tuning, _ *chosen) error {
	nearest := -1
	for i := range t.candidates {
		if t.standing[i] == notExact && (nearest < 0 || cmp.Or(cmp.Compare(t.labels[i], t.labels[nearest]), cmp.Compare(t.exact[nearest], t.exact[i]), cmp.Compare(t.rank[i], t.rank[nearest])) < 0) {
			nearest = i
		}
	}
	if nearest < 0 {
		return nil
	}
	outcomes, err := t.Outcomes(ctx, nearest)
	if err != nil {
		return err
	}
	r.Tried.WhyNotExact = tallied(outcomes).mostly(Branching, ToldLimits, Bounds)
	return nil
}

// sensitive notes how many candidates one step from the recommended one lose more successes.
func (t *chooser) sensitive(r *Tuning, choice int) {
	if choice < 0 || t.score < 0 {
		return
	}
	n, own := Note{Kind: OneStep}, t.flips(choice, 0).lost
	most := 0
	for path := range t.paths {
		for _, steps := range []int{-1, 1} {
			other, ok := t.beside(choice, path, steps)
			if !ok || !t.can[other] {
				continue
			}
			n.Of++
			more := t.flips(other, 0).lost - own
			n.Count += count(more > 0)
			if more > most {
				most, n.Name, n.More = more, fmt.Sprintf("%s=%s", t.paths[path], valueText(t.param(other, path))), fmt.Sprint(more)
			}
		}
	}
	if n.Of > 0 {
		r.Notes = append(r.Notes, n)
	}
}

// excluded notes what each constraint excludes of the candidates that are exact.
func (t *chooser) excluded(r *Tuning) {
	of := 0
	for _, standing := range t.standing {
		of += count(standing == choosable || standing == notCosted || standing == notMeasured)
	}
	for c, fails := range t.fails {
		n := Note{Kind: ExcludedBy, Name: t.Constraints[c].Text, Of: of}
		lacking, most := map[string]int{}, ""
		for _, why := range fails {
			n.Count += count(why != "")
			if why != "" && why != violated {
				if lacking[why]++; lacking[why] > lacking[most] {
					most = why
				}
			}
		}
		if most != "" {
			n.More = fmt.Sprintf("%d because %s", lacking[most], most)
		}
		r.Notes = append(r.Notes, n)
	}
}

// step compares a candidate with the one that it is next to.
func (t *chooser) step(from, to, path int) *Step {
	return &Step{
		Candidate: to, Value: valueText(t.param(to, path)), Label: t.labels[to].String(),
		Objective: t.changeOf(t.standing[from], t.standing[to], t.value[0][to]-t.value[0][from], t.Minimize),
		Cost:      t.changeOf(t.standing[from], t.standing[to], t.cost[0][to]-t.cost[0][from], false),
	}
}

// changeOf is a change that is known where both sides are; minimised values are
// turned around.
func (t *chooser) changeOf(from, to standingOfOne, change float64, turned bool) page.Value {
	if turned {
		change = -change
	}
	switch {
	case from == notExact || to == notExact:
		return page.Missing("not exact")
	case from == faulty || to == faulty:
		return page.Missing("fault")
	case from == notScored || to == notScored:
		return page.Missing(page.Unscored)
	}
	return valueOf(change, page.Unknown)
}

// unitOfCost is the amount in which costs are shown run by run:
// the one that the choice goes by, else the first that is known.
func (t *chooser) unitOfCost() *Spending {
	reads := []string{t.price.text}
	if t.price.program != nil {
		reads = t.price.program.Reads()
	}
	for _, a := range []struct {
		name string
		of   *Spending
	}{{"cost_usd", &Cost}, {"tokens", &Tokens}, {"latency", &Time}, {"iterations", &Iterations}} {
		if len(reads) == 1 && (reads[0] == a.name+".mean" || reads[0] == a.name+".sum" || reads[0] == a.name+".total") {
			return a.of
		}
	}
	switch {
	case t.known.cost:
		return &Cost
	case t.known.tokens:
		return &Tokens
	}
	return &Iterations
}
