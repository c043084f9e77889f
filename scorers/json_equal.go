package scorers

import (
	"context"

	"github.com/agentbench/agentbench/spec/expr"
)

// jsonEqual compares JSON values: the order of keys does not matter, and numbers are compared as numbers. A text that
// holds JSON stands for what it holds, on both sides.
func jsonEqual(*compiler) comparison {
	return func(_ context.Context, s *subject) verdict {
		got, err := held(s.value)
		if err != nil {
			return unscored("%v", err)
		}
		want, err := held(s.target)
		if err != nil {
			return unscored("target: %v", err)
		}
		if expr.Equal(got, want) {
			return verdict{value: 1}
		}
		return verdict{explanation: differs(text(want), text(got))}
	}
}

// held is the JSON value that a text holds; a text that holds none is itself.
func held(value any) (any, error) {
	s, ok := value.(string)
	if !ok {
		return value, nil
	}
	if err := searchable(s); err != nil {
		return nil, err
	}
	if parsed, err := expr.ParseJSON([]byte(s)); err == nil {
		return parsed, nil
	}
	return value, nil
}
