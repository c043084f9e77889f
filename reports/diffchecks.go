package reports

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// What gated differences fail on.
const (
	FailOnWorse      = "worse"
	FailOnCannotTell = "cannot-tell" // or worse
	FailOnNothing    = "none"
)

// Fails says whether a gated difference makes the comparison fail.
func (c *Comparison) Fails(d *Difference) bool {
	switch c.FailOn {
	case FailOnWorse:
		return d.Gated && d.Verdict == compare.Worse
	case FailOnCannotTell:
		return d.Gated && (d.Verdict == compare.Worse || d.Verdict == compare.CannotTell)
	}
	return false
}

// Checks are those of the thresholds, and the differences of each pair, after why
// there is no answer.
func (c *Comparison) Checks() iter.Seq[page.Check] {
	return func(yield func(page.Check) bool) {
		if !eachCheck(c.Thresholds, yield) {
			return
		}
		if c.Unanswered != "" && !yield(page.Check{Group: "suite", Name: c.Suite, State: page.Errored, Message: c.Unanswered, Loud: true}) {
			return
		}
		for row := range c.differences() {
			if !yield(c.check(&row)) {
				return
			}
		}
	}
}

// check is that of a difference. One that is worse and not gated is none of the
// failures: it passes, and its message says what it is.
func (c *Comparison) check(row *differenceRow) page.Check {
	d := row.Difference
	k := page.Check{Group: row.pair.Name, Name: d.Quantity, State: page.Passed, Message: d.told(), Loud: d.Gated}
	switch {
	case c.Fails(d):
		k.State = page.Failed
	case !d.Change.Known() && d.Gated:
		k.State, k.Message = page.Errored, "not compared: "+d.Change.Missing
	case !d.Change.Known():
		k.State, k.Message = page.Skipped, "not compared: "+d.Change.Missing
	case d.Verdict == compare.CannotTell:
		k.State = page.Skipped
	}
	return k
}

// told is the verdict with the numbers.
func (d *Difference) told() string {
	text := fmt.Sprintf("%s: %s -> %s, change %s", words(d.Verdict), d.Base.Exact(), d.New.Exact(), d.Change.Exact())
	if d.Low.Known() {
		text += fmt.Sprintf(" [%s, %s]", d.Low.Exact(), d.High.Exact())
	}
	if d.Relative {
		text += " of the base"
	}
	return text
}

// Answer is why there is none, or what fails, or what the primary score says.
func (c *Comparison) Answer(quote func(string) string) page.Answer {
	if c.Unanswered != "" {
		return page.Answer{State: page.Errored, Text: quote(c.Unanswered)}
	}
	thresholds := answerOf(c.Thresholds)
	if thresholds.State == page.Errored {
		return thresholds
	}
	if a, fails := c.failing(quote); fails {
		return a
	}
	if thresholds.State == page.Failed {
		return thresholds
	}
	return c.primary(quote)
}

// failing names the gated differences that fail.
func (c *Comparison) failing(quote func(string) string) (a page.Answer, fails bool) {
	var names []string
	for row := range c.differences() {
		if !c.Fails(row.Difference) {
			continue
		}
		name := quote(row.Quantity)
		if len(c.Pairs) > 1 {
			name += " of " + quote(row.pair.Name)
		}
		names = append(names, fmt.Sprintf("%s is %s", name, words(row.Verdict)))
	}
	const most = 3
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return page.Answer{State: page.Failed, Text: strings.Join(names, ", ")}, len(names) > 0
}

// primary is what the primary score says of the pairs.
func (c *Comparison) primary(quote func(string) string) page.Answer {
	verdicts := map[compare.Verdict]int{}
	for row := range c.differences() {
		if row.Quantity == c.Primary && row.Score {
			verdicts[row.Verdict]++
		}
	}
	var parts []string
	for _, v := range []compare.Verdict{compare.Worse, compare.Better, compare.Same, compare.CannotTell} {
		switch n := verdicts[v]; {
		case n > 0 && len(c.Pairs) == 1:
			parts = append(parts, words(v))
		case n > 0:
			parts = append(parts, fmt.Sprintf("%s (%d)", words(v), n))
		}
	}
	switch {
	case len(parts) == 0:
		return page.Answer{State: page.Undecided, Text: "no score is compared"}
	case verdicts[compare.Worse]+verdicts[compare.CannotTell] > 0:
		return page.Answer{State: page.Undecided, Text: quote(c.Primary) + ": " + strings.Join(parts, ", ")}
	}
	return page.Answer{State: page.Passed, Text: quote(c.Primary) + ": " + strings.Join(parts, ", ")}
}

// words are a verdict as people read it.
func words(v compare.Verdict) string { return strings.ReplaceAll(string(v), "_", " ") }

// Facts are how a pair was compared.
func (c *Comparison) Facts(group string) []page.Fact {
	at := slices.IndexFunc(c.Pairs, func(p Pair) bool { return p.Name == group })
	if at < 0 {
		return nil
	}
	p := &c.Pairs[at]
	same := func(text string) string { return text }
	return []page.Fact{
		{Name: "base", Value: p.Base.named(same)}, {Name: "new", Value: p.New.named(same)},
		{Name: "paired", Value: fmt.Sprint(p.How.Paired)}, {Name: "tasks", Value: fmt.Sprint(p.How.Tasks)},
		{Name: "runs", Value: fmt.Sprintf("%d -> %d", p.Base.Runs, p.New.Runs)},
	}
}
