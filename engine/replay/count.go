package replay

import (
	"math/bits"
	"slices"
)

// End is how a run of a table ends under a configuration: after so many iterations;
// below 0: after so many because an expression could not be evaluated, so that what
// it is worth is not known; 0: its record ends before, or it branches.
type End int32

// Change is a run that ends otherwise than under the configuration before.
type Change struct {
	Run           int
	Before, After End
}

// Cursor tells how the runs of a table end under one configuration after the other.
// What it looks at run by run is only what changes from one to the next, so that
// configurations of which one differs little from the one before cost little. It is
// not safe for concurrent use.
type Cursor struct {
	table    *Table
	levels   []level // by gauge
	believed level
	trees    map[Node][]uint64 // any and all, made as they are needed

	stop, bad     []uint64 // where the configuration stops a run; an expression fails
	first, failed []uint64 // where runs end; and why they do is that an expression failed
	ended         []End    // by run
	changes       []Change
}

// level is the vector of what holds from a number of a gauge on.
type level struct {
	gauge  *gauge
	vector []uint64
	from   int // in gauge.points
}

// to moves the vector to the points from one on.
func (l *level) to(from int) []uint64 {
	for ; l.from > from; l.from-- {
		point := l.gauge.points[l.from-1]
		l.vector[point>>6] |= 1 << (point & 63)
	}
	for ; l.from < from; l.from++ {
		point := l.gauge.points[l.from]
		l.vector[point>>6] &^= 1 << (point & 63)
	}
	return l.vector
}

// Cursor begins where no run has an end.
func (t *Table) Cursor() *Cursor {
	at := func(g *gauge) level { return level{gauge: g, vector: t.vector(), from: len(g.points)} }
	c := &Cursor{table: t, believed: at(&t.believed), trees: map[Node][]uint64{}, ended: make([]End, t.runs)}
	for k := range t.gauges {
		c.levels = append(c.levels, at(&t.gauges[k]))
	}
	c.stop, c.bad, c.first, c.failed = t.vector(), t.vector(), t.vector(), t.vector()
	return c
}

// Move goes to a configuration of the table's points. The changes are valid until the
// next move.
func (c *Cursor) Move(f *Configuration) []Change {
	c.limits(f)
	c.changes = c.changes[:0]
	for i := range c.table.groups {
		g := &c.table.groups[i]
		left, stopped, changed := ^uint64(0), uint64(0), uint64(0)
		for at := g.start; at < g.start+g.depth; at++ {
			first := left & c.stop[at]
			failed := first & c.bad[at]
			left &^= first
			stopped |= first
			differs := (first ^ c.first[at]) | (failed ^ c.failed[at])
			changed |= differs
			c.first[at], c.failed[at] = first, failed
			for is := differs & first; is != 0; is &= is - 1 {
				bit := bits.TrailingZeros64(is)
				end := End(at - g.start + 1)
				if failed>>bit&1 == 1 {
					end = -end
				}
				c.end(g.runs[bit], end)
			}
		}
		for gone := changed &^ stopped; gone != 0; gone &= gone - 1 {
			c.end(g.runs[bits.TrailingZeros64(gone)], 0)
		}
	}
	return c.changes
}

// Ends are those of the runs, by run, under the configuration moved to last.
func (c *Cursor) Ends() []End { return c.ended }

func (c *Cursor) end(run int, end End) {
	c.changes = append(c.changes, Change{run, c.ended[run], end})
	c.ended[run] = end
}

// Believed counts, by part, the runs in which the loop believes where they end, as a
// live run of the configuration would.
func (c *Cursor) Believed(f *Configuration, into []int) {
	clear(into)
	believed := c.believed.to(c.table.believed.from(f.Threshold))
	for i := range c.table.groups {
		g, n := &c.table.groups[i], 0
		for at := g.start; at < g.start+g.depth; at++ {
			n += bits.OnesCount64(c.first[at] &^ c.failed[at] & believed[at])
		}
		into[g.part] += n
	}
}

// limits is where a configuration would stop, whatever came before, and where that
// would be because an expression fails: nothing that comes before in the order of
// decision holds there.
func (c *Cursor) limits(f *Configuration) {
	copy(c.stop, c.table.ends)
	copy(c.bad, c.table.until)
	for _, nodes := range [...][]Node{f.Tree, f.Maxima, f.Guards} {
		for _, n := range nodes {
			or(c.stop, c.of(n))
			c.failures(n)
		}
	}
	if !c.table.fails {
		return
	}
	or(c.stop, c.bad)
	for i, decided := range c.table.decided {
		c.bad[i] &^= decided
	}
	for _, n := range f.Tree {
		for i, holds := range c.of(n) {
			c.bad[i] &^= holds
		}
	}
}

// failures adds where leaves could not be evaluated.
func (c *Cursor) failures(n Node) {
	if !c.table.fails {
		return
	}
	c.table.leaves(n, func(leaf int) {
		if at := c.table.places[leaf]; at.gauge < 0 && c.table.failed[at.plain] != nil {
			or(c.bad, c.table.failed[at.plain])
		}
	})
}

// mostTreeWords are kept of trees, 32 MB of them.
const mostTreeWords = 4 << 20

// of is the vector of a node, valid until the next one is asked for.
func (c *Cursor) of(n Node) []uint64 {
	if n == Never {
		return c.table.never
	}
	node := &c.table.points.nodes[n]
	if node.leaf >= 0 {
		at := c.table.places[c.table.watched(node)]
		if at.gauge < 0 {
			return c.table.held[at.plain]
		}
		return c.levels[at.gauge].to(at.from)
	}
	if v := c.trees[n]; v != nil {
		return v
	}
	v := slices.Clone(c.of(node.children[0]))
	for _, child := range node.children[1:] {
		other := c.of(child)
		for i := range v {
			if node.all {
				v[i] &= other[i]
			} else {
				v[i] |= other[i]
			}
		}
	}
	if (len(c.trees)+1)*c.table.size > mostTreeWords {
		clear(c.trees)
	}
	c.trees[n] = v
	return v
}

func or(to, from []uint64) {
	to = to[:len(from)]
	for i, word := range from {
		to[i] |= word
	}
}

// watched is the place of a leaf: guards come after the conditions.
func (t *Table) watched(n *points) int {
	if n.guard {
		return t.conditions + n.leaf
	}
	return n.leaf
}

// leaves visits the leaves of a tree.
func (t *Table) leaves(n Node, visit func(leaf int)) {
	node := &t.points.nodes[n]
	if node.leaf >= 0 {
		visit(t.watched(node))
	}
	for _, child := range node.children {
		t.leaves(child, visit)
	}
}
