package stop

import (
	"slices"

	"github.com/agentbench/agentbench/engine/record"
)

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

// StepGuards look at the steps of the iteration in progress. It changes nothing of
// the State that it is of.
type StepGuards struct {
	state *State
	sofar stepping
	at    steps
}

// StepGuards begin to look at the steps of the next iteration; nil where no rule
// looks at steps.
func (s *State) StepGuards() *StepGuards {
	if len(s.rules.stepping) == 0 {
		return nil
	}
	w := &StepGuards{state: s, sofar: newStepping(len(s.rules.stepping))}
	for i := range s.steps.trackers {
		w.sofar.trackers[i] = s.steps.trackers[i].clone()
	}
	return w
}

// Step is told of the iteration after each of its whole steps, and gives the
// reason for which no further one is to be made; "" where there is none. An agent
// that would have made none anyway has come to the end of its iteration, which is
// then not cut: Decide finds the same.
func (w *StepGuards) Step(it *record.Iteration) record.Reason {
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
