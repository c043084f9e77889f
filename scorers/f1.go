package scorers

import (
	"context"

	"github.com/agentbench/agentbench/scorers/textual"
)

// f1 is the overlap of tokens in the normalisation of SQuAD. Of a target that is a list the best counts.
func f1(c *compiler) comparison {
	measure := c.measure()
	return func(_ context.Context, s *subject) verdict {
		return likest(s, func(got, want string) (float64, error) { return measure(textual.F1(got, want)), nil })
	}
}

// measure is the number of an overlap that is asked for.
func (c *compiler) measure() func(textual.Overlap) float64 {
	switch c.spec.Measure {
	case "precision":
		return func(o textual.Overlap) float64 { return o.Precision }
	case "recall":
		return func(o textual.Overlap) float64 { return o.Recall }
	}
	return func(o textual.Overlap) float64 { return o.F1 }
}
