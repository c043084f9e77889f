package replay

import (
	"math/bits"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
)

// Counted is what configurations make of the runs of a table.
type Counted struct {
	// Reasons are the reasons that occur, in no order; nil where nobody asked.
	Reasons []Reason
	Counts  []Count // by configuration
}

// Count is what a configuration makes of the runs of a table.
type Count struct {
	// Stops are the runs whose stop is known; of the others some branch, and the rest
	// is censored.
	Stops, Branches int
	// Successes are the stops at which the loop believes in the run; 0 where nobody
	// asked. A run without an iteration is none.
	Successes int
	// Failures are the stops at which an expression could not be evaluated. They are
	// worth nothing that is known, and no success.
	Failures int
	// Iterations are those of all runs, of the censored ones as far as they go.
	Iterations int64
	// Sums are those of the quantities, in their order.
	Sums []int64
	// Reasons are the stops by reason, as Counted.Reasons has them.
	Reasons []int32
}

// Reason is why a run stopped, and whether that counts.
type Reason struct {
	Reason record.Reason
	Status record.Status
}

// afterConditions says that it comes after the terminate tree in the order of
// decision: all stages are over.
func (r *Reason) afterConditions() bool {
	return r.Reason == record.ReasonPhasesComplete || r.Reason == record.ReasonStrategiesExhausted
}

// Quantity is a whole number, not below zero, that is added up: money in
// 1e-12 USD, tokens, a score of 0 or 1. One of the two is set.
type Quantity struct {
	// Made is what an iteration of a run used, counted from 0; it is added up over
	// the iterations that are made.
	Made func(run, iteration int) int64
	// Stopped is what a run is worth that makes so many iterations and returns one of
	// them, counted from 1 (0: none); it is added up over the runs whose stop is known
	// and that make any, but for Count.Failures.
	Stopped func(run, made, returned int) int64
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
	Successes  bool
}

// Count evaluates configurations, tile by tile: each tree that several of them
// share is evaluated once. It adds to the points; one count goes on at a time.
func (t *Table) Count(configurations []Configuration, what Counting) Counted {
	counted := Counted{Counts: make([]Count, len(configurations))}
	ordered := t.order(configurations, what.Reasons)
	counted.Reasons = ordered.reasons
	sums := make([]int64, len(configurations)*len(what.Quantities))
	reasons := make([]int32, len(configurations)*len(ordered.reasons))
	for i := range counted.Counts {
		c := &counted.Counts[i]
		c.Sums, sums = cut(sums, len(what.Quantities))
		c.Reasons, reasons = cut(reasons, len(ordered.reasons))
		c.Branches = t.branches
		if c.Stops = t.dry; t.dry > 0 && what.Reasons {
			c.Reasons[ordered.dry] = int32(t.dry)
		}
	}
	for _, p := range t.tiles {
		c := newCounter(t, p, &what)
		for i := range configurations {
			c.count(&configurations[i], &counted.Counts[i], ordered)
		}
	}
	return counted
}

// cut takes n from the front.
func cut[T any](list []T, n int) (front, rest []T) { return list[:n:n], list[n:] }

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
			value = q.Stopped(run.index, n+1, int(p.returned[64*at+i%64]))
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
	successes  bool

	tree  []Node   // of the configuration counted last
	base  []uint64 // where its tree, or what ends runs by itself, stops them
	stop  []uint64
	first []uint64 // a run stops here
	made  []uint64 // it makes this iteration
	// failed has room for good.
	failed []uint64
}

func newCounter(t *Table, p *tile, what *Counting) *counter {
	for len(p.vectors) < len(t.points.nodes) {
		p.vectors = append(p.vectors, nil)
	}
	c := &counter{table: t, tile: p, quantities: p.planes(what.Quantities), successes: what.Successes}
	c.base, c.stop, c.first, c.made, c.failed = p.vector(), p.vector(), p.vector(), p.vector(), p.vector()
	c.rebase(nil)
	return c
}

func (c *counter) count(f *Configuration, count *Count, ordered *ordered) {
	if !slices.Equal(c.tree, f.Tree) {
		c.rebase(f.Tree)
	}
	if ordered.reasons == nil && c.simple() {
		c.quickly(f, count)
		return
	}
	stop := c.limits(f)
	c.firsts(stop, count)
	good := c.good(f, count)
	c.sums(count, good)
	if c.successes {
		count.Successes += overlap(good, c.tile.believes(f.Threshold))
	}
	if ordered.reasons != nil {
		c.reasons(f, count, ordered)
	}
}

// simple says that there is at most one quantity, of 0 or 1, of runs that stop.
func (c *counter) simple() bool {
	if c.successes || c.table.fails {
		return false
	}
	return len(c.quantities) == 0 || len(c.quantities) == 1 && !c.quantities[0].made && len(c.quantities[0].bits) == 1
}

// rebase begins with another tree. Configurations in their natural order often
// share it.
func (c *counter) rebase(tree []Node) {
	c.tree = tree
	copy(c.base, c.tile.ends)
	or(c.base, c.tile.dry)
	for _, n := range tree {
		c.add(c.base, n)
	}
}

// add adds where a tree holds, or one of its leaves could not be evaluated.
func (c *counter) add(to []uint64, n Node) {
	or(to, c.tile.of(c.table.points, n))
	if !c.table.fails {
		return
	}
	c.table.points.leaves(n, func(leaf int) {
		if failed := c.tile.failed[leaf]; failed != nil {
			or(to, failed)
		}
	})
}

// limits is where a configuration would stop, whatever came before.
func (c *counter) limits(f *Configuration) []uint64 {
	if len(f.Maxima)+len(f.Guards) == 0 {
		return c.base
	}
	copy(c.stop, c.base)
	for _, n := range f.Maxima {
		c.add(c.stop, n)
	}
	for _, n := range f.Guards {
		c.add(c.stop, n)
	}
	return c.stop
}

// split is where a configuration would stop, in two parts if it has one limit
// only, so that nothing has to be written down.
func (c *counter) split(f *Configuration) (a, b []uint64) {
	switch {
	case len(f.Maxima) == 1 && len(f.Guards) == 0:
		return c.base, c.tile.of(c.table.points, f.Maxima[0])
	case len(f.Maxima) == 0 && len(f.Guards) == 1:
		return c.base, c.tile.of(c.table.points, f.Guards[0])
	}
	return c.limits(f), c.tile.vectors[Never]
}

// quickly counts stops, iterations and a score of 0 or 1, and keeps nothing.
func (c *counter) quickly(f *Configuration, count *Count) {
	a, b := c.split(f)
	score := c.tile.vectors[Never]
	if len(c.quantities) > 0 {
		score = c.quantities[0].bits[0]
	}
	iterations, stops, scored := 0, 0, 0
	for i, g := range c.tile.groups {
		left, stopped, good := ^uint64(0), uint64(0), uint64(0)
		exists, score := c.tile.exists[g.start:g.start+g.depth], score[g.start:g.start+g.depth]
		a, b := a[g.start:g.start+g.depth], b[g.start:g.start+g.depth]
		for n, exist := range exists {
			made := left & exist
			if made == 0 {
				break
			}
			first := made & (a[n] | b[n])
			left &^= first
			stopped |= first
			good |= first & score[n]
			iterations += bits.OnesCount64(made)
		}
		stops += bits.OnesCount64(stopped)
		count.Branches += bits.OnesCount64(left & c.tile.branches[i])
		scored += bits.OnesCount64(good)
	}
	count.Stops += stops
	count.Iterations += int64(iterations)
	if len(c.quantities) > 0 {
		count.Sums[0] += int64(scored)
	}
}

// firsts keeps of the stops of each run the first, and the iterations up to it.
func (c *counter) firsts(stop []uint64, count *Count) {
	iterations, stops := 0, 0
	for i, g := range c.tile.groups {
		left := ^uint64(0)
		for at := g.start; at < g.start+g.depth; at++ {
			made := left & c.tile.exists[at]
			first := made & stop[at]
			left &^= first
			c.made[at], c.first[at] = made, first
			iterations += bits.OnesCount64(made)
			stops += bits.OnesCount64(first)
		}
		count.Branches += bits.OnesCount64(left & c.tile.branches[i])
	}
	count.Stops += stops
	count.Iterations += int64(iterations)
}

// good are the stops but for failures: an expression could not be evaluated, and
// nothing that comes before that in the order of decision holds.
func (c *counter) good(f *Configuration, count *Count) []uint64 {
	if !c.table.fails {
		return c.first
	}
	copy(c.failed, c.tile.until)
	c.failures(f, func(failed []uint64) { or(c.failed, failed) })
	for i := range c.failed {
		c.failed[i] &= c.first[i] &^ c.tile.decided[i]
	}
	for _, n := range f.Tree {
		for i, holds := range c.tile.of(c.table.points, n) {
			c.failed[i] &^= holds
		}
	}
	for i, failed := range c.failed {
		count.Failures += bits.OnesCount64(failed)
		c.failed[i] = c.first[i] &^ failed
	}
	return c.failed
}

// sums adds the quantities up.
func (c *counter) sums(count *Count, good []uint64) {
	for q := range c.quantities {
		over := good
		if c.quantities[q].made {
			over = c.made
		}
		for b, plane := range c.quantities[q].bits {
			count.Sums[q] += int64(overlap(over, plane)) << b
		}
	}
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
