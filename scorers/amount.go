package scorers

import (
	"context"
	"fmt"
)

// amount judges what the run took up to the iteration: agent, evaluations and user together, not what scorers ask. Up
// to at_most it is worth 1, beyond it 0; a range gives what lies between its ends in proportion. What is not known is
// no amount.
func (c *compiler) amount(of func(s *subject) (amount float64, unknown string)) comparison {
	within := c.withinRange()
	return func(_ context.Context, s *subject) verdict {
		amount, unknown := of(s)
		if unknown != "" {
			return unscored("%s", unknown)
		}
		v := within(amount)
		v.answer = decimal(amount)
		return v
	}
}

// withinRange is the verdict by at_most or range.
func (c *compiler) withinRange() func(amount float64) verdict {
	if (c.spec.AtMost == nil) == (c.spec.Range == nil) {
		c.fault("", "a scorer of type %s needs one of at_most and range", c.spec.Type)
	}
	if most := c.spec.AtMost; most != nil {
		return func(amount float64) verdict {
			if amount <= *most+rounding(amount, *most) {
				return verdict{value: 1}
			}
			return verdict{explanation: fmt.Sprintf("want at most %s, got %s", decimal(*most), decimal(amount))}
		}
	}
	scale := c.scale()
	return func(amount float64) verdict {
		v := verdict{value: scale.clamped(amount)}
		if v.value < 1 {
			v.explanation = fmt.Sprintf("%s is worth 1, %s 0", decimal(scale.best), decimal(scale.worst))
		}
		return v
	}
}
