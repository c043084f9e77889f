package stop

import (
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// Leg is a stretch of an iteration's as-if time: one call, or the tools that one
// step of a conversation uses. Legs follow one another.
type Leg struct {
	Start, End time.Duration // since the start of the run
	Waited     time.Duration // part of it
	Step       int           // from 1, that it is of; 0: of none
	Calls      int           // of the iteration, up to the end of the leg
	ToolCalls  int
	Tools      bool // it is not a call
}

// Worked is the part of the leg that was not waited.
func (l *Leg) Worked() time.Duration { return l.End - l.Start - l.Waited }

// Legs are those of an iteration, in their order. What delegates called is in the
// time of the tools. Where there are no steps, tools take no time of their own.
func Legs(it *record.Iteration) []Leg {
	legs := make([]Leg, 0, len(it.Calls)+len(it.Steps))
	var last Leg // as far as the iteration is read
	for i := range it.Calls {
		c := &it.Calls[i]
		if c.Role == record.RoleDelegate {
			continue
		}
		if c.Conversation != "" { // in the time of its program
			if n := len(legs); n > 0 {
				legs[n-1].Calls, last.Calls = i+1, i+1
			}
			continue
		}
		next := Leg{Start: c.Start, End: c.Start + c.Duration + c.Waited, Waited: c.Waited, Calls: i + 1, ToolCalls: last.ToolCalls}
		next.Step = last.Step
		if last.Step < len(it.Steps) && it.Steps[last.Step].Call == i+1 {
			next.Step++
		} else if c.Role != record.RoleUser {
			next.Step = 0
		}
		legs = append(legs, next)
		if next.Step > last.Step && next.Step > 0 {
			if tools, any := toolLeg(it, next); any {
				next = tools
				legs = append(legs, tools)
			}
		}
		last = next
	}
	return legs
}

// toolLeg is the leg of the tools of a step, after that of its call.
func toolLeg(it *record.Iteration, call Leg) (leg Leg, any bool) {
	tools := it.Steps[call.Step-1].Tools
	from := call.ToolCalls
	used := it.ToolCalls[from:min(from+tools, len(it.ToolCalls))]
	if len(used) == 0 {
		return leg, false
	}
	leg = Leg{Start: call.End, End: call.End, Step: call.Step, Calls: call.Calls, ToolCalls: from + len(used), Tools: true}
	for leg.Calls < len(it.Calls) && it.Calls[leg.Calls].Role == record.RoleDelegate {
		leg.Calls++
	}
	leg.last(used)
	return leg, true
}

// last makes the leg as long as the longest of its tools.
func (l *Leg) last(used []record.ToolCall) {
	l.End, l.Waited = l.Start, 0
	waited := make([]time.Duration, len(used))
	for i := range used {
		c := &used[i]
		waited[i] = c.Waited + waitedBefore(used[:i], waited, c.Start, l.Start)
		if end := c.Start + c.Duration; end > l.End {
			l.End, l.Waited = end, waited[i]
		}
	}
}

// until makes the leg as long as those of its tools that had begun at a time, and
// gives that time. Where only working time counts, what they wait puts it off; what
// tools waited that come later does not.
func (l *Leg) until(used []record.ToolCall, at time.Duration, working bool) time.Duration {
	starts := make([]time.Duration, len(used))
	for i := range used {
		starts[i] = used[i].Start
	}
	slices.Sort(starts)
	end := at
	for i, start := range starts {
		if i > 0 && start >= end {
			break
		}
		l.last(BegunTools(used, start))
		if working {
			end = max(end, at+l.Waited)
		}
	}
	return end
}

// waitedBefore is what was waited before a tool that follows another one.
func waitedBefore(earlier []record.ToolCall, waited []time.Duration, start, began time.Duration) time.Duration {
	for i, c := range slices.Backward(earlier) {
		if start > began && c.Start+c.Duration == start {
			return waited[i]
		}
	}
	return 0
}

// Made is what was made of an iteration.
type Made struct {
	End     time.Duration // since the start of the run
	Waited  time.Duration // within the iteration
	Working time.Duration
}

// Clip drops of an iteration what had not begun when a timeout cancelled it. What
// was in flight counts whole. Waited is what the run waited before the iteration.
func Clip(r *Rules, it *record.Iteration, waited time.Duration) Made {
	m := Made{End: r.cancelAt}
	if r.working {
		m.End += waited
	}
	legs, kept := Legs(it), 0
	for i := range legs {
		if i > 0 && legs[i].Start >= m.End {
			break
		}
		kept = i + 1
		switch l := &legs[i]; {
		case l.Tools:
			m.End = l.until(it.ToolCalls[legs[i-1].ToolCalls:l.ToolCalls], m.End, r.working)
		case r.working:
			m.End += l.Waited
		}
		m.add(&legs[i])
	}
	clip(it, legs, kept)
	if n := len(it.Steps); kept > 0 && legs[kept-1].Step == n && n > 0 && legs[kept-1].End > m.End && !answered(it) {
		it.Steps[n-1].User = ""
	}
	dropTools(it, m.End)
	return m
}

// answered says that the last call is the user's.
func answered(it *record.Iteration) bool {
	n := len(it.Calls)
	return n > 0 && it.Calls[n-1].Role == record.RoleUser
}

// ClipAfter drops what comes after a step, from 1.
func ClipAfter(it *record.Iteration, step int) (m Made) {
	legs, kept := Legs(it), 0
	for kept < len(legs) && legs[kept].Step > 0 && legs[kept].Step <= step {
		m.add(&legs[kept])
		m.End = legs[kept].End
		kept++
	}
	clip(it, legs, kept)
	return m
}

// ClipBefore drops what comes from a call on, of which so many stand before it.
func ClipBefore(it *record.Iteration, calls int) (m Made) {
	legs, kept := Legs(it), 0
	for kept < len(legs) && legs[kept].Calls <= calls {
		m.add(&legs[kept])
		m.End = legs[kept].End
		kept++
	}
	clip(it, legs, kept)
	return m
}

func (m *Made) add(l *Leg) {
	m.Waited += l.Waited
	m.Working += l.Worked()
}

// clip drops what comes after so many legs. What an agent said that did not come
// to the end of its conversation is not its output.
func clip(it *record.Iteration, legs []Leg, kept int) {
	if len(it.Steps) == 0 || it.OfProgram() { // what a program did stands in its time
		calls := 0
		if kept > 0 {
			calls = legs[kept-1].Calls
		}
		it.Calls = it.Calls[:calls]
		return
	}
	it.Output, it.NotUTF8, it.OutputB64 = nil, false, nil
	var last Leg
	if kept > 0 {
		last = legs[kept-1]
	}
	it.Calls, it.ToolCalls = it.Calls[:last.Calls], it.ToolCalls[:last.ToolCalls]
	if kept > 0 && last.Step == 0 {
		it.Steps = slices.Clone(it.Steps) // a call after all of them
		return
	}
	it.Steps = slices.Clone(it.Steps[:last.Step])
	if kept < len(legs) && last.Step > 0 && legs[kept].Step == last.Step {
		of := &it.Steps[last.Step-1]
		of.User = ""
		if !last.Tools && legs[kept].Tools {
			of.Tools = 0
		}
	}
}

// dropTools drops the tools that had not begun before a time, and what delegates
// called from then on. Where there are no steps, tools take no time: one that was
// used at that very moment was used before the call that begins then.
func dropTools(it *record.Iteration, at time.Duration) {
	n := len(it.Steps)
	switch {
	case it.OfProgram():
		return
	case n == 0:
		it.ToolCalls = BegunTools(it.ToolCalls, at)
		return
	}
	before := len(it.ToolCalls)
	it.ToolCalls = slices.DeleteFunc(slices.Clone(it.ToolCalls), func(c record.ToolCall) bool { return c.Start >= at })
	it.Steps[n-1].Tools -= before - len(it.ToolCalls)
	it.Calls = slices.DeleteFunc(slices.Clone(it.Calls), func(c record.Call) bool {
		return c.Role == record.RoleDelegate && c.Start >= at
	})
}

// stepping is what the leaves that look at steps make of them: of all steps of
// the run, in their order. Each list has one entry for each of Rules.stepping.
type stepping struct {
	trackers []tracker
	held     []bool  // after a step of the newest iteration
	failed   []error // an expression, at the first step of the newest iteration that it failed at
}

func newStepping(leaves int) stepping {
	return stepping{trackers: make([]tracker, leaves), held: make([]bool, leaves), failed: make([]error, leaves)}
}

func (p *stepping) clear() {
	clear(p.trackers)
	p.newIteration()
}

func (p *stepping) newIteration() {
	clear(p.held)
	clear(p.failed)
}

// steps is where a reading of an iteration's steps stands.
type steps struct {
	done  int // steps that were read
	tools int // tool calls of these
}

// fold reads the steps of an iteration that are whole and were not read yet. The
// iteration is not part of the history: expressions see what stood before it.
func (p *stepping) fold(s *State, it *record.Iteration, at *steps) {
	for ; at.done < len(it.Steps); at.done++ {
		next := at.tools + it.Steps[at.done].Tools
		if next > len(it.ToolCalls) {
			return // it was cut within this step
		}
		scope := &stepScope{State: s, step: &it.Steps[at.done], iteration: s.Len() + 1, number: at.done + 1, calls: it.ToolCalls[at.tools:next]}
		at.tools = next
		for i, leaf := range s.rules.stepping {
			held, err := s.rules.leaves[leaf].step(scope, &p.trackers[i])
			p.held[i] = p.held[i] || held
			if p.failed[i] == nil {
				p.failed[i] = err
			}
		}
	}
}

// Watch looks at the steps of the iteration in progress. It changes nothing of
// the State that it is of.
type Watch struct {
	state *State
	sofar stepping
	at    steps
}

// Watch begins to look at the steps of the next iteration; nil where no rule
// looks at steps.
func (s *State) Watch() *Watch {
	if len(s.rules.stepping) == 0 {
		return nil
	}
	w := &Watch{state: s, sofar: newStepping(len(s.rules.stepping))}
	for i := range s.steps.trackers {
		w.sofar.trackers[i] = s.steps.trackers[i].clone()
	}
	return w
}

// Step is told of the iteration after each of its whole steps, and gives the
// reason for which no further one is to be made; "" where there is none. An agent
// that would have made none anyway has come to the end of its iteration, which is
// then not cut: Decide finds the same.
func (w *Watch) Step(it *record.Iteration) record.Reason {
	w.sofar.fold(w.state, it, &w.at)
	rules := w.state.rules
	for _, leaf := range rules.guards {
		if i := slices.Index(rules.stepping, leaf); i >= 0 && w.sofar.held[i] {
			return rules.leaves[leaf].reason
		}
	}
	return ""
}

// foldSteps takes the steps of an iteration that is about to be appended.
func (s *State) foldSteps(it *record.Iteration) {
	if len(s.rules.stepping) == 0 {
		return
	}
	s.steps.newIteration()
	s.steps.fold(s, it, &steps{})
}

// stepScope is what expressions see that are asked after a step.
type stepScope struct {
	*State
	step              *record.Step
	iteration, number int
	calls             []record.ToolCall
}

// Lookup gives them the step beside what the loop sees.
func (s *stepScope) Lookup(name string) (any, bool) {
	if name == "step" {
		return stepFields{s}, true
	}
	return s.State.Lookup(name)
}

// stepFields is a step as expressions see it.
type stepFields struct{ *stepScope }

func (f stepFields) Field(name string) any {
	switch name {
	case "number":
		return int64(f.number)
	case "text":
		return f.step.Text
	case "calls":
		calls := make([]any, len(f.calls))
		for i := range f.calls {
			calls[i] = ToolCallFields{&f.calls[i], f.iteration, f.number}
		}
		return calls
	}
	return nil
}

// toolCalls are the tool calls of iteration n, from 1, each with its step.
func toolCalls(it *record.Iteration, n int) []any {
	calls := make([]any, len(it.ToolCalls))
	step, until := 0, 0
	for i := range it.ToolCalls {
		for step < len(it.Steps) && i >= until {
			until += it.Steps[step].Tools
			step++
		}
		calls[i] = ToolCallFields{&it.ToolCalls[i], n, step}
	}
	return calls
}

// ToolCallFields is a tool call as expressions see it.
type ToolCallFields struct {
	*record.ToolCall
	Iteration int // from 1
	Step      int // in the iteration, from 1; 0: the agent has no steps
}

// Field gives a field by its name.
func (f ToolCallFields) Field(name string) any {
	switch name {
	case "tool":
		return f.Tool
	case "arguments":
		return parsed(f.Arguments)
	case "result":
		return parsed(f.Result)
	case "error":
		if f.Error == nil {
			return ""
		}
		return f.Error.Message
	case "iteration":
		return int64(f.Iteration)
	case "step":
		return int64(f.Step)
	}
	return nil
}
