package stats

import "slices"

// MedianOrders says between which two of n independent values in ascending order,
// the first being 1, the median lies with the chance wanted, whatever their
// distribution (W. R. Thompson, Annals of Mathematical Statistics 7, 1936), and
// what that chance is. Level 0.95 needs 6 values.
func MedianOrders(n int, level float64) (low, high int, coverage float64, ok bool) {
	if n < 1 || !(level > 0 && level < 1) {
		return 0, 0, 0, false
	}
	outside := func(below int) float64 { return 2 * headsAtMost(float64(below), float64(n)) }
	if outside(0) > 1-level {
		return 0, 0, 0, false
	}
	first, beyond := 0, n/2
	for first+1 < beyond {
		if middle := (first + beyond) / 2; outside(middle) <= 1-level {
			first = middle
		} else {
			beyond = middle
		}
	}
	return first + 1, n - first, 1 - outside(first), true
}

// MedianInterval is the interval of MedianOrders in the values.
func MedianInterval(values []float64, level float64) (interval Interval, ok bool) {
	low, high, _, ok := MedianOrders(len(values), level)
	if !ok || !isFinite(values...) {
		return Interval{}, false
	}
	sorted := slices.Sorted(slices.Values(values))
	return Interval{sorted[low-1], sorted[high-1]}, true
}
