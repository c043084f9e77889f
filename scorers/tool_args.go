package scorers

import (
	"context"
	"fmt"

	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec/expr"
)

// toolArgs holds where the expression does for one of the calls; with every it is the share of the calls for which it
// does. A call on which it cannot be evaluated, for want of an argument, is one for which it does not hold.
func toolArgs(c *compiler) comparison {
	if c.spec.Expr == nil {
		c.fault("", "a scorer of type tool_args needs expr")
		return nil
	}
	program, counted, every := c.callExpression(c.spec.Expr), c.counted(), c.spec.Every
	return func(ctx context.Context, s *subject) verdict {
		calls := counted(s)
		holding, whyNot := holds(ctx, program, s, calls)
		v := verdict{answer: fmt.Sprintf("%d of %d", holding, len(calls))}
		switch {
		case every:
			v.value = share(holding, len(calls))
		case holding > 0:
			v.value = 1
		case len(calls) == 0:
			whyNot = "there is no call of it"
		}
		if v.value < 1 {
			v.explanation = whyNot
		}
		return v
	}
}

// holds counts the calls for which a program does, and tells of the first for which it does not.
func holds(ctx context.Context, program *expr.Program, s *subject, calls []stop.ToolCallFields) (holding int, whyNot string) {
	for i := range calls {
		yes, err := program.Bool(ctx, &callScope{s, calls[i]})
		switch {
		case yes && err == nil:
			holding++
		case whyNot == "":
			whyNot = fmt.Sprintf("call %d, %s(%s)", i+1, quoted(calls[i].Tool), short(string(calls[i].Arguments), maxQuoted))
			if err != nil {
				whyNot += ": " + err.Error()
			}
			whyNot = short(whyNot, maxAnswer)
		}
	}
	return holding, whyNot
}

// callScope is what an expression sees that judges a call.
type callScope struct {
	*subject
	call stop.ToolCallFields
}

func (s *callScope) Lookup(name string) (any, bool) {
	if name == "call" {
		return s.call, true
	}
	return s.subject.Lookup(name)
}
