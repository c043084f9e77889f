package scorers

import (
	"context"
	"math/big"

	"github.com/agentbench/agentbench/scorers/textual"
)

// mathematics compares final answers by what they mean: the same number however it is written, within the tolerance,
// lists of the same, or the same expression as it is written. Of a target that is a list any will do. See package
// answer for what is read.
func mathematics(c *compiler) comparison {
	var tolerance *big.Rat
	if c.spec.Tolerance != nil {
		tolerance = textual.Tolerance(*c.spec.Tolerance)
	}
	return func(_ context.Context, s *subject) verdict {
		text, targets, err := compared(s)
		if err != nil {
			return unscored("%v", err)
		}
		got := textual.Parse(text)
		v := verdict{answer: short(got.Text, maxAnswer)}
		var wanted []string
		for _, target := range targets {
			want := textual.Parse(target)
			if want.Text == "" {
				return unscored("the target is empty")
			}
			if got.Equal(want, tolerance) {
				v.value = 1
				return v
			}
			wanted = append(wanted, want.Text)
		}
		v.explanation = differs(oneOfThese(wanted), got.Text)
		return v
	}
}
