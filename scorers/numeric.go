package scorers

import (
	"context"
	"math"

	"github.com/agentbench/agentbench/scorers/textual"
)

// numeric compares numbers. The difference may be as large as tolerance, or as the relative share of the target,
// whichever allows more; without both it must be 0. See answer.Number for what is a number in a text.
func numeric(c *compiler) comparison {
	near := nearness{absolute: c.spec.Tolerance, relative: c.spec.Relative}
	return func(_ context.Context, s *subject) verdict {
		want, ok := number(s.target)
		if !ok {
			return unscored("the target is no number: %s", quoted(text(s.target)))
		}
		got, ok := number(s.value)
		if !ok {
			return verdict{explanation: "it is no number"}
		}
		return hit(near.holds(got, want), text(s.target), text(s.value))
	}
}

type nearness struct{ absolute, relative *float64 }

func (n nearness) holds(got, want float64) bool {
	if got == want {
		return true
	}
	allowed := 0.0
	if n.absolute != nil {
		allowed = *n.absolute
	}
	if n.relative != nil {
		allowed = max(allowed, *n.relative*math.Abs(want))
	}
	return allowed > 0 && math.Abs(got-want) <= allowed+rounding(got, want)
}

// rounding is what decimal numbers may be off in binary: 1.1 is within 0.1 of 1.0.
func rounding(a, b float64) float64 {
	const steps = 4
	return steps * 0x1p-52 * max(math.Abs(a), math.Abs(b))
}

// number is the finite number that a value is.
func number(value any) (float64, bool) {
	switch v := value.(type) {
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case int64:
		return float64(v), true
	case string:
		return textual.Number(v)
	}
	return 0, false
}
