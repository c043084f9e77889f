package replay

import (
	"math/bits"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
)

// ordered is the order of decision of all configurations.
type ordered struct {
	reasons []Reason // nil: nobody asked
	natural []int    // in reasons, of each way in which runs end by themselves
	dry     int      // in reasons, of agents that have nothing more to give
	failed  int      // in reasons, of expressions that could not be evaluated
	places  [][]place
}

// place is a place in the order of decision: where the node holds and nothing
// before it did, this is the reason.
type place struct {
	node   Node
	reason int // in ordered.reasons
}

// order finds the places of every tree of the configurations.
func (t *Table) order(configurations []Configuration, asked bool) *ordered {
	o := &ordered{}
	if !asked {
		return o
	}
	o.dry, o.failed = o.index(Reason{record.ReasonAgentEnded, record.Completed}), o.index(Reason{record.ReasonError, record.Faulted})
	for _, e := range t.naturals {
		o.natural = append(o.natural, o.index(e))
	}
	for i := range configurations {
		f := &configurations[i]
		for _, nodes := range [...][]Node{f.Tree, f.Maxima, f.Guards} {
			for _, n := range nodes {
				o.place(t.points, n)
			}
		}
	}
	return o
}

func (o *ordered) index(reason Reason) int {
	if i := slices.Index(o.reasons, reason); i >= 0 {
		return i
	}
	o.reasons = append(o.reasons, reason)
	return len(o.reasons) - 1
}

// place finds the places of a tree, once.
func (o *ordered) place(p *Points, n Node) {
	for len(o.places) <= int(n) {
		o.places = append(o.places, nil)
	}
	if o.places[n] == nil {
		o.places[n] = o.placesOf(p, n, nil, []place{})
	}
}

// placesOf appends the reasons that a tree gives where it holds together with
// others: of an any its first child that holds, of an all its first.
func (o *ordered) placesOf(p *Points, n Node, with []Node, places []place) []place {
	node := p.nodes[n]
	both := append(with[:len(with):len(with)], n)
	switch {
	case n == Never:
		return places
	case node.leaf >= 0:
		return append(places, place{p.All(both...), o.index(Reason{node.reason, record.Completed})})
	case node.all:
		return o.placesOf(p, node.children[0], both, places)
	}
	for _, child := range node.children {
		places = o.placesOf(p, child, with, places)
	}
	return places
}

// reasons counts the stops of the configuration counted last, in the order of
// decision. What was counted for one reason is not there for the next.
func (c *counter) reasons(f *Configuration, count *Count, o *ordered) {
	left := 0
	for _, first := range c.first {
		left += bits.OnesCount64(first)
	}
	var last []uint64 // holds for the reason named last, and is not claimed yet
	lastReason := 0
	claim := func(holds []uint64, reason int) {
		if left > 0 && last != nil {
			n := c.claim(last)
			left -= n
			count.Reasons[lastReason] += int32(n)
		}
		last, lastReason = holds, reason
	}
	natural := func(after bool) {
		for i, natural := range c.tile.natural {
			if natural != nil && o.reasons[o.natural[i]].afterConditions() == after {
				claim(natural, o.natural[i])
			}
		}
	}
	natural(false)
	c.placed(f.Tree, o, claim)
	if c.table.fails {
		claim(c.tile.until, o.failed)
	}
	c.failures(f, func(failed []uint64) { claim(failed, o.failed) })
	natural(true)
	c.placed(f.Maxima, o, claim)
	c.placed(f.Guards, o, claim)
	if c.tile.dries {
		claim(c.tile.dry, o.dry)
	}
	if last != nil {
		count.Reasons[lastReason] += int32(left) // every stop has a reason: the last has all that no other has
	}
}

func (c *counter) placed(nodes []Node, o *ordered, claim func([]uint64, int)) {
	for _, n := range nodes {
		for _, at := range o.places[n] {
			claim(c.tile.of(c.table.points, at.node), at.reason)
		}
	}
}

// failures visits where leaves of a configuration could not be evaluated.
func (c *counter) failures(f *Configuration, visit func([]uint64)) {
	if !c.table.fails {
		return
	}
	for _, nodes := range [...][]Node{f.Tree, f.Maxima, f.Guards} {
		for _, n := range nodes {
			c.table.points.leaves(n, func(leaf int) {
				if failed := c.tile.failed[leaf]; failed != nil {
					visit(failed)
				}
			})
		}
	}
}

// claim takes the stops at which something holds.
func (c *counter) claim(holds []uint64) (n int) {
	first := c.first
	holds = holds[:len(first)]
	for i, f := range first {
		claimed := f & holds[i]
		n += bits.OnesCount64(claimed)
		first[i] = f &^ claimed
	}
	return n
}
