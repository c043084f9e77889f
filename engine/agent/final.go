package agent

import (
	"context"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// FinalResponse says whether the output is the structured final response that
// the agent declares, and so ends the run. An expression that fails on the
// output, for instance at a missing field, says no; a reply that is not the JSON
// that it was to be is never the final response.
func FinalResponse(ctx context.Context, declared *spec.Agent, scope expr.Scope, result *Result) (*record.Ended, error) {
	if result.Ended != nil || declared == nil || declared.FinalResponse == nil || result.Fault != "" {
		return result.Ended, nil
	}
	final, err := declared.FinalResponse.Bool(ctx, withOutput{scope, result.Value})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil || !final {
		return nil, nil
	}
	return &record.Ended{Reason: string(record.ReasonFinalResponse), Output: result.Output}, nil
}

// withOutput is a scope in which the iteration's output is already the last.
type withOutput struct {
	expr.Scope
	output any
}

func (s withOutput) Lookup(name string) (any, bool) {
	if name == "output" {
		return s.output, true
	}
	if s.Scope == nil {
		return nil, false
	}
	return s.Scope.Lookup(name)
}
