package tune

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

// Answer is what to do, what it costs in quality, and what it saves.
func (t *Tuning) Answer(quote func(string) string) page.Answer {
	switch {
	case t.Runs == 0:
		return page.Answer{State: page.Errored, Text: "no run counts"}
	case t.Recommended == nil:
		return page.Answer{State: page.Failed, Text: "nothing is recommended: " + plainly(t.WhyNone, quote), More: t.guessed(quote)}
	}
	parts := []string{t.advised(quote) + t.stable() + ": " + t.kept(quote)}
	if scored := t.scores(quote); scored != "" {
		parts[0] = t.advised(quote) + t.stable() + ": " + scored + "; " + t.kept(quote)
	}
	if saved := t.saved(quote); saved != "" {
		parts = append(parts, saved)
	}
	if lucky := t.lucky(quote); lucky != "" {
		parts = append(parts, lucky)
	}
	return page.Answer{State: page.Passed, Text: strings.Join(parts, "; ")}
}

// advised names what to take.
func (t *Tuning) advised(quote func(string) string) string {
	switch name := quote(t.Recommended.Name); {
	case t.Unchanged:
		return "keep today's limits, " + name
	case t.Today != nil:
		return "take " + name + " instead of " + quote(t.Today.Name)
	default:
		return "take " + name
	}
}

// lucky says what is left of a gain on tasks that did not choose, where that is less
// than half of it, and where it is a loss that is shown.
func (t *Tuning) lucky(quote func(string) string) string {
	if t.Luck == nil || !t.Terms.isScore() || t.Unchanged {
		return ""
	}
	gain := &t.Luck.Objective
	worse := gain.HonestInterval.Known() && gain.HonestInterval.High.Number < 0 && gain.Apparent.Number >= 0
	if !gain.Honest.Known() || !worse && !(gain.Apparent.Number > 0 && gain.Honest.Number < gain.Apparent.Number/2) {
		return ""
	}
	return fmt.Sprintf("on tasks that did not choose, %s changes by %s against %s, not %s", quote(t.Terms.Score), page.Gain(gain.Honest, 3), overWhat(t.Luck.Over), page.Gain(gain.Apparent, 3))
}

// stable says in how many folds the same was chosen, "" where there are none.
func (t *Tuning) stable() string {
	if t.Validation == nil || t.Terms.HoldOut > 0 {
		return ""
	}
	if !slices.ContainsFunc(t.Validation.Folds, func(f Fold) bool { return f.Chosen >= 0 }) {
		return " (without a fifth of the tasks, too few are left to choose)"
	}
	return fmt.Sprintf(" (chosen in %d of %s)", t.Validation.Agree, page.Plural(len(t.Validation.Folds), "fold", "folds"))
}

// guessed is the best guess in a line, "" where there is none.
func (t *Tuning) guessed(quote func(string) string) string {
	g := t.Guess
	if g == nil {
		return ""
	}
	text := "best guess: " + quote(g.Name)
	switch value := objectiveForm(g.Value); {
	case g.Recorded:
		text += fmt.Sprintf(" as recorded (%s; the best that could be recommended has %s)", value, objectiveForm(g.Best))
	case g.Least:
		text += fmt.Sprintf(" (at least %s; the best that could be recommended has %s)", value, objectiveForm(g.Best))
	default:
		text += fmt.Sprintf(" (loses %d of %d runs)", g.Lost, g.Runs)
		if g.Gained > 0 {
			text = strings.TrimSuffix(text, ")") + fmt.Sprintf(", gains %d)", g.Gained)
		}
	}
	switch {
	case g.Tasks == 0:
		return text
	case g.Least:
		return fmt.Sprintf("%s, %s recorded under it would prove it", text, page.Plural(g.Tasks, "task", "tasks"))
	}
	return fmt.Sprintf("%s, %s would prove it", text, page.Plural(g.Tasks, "task", "tasks"))
}

// scores are what the score becomes and what it is today, or in the recording
// where there is no other today; "" where it is not known.
func (t *Tuning) scores(quote func(string) string) string {
	now := t.Recommended.scoreText(t.Terms.Score)
	if now == "" {
		return ""
	}
	text := quote(t.Terms.Score) + " " + now
	before, as, from := t.Recording, ", as recorded", " as recorded"
	if t.Today != nil && !t.Unchanged {
		before, as, from = t.Today, ", as today", ""
	}
	if before == nil {
		return text
	}
	switch was := before.scoreText(t.Terms.Score); was {
	case "":
		return text
	case now:
		return text + as
	default:
		return text + " instead of " + was + from
	}
}

// scoreText is the mean of a score, or between which numbers it lies.
func (c *Choice) scoreText(score string) string {
	form := func(v page.Value) string { return page.Score(v, 3) }
	for i := range c.Scores {
		switch s := &c.Scores[i]; {
		case s.Name != score:
		case s.Mean.Known():
			return form(s.Mean)
		case s.Bounds.Low.Known() && s.Bounds.High.Known():
			return s.Bounds.Text(form)
		}
	}
	return ""
}

// reference names what losses are counted against.
func (t *Tuning) reference(quote func(string) string) string {
	if t.References > 1 {
		return quote(t.Reference) + " as recorded"
	}
	return "the recording"
}

// kept says what becomes of the recorded successes.
func (t *Tuning) kept(quote func(string) string) string {
	r := t.Recommended
	if r.scored(t.Terms.Score) == 0 {
		return "whether it loses successes is not known, because no run is scored"
	}
	lost := "against " + t.reference(quote) + " no success is lost"
	if r.Lost > 0 {
		lost = fmt.Sprintf("against %s %d of %s %s", t.reference(quote), r.Lost, page.Plural(r.Runs, "run", "runs"), verb(r.Lost, "loses its success", "lose their success"))
	}
	if r.Gained > 0 {
		lost += fmt.Sprintf(", %d %s one", r.Gained, verb(r.Gained, "gains", "gain"))
	}
	if t.Bound != nil && t.Bound.Most.Known() {
		lost += " (" + t.Bound.atMost() + ", 95% sure)"
	}
	return lost
}

// atMost is the bound in words.
func (b *Bound) atMost() string {
	switch most := b.Most.Number; {
	case !b.Net:
		return "at most " + precisely(b.Most) + " of the runs"
	case most < 0:
		return "the mean score rises by at least " + page.Score(page.Known(-most), 3)
	}
	return "the mean score falls by at most " + page.Score(b.Most, 3)
}

// precisely shows a share with a digit behind the point.
func precisely(v page.Value) string {
	if !v.Known() {
		return page.Score(v, 1)
	}
	return page.Score(page.Value{Number: v.Number * 100, Missing: v.Missing}, 1) + "%"
}

// saved says what 1,000 runs save against today's configuration, or against the
// recording where there is none or it stays: money and time, else what is known.
func (t *Tuning) saved(quote func(string) string) string {
	v := t.versus()
	if v == nil {
		return ""
	}
	var less, more []string
	tell := func(quantity string) {
		text, saves := v.savedOf(quantity)
		switch {
		case text == "":
		case saves:
			less = append(less, text)
		default:
			more = append(more, text)
		}
	}
	tell("cost_usd")
	for _, quantity := range []string{"tokens", "iterations"} {
		if len(less)+len(more) == 0 {
			tell(quantity)
		}
	}
	tell("latency_s")
	if v.What == "today" {
		return inAll(less, more, "today")
	}
	return inAll(less, more, t.reference(quote))
}

// inAll is what 1,000 runs take less and more.
func inAll(less, more []string, against string) string {
	var parts []string
	if len(less) > 0 {
		parts = append(parts, strings.Join(less, " and ")+" less")
	}
	if len(more) > 0 {
		parts = append(parts, strings.Join(more, " and ")+" more")
	}
	if len(parts) == 0 {
		return ""
	}
	return "1,000 runs take " + strings.Join(parts, ", but ") + " than " + against
}

// versus is the comparison that matters more to a reader.
func (t *Tuning) versus() *Versus {
	var found *Versus
	for i := range t.Against {
		v := &t.Against[i]
		if v.What == "today" && !t.Unchanged {
			return v
		}
		if v.What != "today" {
			found = v
		}
	}
	return found
}

// savedOf is how much less or more is taken of a quantity, "" where that is not
// known or nothing changes.
func (v *Versus) savedOf(quantity string) (text string, saves bool) {
	for i := range v.Saved {
		s := &v.Saved[i]
		if s.Quantity != quantity || !s.Saved.Known() || s.Saved.Number == 0 {
			continue
		}
		text = amountForm(quantity)(page.Known(math.Abs(s.Saved.Number)))
		if quantity == "iterations" || quantity == "tokens" {
			text += " " + quantity
		}
		if share := v.share(quantity); share.Known() {
			text += " (" + page.Percent(page.Known(math.Abs(share.Number))) + ")"
		}
		return text, s.Saved.Number > 0
	}
	return "", false
}

// share is the part of a quantity that is saved.
func (v *Versus) share(quantity string) page.Value {
	for i := range v.All {
		d := &v.All[i]
		if d.Quantity == quantity && d.Base.Known() && d.New.Known() && d.Base.Number > 0 {
			return page.Known(1 - d.New.Number/d.Base.Number)
		}
	}
	return page.Missing(page.Nothing)
}

// amountForm is how a quantity is shown; of an amount of no unit its digits.
func amountForm(quantity string) func(page.Value) string {
	switch quantity {
	case "cost_usd":
		return func(v page.Value) string { return page.Dollars(v, 2) }
	case "latency_s":
		return page.Seconds
	}
	return page.Whole
}

// plain are words and numbers that no format takes for anything else.
var plain = regexp.MustCompile(`^\(?(?:[A-Za-z0-9]+(?:[_'-][A-Za-z0-9]+)*'?|[0-9]+\.[0-9]+%?|[0-9]+%|=|-)[,:;.)]*$`)

// plainly quotes those words of a sentence that may come from outside.
func plainly(sentence string, quote func(string) string) string {
	words := strings.Split(sentence, " ")
	for i, word := range words {
		if word != "" && !plain.MatchString(word) {
			words[i] = quote(word)
		}
	}
	return strings.Join(words, " ")
}
