package scorers

import (
	"context"

	"github.com/agentbench/agentbench/spec/expr"
)

// isJSON holds where the text is one JSON value and nothing else: what stands in a fence of Markdown is not. A value
// that is no text came as JSON.
func isJSON(*compiler) comparison {
	return func(_ context.Context, s *subject) verdict {
		if _, v := parsed(s.value); v != nil {
			return *v
		}
		return verdict{value: 1}
	}
}

// parsed is the JSON that a text is, and a value that is none itself; else the verdict on a text that is no JSON.
func parsed(value any) (any, *verdict) {
	written, ok := value.(string)
	if !ok {
		return value, nil
	}
	if err := searchable(written); err != nil {
		return nil, &verdict{unscored: err.Error()}
	}
	held, err := expr.ParseJSON([]byte(written))
	if err != nil {
		return nil, &verdict{explanation: short("it is no JSON: "+err.Error(), maxAnswer)}
	}
	return held, nil
}
