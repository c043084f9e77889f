package replay

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Recorded is a run and its task.
type Recorded struct {
	Run  *record.Run
	Task *spec.Task
}

// Table is recorded runs as bit sets over decision points: those after each
// iteration. A vector has a bit for every run and iteration, 64 runs to a word and
// the words of one group of 64 runs beside one another, iteration after
// iteration. The runs of a group are of one part; those of a part are sorted, the
// longest first, so that groups of short runs are short. It is read-only, and
// serves any number of cursors at once.
type Table struct {
	points *Points
	// conditions are so many of the leaves, as the tracer has them: points may have got
	// more since.
	conditions int
	runs       int
	groups     []group
	size       int // words of a vector

	never   []uint64
	ends    []uint64 // the run ends here by itself, or the agent has nothing more to give
	decided []uint64 // before any condition is asked
	until   []uint64 // because the end of a phase could not be evaluated

	places   []leafPlace // by leaf
	held     [][]uint64  // by plain leaf
	failed   [][]uint64  // by plain leaf: it could not be evaluated; nil where that never happens
	fails    bool        // some expression could not be evaluated
	gauges   []gauge
	believed gauge
}

// group is up to 64 runs of one part.
type group struct {
	runs         []int
	start, depth int // words
	part         int
}

// leafPlace is where a table has a leaf: among the plain ones, or as one of the
// numbers of a gauge, from which decision point on.
type leafPlace struct {
	gauge int // -1: it is plain
	plain int
	from  int
}

// gauge is numbers of decision points, the smallest first: what holds from a number
// on holds at the rest of these points.
type gauge struct {
	points  []int32 // 64 * word + bit
	numbers []float64
}

// from is the first point with such a number.
func (g *gauge) from(number float64) int {
	at, _ := slices.BinarySearch(g.numbers, number)
	return at
}

// Table puts traces into bits; those of a tracer of the points. Part says of each run
// which part it is of, from 0; runs of a part below 0, and those without an
// iteration, are left out.
func (t *Tracer) Table(traces []*Trace, part []int) *Table {
	table := &Table{points: t.points, conditions: t.conditions, runs: len(traces)}
	table.group(traces, part)
	table.never, table.ends, table.decided, table.until = table.vector(), table.vector(), table.vector(), table.vector()
	table.held, table.failed, table.gauges = make([][]uint64, len(t.plain)), make([][]uint64, len(t.plain)), make([]gauge, len(t.gauges))
	for k := range table.held {
		table.held[k] = table.vector()
	}
	for g := range table.groups {
		for bit, run := range table.groups[g].runs {
			table.fill(&table.groups[g], traces[run], bit)
		}
	}
	for k := range table.gauges {
		table.gauges[k] = table.gauge(traces, func(trace *Trace, n int) float64 { return float64(trace.reached[n*len(t.gauges)+k]) })
	}
	table.believed = table.gauge(traces, func(trace *Trace, n int) float64 { return trace.believed[n] })
	table.places = make([]leafPlace, t.leaves)
	for k, leaf := range t.plain {
		table.places[leaf] = leafPlace{gauge: -1, plain: k}
	}
	for k, leaves := range t.gauges {
		for number, leaf := range leaves {
			table.places[leaf] = leafPlace{gauge: k, from: table.gauges[k].from(float64(number + 1))}
		}
	}
	return table
}

// group sorts the runs into groups.
func (t *Table) group(traces []*Trace, part []int) {
	var order []int
	for run, trace := range traces {
		if part[run] >= 0 && trace.length > 0 {
			order = append(order, run)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(part[a], part[b]), cmp.Compare(traces[b].length, traces[a].length))
	})
	for len(order) > 0 {
		n := 1
		for n < min(64, len(order)) && part[order[n]] == part[order[0]] {
			n++
		}
		g := group{runs: order[:n:n], start: t.size, depth: traces[order[0]].length, part: part[order[0]]}
		t.groups, t.size, order = append(t.groups, g), t.size+g.depth, order[n:]
	}
}

func (t *Table) vector() []uint64 { return make([]uint64, t.size) }

// fill sets the bits of a run.
func (t *Table) fill(g *group, run *Trace, at int) {
	bit := uint64(1) << at
	for n := range run.length {
		word := g.start + n
		eachBit(run.held[n*run.words:(n+1)*run.words], func(leaf int) { t.held[leaf][word] |= bit })
		if run.failed != nil {
			eachBit(run.failed[n*run.words:(n+1)*run.words], func(leaf int) { t.fail(leaf)[word] |= bit })
		}
	}
	last := g.start + run.length - 1
	if run.ends || run.until || run.dry {
		t.ends[last] |= bit
	}
	switch {
	case run.until:
		t.fails = true
		t.until[last] |= bit
	case run.ends && !run.stages:
		t.decided[last] |= bit
	}
}

// fail is where a leaf could not be evaluated.
func (t *Table) fail(leaf int) []uint64 {
	t.fails = true
	if t.failed[leaf] == nil {
		t.failed[leaf] = t.vector()
	}
	return t.failed[leaf]
}

// gauge sorts all decision points by a number; those where it is NaN have none.
func (t *Table) gauge(traces []*Trace, of func(trace *Trace, n int) float64) (sorted gauge) {
	type numbered struct {
		number float64
		point  int32
	}
	var all []numbered
	for i := range t.groups {
		g := &t.groups[i]
		for bit, run := range g.runs {
			for n := range traces[run].length {
				if number := of(traces[run], n); !math.IsNaN(number) {
					all = append(all, numbered{number, int32(64*(g.start+n) + bit)})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b numbered) int { return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.point, b.point)) })
	for _, p := range all {
		sorted.points, sorted.numbers = append(sorted.points, p.point), append(sorted.numbers, p.number)
	}
	return sorted
}

func eachBit(set []uint64, do func(int)) {
	for i, word := range set {
		for ; word != 0; word &= word - 1 {
			do(64*i + bits.TrailingZeros64(word))
		}
	}
}
