package page

import "math"

// ExtraCount is a difference of counts, with its sign.
func ExtraCount(v Value) string {
	return shape(v, func(x float64) string { return signed(x, minus(x)+plain(math.Abs(x))) })
}

// Relative shows a ratio less 1: 0.123 is +12.3%, 1.5 is +150%, 11 is ×12.0.
func Relative(v Value) string { return shape(v, ratio) }

func ratio(x float64) string {
	switch magnitude := math.Abs(x); {
	case x >= 1e6: // of an interval that says nothing
		return "×>1M"
	case x >= 9:
		return "×" + brief(x+1)
	case magnitude >= 0.9995:
		return signed(x, fixed(x*100, 0)+"%")
	}
	return signed(x, fixed(x*100, 1)+"%")
}

// Chance shows a p.
func Chance(v Value) string {
	return shape(v, func(p float64) string {
		if p < 0.001 {
			return "<0.001"
		}
		return fixed(p, 3)
	})
}
