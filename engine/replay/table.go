package replay

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
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
	empty    int  // runs without an iteration, whose agents had nothing to give
}

// tileGroups is the number of groups in a tile: 4096 runs.
const tileGroups = 64

// tile is some groups of runs.
type tile struct {
	runs   []traced
	groups []group
	size   int // words of a vector

	exists   []uint64 // the run has this iteration
	decided  []uint64 // the run ends here by itself, before any condition is asked
	dry      []uint64 // the agent has nothing more to give after this
	natural  [][]uint64
	held     [][]uint64 // by leaf: conditions, then guards
	failed   [][]uint64 // by leaf: it could not be evaluated; nil where that never happens
	returned []uint16   // by word and bit
	vectors  [][]uint64 // by Node, made as they are needed
}

// group is 64 runs.
type group struct{ start, depth int }

// traced is what a run tells: at each iteration.
type traced struct {
	index    int // among the runs given
	length   int
	held     [][]uint64 // by iteration: bits of leaves
	failed   [][]uint64
	returned []int
	natural  int // in Table.naturals, at the last iteration; -1: none
	dry      bool
}

// Table evaluates all conditions and guards on recorded runs. Points that are
// added later are not in it.
func (p *Points) Table(runs []Recorded) *Table {
	t := &Table{points: p}
	natural := *p.loop
	natural.Terminate, natural.Guards = spec.Tree{}, spec.Guards{}
	natural.Guards.AbsoluteMaxIterations.Off = true
	rules, watched := stop.Compile(&natural).Watch(p.conditions, p.guards)
	all := make([]traced, len(runs))
	for i := range runs {
		all[i] = t.trace(rules, len(watched), &runs[i])
		all[i].index = i
	}
	slices.SortStableFunc(all, func(a, b traced) int { return cmp.Compare(b.length, a.length) })
	for part := range slices.Chunk(all, 64*tileGroups) {
		t.tiles = append(t.tiles, t.tile(part, len(watched)))
	}
	return t
}

// trace folds a run as far as it goes without any limit.
func (t *Table) trace(rules *stop.Rules, leaves int, r *Recorded) traced {
	run := traced{natural: -1}
	state := rules.Start(r.Task, paramOf(t.points.loop))
	for i := range r.Run.Iterations {
		it := &r.Run.Iterations[i]
		if it.Cut != "" {
			return run // its end is not known
		}
		d := state.Fold(it)
		held, failed := make([]uint64, (leaves+63)/64), make([]uint64, (leaves+63)/64)
		for leaf := range leaves {
			holds, err := state.Held(leaf)
			if holds {
				held[leaf/64] |= 1 << (leaf % 64)
			}
			if err != nil {
				t.fails = true
				failed[leaf/64] |= 1 << (leaf % 64)
			}
		}
		run.held, run.failed = append(run.held, held), append(run.failed, failed)
		run.returned = append(run.returned, state.Returned())
		run.length++
		if d.Stop {
			run.returned[i] = d.Outcome.Returned
			run.natural = t.ending(d.Outcome.Reason, d.Outcome.Status)
			return run
		}
	}
	w := walk{run: r.Run}
	run.dry = w.ranDry()
	if run.dry && run.length == 0 {
		t.empty++
	}
	return run
}

func (t *Table) ending(reason record.Reason, status record.Status) int {
	e := Reason{reason, status}
	if i := slices.Index(t.naturals, e); i >= 0 {
		return i
	}
	t.naturals = append(t.naturals, e)
	return len(t.naturals) - 1
}

func (t *Table) tile(runs []traced, leaves int) *tile {
	p := &tile{runs: runs}
	for some := range slices.Chunk(runs, 64) {
		p.groups = append(p.groups, group{p.size, some[0].length})
		p.size += some[0].length
	}
	p.exists, p.decided, p.dry = p.vector(), p.vector(), p.vector()
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
		eachBit(run.held[n], func(leaf int) { p.held[leaf][at] |= bit })
		eachBit(run.failed[n], func(leaf int) {
			if p.failed[leaf] == nil {
				p.failed[leaf] = p.vector()
			}
			p.failed[leaf][at] |= bit
		})
	}
	last := p.groups[i/64].start + run.length - 1
	switch {
	case run.length == 0:
	case run.natural >= 0:
		p.grow(run.natural)
		p.natural[run.natural][last] |= bit
		p.decided[last] |= bit
	case run.dry:
		p.dry[last] |= bit
	}
	run.held, run.failed = nil, nil
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
