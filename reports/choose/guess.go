package choose

import (
	"context"
	"fmt"
	"math"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/reports/tune"
)

// guess is what looks best where nothing is recommended, and how many tasks would
// prove it.
func (t *chooser) guess(ctx context.Context, r *tune.Tuning, choice *chosen) error {
	if choice.candidate >= 0 || choice.best < 0 {
		return nil
	}
	if choice.top != choice.best && (t.Choose.Rule != MaxLoss || t.beaten(choice)) {
		return t.guessTop(ctx, r, choice)
	}
	if t.Choose.Rule != MaxLoss {
		return nil
	}
	return t.guessCheap(ctx, r)
}

// beaten says that what is not exact is better than every candidate by more than
// max_loss.
func (t *chooser) beaten(c *chosen) bool {
	return t.goal.native != nil && t.value[t.chosenOn][c.best]+t.Choose.Number < c.topValue-slack(c.topValue)
}

// guessTop guesses what is better than every configuration that could be chosen: the
// recording, or a configuration of which only bounds are known.
func (t *chooser) guessTop(ctx context.Context, r *tune.Tuning, c *chosen) error {
	g := &tune.Guess{Candidate: c.top, Least: true, Value: t.shownValue(c.topValue), Best: t.shownValue(t.value[t.chosenOn][c.best])}
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
	if d := differences(t.influence(ctx, top, t.chosenOn, &t.goal), t.influence(ctx, best, t.chosenOn, &t.goal)); d != nil {
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
// by definition: that needs no proof.
func (t *chooser) guessCheap(ctx context.Context, r *tune.Tuning) error {
	for _, i := range t.unbeaten(t.ordered(t.chosenOn), t.chosenOn) {
		level := 1 - t.steps.rungs[t.steps.rung[i]].alpha
		l, err := t.lossInFull(ctx, i, t.chosenOn, level)
		if err != nil {
			return err
		}
		share := float64(l.lost-l.gained) / float64(max(1, l.runs))
		if l.net {
			if share, err = t.fallOf(ctx, i); err != nil {
				return err
			}
		}
		if share > t.Choose.Number/2 || math.IsInf(l.most, 0) || t.print[i] == t.recordedPrint {
			continue
		}
		units, _ := t.lossUnits(t.chosenOn)
		needed, ok := neededUnits(share, l.most, float64(units), t.Choose.Number, level)
		tasks := t.tasksOf(needed)
		if !ok || r.Guess != nil && r.Guess.Tasks <= tasks {
			continue
		}
		r.Guess = &tune.Guess{Candidate: i, Name: t.candidates[i].Name, Lost: l.lost, Gained: l.gained, Runs: l.runs, Tasks: tasks,
			Value: t.shownValue(t.value[t.chosenOn][i]), Best: t.shownValue(t.value[t.chosenOn][i])}
	}
	return nil
}

// fallOf is what the mean of the score falls by against the reference.
func (t *chooser) fallOf(ctx context.Context, candidate int) (float64, error) {
	p, err := t.profile(ctx, candidate)
	if err != nil {
		return 0, err
	}
	return numberOf(t.recordedSums[t.chosenOn].score(t.score)) - numberOf(t.sum(p, t.chosenOn).score(t.score)), nil
}

// neededUnits is how many units show that a share is at most so much, if it stays
// what it is: a bound comes closer with the root of their number, and where nothing
// is lost it is that of Clopper and Pearson.
func neededUnits(share, most, units, allowed, level float64) (needed float64, ok bool) {
	if share <= 0 {
		needed = math.Log(1-level) / math.Log(1-allowed)
	} else {
		needed = units * math.Pow((most-share)/(allowed-share), 2)
	}
	return math.Ceil(max(needed, units+1)), allowed > 0 && !math.IsInf(needed, 0) && !math.IsNaN(needed)
}

// tasksOf is how many tasks so many units are: clusters have several.
func (t *chooser) tasksOf(units float64) int {
	if t.held.Clusters > 0 {
		units *= float64(len(t.held.Tasks)) / float64(max(1, t.units))
	}
	return int(math.Ceil(units))
}

// isReference says that a candidate is what was recorded, which loses nothing by
// definition.
func (t *chooser) isReference(candidate int) bool {
	recorded := t.Recordings()[0].Loop
	return recorded != nil && recorded.Hash() == t.candidates[candidate].Hash()
}

// bound is what the recommended configuration may lose, as it holds after the choice.
func (t *chooser) bound(ctx context.Context, r *tune.Tuning, choice *chosen) error {
	if choice.candidate < 0 || t.score < 0 || t.isReference(choice.candidate) {
		return nil
	}
	if t.Choose.Rule == MaxLoss {
		r.Bound = &tune.Bound{Most: page.Known(t.Choose.Number), Net: choice.loss.net, Method: tune.InSteps, Tests: len(t.steps.rungs)}
		return nil
	}
	n := len(t.steps.rungs)
	l, err := t.lossInFull(ctx, choice.candidate, t.chosenOn, 1-(1-t.Level)/float64(n))
	if err != nil {
		return fmt.Errorf("bounding the loss: %w", err)
	}
	r.Bound = &tune.Bound{Most: valueOf(l.most, page.Nothing), Net: l.net, Method: tune.Corrected, Tests: n}
	return nil
}
