package replay

import (
	"math/bits"

	"github.com/agentbench/agentbench/engine/record"
)

// Count is what a configuration makes of the runs of a table.
type Count struct {
	// Stops are the runs whose stop is known; the others are censored.
	Stops int
	// Iterations are those of all runs, of the censored ones as far as they go.
	Iterations int64
	// Sums are those of the quantities, in their order.
	Sums []int64
	// Reasons are the stops by reason; nil where nobody asked.
	Reasons map[Reason]int
}

// Reason is why a run stopped, and whether that counts.
type Reason struct {
	Reason record.Reason
	Status record.Status
}

// Quantity is a whole number, not below zero, that is added up: money in
// 1e-12 USD, tokens, a score of 0 or 1. One of the two is set.
type Quantity struct {
	// Made is what an iteration of a run used, counted from 0; it is added up over
	// the iterations that are made.
	Made func(run, iteration int) int64
	// Stopped is what a run is worth that returns an iteration, counted from 1 (0:
	// none); it is added up over the runs whose stop is known.
	Stopped func(run, returned int) int64
}

// planes are a quantity bit by bit: the sum over a set of runs is that of the
// bits that are set in it and in plane b, times 2^b.
type planes struct {
	made bool
	bits [][]uint64
}

// Counting is what is to be counted.
type Counting struct {
	Quantities []Quantity
	Reasons    bool
}

// Count evaluates configurations, tile by tile: each tree that several of them
// share is evaluated once.
func (t *Table) Count(configurations []Configuration, what Counting) []Count {
	counts := make([]Count, len(configurations))
	for i := range counts {
		counts[i].Sums = make([]int64, len(what.Quantities))
		if what.Reasons {
			counts[i].Reasons = map[Reason]int{}
		}
		t.countEmpty(&counts[i])
	}
	var orders [][]reasonAt
	if what.Reasons {
		orders = t.orders(configurations)
	}
	for _, p := range t.tiles {
		p.room(len(t.points.nodes))
		c := counter{table: t, tile: p, quantities: p.planes(what.Quantities), stop: p.vector(), first: p.vector(), made: p.vector()}
		for i := range configurations {
			c.count(&configurations[i], &counts[i])
			if what.Reasons {
				c.reasons(orders[i], &counts[i])
			}
		}
	}
	return counts
}

// countEmpty counts the runs whose agent had nothing to give at all.
func (t *Table) countEmpty(count *Count) {
	count.Stops += t.empty
	if count.Reasons != nil && t.empty > 0 {
		count.Reasons[Reason{record.ReasonAgentEnded, record.Completed}] += t.empty
	}
}

func (p *tile) room(nodes int) {
	for len(p.vectors) < nodes {
		p.vectors = append(p.vectors, nil)
	}
}

// planes slices quantities into bits.
func (p *tile) planes(quantities []Quantity) []planes {
	sliced := make([]planes, len(quantities))
	for q := range quantities {
		sliced[q].made = quantities[q].Made != nil
		for i := range p.runs {
			p.slice(&sliced[q], &quantities[q], i)
		}
	}
	return sliced
}

func (p *tile) slice(to *planes, q *Quantity, i int) {
	run, bit := &p.runs[i], uint64(1)<<(i%64)
	for n := range run.length {
		at := p.groups[i/64].start + n
		var value int64
		if to.made {
			value = q.Made(run.index, n)
		} else {
			value = q.Stopped(run.index, int(p.returned[64*at+i%64]))
		}
		for b := 0; value>>b > 0; b++ {
			if b == len(to.bits) {
				to.bits = append(to.bits, p.vector())
			}
			to.bits[b][at] |= bit * uint64(value>>b&1)
		}
	}
}

// counter counts one configuration after the other on a tile.
type counter struct {
	table      *Table
	tile       *tile
	quantities []planes

	stop  []uint64 // the run would stop here
	first []uint64 // it stops here
	made  []uint64 // it makes this iteration
}

func (c *counter) count(f *Configuration, count *Count) {
	c.stops(f)
	stops, iterations := c.firstOf()
	count.Stops += stops
	count.Iterations += int64(iterations)
	for q := range c.quantities {
		over := c.first
		if c.quantities[q].made {
			over = c.made
		}
		for b, plane := range c.quantities[q].bits {
			count.Sums[q] += int64(overlap(over, plane)) << b
		}
	}
}

// stops is where a configuration would stop, whatever came before.
func (c *counter) stops(f *Configuration) {
	copy(c.stop, c.tile.decided)
	for _, nodes := range [][]Node{f.Tree, f.Maxima, f.Guards} {
		for _, n := range nodes {
			or(c.stop, c.tile.of(c.table.points, n))
			c.failures(n)
		}
	}
	or(c.stop, c.tile.dry)
}

// failures adds where a leaf of a tree could not be evaluated.
func (c *counter) failures(n Node) {
	if !c.table.fails {
		return
	}
	c.table.points.leaves(n, func(leaf int) {
		if failed := c.tile.failed[leaf]; failed != nil {
			or(c.stop, failed)
		}
	})
}

// firstOf keeps of the stops of each run the first.
func (c *counter) firstOf() (stops, iterations int) {
	for _, g := range c.tile.groups {
		left := ^uint64(0)
		for at := g.start; at < g.start+g.depth; at++ {
			made := left & c.tile.exists[at]
			first := made & c.stop[at]
			left = made &^ first
			c.made[at], c.first[at] = made, first
			iterations += bits.OnesCount64(made)
			stops += bits.OnesCount64(first)
		}
	}
	return stops, iterations
}

func or(to, from []uint64) {
	from = from[:len(to)]
	for i := range to {
		to[i] |= from[i]
	}
}

func overlap(a, b []uint64) (n int) {
	b = b[:len(a)]
	for i := range a {
		n += bits.OnesCount64(a[i] & b[i])
	}
	return n
}

// of is the vector of a node on a tile, made when it is first needed.
func (p *tile) of(from *Points, n Node) []uint64 {
	if v := p.vectors[n]; v != nil {
		return v
	}
	node := &from.nodes[n]
	if node.leaf >= 0 {
		p.vectors[n] = p.held[from.watched(node)]
		return p.vectors[n]
	}
	v := p.vector()
	copy(v, p.of(from, node.children[0]))
	for _, child := range node.children[1:] {
		other := p.of(from, child)
		for i := range v {
			if node.all {
				v[i] &= other[i]
			} else {
				v[i] |= other[i]
			}
		}
	}
	p.vectors[n] = v
	return v
}

// watched is the place of a leaf: guards come after the conditions.
func (p *Points) watched(n *points) int {
	if n.guard {
		return len(p.conditions) + n.leaf
	}
	return n.leaf
}

// leaves visits the leaves of a tree.
func (p *Points) leaves(n Node, visit func(leaf int)) {
	node := &p.nodes[n]
	if node.leaf >= 0 {
		visit(p.watched(node))
	}
	for _, child := range node.children {
		p.leaves(child, visit)
	}
}
