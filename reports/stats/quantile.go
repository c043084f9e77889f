package stats

import "math"

// Quantile is the p-quantile of values that are sorted in ascending order, of
// type 7: linear between the order statistics around (n-1)p (R. Hyndman and
// Y. Fan, The American Statistician 50, 1996; R's and NumPy's default).
func Quantile[T ~int | ~int32 | ~int64 | ~float64](sorted []T, p float64) (quantile float64, ok bool) {
	if len(sorted) == 0 || !(p >= 0 && p <= 1) {
		return 0, false
	}
	h := float64(len(sorted)-1) * p
	below := math.Floor(h)
	low := float64(sorted[int(below)])
	high := float64(sorted[int(math.Ceil(h))])
	quantile = low + (h-below)*(high-low)
	return quantile, isFinite(quantile)
}
