package stop

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// Leaves are the conditions and guards of many rules, equal ones once, so that each is asked once after every
// iteration of a run. The rules differ only in when they stop a run, which is after an iteration. Several may add at a
// time.
type Leaves struct {
	adding sync.Mutex
	places map[identity]int
	all    []leaf
}

// identity is the same for leaves that hold together. Of leaves that differ in the number alone the one with the
// larger number holds at no iteration at which the other does not.
type identity struct {
	what   string
	number float64
}

// Configuration is when one of these rules stops a run.
type Configuration struct {
	conditions []node // of the terminate tree: any of them
	others     []node // maxima and guards, which come after all expressions in the order of decision
	leaves     []int  // all of them
	any        []int  // those of which any stops a run; nil: the trees have more to say
	// Threshold is the confidence at which the loop believes in a run.
	Threshold float64
}

// Add adds the leaves of rules, and gives their configuration.
func (l *Leaves) Add(r *Rules) Configuration {
	l.adding.Lock()
	defer l.adding.Unlock()
	c := Configuration{leaves: make([]int, r.decisive), Threshold: r.threshold}
	for i := range c.leaves {
		c.leaves[i] = l.place(&r.leaves[i])
	}
	for i := range r.tree {
		c.conditions = append(c.conditions, r.tree[i].at(c.leaves))
	}
	for _, leaf := range slices.Concat(r.maxima, r.guards) {
		c.others = append(c.others, node{leaf: c.leaves[leaf]})
	}
	for _, n := range slices.Concat(c.conditions, c.others) {
		if n.leaf < 0 {
			c.any = nil
			break
		}
		c.any = append(c.any, n.leaf)
	}
	return c
}

func (l *Leaves) place(one *leaf) int {
	at, known := l.places[one.identity]
	if !known {
		if l.places == nil {
			l.places = map[identity]int{}
		}
		at = len(l.all)
		l.places[one.identity], l.all = at, append(l.all, *one)
	}
	return at
}

// at is the tree over leaves that have other places.
func (n *node) at(places []int) node {
	moved := *n
	if n.leaf >= 0 {
		moved.leaf = places[n.leaf]
		return moved
	}
	moved.children = make([]node, len(n.children))
	for i := range n.children {
		moved.children[i] = n.children[i].at(places)
	}
	return moved
}

// Watcher are rules that also look at leaves, which decide nothing.
type Watcher struct {
	*Rules
	plain  []int   // leaves that are asked one by one
	ranked [][]int // leaves that differ in their number alone, the smallest first
	places []place // by leaf
	asked  []leaf  // by leaf: those of ranked, which are judged when they are asked
}

// place is where a leaf stands: in one of the ranked lists, or, with the list -1, among the plain ones.
type place struct{ list, at int32 }

// Watch gives rules that decide the same and look at the leaves so far.
func (r *Rules) Watch(l *Leaves) *Watcher {
	rules := *r
	w := &Watcher{Rules: &rules, asked: l.all, places: make([]place, len(l.all))}
	rules.leaves, rules.names, rules.stepping = slices.Clone(r.leaves), slices.Clone(r.names), slices.Clone(r.stepping)
	group := map[string]int{}
	for leaf, one := range l.all {
		if !one.newest {
			w.places[leaf] = place{-1, int32(len(w.plain))}
			w.plain = append(w.plain, leaf)
			rules.add(one)
			continue
		}
		at, known := group[one.what]
		if !known {
			at = len(w.ranked)
			group[one.what], w.ranked = at, append(w.ranked, nil)
		}
		w.ranked[at] = append(w.ranked[at], leaf)
	}
	for list, leaves := range w.ranked {
		slices.SortFunc(leaves, func(a, b int) int { return cmp.Compare(l.all[a].number, l.all[b].number) })
		for at, leaf := range leaves {
			w.places[leaf] = place{int32(list), int32(at)}
		}
	}
	return w
}

// Masks are sets of iterations of a run, a bit each, the first iteration the lowest: for each leaf those after which it
// holds. A run stops under a configuration after the first iteration of the union of its leaves. Of leaves that differ in their
// number alone the smallest hold, so that their count says which.
type Masks struct {
	iterations int
	words      int
	places     []place  // by leaf
	held       []uint64 // by plain leaf, so many words each
	failed     []uint64 // they could not be evaluated; nil: none
	counts     []int32  // by ranked list, so many iterations each: how many of its leaves hold
	ends       ending
}

// ending is what a run that comes to its last iteration does there by itself.
type ending struct {
	last    int  // the iteration
	decided bool // before any condition is asked
	failed  bool // as the end of a phase could not be evaluated: unless a condition holds
}

// Masks has room for so many iterations.
func (w *Watcher) Masks(iterations int) *Masks {
	words := (iterations + 63) / 64
	return &Masks{iterations: iterations, words: words, places: w.places, held: make([]uint64, len(w.plain)*words), counts: make([]int32, len(w.ranked)*iterations)}
}

// Note looks at all leaves after the iteration that was decided on last.
func (w *Watcher) Note(s *State, m *Masks) {
	last := s.Len() - 1
	word, bit := last/64, uint64(1)<<(last%64)
	for i := range w.plain {
		if s.held[w.decisive+i] {
			m.held[i*m.words+word] |= bit
		}
		if s.watched[i] != nil {
			if m.failed == nil {
				m.failed = make([]uint64, len(m.held))
			}
			m.failed[i*m.words+word] |= bit
		}
	}
	for list, leaves := range w.ranked {
		n, _ := slices.BinarySearchFunc(leaves, true, func(leaf int, _ bool) int {
			if holds, _ := w.asked[leaf].judge(s, &s.unkept); holds { // a comparison of numbers has no error
				return -1
			}
			return 1
		})
		m.counts[list*m.iterations+last] = int32(n)
	}
}

// of is the set of a leaf.
func (m *Masks) of(leaf, word int) (set uint64) {
	at := m.places[leaf]
	if at.list < 0 {
		return m.held[int(at.at)*m.words+word]
	}
	first := 64 * word
	counts := m.counts[int(at.list)*m.iterations:][first:min(first+64, m.iterations)]
	for i, n := range counts {
		if n > at.at {
			set |= 1 << i
		}
	}
	return set
}

// End notes that the run ends by itself after its last iteration: decided before any condition is asked, or failed, as the
// end of a phase could not be evaluated, unless a condition holds.
func (m *Masks) End(last int, decided, failed bool) { m.ends = ending{last, decided, failed} }

// Fails reports whether an expression may fail on the run.
func (m *Masks) Fails() bool { return m.failed != nil || m.ends.failed }

// atNone is later than any iteration.
const atNone = math.MaxInt32

// first is the iteration, from 1, after which a leaf holds first.
func (m *Masks) first(leaf int) int32 {
	at := m.places[leaf]
	if at.list < 0 {
		for word, set := range m.held[int(at.at)*m.words:][:m.words] {
			if set != 0 {
				return int32(64*word + bits.TrailingZeros64(set) + 1)
			}
		}
		return atNone
	}
	for i, n := range m.counts[int(at.list)*m.iterations:][:m.iterations] {
		if n > at.at {
			return int32(i + 1)
		}
	}
	return atNone
}

// Chain is configurations that differ in the number of one leaf alone, the smallest first, and of which any leaf stops a run.
type Chain struct {
	Members []int // their places
	others  []int // the leaves in which they do not differ
	list    int32 // of the one in which they do
	ranks   []int32
}

// Chains are those among configurations, by their places; all others are alone. The leaf is one of the longest ranked list.
func (w *Watcher) Chains(all []Configuration, members []int) (chains []Chain, alone []int) {
	longest := int32(0)
	for list := range w.ranked {
		if len(w.ranked[list]) > len(w.ranked[longest]) {
			longest = int32(list)
		}
	}
	var ranked []link
	for _, member := range members {
		one := link{member: member}
		for _, leaf := range all[member].any {
			if at := w.places[leaf]; at.list == longest {
				one.ranks = append(one.ranks, at.at)
			} else {
				one.others = append(one.others, leaf)
			}
		}
		if len(one.ranks) != 1 {
			alone = append(alone, member)
			continue
		}
		slices.Sort(one.others)
		ranked = append(ranked, one)
	}
	slices.SortFunc(ranked, func(a, b link) int {
		return cmp.Or(slices.Compare(a.others, b.others), cmp.Compare(a.ranks[0], b.ranks[0]))
	})
	for i, one := range ranked {
		if i == 0 || !slices.Equal(one.others, ranked[i-1].others) {
			chains = append(chains, Chain{others: one.others, list: longest})
		}
		c := &chains[len(chains)-1]
		c.Members, c.ranks = append(c.Members, one.member), append(c.ranks, one.ranks[0])
	}
	return chains, alone
}

// link is a configuration that may be in a chain: its leaves of the ranked list, by their ranks, and the others.
type link struct {
	member int
	ranks  []int32
	others []int
}

// Stops visits members of a chain, from one to before another, with the iteration, as of [Masks.Stop], after which the run stops
// under them. No expression may fail.
func (m *Masks) Stops(c *Chain, visit func(from, to, iteration int)) {
	bound, at := int32(atNone), 0
	for _, leaf := range c.others {
		bound = min(bound, m.first(leaf))
	}
	for i, n := range m.counts[int(c.list)*m.iterations:][:m.iterations] {
		if int32(i+1) >= bound || at == len(c.ranks) {
			break
		}
		if n <= c.ranks[at] {
			continue
		}
		to, _ := slices.BinarySearch(c.ranks, n)
		visit(at, to, i+1)
		at = to
	}
	switch {
	case at == len(c.ranks):
	case bound == atNone:
		visit(at, len(c.ranks), 0)
	default:
		visit(at, len(c.ranks), int(bound))
	}
}

// Stop is the iteration, from 1, after which a run stops under a configuration; 0: it comes to its own end. Failed says that
// it does so because an expression could not be evaluated.
func (m *Masks) Stop(c *Configuration) (iteration int, failed bool) {
	if c.any != nil && !m.Fails() {
		at := int32(atNone)
		for _, leaf := range c.any {
			at = min(at, m.first(leaf))
		}
		if at == atNone {
			at = 0
		}
		return int(at), false
	}
	for word := range m.words {
		conditions := m.union(c.conditions, word)
		stop, bad := conditions|m.union(c.others, word), uint64(0)
		if m.Fails() {
			bad = m.failures(c, word) &^ conditions
			stop |= bad
		}
		if stop != 0 {
			bit := bits.TrailingZeros64(stop)
			return 64*word + bit + 1, bad>>bit&1 == 1
		}
	}
	return 0, false
}

// failures are the iterations at which a leaf of the configuration, or the end of a phase, could not be evaluated.
func (m *Masks) failures(c *Configuration, word int) (bad uint64) {
	if m.failed != nil {
		for _, leaf := range c.leaves {
			if at := m.places[leaf]; at.list < 0 {
				bad |= m.failed[int(at.at)*m.words+word]
			}
		}
	}
	if last := m.ends.last - 1; last >= 0 && last/64 == word {
		bit := uint64(1) << (last % 64)
		if m.ends.failed {
			bad |= bit
		} else if m.ends.decided {
			bad &^= bit
		}
	}
	return bad
}

// union is any of the trees.
func (m *Masks) union(trees []node, word int) (set uint64) {
	for i := range trees {
		if leaf := trees[i].leaf; leaf >= 0 {
			set |= m.of(leaf, word)
		} else {
			set |= m.tree(&trees[i], word)
		}
	}
	return set
}

func (m *Masks) tree(n *node, word int) uint64 {
	switch {
	case n.leaf >= 0:
		return m.of(n.leaf, word)
	case !n.all:
		return m.union(n.children, word)
	case len(n.children) == 0:
		return 0
	}
	set := ^uint64(0)
	for i := range n.children {
		set &= m.tree(&n.children[i], word)
	}
	return set
}
