package sweep

import (
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
)

// ledger is what the paths of a family add up to, as quantities of whole numbers
// that are not below zero.
type ledger struct {
	recording *Recording
	paths     []replay.Path
	from      []int // by run: where its iterations begin in used and took
	used      []record.Usage
	flown     []record.Usage // at most, by calls that were cancelled in flight
	took      []int64
	amounts   []amount // in the order of quantities
	scores    []amount
	// whole says that nothing is too large, or too odd, to be added up: what only whole
	// runs tell is no sum over iterations.
	whole bool
}

// amount is a quantity in units: a number v stands for least + v units.
type amount struct{ least, unit int64 }

// fields are the numbers of a usage.
var fields = [...]func(*record.Usage) *int64{
	func(u *record.Usage) *int64 { return &u.Calls },
	func(u *record.Usage) *int64 { return &u.InputTokens },
	func(u *record.Usage) *int64 { return &u.CachedTokens },
	func(u *record.Usage) *int64 { return &u.OutputTokens },
	func(u *record.Usage) *int64 { return &u.ReasoningTokens },
	func(u *record.Usage) *int64 { return &u.ToolCalls },
	func(u *record.Usage) *int64 { return (*int64)(&u.Cost) },
	func(u *record.Usage) *int64 { return &u.Unpriced },
	func(u *record.Usage) *int64 { return &u.Estimated },
	func(u *record.Usage) *int64 { return &u.Uncounted },
	func(u *record.Usage) *int64 { return &u.Unreported },
}

func newLedger(r *Recording, paths []replay.Path) *ledger {
	l := &ledger{recording: r, paths: paths, whole: !needsOutcomes(r, paths)}
	for i := range paths {
		l.from, l.whole = append(l.from, len(l.used)), l.whole && !paths[i].Lumped()
		var before int64
		for _, it := range paths[i].Made {
			l.used, l.flown = append(l.used, it.Total()), append(l.flown, record.Usage{})
			l.took = append(l.took, int64(it.End)-before)
			before = int64(it.End)
		}
		if span := paths[i].End.Total(); !span.Point() {
			for _, field := range fields {
				*field(&l.flown[len(l.flown)-1]) = *field(&span.Most) - *field(&span.Least)
			}
		}
	}
	for _, usage := range [][]record.Usage{l.used, l.flown} {
		for _, field := range fields {
			l.amounts = append(l.amounts, l.measure(len(usage), func(i int) int64 { return *field(&usage[i]) }))
		}
	}
	l.amounts = append(l.amounts, l.measure(len(l.took), func(i int) int64 { return l.took[i] }))
	for s := range r.Scores {
		l.scores = append(l.scores, l.measureScore(s))
	}
	return l
}

// needsOutcomes reports whether scores are known only of each run by itself: why it
// stops no sum tells, nor does one judge again.
func needsOutcomes(r *Recording, paths []replay.Path) bool {
	if slices.Contains(r.Reads, ReadsStop) {
		return true
	}
	return r.Judge != nil && (slices.Contains(r.Reads, ReadsAround) || slices.ContainsFunc(paths, func(p replay.Path) bool { return p.End.Changed > 0 }))
}

// most is what a sum may reach.
const most = 1 << 62

// measure finds the unit of numbers that are added up.
func (l *ledger) measure(n int, of func(i int) int64) amount {
	a, sum := amount{unit: 0}, 0.0
	for i := range n {
		v := of(i)
		l.whole = l.whole && v >= 0
		a.unit = divisor(a.unit, v)
		sum += math.Abs(float64(v))
	}
	l.whole = l.whole && sum < most
	a.unit = max(a.unit, 1)
	return a
}

// measureScore finds the unit, and the least, of what runs may be worth.
func (l *ledger) measureScore(s int) amount {
	a, highest := amount{least: math.MaxInt64}, int64(math.MinInt64)
	steps := l.values(s)
	for _, v := range steps {
		a.least, highest = min(a.least, v), max(highest, v)
	}
	if len(steps) == 0 {
		return amount{unit: 1}
	}
	for _, v := range steps {
		a.unit = divisor(a.unit, v-a.least)
	}
	span := math.Abs(float64(highest)) + math.Abs(float64(a.least))
	l.whole = l.whole && span*float64(len(l.paths)) < most
	a.unit = max(a.unit, 1)
	return a
}

// values are the known ones of a score, in steps; 0 is among them, which runs are
// worth that return nothing.
func (l *ledger) values(s int) []int64 {
	all := []int64{0}
	for i := range l.paths {
		for _, v := range l.recording.Runs[i].Scores[s] {
			if math.IsNaN(v) {
				continue
			}
			if math.Abs(v) > most/step {
				l.whole = false
				continue
			}
			all = append(all, inSteps(v))
		}
	}
	return all
}

// inSteps is a number in steps, as fixed adds it.
func inSteps(v float64) int64 {
	var f fixed
	f.add(v, 1)
	return f.whole*step + f.steps
}

// divisor is the greatest common one.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
