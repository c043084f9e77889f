package tune

import (
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
)

// Spending is something that a run takes, as whole numbers of a small unit.
type Spending struct {
	Of   func(o *sweep.Outcome) (least, most int64)
	Unit float64 // so many are 1 for the reader
	// Missing is why a run does not say it, "" where it does.
	Missing func(u record.Usage) string
}

// What runs take.
var (
	Iterations = Spending{func(o *sweep.Outcome) (int64, int64) { return int64(o.Iterations), int64(o.Iterations) }, 1, reported}
	Calls      = Spending{used(func(u record.Usage) int64 { return u.Calls }), 1, unreported}
	Tokens     = Spending{used(record.Usage.Tokens), 1, tokensUntold}
	Cost       = Spending{used(func(u record.Usage) int64 { return int64(u.Cost) }), float64(record.USD), unpriced}
	Time       = Spending{func(o *sweep.Outcome) (int64, int64) { return int64(o.Elapsed), int64(o.Elapsed) }, float64(time.Second), reported}
)

func used(of func(record.Usage) int64) func(*sweep.Outcome) (int64, int64) {
	return func(o *sweep.Outcome) (least, most int64) {
		span := o.Total()
		return of(span.Least), of(span.Most)
	}
}

func reported(record.Usage) string { return "" }

func unreported(u record.Usage) string {
	if u.Unreported > 0 {
		return page.Unknown
	}
	return ""
}

func tokensUntold(u record.Usage) string {
	if !u.TokensTold() {
		return page.Unknown
	}
	return ""
}

func unpriced(u record.Usage) string {
	if u.Unreported == 0 && u.Unpriced > 0 {
		return page.Unpriced
	}
	return unreported(u)
}

// spendings are those that are shown, in the order of amounts.
var spendings = [...]*Spending{&Iterations, &Calls, &Tokens, &Cost, &Time}

// amounts fills in what the runs take.
func (b *Held) amounts(c *Configuration, outcomes []sweep.Outcome) {
	if b.before == nil {
		b.before = totalsOf(b.Recorded)
	}
	before, counted := b.before, outcomes
	if c.Faults > 0 {
		before, counted = totalsOf(alike(b.Recorded, outcomes)), alike(outcomes, outcomes)
	}
	for i, into := range [...]*Amount{&c.Iterations, &c.Calls, &c.Tokens, &c.Cost, &c.Latency} {
		*into = spendings[i].amount(counted, before[i])
	}
	if !b.Timed() {
		c.Latency = noAmount(page.Unknown)
	}
}

// alike are those of the runs that would be in the numbers.
func alike(of, outcomes []sweep.Outcome) (kept []sweep.Outcome) {
	for i := range outcomes {
		if !outcomes[i].Excluded() {
			kept = append(kept, of[i])
		}
	}
	return kept
}

// totalsOf are what runs take, by spending.
func totalsOf(outcomes []sweep.Outcome) []total {
	all := make([]total, len(spendings))
	for i, of := range spendings {
		all[i] = of.total(outcomes)
	}
	return all
}

// Timed reports whether the times are known, of all iterations of all runs, and some
// run took any.
func (b *Held) Timed() bool {
	took := false
	for i := range b.Runs {
		run := b.Runs[i].Run
		if run.Untimed || slices.ContainsFunc(run.Iterations, func(it record.Iteration) bool { return it.Untimed }) {
			return false
		}
		took = took || run.Elapsed > 0
	}
	return took
}

// total is what runs take at least and at most. open says that there is no most:
// some run would have gone on.
type total struct {
	least, most int64
	open        bool
	missing     string
}

func (s *Spending) total(outcomes []sweep.Outcome) (t total) {
	for i := range outcomes {
		o := &outcomes[i]
		least, most := s.Of(o)
		t.least, t.most = t.least+least, t.most+most
		t.open = t.open || o.Verdict != replay.Exact
		t.missing = max(t.missing, s.Missing(o.Total().Most))
	}
	return t
}

// amount is the mean per run, and what is saved of the recorded.
func (s *Spending) amount(outcomes []sweep.Outcome, before total) Amount {
	t := s.total(outcomes)
	switch {
	case len(outcomes) == 0:
		return noAmount(page.Nothing)
	case t.missing != "":
		return noAmount(t.missing)
	}
	scale := s.Unit * float64(len(outcomes))
	a := noAmount(page.Nothing)
	if t.least == t.most && !t.open {
		a.Mean = page.Known(float64(t.least) / scale)
	} else {
		a.Bounds = page.Range{Low: page.Known(float64(t.least) / scale), High: t.end(float64(t.most) / scale)}
	}
	a.save(t, before)
	return a
}

// save tells what is saved, where it is known what was spent before.
func (a *Amount) save(t, before total) {
	if before.missing != "" || before.least == 0 {
		return
	}
	of := func(now int64) float64 { return 1 - float64(now)/float64(before.least) }
	if a.Mean.Known() {
		a.Saved = page.Known(of(t.least))
		return
	}
	a.SavedBounds = page.Range{Low: t.end(of(t.most)), High: page.Known(of(t.least))}
}

// end is the end of bounds that may have none.
func (t total) end(x float64) page.Value {
	if t.open {
		return page.Missing(page.Unbounded)
	}
	return page.Known(x)
}

func noAmount(why string) Amount {
	none := page.Missing(why)
	return Amount{Mean: none, Bounds: page.Range{Low: none, High: none}, Saved: none, SavedBounds: page.Range{Low: none, High: none}}
}
