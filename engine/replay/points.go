package replay

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// Node is a condition, a guard, or a tree of them, in Points; equal ones are the
// same Node. The zero Node never holds.
type Node int32

// Never never holds.
const Never Node = 0

// Points collect the conditions and guards of many configurations of one loop,
// so that each is evaluated once for every recorded iteration. They serve what
// only decides when a run stops, after an iteration: see Configuration.
type Points struct {
	loop    *spec.Loop
	cancels cancels
	reads   []string // what decides on what is sent and how it is judged reads

	growing    sync.Mutex
	nodes      []points // by Node
	known      map[string]Node
	conditions []spec.Condition
	guards     []spec.Guards
}

// points is a node: a leaf, or any or all of its children.
type points struct {
	reason   record.Reason // of a leaf
	leaf     int           // in the order in which they are watched; -1: none
	guard    bool          // the leaf is one of the guards
	all      bool
	children []Node
}

// NewPoints begins with a loop, whose own conditions and guards do not matter.
func NewPoints(l *spec.Loop) *Points {
	return &Points{loop: l, cancels: cancelsOf(stop.Compile(l)), reads: pathReads(l), nodes: []points{{leaf: -1}}, known: map[string]Node{}}
}

// Any holds where one of its children does; the order is that of the reasons.
func (p *Points) Any(children ...Node) Node { return p.tree(false, children) }

// All holds where all of its children do, and never without children.
func (p *Points) All(children ...Node) Node { return p.tree(true, children) }

func (p *Points) tree(all bool, children []Node) Node {
	switch len(children) { // one that never holds stays: beside it an expression may fail
	case 0:
		return Never
	case 1:
		return children[0]
	}
	return p.intern(fmt.Sprint(all, children), points{leaf: -1, all: all, children: slices.Clone(children)})
}

func (p *Points) intern(key string, n points) Node {
	if known, ok := p.known[key]; ok {
		return known
	}
	p.nodes = append(p.nodes, n)
	p.known[key] = Node(len(p.nodes) - 1)
	return p.known[key]
}

// Condition is a condition, with all that is nested in it.
func (p *Points) Condition(c *spec.Condition) Node {
	switch {
	case c.Off:
		return Never
	case c.Kind == spec.KindAny || c.Kind == spec.KindAll:
		children := make([]Node, len(c.Nested))
		for i := range c.Nested {
			children[i] = p.Condition(&c.Nested[i])
		}
		return p.tree(c.Kind == spec.KindAll, children)
	}
	key := conditionKey(c)
	if known, ok := p.known[key]; ok {
		return known
	}
	p.conditions = append(p.conditions, *c)
	reason := record.Reason(c.Kind)
	if c.Kind == spec.KindWhen {
		reason = record.ReasonWhen(c.Name)
	}
	return p.intern(key, points{reason: reason, leaf: len(p.conditions) - 1})
}

// conditionKey is the same for conditions that hold together and give the same
// reason.
func conditionKey(c *spec.Condition) string {
	switch c.Kind {
	case spec.KindConfidence:
		return fmt.Sprint(c.Kind, c.Confidence.Threshold.Value, " ", c.Confidence.MinIterations)
	case spec.KindWhen:
		return fmt.Sprint(c.Kind, c.Name, ":", c.When.Text)
	case spec.KindRepeated:
		return fmt.Sprint(c.Kind, c.Repeated.Times.Value, c.Repeated.Of.Text)
	case spec.KindConsecutive:
		return fmt.Sprint(c.Kind, c.Consecutive.Times.Value, c.Consecutive.When.Text)
	case spec.KindNoImprovement:
		return fmt.Sprint(c.Kind, c.NoImprovement.Patience.Value, " ", c.NoImprovement.MinDelta)
	case spec.KindTimeout:
		return fmt.Sprint(c.Kind, c.Timeout.After.Value, c.Timeout.Working)
	case spec.KindMaxIterations:
		return fmt.Sprint(c.Kind, c.MaxIterations)
	}
	return fmt.Sprintf("%+v", *c) // a new kind: all that was written, and where
}

// gauge says of leaves whether they differ in one number alone, of which the larger
// holds at no iteration at which the smaller does not; by what is equal of them.
func (p *Points) gauge(watched int) (key string, number float64, ok bool) {
	if watched >= len(p.conditions) {
		return gaugeOfGuard(&p.guards[watched-len(p.conditions)])
	}
	switch c := &p.conditions[watched]; c.Kind {
	case spec.KindConfidence:
		return fmt.Sprint("confidence", c.Confidence.MinIterations), c.Confidence.Threshold.Value, true
	case spec.KindMaxIterations:
		return "max_iterations", float64(c.MaxIterations), true
	}
	return "", 0, false
}

// gaugeOfGuard is gauge of a set with one guard.
func gaugeOfGuard(g *spec.Guards) (key string, number float64, ok bool) {
	b := g.Budget
	switch {
	case !g.AbsoluteMaxIterations.Off:
		return "absolute_max_iterations", float64(g.AbsoluteMaxIterations.Value), true
	case b == nil:
		return "", 0, false
	case b.Tokens > 0:
		return "tokens", float64(b.Tokens), true
	case b.Calls > 0:
		return "calls", float64(b.Calls), true
	}
	return "cost", b.CostUSD, true
}

// Guards are the guards that are on, in the order in which they give the reason.
func (p *Points) Guards(g spec.Guards) []Node {
	var all []Node
	for _, one := range eachGuard(g) {
		if known, ok := p.known[one.key]; ok {
			all = append(all, known)
			continue
		}
		_, watched := stop.Compile(&spec.Loop{}).Watch(nil, []spec.Guards{one.guards})
		if len(watched) == 0 {
			continue
		}
		p.guards = append(p.guards, one.guards)
		all = append(all, p.intern(one.key, points{reason: watched[0].Reason, leaf: len(p.guards) - 1, guard: true}))
	}
	return all
}

// oneGuard is a set of guards with one of them.
type oneGuard struct {
	key    string
	guards spec.Guards
}

// eachGuard takes guards apart, in the order in which they give the reason.
func eachGuard(g spec.Guards) []oneGuard {
	var all []oneGuard
	off := spec.Guards{}
	off.AbsoluteMaxIterations.Off = true
	add := func(key string, set func(*spec.Guards)) {
		one := off
		set(&one)
		all = append(all, oneGuard{"guard " + key, one})
	}
	if b := g.CircuitBreaker; b != nil {
		add(fmt.Sprint("circuit_breaker", b.Threshold), func(o *spec.Guards) { o.CircuitBreaker = b })
	}
	if s := g.Stagnation; s != nil {
		add(fmt.Sprint("stagnation", s.Window, s.Times, s.Signature), func(o *spec.Guards) { o.Stagnation = s })
	}
	if g.RepeatedOutput {
		add("repeated_output", func(o *spec.Guards) { o.RepeatedOutput = true })
	}
	if d := g.Degradation; d != nil {
		add(fmt.Sprint("degradation", d.Window), func(o *spec.Guards) { o.Degradation = d })
	}
	for _, r := range g.Repeated {
		add(fmt.Sprint("repeated", r.Times, r.Window, " ", r.Of.Text), func(o *spec.Guards) { o.Repeated = []spec.NamedRepeated{r} })
	}
	for _, c := range g.Consecutive {
		add(fmt.Sprint("consecutive", c.Times, c.When.Text), func(o *spec.Guards) { o.Consecutive = []spec.NamedConsecutive{c} })
	}
	if b := g.Budget; b != nil {
		for _, one := range []spec.RunBudget{{Tokens: b.Tokens}, {Calls: b.Calls}, {CostUSD: b.CostUSD}} {
			add(fmt.Sprint("budget", one), func(o *spec.Guards) { o.Budget = &one })
		}
	}
	if a := g.AbsoluteMaxIterations; !a.Off {
		add(fmt.Sprint("absolute", a.Value), func(o *spec.Guards) { o.AbsoluteMaxIterations = a })
	}
	return all
}

// Configuration is when a run stops under one assignment of parameters.
type Configuration struct {
	Tree   []Node // the terminate tree: any of these, in the order of reasons
	Maxima []Node // max_iterations at its top
	Guards []Node // in the order of reasons
	// Threshold is the confidence at which the loop believes in a run.
	Threshold float64
}

// GeneralError says why a configuration has to be replayed in the general way.
type GeneralError struct{ Why string }

// Error says it in words.
func (e *GeneralError) Error() string { return "replayed in the general way: " + e.Why }

// Configuration adds the limits of a loop that differs from that of the points in
// them alone. The error is a *GeneralError: it differs in more, or limits decide at other
// moments than after an iteration, as hard budgets do. Several may ask at a time.
func (p *Points) Configuration(l *spec.Loop) (c Configuration, err error) {
	rules := stop.Compile(l)
	if why := p.serves(l, rules); why != "" {
		return c, &GeneralError{why}
	}
	p.growing.Lock()
	defer p.growing.Unlock()
	for i := range l.Terminate.Any {
		one := &l.Terminate.Any[i]
		if n := p.Condition(one); n != Never && one.Kind == spec.KindMaxIterations {
			c.Maxima = append(c.Maxima, n)
		} else if n != Never {
			c.Tree = append(c.Tree, n)
		}
	}
	if limit, derived, _ := l.EffectiveMax(); derived {
		c.Maxima = append(c.Maxima, p.Condition(&spec.Condition{Kind: spec.KindMaxIterations, MaxIterations: limit}))
	}
	c.Guards, c.Threshold = p.Guards(l.Guards), rules.SuccessThreshold()
	return c, nil
}

// general says what keeps a loop from the points.
func general(l *spec.Loop) string {
	if b := l.Guards.Budget; b != nil && b.Hard {
		return "its budget is hard"
	} else if b != nil && b.Steps > 0 {
		return "its budget limits steps"
	}
	if why := looksAtSteps(l); why != "" {
		return why
	}
	for _, e := range decisions(l) {
		for _, path := range readsOf(e) {
			if variable, _, _ := strings.Cut(path, "."); variable == "param" || variable == "since_improvement" {
				return fmt.Sprintf("a condition reads %s, which the configuration decides", variable)
			}
		}
	}
	return ""
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
