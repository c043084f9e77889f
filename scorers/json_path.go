package scorers

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
)

// jsonPath looks into the JSON that the value is. An expression that is true or false is the verdict; what any other
// gives is compared with the target, as json_equal does. Where an expression fails that looks into nothing but the JSON,
// for want of a key, the JSON is not right.
func jsonPath(c *compiler) comparison {
	if c.spec.Expr == nil {
		c.fault("", "a scorer of type json_path needs expr")
		return nil
	}
	program := c.compiled(c.spec.Expr, expr.JSONPath(expr.Any), expr.WantAny)
	if program == nil {
		return nil
	}
	says, whyNot := program.IsBool(), quoted(c.spec.Expr.Text)+" is false"
	c.made.needsTarget = !says
	alone := !slices.ContainsFunc(program.Reads(), func(path string) bool { return path != "json" && !strings.HasPrefix(path, "json.") })
	return func(ctx context.Context, s *subject) verdict {
		held, no := parsed(s.value)
		if no != nil {
			return *no
		}
		found, err := program.Value(ctx, &jsonScope{s, held})
		switch {
		case err != nil && !(alone && isOfValues(err)):
			return unscored("%v", err)
		case err != nil:
			return verdict{explanation: short(err.Error(), maxAnswer)}
		case !says:
			return equalJSON(found, s.target)
		case found == true:
			return verdict{value: 1}
		}
		return verdict{explanation: whyNot}
	}
}

// isOfValues says that an expression failed on the values at hand, and not by a limit.
func isOfValues(err error) bool {
	failed, ok := errors.AsType[*expr.Error](err)
	return ok && failed.Kind == expr.Evaluation
}

// equalJSON compares what was found with the target; a text of the target that holds JSON stands for what it holds.
func equalJSON(found, target any) verdict {
	want, err := held(target)
	if err != nil {
		return unscored("target: %v", err)
	}
	v := hit(expr.Equal(found, want) || expr.Equal(found, target), text(want), text(found))
	v.answer = short(text(found), maxAnswer)
	return v
}

// jsonScope is what an expression sees that looks into JSON.
type jsonScope struct {
	*subject
	json any
}

func (s *jsonScope) Lookup(name string) (any, bool) {
	if name == "json" {
		return s.json, true
	}
	return s.subject.Lookup(name)
}
