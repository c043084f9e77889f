package loop

import (
	"context"
	"fmt"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// check holds every check against the output. An error in a check fails it.
func (e *DeclaredEvaluator) check(ctx context.Context, v *view) ([]record.Check, error) {
	if len(e.Spec.Checks) == 0 {
		return nil, nil
	}
	checks := make([]record.Check, len(e.Spec.Checks))
	for i := range e.Spec.Checks {
		declared := &e.Spec.Checks[i]
		passed, err := declared.Expr.Bool(ctx, v)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		checks[i] = outcome(declared, passed && err == nil)
		if err != nil {
			checks[i].Error = err.Error()
		}
	}
	return checks, nil
}

// outcome is the record of a check; one that fails says what it tells.
func outcome(declared *spec.Check, passed bool) record.Check {
	c := record.Check{Name: declared.Name, Passed: passed}
	if declared.Weight != nil {
		c.Weight = *declared.Weight
	}
	if passed {
		return c
	}
	if c.Feedback = declared.Feedback; c.Feedback == "" {
		c.Feedback = fmt.Sprintf("the check %q fails", declared.Name)
	}
	return c
}

// allPassed is false without checks: nothing was shown.
func allPassed(checks []record.Check) bool {
	for i := range checks {
		if !checks[i].Passed {
			return false
		}
	}
	return len(checks) > 0
}
