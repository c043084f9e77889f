package stop

import (
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
	switch name {
	case "feedback", "improvements", "checks", "failing":
		return s.fieldsAt(s.lastEvaluation()).Field(name), true
	}
	return nil, false
}

// lookupRun has what belongs to the run as a whole.
func (s *State) lookupRun(name string) (any, bool) {
	switch name {
	case "task":
		return spec.TaskFields{Task: s.task}, true
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
		return s.historyFields(), true
	case "usage":
		return UsageFields{s.Usage()}, true
	case "param":
		return s.param, true
	}
	return nil, false
}

// lookupLast has what belongs to the last iteration.
func (s *State) lookupLast(name string) (any, bool) {
	switch name {
	case "output", "confidence", "passed", "error", "elapsed", "tool_calls", "steps", "workspace":
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

func (s *State) lastEvaluation() int {
	if s.Len() > 0 && s.last().Evaluated() {
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
		if e := &s.history[i]; e.Phase != "" && e.Error == nil && !s.lost(e) {
			outputs.Set(e.Phase, e.output())
		}
	}
	return outputs
}

func (s *State) fieldsAt(i int) iterationFields { return iterationFields{s, i} }

func (s *State) historyFields() []any {
	history := make([]any, s.Len())
	for i := range history {
		history[i] = s.fieldsAt(i)
	}
	return history
}

// iterationFields is an iteration as expressions see it. Index -1 is the one
// before the first: empty, null or 0.
type iterationFields struct {
	s *State
	i int
}

func (f iterationFields) Field(name string) any {
	it := &record.Iteration{}
	if f.i >= 0 {
		it = f.s.history[f.i].Iteration
	}
	switch name {
	case "output":
		return f.output()
	case "failing":
		return f.s.rules.failing(it.Evaluation)
	case "adaptation":
		if f.i < 0 {
			return ""
		}
		return f.s.history[f.i].adaptation
	}
	return IterationField(it, f.i+1, name)
}

// output is "" in place of null where outputs are texts.
func (f iterationFields) output() any {
	if f.i >= 0 {
		if value := f.s.history[f.i].output(); value != nil {
			return value
		}
	}
	if f.s.rules.text {
		return ""
	}
	return nil
}

// failing lists the checks to fix: all that fail, or only the first.
func (r *Rules) failing(v *record.Evaluation) []any {
	if v == nil {
		return []any{}
	}
	list := failingChecks(v.Checks)
	if len(list) > 1 && r.evaluate != nil && r.evaluate.Fix == "one" {
		return list[:1]
	}
	return list
}

// IterationField is a field of iteration n, from 1, as expressions see it in
// the loop and after it; the output, which is parsed, is not among them. What
// has no evaluation has its fields nonetheless: empty, or null.
func IterationField(it *record.Iteration, n int, name string) any {
	switch name {
	case "iteration":
		return int64(n)
	case "phase":
		return it.Phase
	case "strategy":
		return it.Strategy
	case "elapsed":
		return it.End
	case "duration":
		return it.End - it.Start
	case "adaptation":
		return it.Adaptation
	case "error":
		if it.Error == nil {
			return ""
		}
		return it.Error.Message
	case "tool_calls":
		return toolCalls(it, n)
	case "steps":
		return int64(it.StepCount())
	case "confidence": // 0 of a failed iteration, null of one that was not evaluated
		switch {
		case it.Error != nil:
			return 0.0
		case it.Evaluation == nil:
			return nil
		}
		return it.Evaluation.Confidence
	case "workspace":
		return it.Workspace
	}
	if it.Evaluation == nil {
		return evaluationField(&record.Evaluation{}, name)
	}
	return evaluationField(it.Evaluation, name)
}

func textList(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

func evaluationField(v *record.Evaluation, name string) any {
	switch name {
	case "passed":
		return v.Passed
	case "feedback":
		return v.Feedback
	case "improvements":
		return textList(v.Improvements)
	case "checks":
		return ChecksByName(v.Checks)
	case "failing":
		return failingChecks(v.Checks)
	}
	return nil
}

// ChecksByName are the checks in the order declared.
func ChecksByName(checks []record.Check) *expr.Object {
	named := expr.NewObject(len(checks))
	for i := range checks {
		named.Set(checks[i].Name, CheckFields{&checks[i]})
	}
	return named
}

func failingChecks(checks []record.Check) []any {
	failing := []any{}
	for i := range checks {
		if !checks[i].Passed {
			failing = append(failing, CheckFields{&checks[i]})
		}
	}
	return failing
}

// CheckFields is a check as expressions see it.
type CheckFields struct{ *record.Check }

// Field gives a field by its name.
func (f CheckFields) Field(name string) any {
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

// UsageFields is what was used as expressions see it.
type UsageFields struct{ record.Usage }

// Field gives a field by its name.
func (f UsageFields) Field(name string) any {
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
