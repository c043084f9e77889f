package stop

import (
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

// A run stops after the first iteration at which its trees hold, also one that is longer than a word has bits.
func TestMasksOfLongRuns(t *testing.T) {
	propertytest.CheckCases(t, 500, func(t *rapid.T) {
		n, leaves := rapid.IntRange(1, 200).Draw(t, "iterations"), rapid.IntRange(1, 5).Draw(t, "leaves")
		w := &Watcher{}
		for leaf := range leaves {
			w.plain, w.places = append(w.plain, leaf), append(w.places, place{-1, int32(leaf)})
		}
		m, held, failed := w.Masks(n), make([][]bool, leaves), make([][]bool, leaves)
		seldom := rapid.Map(rapid.IntRange(0, 40), func(i int) bool { return i == 0 })
		for leaf := range leaves {
			held[leaf], failed[leaf] = rapid.SliceOfN(seldom, n, n).Draw(t, "held"), rapid.SliceOfN(seldom, n, n).Draw(t, "failed")
			for i := range n {
				if held[leaf][i] {
					m.held[leaf*m.words+i/64] |= 1 << (i % 64)
				}
				if failed[leaf][i] {
					if m.failed == nil {
						m.failed = make([]uint64, len(m.held))
					}
					m.failed[leaf*m.words+i/64] |= 1 << (i % 64)
				}
			}
		}
		ranked := rapid.IntRange(0, 3).Draw(t, "ranked")
		if ranked > 0 { // of whose leaves so many hold
			m.counts = make([]int32, n)
			for i := range n {
				m.counts[i] = max(0, rapid.Int32Range(-40, int32(ranked)).Draw(t, "hold"))
			}
		}
		for at := range ranked {
			m.places = append(m.places, place{0, int32(at)})
			held, failed = append(held, make([]bool, n)), append(failed, make([]bool, n))
			for i := range n {
				held[leaves][i] = int32(at) < m.counts[i]
			}
			leaves++
		}
		var draw func(depth int) node
		draw = func(depth int) node {
			if depth == 0 || rapid.Bool().Draw(t, "leaf") {
				return node{leaf: rapid.IntRange(0, leaves-1).Draw(t, "which")}
			}
			tree := node{leaf: -1, all: rapid.Bool().Draw(t, "all")}
			for range rapid.IntRange(0, 3).Draw(t, "children") {
				tree.children = append(tree.children, draw(depth-1))
			}
			return tree
		}
		c := Configuration{conditions: []node{draw(2), draw(2)}, others: []node{draw(0)}}
		for leaf := range leaves {
			c.leaves = append(c.leaves, leaf)
		}
		m.End(n, rapid.Bool().Draw(t, "decided"), false)
		want, wantFailed := 0, false
		for i := range n {
			now, bad := make([]bool, leaves), false
			for leaf := range leaves {
				now[leaf], bad = held[leaf][i], bad || failed[leaf][i] && !(m.ends.decided && i == n-1)
			}
			holds := func(n node) bool { _, ok := n.holds(now); return ok }
			condition, other := slices.ContainsFunc(c.conditions, holds), slices.ContainsFunc(c.others, holds)
			if condition || other || bad {
				want, wantFailed = i+1, bad && !condition
				break
			}
		}
		if got, failed := m.Stop(&c); got != want || failed != wantFailed {
			t.Fatalf("%d %v, want %d %v", got, failed, want, wantFailed)
		}
	})
}

// Leaves without an identity would be taken for each other.
func TestEveryLeafHasAnIdentity(t *testing.T) {
	rules := load(t, `terminate:
  any:
  - {confidence: {threshold: 0.8}}
  - {name: w, when: iteration > 2}
  - {repeated: {of: output, times: 2}}
  - {consecutive: {when: iteration > 2, times: 2}}
  - {no_improvement: {patience: 2}}
  - {timeout: 5s}
  - {all: [{max_iterations: 3}, {confidence: {threshold: 0.7}}]}
  - {max_iterations: 5}
guards:
  circuit_breaker: {threshold: 3}
  stagnation: {window: 3}
  repeated_output: true
  degradation: {window: 2}
  repeated: [{name: r, of: output, times: 3}]
  consecutive: [{name: c, when: iteration > 2, times: 3}]
  budget: {calls: 3, tokens: 100, cost_usd: 1}
  absolute_max_iterations: 9
`)
	places := map[identity]string{}
	for _, leaf := range rules.leaves {
		if other, taken := places[leaf.identity]; leaf.what == "" || taken && other != leaf.name {
			t.Errorf("%s has the identity %q of %q", leaf.name, leaf.what, other)
		}
		places[leaf.identity] = leaf.name
	}
	if len(places) < 17 {
		t.Errorf("only %d leaves", len(places))
	}
}
