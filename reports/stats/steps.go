package stats

import "math"

// tolerance is how far, as a share of the largest, two sums may lie apart and
// still be the same sum that rounding split.
const tolerance = 1e-9

// mostSteps is how many steps the largest of values may hold.
const mostSteps = 10_000

// steps tells values that are all multiples of one step, such as the means of
// zeros and ones over as many trials, as numbers of steps.
func steps(values []float64) (counts []int, ok bool) {
	step, largest := 0.0, 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(v))
	}
	seen := 0.0 // the largest so far
	for _, v := range values {
		if step = commonStep(math.Abs(v), step, tolerance*largest); step*mostSteps < largest && step > 0 {
			return nil, false
		}
		if seen = max(seen, math.Abs(v)); step > 0 {
			step = seen / math.Round(seen/step) // else rounding adds up
		}
	}
	if step == 0 {
		return make([]int, len(values)), true
	}
	counts = make([]int, len(values))
	for i, v := range values {
		whole := math.Round(v / step)
		if math.Abs(v-whole*step) > tolerance*largest {
			return nil, false
		}
		counts[i] = int(whole)
	}
	return counts, true
}

// commonStep is Euclid's greatest common divisor of two numbers that are
// multiples of it but for rounding; that of a number and 0 is the number.
func commonStep(a, b, rounding float64) float64 {
	for b > rounding {
		a, b = b, math.Mod(a, b)
	}
	return a
}
