package choose

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

// where tells on which tasks the choice was made, where that is not all of them.
func (t *chooser) where() string {
	if t.HoldOut == 0 {
		return ""
	}
	return ", on the tasks that are not held out"
}

// whyChosen says by which numbers the rule took its choice.
func (t *chooser) whyChosen(c *chosen, within int) string {
	of := "the cheapest of " + page.Plural(within, "configuration", "configurations")
	value, best := t.shown(c.candidate), t.shown(c.best)
	switch t.Choose.Rule {
	case AtLeast:
		return fmt.Sprintf("%s with at least %s of the best objective: %s of %s", of, percent(t.Choose.Number), value, best)
	case WithinOneSE:
		return fmt.Sprintf("%s within one standard error, %.4g, of the best objective: %s of %s", of, c.margin, value, best)
	case Indistinguishable:
		return fmt.Sprintf("%s that no paired test shows to be worse than the best objective: %s of %s, p = %s", of, value, best, page.Chance(page.Known(c.p)))
	}
	if c.loss.net {
		return fmt.Sprintf("%s whose mean %s is shown to fall by at most %.3g", of, t.held.Scores[t.score], t.Choose.Number)
	}
	return fmt.Sprintf("%s that is shown to lose at most %s of the runs' successes; it loses %d of %d", of, percent(t.Choose.Number), c.loss.lost, c.loss.runs)
}

// shown is the objective as it was asked for.
func (t *chooser) shown(candidate int) string {
	return fmt.Sprintf("%.4g", t.shownValue(t.value[t.chosenOn][candidate]).Number)
}

// percent is a share with two digits that count.
func percent(share float64) string {
	return fmt.Sprintf("%.3g%%", 100*share)
}

// whyNone says why the rule finds nothing on a subset.
func (t *chooser) whyNone(subset int, c *chosen) string {
	if c.best < 0 {
		return t.whyNothingLeft(subset)
	}
	units, what := t.lossUnits(subset)
	switch {
	case t.Choose.Rule != MaxLoss && units < 2:
		return errOneUnit.Error()
	case c.top != c.best && (t.Choose.Rule != MaxLoss || t.beaten(c)):
		return t.whyBeaten(c)
	case t.Choose.Rule != MaxLoss:
		return "the rule allows none"
	}
	if c.passing >= 0 {
		return fmt.Sprintf("%s is shown to lose at most %s, but %s beats it, which is not", t.candidates[c.passing].Name, percent(t.Choose.Number), t.candidates[c.by].Name)
	}
	text := fmt.Sprintf("no configuration is shown to lose at most %s", percent(t.Choose.Number))
	alpha := t.steps.largest()
	if least := t.atMost(0, units, 1-alpha); least > t.Choose.Number && t.Choose.Number > 0 {
		needed := math.Ceil(math.Log(alpha) / math.Log(1-t.Choose.Number))
		text = fmt.Sprintf("%s: of %s none lost leaves up to %s, and it takes %.0f to show so little", text, page.Plural(units, strings.TrimSuffix(what, "s"), what), percent(least), needed)
	}
	if least, ok := t.leastShown(subset); ok {
		text = fmt.Sprintf("%s; the least that these can show is --choose max_loss:%v", text, roundedUp(least))
	}
	return text
}

// mostLeast is of how many rungs at most it is said what the least loss is that these
// tasks can show.
const mostLeast = 2_000

// leastShown is the smallest max_loss at which something is recommended: the least
// bound on the front, where looser ones have passed.
func (t *chooser) leastShown(subset int) (least float64, ok bool) {
	if subset > 0 || len(t.steps.rungs) > mostLeast {
		return 0, false
	}
	ctx, known := context.Background(), map[int]float64{}
	var opens func(r int) float64
	bound := func(r int) float64 {
		l, err := t.lossInFull(ctx, t.steps.rungs[r].candidates[0], subset, 1-t.steps.rungs[r].alpha)
		if err != nil {
			return math.Inf(1)
		}
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
		least = min(least, bound(t.steps.rung[i]))
	}
	return least, least > t.Choose.Number && least < 1
}

// whyBeaten says what is better than every configuration that could be recommended.
func (t *chooser) whyBeaten(c *chosen) string {
	best := fmt.Sprintf("the best configuration that the recording answers for, %s, has %.4g of %s", t.candidates[c.best].Name, t.shownValue(t.value[t.chosenOn][c.best]).Number, t.goal.text)
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

// lossUnits are what bounds of losses count: runs, or tasks or clusters of them.
func (t *chooser) lossUnits(subset int) (n int, what string) {
	if t.independent {
		return int(t.recordedSums[subset].runs), "runs"
	}
	seen := map[int]bool{}
	for c := range t.cellUnit {
		if t.in(c, subset) {
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
	case subset == t.chosenOn:
		return fmt.Sprintf("of %s none satisfies the constraints", all)
	}
	return fmt.Sprintf("of %s none satisfies the constraints on the other folds", all)
}

// firstWhy is why the first candidate that lacks a number does.
func (t *chooser) firstWhy() string {
	for i, why := range t.why {
		if t.standing[i] == faulty {
			return "runs that stop there would have a fault"
		}
		if t.standing[i] == notScored {
			return "the score of a run that stops there is not known"
		}
		if why != "" {
			return why
		}
	}
	return "nothing is known"
}
