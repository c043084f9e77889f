package scorers

import "context"

// cel takes the score from an expression: a number of the range, or a boolean.
func cel(c *compiler) comparison {
	if c.spec.Expr == nil {
		c.fault("", "a scorer of type cel needs expr")
		return nil
	}
	program := c.expression(c.spec.Expr)
	given := c.given()
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
			return given(v)
		case int64:
			return given(float64(v))
		}
		return unscored("the result is neither a number nor a boolean: %s", quoted(text(result)))
	}
}
