package replay

import (
	"cmp"
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
// iteration. Runs are sorted, the longest first, so that groups of short runs are
// short. Groups are put into tiles whose vectors stay in the processor's cache.
type Table struct {
	points *Points
	tiles  []*tile
	// naturals are the ways in which runs end whatever their limits, by reason and
	// status.
	naturals []Reason
	fails    bool // some expression could not be evaluated
	// Of the runs without an iteration: those whose agents had nothing to give, and
	// those that branch.
	dry, branches int
}

// tileGroups is the number of groups in a tile: 4096 runs.
const tileGroups = 64

// tile is some groups of runs.
type tile struct {
	runs   []traced
	groups []group
	size   int // words of a vector
	// branches are the runs, by group, that go on otherwise than recorded.
	branches []uint64

	exists   []uint64 // the run has this iteration
	ends     []uint64 // the run ends here by itself
	decided  []uint64 // before any condition is asked
	until    []uint64 // because the end of a phase could not be evaluated
	dry      []uint64 // the agent has nothing more to give after this
	dries    bool     // some bit of dry is set
	natural  [][]uint64
	held     [][]uint64           // by leaf: conditions, then guards
	failed   [][]uint64           // by leaf: it could not be evaluated; nil where that never happens
	returned []uint16             // by word and bit
	vectors  [][]uint64           // by Node, made as they are needed
	believed map[float64][]uint64 // by threshold, made as they are needed
}

// group is 64 runs.
type group struct{ start, depth int }

// Table puts traces into bits; those of the points as they are then. Runs are
// counted from 0 in the order given.
func (p *Points) Table(traces []*Trace) *Table {
	t := &Table{points: p}
	all := make([]traced, 0, len(traces))
	for i, trace := range traces {
		t.fails = t.fails || trace.failed != nil || trace.until
		if trace.length > 0 {
			all = append(all, traced{trace, i, t.ending(trace)})
			continue
		}
		switch {
		case trace.dry:
			t.dry++
		case trace.branches:
			t.branches++
		}
	}
	slices.SortStableFunc(all, func(a, b traced) int { return cmp.Compare(b.length, a.length) })
	for part := range slices.Chunk(all, 64*tileGroups) {
		t.tiles = append(t.tiles, t.tile(part))
	}
	return t
}

// traced is a run of the table.
type traced struct {
	*Trace
	index   int // among the runs given
	natural int // in Table.naturals, at the last iteration; -1: none
}

func (t *Table) ending(trace *Trace) int {
	if !trace.ends || trace.until {
		return -1
	}
	if i := slices.Index(t.naturals, trace.natural); i >= 0 {
		return i
	}
	t.naturals = append(t.naturals, trace.natural)
	return len(t.naturals) - 1
}

func (t *Table) tile(runs []traced) *tile {
	p, leaves := &tile{runs: runs}, len(t.points.conditions)+len(t.points.guards)
	for some := range slices.Chunk(runs, 64) {
		p.groups = append(p.groups, group{p.size, some[0].length})
		p.size += some[0].length
	}
	p.branches, p.believed = make([]uint64, len(p.groups)), map[float64][]uint64{}
	p.exists, p.ends, p.decided, p.until, p.dry = p.vector(), p.vector(), p.vector(), p.vector(), p.vector()
	p.natural = make([][]uint64, len(t.naturals))
	p.held, p.failed = make([][]uint64, leaves), make([][]uint64, leaves)
	for leaf := range leaves {
		p.held[leaf] = p.vector()
	}
	p.returned = make([]uint16, 64*p.size)
	for i := range runs {
		p.fill(i)
	}
	p.vectors = make([][]uint64, len(t.points.nodes))
	p.vectors[Never] = p.vector()
	return p
}

func (p *tile) vector() []uint64 { return make([]uint64, p.size) }

// fill sets the bits of a run.
func (p *tile) fill(i int) {
	run, bit := &p.runs[i], uint64(1)<<(i%64)
	for n := range run.length {
		at := p.groups[i/64].start + n
		p.exists[at] |= bit
		p.returned[64*at+i%64] = uint16(run.returned[n])
		p.hold(run.Trace, n, at, bit)
	}
	last := p.groups[i/64].start + run.length - 1
	switch {
	case run.natural >= 0:
		p.grow(run.natural)
		p.natural[run.natural][last] |= bit
		p.ends[last] |= bit
		if !run.Trace.natural.afterConditions() {
			p.decided[last] |= bit
		}
	case run.until:
		p.ends[last] |= bit
		p.until[last] |= bit
	case run.dry:
		p.dry[last] |= bit
		p.dries = true
	case run.branches:
		p.branches[i/64] |= bit
	}
}

// hold sets the bits of an iteration.
func (p *tile) hold(run *Trace, n, at int, bit uint64) {
	words := run.held[n*run.words : (n+1)*run.words]
	eachBit(words, func(leaf int) { p.held[leaf][at] |= bit })
	if run.failed == nil {
		return
	}
	eachBit(run.failed[n*run.words:(n+1)*run.words], func(leaf int) {
		if p.failed[leaf] == nil {
			p.failed[leaf] = p.vector()
		}
		p.failed[leaf][at] |= bit
	})
}

// believes is where the loop believes in a run, at a threshold.
func (p *tile) believes(threshold float64) []uint64 {
	if v, ok := p.believed[threshold]; ok {
		return v
	}
	v := p.vector()
	for i := range p.runs {
		start, bit := p.groups[i/64].start, uint64(1)<<(i%64)
		for n, highest := range p.runs[i].believed {
			if highest >= threshold {
				v[start+n] |= bit
			}
		}
	}
	p.believed[threshold] = v
	return v
}

func (p *tile) grow(natural int) {
	for len(p.natural) <= natural {
		p.natural = append(p.natural, nil)
	}
	if p.natural[natural] == nil {
		p.natural[natural] = p.vector()
	}
}

func eachBit(set []uint64, do func(int)) {
	for i, word := range set {
		for ; word != 0; word &= word - 1 {
			do(64*i + bits.TrailingZeros64(word))
		}
	}
}
