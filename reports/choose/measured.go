package choose

import (
	"context"
	"hash/maphash"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
)

// measured are what candidates are chosen by, on all runs (subset 0) and on all
// but each fold (subset fold + 1).
type measured struct {
	subsets int
	labels  []replay.Label
	exact   []int // runs
	// can says that a candidate can be chosen at all; else standing says why not.
	can      []bool
	standing []standingOfOne
	value    [][]float64 // by subset and candidate: the objective, the larger the better; NaN: not known
	cost     [][]float64
	seconds  [][]float64 // mean latency of a run
	within   [][]bool    // the constraints hold
	// least is what a candidate that is not exact is worth at least; NaN: not known.
	least [][]float64
	// recorded is what each recording is worth, by subset and recording; NaN where it
	// is not known or breaks a constraint.
	recorded [][]float64
	fails    [][]uint64 // by constraint: candidates, as bits, that it excludes where the choice is made
	unknown  [][]uint64 // for which it reads a number that is missing
	// why is why a number is missing, of the first candidate that lacks it.
	why []string
}

// standingOfOne says why a candidate cannot be chosen.
type standingOfOne uint8

const (
	choosable standingOfOne = iota
	notExact
	faulty // some runs would have a fault
	notScored
	notCosted
	notMeasured
)

// measure evaluates the objective, the cost and the constraints for all candidates
// on all subsets.
func (t *chooser) measure(ctx context.Context) (err error) {
	n := len(t.candidates)
	subsets := 1 + t.without
	m := &measured{subsets: subsets, labels: make([]replay.Label, n), exact: make([]int, n), can: make([]bool, n), standing: make([]standingOfOne, n), why: make([]string, n)}
	for range subsets {
		m.value, m.cost, m.within = append(m.value, make([]float64, n)), append(m.cost, make([]float64, n)), append(m.within, make([]bool, n))
		m.seconds, m.least = append(m.seconds, make([]float64, n)), append(m.least, slices.Repeat([]float64{math.NaN()}, n))
	}
	for range t.Constraints {
		m.fails, m.unknown = append(m.fails, make([]uint64, (n+63)/64)), append(m.unknown, make([]uint64, (n+63)/64))
	}
	t.measured = m
	t.recordedCells = t.profileOf(t.held.Recorded)
	for s := range subsets {
		t.recordedSums = append(t.recordedSums, t.sum(t.recordedCells, s))
	}
	if err := t.measureRecordings(ctx); err != nil {
		return err
	}
	recorded, seed := t.recordedKnown(), maphash.MakeSeed()
	t.sums, t.print = make([][]sums, n), make([]uint64, n)
	t.recordedPrint = printOf(seed, sweep.Sum(t.held.Recorded, t.held.Runs, t.fold, max(1, t.folds)))
	err = t.Totals(ctx, t.fold, max(1, t.folds), func(i int, totals []sweep.Totals) {
		t.labels[i], t.standing[i], t.exact[i] = t.stand(totals, recorded)
		t.print[i], t.sums[i] = printOf(seed, totals), make([]sums, len(totals))
		for f := range totals {
			t.sums[i][f].add(&totals[f])
		}
		if t.standing[i] == notExact {
			t.measureLeast(ctx, i, totals)
		}
	})
	if err != nil {
		return err
	}
	var failed atomic.Pointer[error]
	err = each(ctx, n, func(i int) {
		if err := t.measureOne(ctx, i); err != nil {
			failed.CompareAndSwap(nil, &err)
		}
	})
	if e := failed.Load(); err == nil && e != nil {
		err = *e
	}
	if err == nil {
		t.steps, err = t.stepsOf(ctx)
	}
	return err
}

// over adds up what a candidate makes of the runs of a subset.
func (t *chooser) over(s *sums, candidate, subset int) *sums {
	for f := range t.sums[candidate] {
		if subset == 0 || f != subset-1 {
			s.plus(&t.sums[candidate][f])
		}
	}
	return s
}

// recordedKnown counts, for each score that is read, the runs that have it as
// recorded.
func (t *chooser) recordedKnown() []int {
	known := make([]int, len(t.reads))
	for i := range t.held.Recorded {
		for k, s := range t.reads {
			known[k] += count(tune.ScoreOf(&t.held.Recorded[i], s).Known())
		}
	}
	return known
}

// measureOne measures a candidate. No other reads or writes what is its own, and
// bits of one word are of one chunk.
func (t *chooser) measureOne(ctx context.Context, i int) error {
	m := t.measured
	if m.standing[i] != choosable {
		return nil
	}
	scope := t.scope(&sums{})
	var runs *everyRun
	if t.quantiles {
		var err error
		if runs, err = t.everyRun(ctx, i); err != nil {
			return err
		}
	}
	for s := range m.subsets {
		scope.clear()
		t.over(scope.sums, i, s)
		if runs != nil {
			runs.into(scope.sums, t.fold, s-1)
		}
		t.judge(ctx, i, s, scope)
	}
	return nil
}

// stand says whether the runs answer for a candidate, with the scores that are read,
// and how many of them are exact.
func (t *chooser) stand(totals []sweep.Totals, recorded []int) (label replay.Label, standing standingOfOne, exact int) {
	whole := wholeOf(totals)
	label, exact = whole.Label(), whole.Exact
	switch {
	case label != replay.PointExact:
		return label, notExact, exact
	case whole.Faults > 0:
		return label, faulty, exact
	}
	for k, s := range t.reads {
		if s >= len(whole.Scores) || whole.Scores[s].Known < recorded[k] {
			return label, notScored, exact
		}
	}
	return label, choosable, exact
}

// wholeOf are the totals of all parts together.
func wholeOf(totals []sweep.Totals) (whole sweep.Totals) {
	for f := range totals {
		whole.Add(&totals[f])
	}
	return whole
}

func (t *chooser) scope(s *sums) *metrics {
	return &metrics{sums: s, names: t.held.Scores, timed: t.known.times, lumps: t.known.lumps}
}

// judge evaluates a candidate on a subset.
func (t *chooser) judge(ctx context.Context, i, s int, scope *metrics) {
	m := t.measured
	cost, noCost := t.price.of(ctx, scope)
	value, noValue := t.goal.of(ctx, scope)
	if t.Minimize {
		value = -value
	}
	m.cost[s][i], m.value[s][i], m.seconds[s][i], m.within[s][i] = cost, value, scope.sums.seconds/scope.runs, true
	for c := range t.Constraints {
		ok, why := holds(ctx, &t.Constraints[c], scope)
		m.within[s][i] = m.within[s][i] && ok
		if s == t.chosenOn && !ok {
			m.fails[c][i/64] |= 1 << (i % 64)
		}
		if s == t.chosenOn && why != "" {
			m.unknown[c][i/64] |= 1 << (i % 64)
		}
		if s == 0 && m.why[i] == "" {
			m.why[i] = why
		}
	}
	if s > 0 {
		return
	}
	switch {
	case math.IsNaN(value):
		m.standing[i], m.why[i] = notMeasured, noValue
	case math.IsNaN(cost):
		m.standing[i], m.why[i] = notCosted, noCost
	default:
		m.can[i] = true
	}
}

// chunk is how many candidates a worker takes at a time: bits of one word.
const chunk = 64

// each does something with each of n things, on all processors.
func each(ctx context.Context, n int, do func(i int)) error {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk) {
		workers.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(chunk)) - chunk
				for i := max(0, from); i < min(from+chunk, n); i++ {
					do(i)
				}
				if from >= n {
					return
				}
			}
		})
	}
	workers.Wait()
	return ctx.Err()
}
