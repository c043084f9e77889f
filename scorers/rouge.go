package scorers

import (
	"context"

	"github.com/agentbench/agentbench/scorers/textual"
)

// rouge is the overlap of tokens, of pairs of them, or of the longest common subsequence. Of a target that is a list
// the best counts.
func rouge(c *compiler) comparison {
	measure, overlap := c.measure(), c.rougeOverlap()
	return func(_ context.Context, s *subject) verdict {
		return likest(s, func(got, want string) (float64, error) {
			o, err := overlap(got, want)
			return measure(o), err
		})
	}
}

func (c *compiler) rougeOverlap() func(got, want string) (textual.Overlap, error) {
	n := 0
	switch c.spec.Variant {
	case "rouge_1":
		n = 1
	case "rouge_2":
		n = 2
	default:
		return textual.RougeL
	}
	return func(got, want string) (textual.Overlap, error) { return textual.RougeN(got, want, n), nil }
}
