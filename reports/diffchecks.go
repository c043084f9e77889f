package reports

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/compare"
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

// checks are those of the thresholds, and the differences of each pair, after why
// there is no answer.
func (c *Comparison) checks() iter.Seq[check] {
	return func(yield func(check) bool) {
		if !eachCheck(c.Thresholds, yield) {
			return
		}
		if c.Unanswered != "" && !yield(check{group: "suite", name: c.Suite, state: errored, message: c.Unanswered, loud: true}) {
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
func (c *Comparison) check(row *differenceRow) check {
	d := row.Difference
	k := check{group: row.pair.Name, name: d.Quantity, state: passed, message: d.told(), loud: d.Gated}
	switch {
	case c.Fails(d):
		k.state = failed
	case !d.Change.Known() && d.Gated:
		k.state, k.message = errored, "not compared: "+d.Change.Missing
	case !d.Change.Known():
		k.state, k.message = skipped, "not compared: "+d.Change.Missing
	case d.Verdict == compare.CannotTell:
		k.state = skipped
	}
	return k
}

// told is the verdict with the numbers.
func (d *Difference) told() string {
	text := fmt.Sprintf("%s: %s -> %s, change %s", words(d.Verdict), d.Base.exact(), d.New.exact(), d.Change.exact())
	if d.Low.Known() {
		text += fmt.Sprintf(" [%s, %s]", d.Low.exact(), d.High.exact())
	}
	if d.Relative {
		text += " of the base"
	}
	return text
}

// answer is why there is none, or what fails, or what the primary score says.
func (c *Comparison) answer(quote func(string) string) answer {
	if c.Unanswered != "" {
		return answer{errored, quote(c.Unanswered)}
	}
	thresholds := answerOf(c.Thresholds)
	if thresholds.state == errored {
		return thresholds
	}
	if a, fails := c.failing(quote); fails {
		return a
	}
	if thresholds.state == failed {
		return thresholds
	}
	return c.primary(quote)
}

// failing names the gated differences that fail.
func (c *Comparison) failing(quote func(string) string) (a answer, fails bool) {
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
	return answer{failed, strings.Join(names, ", ")}, len(names) > 0
}

// primary is what the primary score says of the pairs.
func (c *Comparison) primary(quote func(string) string) answer {
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
		return answer{undecided, "no score is compared"}
	case verdicts[compare.Worse]+verdicts[compare.CannotTell] > 0:
		return answer{undecided, quote(c.Primary) + ": " + strings.Join(parts, ", ")}
	}
	return answer{passed, quote(c.Primary) + ": " + strings.Join(parts, ", ")}
}

// words are a verdict as people read it.
func words(v compare.Verdict) string { return strings.ReplaceAll(string(v), "_", " ") }

// facts are how a pair was compared.
func (c *Comparison) facts(group string) []fact {
	at := slices.IndexFunc(c.Pairs, func(p Pair) bool { return p.Name == group })
	if at < 0 {
		return nil
	}
	p := &c.Pairs[at]
	same := func(text string) string { return text }
	return []fact{
		{"base", p.Base.named(same)}, {"new", p.New.named(same)},
		{"paired", fmt.Sprint(p.How.Paired)}, {"tasks", fmt.Sprint(p.How.Tasks)},
		{"runs", fmt.Sprintf("%d -> %d", p.Base.Runs, p.New.Runs)},
	}
}
