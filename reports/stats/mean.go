package stats

import "math"

// Sum adds up the values with Neumaier's compensation, so that its error does
// not grow with the length of the sample (A. Neumaier, ZAMM 54, 1974).
func Sum(values []float64) float64 {
	var sum, lost float64
	for _, v := range values {
		t := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			lost += (sum - t) + v
		} else {
			lost += (v - t) + sum
		}
		sum = t
	}
	return sum + lost
}

// Mean is the arithmetic mean; a sample without values has none.
func Mean(values []float64) (mean float64, ok bool) {
	if len(values) == 0 {
		return 0, false
	}
	mean = Sum(values) / float64(len(values))
	return mean, isFinite(mean)
}

// GeometricMean is exp of the mean of the logarithms of values above 0.
func GeometricMean(values []float64) (mean float64, ok bool) {
	logs := make([]float64, len(values))
	for i, v := range values {
		if !(v > 0) {
			return 0, false
		}
		logs[i] = math.Log(v)
	}
	log, ok := Mean(logs)
	mean = math.Exp(log)
	return mean, ok && isFinite(mean)
}

// Ratio is the ratio of two sums, which is what a cost per success is; it is
// not the mean of ratios. It has no value when the denominator is 0.
func Ratio(numerator, denominator float64) (ratio float64, ok bool) {
	if denominator == 0 {
		return 0, false
	}
	ratio = numerator / denominator
	return ratio, isFinite(ratio)
}

func root(square float64) (root float64, ok bool) {
	if !(square >= 0) {
		return 0, false
	}
	root = math.Sqrt(square)
	return root, isFinite(root)
}
