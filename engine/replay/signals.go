package replay

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// iterationOf is an iteration whose texts are hashes: equal where the texts are, so
// that what only compares them decides alike. Its tool calls have no times. It is valid
// until the room is used again.
func iterationOf(room *Room, s *record.Signals, sig *record.IterationSignals) record.Iteration {
	it := record.Iteration{
		N: sig.N, Phase: sig.Phase, Strategy: sig.Strategy, Request: sig.Request, Skipped: sig.Skipped, Cut: sig.Cut,
		Start: sig.Start, End: sig.End, Untimed: sig.Untimed, Working: sig.Working,
		Steps: room.steps.take(sig.Steps), ToolCalls: room.toolCalls.take(sig.ToolCalls), Calls: room.calls.take(len(sig.Calls)),
	}
	for i := range it.Calls {
		callOf(&it.Calls[i], &sig.Calls[i])
	}
	if len(it.ToolCalls) > 0 {
		it.ToolCalls[0].Tool = sig.Tools // the first stands for their set
	}
	if sig.Output != "" {
		it.Output = strconv.AppendQuote(room.outputs.all[:0], sig.Output)
		room.outputs.all = it.Output
	}
	if sig.Evaluated {
		it.Evaluation = &room.evaluations.take(1)[0]
		*it.Evaluation = record.Evaluation{Confidence: sig.Confidence, Passed: sig.Passed, Checks: checksOf(s.Checks, sig.Checks)}
	}
	if sig.Tree != "" {
		it.Workspace = &record.Workspace{Tree: sig.Tree}
	}
	if sig.Ended != "" {
		it.Ended = &record.Ended{Reason: sig.Ended, Tool: sig.EndedBy}
	}
	if sig.Error != "" {
		it.Fail(&record.Error{Class: sig.Error, Message: sig.ErrorHash})
	}
	return it
}

func callOf(call *record.Call, c *record.CallSignals) {
	*call = record.Call{
		Role: c.Role, Model: c.Model, Request: c.Request, Usage: c.Usage, Reserved: c.Reserved, Charged: c.Charged,
		Start: c.Start, Duration: c.Duration, Waited: c.Waited,
		Conversation: c.Conversation, Kind: c.Kind, Step: c.Step, Arrived: c.Arrived, FirstByte: c.FirstByte, Ended: c.Ended,
	}
	if c.Error != "" {
		call.Error = &record.Error{Class: c.Error}
	}
}

func checksOf(heads []record.CheckHead, marks record.Marks) []record.Check {
	var checks []record.Check
	for i := range heads {
		if passed, judged := marks.Passed(i); judged {
			checks = append(checks, record.Check{Name: heads[i].Name, Weight: heads[i].Weight, Passed: passed})
		}
	}
	return checks
}

// textsOf are the texts that the decisions of a loop read, sorted.
func textsOf(l *spec.Loop) []string {
	texts := map[string]bool{}
	for _, e := range decisions(l) {
		for _, path := range readsOf(e) {
			if !inSignals(path) {
				texts[path] = true
			}
		}
	}
	if s := l.Guards.Stagnation; s != nil && !s.Window.Off && s.Signature != "" && s.Signature != "calls" {
		texts["the tool calls, for guards.stagnation.signature"] = true
	}
	if why := looksAtSteps(l); why != "" {
		texts["the steps, as "+why] = true
	}
	var sorted []string
	for path := range texts {
		sorted = append(sorted, path)
	}
	slices.Sort(sorted)
	return sorted
}

// decisions are the expressions by which a loop decides.
func decisions(l *spec.Loop) []*spec.Expr {
	all := conditionsOf(l.Terminate.Any)
	for i := range l.Phases {
		all = append(all, l.Phases[i].Until)
	}
	for i := range l.Guards.Repeated {
		all = append(all, l.Guards.Repeated[i].Of)
	}
	for i := range l.Guards.Consecutive {
		all = append(all, l.Guards.Consecutive[i].When)
	}
	if l.OnError != nil {
		all = append(all, l.OnError.ContinueIf)
	}
	return slices.DeleteFunc(all, func(e *spec.Expr) bool { return e == nil })
}

func conditionsOf(conditions []spec.Condition) []*spec.Expr {
	var all []*spec.Expr
	for i := range conditions {
		c := &conditions[i]
		if c.Off {
			continue
		}
		all = append(all, c.When, c.Repeated.Of, c.Consecutive.When)
		all = append(all, conditionsOf(c.Nested)...)
	}
	return all
}

// inSignals reports whether signals have what an expression reads.
func inSignals(path string) bool {
	variable, rest, _ := strings.Cut(path, ".")
	switch variable {
	case "task", "param", "iteration", "phase", "strategy", "confidence", "passed", "elapsed", "usage", "since_improvement", "iteration_tool_calls", "steps":
		return true
	case "best", "previous":
		switch rest {
		case "confidence", "iteration", "passed", "elapsed", "duration", "phase", "strategy", "steps":
			return true
		}
	case "checks":
		return strings.HasSuffix(rest, ".passed")
	}
	return false
}

// Reads are the variables and paths that a loop decides by.
func Reads(l *spec.Loop) []string {
	var reads []string
	for _, e := range decisions(l) {
		reads = append(reads, readsOf(e)...)
	}
	return reads
}

// ReadsParameters reports whether anything reads a parameter by which a loop sends,
// judges or decides.
func ReadsParameters(l *spec.Loop) bool {
	return readsAny(append(Reads(l), pathReads(l)...), []string{"param"})
}

// JudgesByTask reports whether a loop evaluates by what stands in the task.
func JudgesByTask(l *spec.Loop) bool {
	return l.Evaluate != nil && readsAny(evaluationReads(l.Evaluate), []string{"task"})
}

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

// Tracer evaluates all conditions and guards of points on paths. It serves any
// number of them at once. Points that are added later are not in it.
type Tracer struct {
	points *Points
	rules  *stop.Rules
	states sync.Pool // of histories that are over
	// conditions are the first of the leaves, guards the rest.
	conditions, leaves int
	plain              []int   // leaves that are asked one by one
	gauges             [][]int // leaves that differ in one number, the smallest first
}

// Tracer is that of the points so far.
func (p *Points) Tracer() *Tracer {
	rules, watched := stop.Compile(Endless(p.loop)).Watch(p.conditions, p.guards)
	t := &Tracer{points: p, rules: rules, conditions: len(p.conditions), leaves: len(watched)}
	at, numbers := map[string]int{}, make([]float64, len(watched))
	for leaf := range watched {
		key, number, ok := p.gauge(leaf)
		if !ok {
			t.plain = append(t.plain, leaf)
			continue
		}
		if _, known := at[key]; !known {
			at[key] = len(t.gauges)
			t.gauges = append(t.gauges, nil)
		}
		numbers[leaf], t.gauges[at[key]] = number, append(t.gauges[at[key]], leaf)
	}
	for _, leaves := range t.gauges {
		slices.SortFunc(leaves, func(a, b int) int { return cmp.Compare(numbers[a], numbers[b]) })
	}
	return t
}

// Trace is what a path tells at each iteration.
type Trace struct {
	length   int
	words    int      // of the bits of an iteration
	held     []uint64 // by iteration: bits of the plain leaves
	failed   []uint64 // they could not be evaluated; nil where that never happens
	reached  []int32  // by iteration and gauge: how many of its leaves hold
	returned []int
	// believed is the highest threshold at which the loop would believe in the run, if
	// it stopped here; NaN: at none.
	believed []float64
	ends     bool // it ends by itself at the last iteration, other than by a timeout, which all configurations have
	stages   bool // and it is that all stages are over, which comes after the conditions in the order of decision
	until    bool // and it is that the end of a phase could not be evaluated
	dry      bool // the agent has nothing more to give
	branches bool // it goes on otherwise than recorded, not only further
}

// Trace folds a path.
func (t *Tracer) Trace(p *Path) Trace {
	n := len(p.Made)
	run := Trace{
		words: (len(t.plain) + 63) / 64, reached: make([]int32, 0, n*len(t.gauges)), returned: make([]int, 0, n), believed: make([]float64, 0, n),
		dry: p.dry(), branches: p.End.Verdict == Branches,
	}
	run.held = make([]uint64, n*run.words)
	state := t.start(p)
	defer t.states.Put(state)
	for i, it := range p.Made {
		d := state.Fold(it)
		if p.brokenAt(i, &d) {
			break
		}
		t.leavesAt(&run, i, state)
		run.returned, run.believed = append(run.returned, state.Returned()), append(run.believed, state.Believed())
		run.length++
		if d.Stop {
			run.ends, run.until = d.Outcome.Reason != record.ReasonTimeout, p.untilFails()
			run.stages = d.Outcome.Reason == record.ReasonPhasesComplete || d.Outcome.Reason == record.ReasonStrategiesExhausted
			run.returned[i] = d.Outcome.Returned
			if d.Outcome.Status != record.Completed && !run.until {
				run.believed[i] = math.NaN()
			}
			break
		}
	}
	return run
}

// After is which iteration a run returns that stops after so many, and the highest
// threshold at which the loop then believes in it; NaN: at none.
func (t *Trace) After(n int) (returned int, believed float64) {
	return t.returned[n-1], t.believed[n-1]
}

// Disbelieve makes the loop believe in nothing after so many iterations: what they returned is unknown.
func (t *Trace) Disbelieve(n int) { t.believed[n-1] = math.NaN() }

// Fails reports whether an expression of a condition may fail on the run.
func (t *Trace) Fails() bool { return t.failed != nil || t.until }

// Iterations are how many a run may stop after.
func (t *Trace) Iterations() int { return t.length }

// start begins a history.
func (t *Tracer) start(p *Path) *stop.State {
	param := paramOf(t.points.loop)
	if state, ok := t.states.Get().(*stop.State); ok {
		state.Restart(p.Task, param)
		return state
	}
	return t.rules.Start(p.Task, param)
}

// leavesAt notes the leaves that hold after an iteration.
func (t *Tracer) leavesAt(run *Trace, i int, state *stop.State) {
	for k, leaf := range t.plain {
		holds, err := state.Held(leaf)
		at, bit := i*run.words+k/64, uint64(1)<<(k%64)
		if holds {
			run.held[at] |= bit
		}
		if err != nil {
			if run.failed == nil {
				run.failed = make([]uint64, len(run.held))
			}
			run.failed[at] |= bit
		}
	}
	for _, leaves := range t.gauges {
		n := sort.Search(len(leaves), func(k int) bool {
			holds, _ := state.Held(leaves[k]) // a comparison of numbers has no error
			return !holds
		})
		run.reached = append(run.reached, int32(n))
	}
}
