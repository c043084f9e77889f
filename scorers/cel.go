package scorers

import "context"

// cel takes the score from an expression: a number between 0 and 1, or a boolean.
func cel(c *compiler) comparison {
	if c.spec.Expr == nil {
		c.fault("", "a scorer of type cel needs expr")
		return nil
	}
	program := c.expression(c.spec.Expr)
	whyNot := quoted(c.spec.Expr.Text) + " is false"
	return func(ctx context.Context, s *subject) verdict {
		result, err := program.Value(ctx, s)
		if err != nil {
			return unscored("%v", err)
		}
		switch v := result.(type) {
		case bool:
			if v {
				return verdict{value: 1}
			}
			return verdict{explanation: whyNot}
		case float64:
			return verdict{value: v}
		case int64:
			return verdict{value: float64(v)}
		}
		return unscored("the result is neither a number nor a boolean: %s", quoted(text(result)))
	}
}
