package replay

import (
	"math/bits"

	"github.com/agentbench/agentbench/engine/record"
)

// reasonAt is a place in the order of decision: where the node holds and nothing
// before it did, this is the reason. Errors stands for the expressions of the
// whole configuration that could not be evaluated.
type reasonAt struct {
	node   Node
	reason record.Reason
	errors []int // leaves; nil: the node
}

// orders are the places of each configuration, in the order of decision after
// what ends a run by itself.
func (t *Table) orders(configurations []Configuration) [][]reasonAt {
	orders := make([][]reasonAt, len(configurations))
	for i := range configurations {
		f := &configurations[i]
		var order []reasonAt
		for _, n := range f.Tree {
			order = t.points.reasonsOf(n, nil, order)
		}
		if failing := t.failing(f); len(failing) > 0 {
			order = append(order, reasonAt{reason: record.ReasonError, errors: failing})
		}
		for _, nodes := range [][]Node{f.Maxima, f.Guards} {
			for _, n := range nodes {
				order = t.points.reasonsOf(n, nil, order)
			}
		}
		orders[i] = order
	}
	return orders
}

// failing are the leaves of a configuration that may fail.
func (t *Table) failing(f *Configuration) (leaves []int) {
	if !t.fails {
		return nil
	}
	for _, nodes := range [][]Node{f.Tree, f.Maxima, f.Guards} {
		for _, n := range nodes {
			t.points.leaves(n, func(leaf int) { leaves = append(leaves, leaf) })
		}
	}
	return leaves
}

// reasonsOf appends the reasons that a tree gives where it holds together with
// others: of an any its first child that holds, of an all its first.
func (p *Points) reasonsOf(n Node, with []Node, order []reasonAt) []reasonAt {
	node := &p.nodes[n]
	switch {
	case node.leaf >= 0:
		return append(order, reasonAt{node: p.All(append(with[:len(with):len(with)], n)...), reason: node.reason})
	case node.all:
		return p.reasonsOf(node.children[0], append(with[:len(with):len(with)], n), order)
	}
	for _, child := range node.children {
		order = p.reasonsOf(child, with, order)
	}
	return order
}

// reasons counts the stops of the configuration counted last. What was counted
// for one reason is not there for the next.
func (c *counter) reasons(order []reasonAt, count *Count) {
	for i, natural := range c.tile.natural {
		if natural != nil {
			c.claim(natural, c.table.naturals[i], count)
		}
	}
	for i := range order {
		at := &order[i]
		if at.errors == nil {
			c.claim(c.tile.of(c.table.points, at.node), Reason{at.reason, record.Completed}, count)
			continue
		}
		for _, leaf := range at.errors {
			if failed := c.tile.failed[leaf]; failed != nil {
				c.claim(failed, Reason{at.reason, record.Faulted}, count)
			}
		}
	}
	c.claim(c.tile.dry, Reason{record.ReasonAgentEnded, record.Completed}, count)
}

func (c *counter) claim(holds []uint64, reason Reason, count *Count) {
	n := 0
	holds = holds[:len(c.first)]
	for i := range c.first {
		n += bits.OnesCount64(c.first[i] & holds[i])
		c.first[i] &^= holds[i]
	}
	if n > 0 {
		count.Reasons[reason] += n
	}
}
