package stop

import (
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Lookup gives expressions inside the loop their variables. Output, confidence
// and the like are those of the last iteration; feedback, improvements, checks
// and failing are those of the last evaluation, so that they survive a failed
// iteration. The target is not among them.
func (s *State) Lookup(name string) (any, bool) {
	if value, ok := s.lookupRun(name); ok {
		return value, true
	}
	if value, ok := s.lookupLast(name); ok {
		return value, true
	}
	return s.lookupEvaluation(name)
}

// lookupRun has what belongs to the run as a whole.
func (s *State) lookupRun(name string) (any, bool) {
	switch name {
	case "task":
		return taskFields{s.task}, true
	case "iteration":
		return int64(s.Len()), true
	case "phase":
		return s.Next().Phase, true
	case "strategy":
		return s.Next().Strategy, true
	case "best":
		return s.bestFields(), true
	case "outputs":
		return s.outputs(), true
	case "since_improvement":
		return int64(s.sinceImprovement), true
	case "history":
		return historyList{s}, true
	case "usage":
		return usageFields{s.usage}, true
	case "param":
		return s.param, true
	}
	return nil, false
}

// lookupLast has what belongs to the last iteration.
func (s *State) lookupLast(name string) (any, bool) {
	switch name {
	case "output", "confidence", "passed", "error", "elapsed":
		return s.fieldsAt(s.Len() - 1).Field(name), true
	case "previous":
		if s.Len() < 2 {
			return nil, true
		}
		return s.fieldsAt(s.Len() - 2), true
	case "iteration_tool_calls":
		if s.Len() == 0 {
			return int64(0), true
		}
		return int64(len(s.last().ToolCalls)), true
	}
	return nil, false
}

// lookupEvaluation has what belongs to the last evaluation.
func (s *State) lookupEvaluation(name string) (any, bool) {
	switch name {
	case "feedback", "improvements", "checks", "failing":
		return s.fieldsAt(s.lastEvaluation()).Field(name), true
	}
	return nil, false
}

func (s *State) lastEvaluation() int {
	if s.Len() > 0 && s.last().evaluated() {
		return s.Len() - 1
	}
	return s.evaluation
}

func (s *State) bestFields() any {
	if s.best < 0 {
		return nil
	}
	return s.fieldsAt(s.best)
}

// outputs has the last output of each phase, in the order of the phases.
func (s *State) outputs() *expr.Object {
	outputs := expr.NewObject(len(s.rules.phases))
	for i := range s.history {
		if e := &s.history[i]; e.Phase != "" && e.Error == nil && e.Cut == "" {
			outputs.Set(e.Phase, e.output())
		}
	}
	return outputs
}

func (s *State) fieldsAt(i int) iterationFields { return iterationFields{s, i} }

type historyList struct{ *State }

func (h historyList) At(i int) any { return h.fieldsAt(i) }

// iterationFields is an iteration as expressions see it. Index -1 is the one
// before the first: empty, null or 0.
type iterationFields struct {
	s *State
	i int
}

func (f iterationFields) Field(name string) any {
	if f.i < 0 {
		return f.s.rules.before(name)
	}
	e := &f.s.history[f.i]
	switch name {
	case "iteration":
		return int64(f.i + 1)
	case "phase":
		return e.Phase
	case "strategy":
		return e.Strategy
	case "output":
		if value := e.output(); value != nil {
			return value
		}
		return f.s.rules.before(name)
	case "error":
		if e.Error == nil {
			return ""
		}
		return e.Error.Message
	case "elapsed":
		return e.End
	case "confidence":
		if e.Error != nil {
			return 0.0
		}
	}
	if e.Evaluation == nil {
		return f.s.rules.before(name)
	}
	return f.s.rules.evaluationField(e.Evaluation, name)
}

// before is what a field holds where there is no iteration or no evaluation.
func (r *Rules) before(name string) any {
	switch name {
	case "output":
		if r.text {
			return ""
		}
		return nil
	case "phase", "strategy", "feedback", "error":
		return ""
	case "passed":
		return false
	case "improvements", "failing":
		return []any{}
	case "checks":
		return expr.NewObject(0)
	case "elapsed":
		return time.Duration(0)
	case "iteration":
		return int64(0)
	}
	return nil
}

func (r *Rules) evaluationField(v *record.Evaluation, name string) any {
	switch name {
	case "confidence":
		return v.Confidence
	case "passed":
		return v.Passed
	case "feedback":
		return v.Feedback
	case "improvements":
		texts := make([]any, len(v.Improvements))
		for i, text := range v.Improvements {
			texts[i] = text
		}
		return texts
	case "checks":
		checks := expr.NewObject(len(v.Checks))
		for i := range v.Checks {
			checks.Set(v.Checks[i].Name, checkFields{&v.Checks[i]})
		}
		return checks
	case "failing":
		return r.failing(v.Checks)
	}
	return nil
}

// failing lists the checks to fix: all that fail, or only the first.
func (r *Rules) failing(checks []record.Check) []any {
	list := []any{}
	for i := range checks {
		if checks[i].Passed {
			continue
		}
		list = append(list, checkFields{&checks[i]})
		if r.evaluate != nil && r.evaluate.Fix == "one" {
			break
		}
	}
	return list
}

type checkFields struct{ *record.Check }

func (f checkFields) Field(name string) any {
	switch name {
	case "name":
		return f.Name
	case "passed":
		return f.Passed
	case "feedback":
		return f.Feedback
	}
	return nil
}

type taskFields struct{ task *spec.Task }

func (f taskFields) Field(name string) any {
	if f.task == nil {
		return nil
	}
	switch name {
	case "id":
		return f.task.ID
	case "input":
		return f.task.Input
	case "vars":
		return f.task.Vars
	case "metadata":
		return f.task.Metadata
	}
	return nil
}

type usageFields struct{ record.Usage }

func (f usageFields) Field(name string) any {
	switch name {
	case "tokens":
		return f.Tokens()
	case "input_tokens":
		return f.InputTokens
	case "output_tokens":
		return f.OutputTokens
	case "calls":
		return f.Calls
	case "tool_calls":
		return f.ToolCalls
	case "cost_usd":
		return f.Cost.Dollars()
	}
	return nil
}
