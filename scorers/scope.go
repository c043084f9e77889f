package scorers

import (
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Lookup gives expressions their variables: a subject is an expr.Scope.
func (s *subject) Lookup(name string) (any, bool) {
	switch name {
	case "task":
		return taskFields{s.task}, s.task != nil
	case "target":
		return s.target, true
	case "value":
		return s.value, true
	case "output":
		return s.output(s.n), true
	case "best":
		if best := s.best(); best > 0 {
			return iterationFields{s, best}, true
		}
		return nil, true
	case "iterations":
		return iterationList{s}, true
	case "usage":
		return usageFields{s.used()}, true
	case "stop":
		return stopFields{&s.run.Outcome}, true
	}
	return nil, false
}

type taskFields struct{ task *spec.Task }

func (f taskFields) Field(name string) any {
	switch name {
	case "id":
		return f.task.ID
	case "input":
		return f.task.Input
	case "vars":
		return orEmpty(f.task.Vars)
	case "metadata":
		return orEmpty(f.task.Metadata)
	case "target":
		return f.task.Target
	}
	return nil
}

// orEmpty makes a map out of none.
func orEmpty(object any) any {
	if object == nil {
		return expr.NewObject(0)
	}
	return object
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

type stopFields struct{ *record.Outcome }

func (f stopFields) Field(name string) any {
	switch name {
	case "reason":
		return string(f.Reason)
	case "class":
		return string(f.Class)
	case "name":
		return f.Fired
	case "success":
		return f.Success
	case "status":
		return string(f.Status)
	}
	return nil
}

// iterationList are the iterations seen.
type iterationList struct{ *subject }

func (l iterationList) Len() int     { return l.seen }
func (l iterationList) At(i int) any { return iterationFields{l.subject, i + 1} }

// iterationFields is iteration n as expressions see it, with the fields of the loop's history.
type iterationFields struct {
	*subject
	n int
}

func (f iterationFields) Field(name string) any {
	it := &f.run.Iterations[f.n-1]
	switch name {
	case "iteration":
		return int64(f.n)
	case "phase":
		return it.Phase
	case "strategy":
		return it.Strategy
	case "output":
		return f.output(f.n)
	case "error":
		if it.Error != nil {
			return it.Error.Message
		}
		return ""
	case "elapsed":
		return time.Duration(it.End)
	case "confidence":
		return confidence(it)
	}
	if it.Evaluation == nil {
		return evaluationField(&record.Evaluation{}, name)
	}
	return evaluationField(it.Evaluation, name)
}

// confidence is 0 for a failed iteration and null for one that was not evaluated.
func confidence(it *record.Iteration) any {
	switch {
	case it.Error != nil:
		return 0.0
	case it.Evaluation == nil:
		return nil
	}
	return it.Evaluation.Confidence
}

func evaluationField(e *record.Evaluation, name string) any {
	switch name {
	case "passed":
		return e.Passed
	case "feedback":
		return e.Feedback
	case "improvements":
		improvements := make([]any, len(e.Improvements))
		for i, text := range e.Improvements {
			improvements[i] = text
		}
		return improvements
	case "checks":
		checks := expr.NewObject(len(e.Checks))
		for i := range e.Checks {
			checks.Set(e.Checks[i].Name, checkFields{&e.Checks[i]})
		}
		return checks
	case "failing":
		failing := []any{}
		for i := range e.Checks {
			if !e.Checks[i].Passed {
				failing = append(failing, checkFields{&e.Checks[i]})
			}
		}
		return failing
	}
	return nil
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
