package stop

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/expr"
)

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
		return int64(len(it.Steps))
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

func evaluationField(v *record.Evaluation, name string) any {
	switch name {
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
