package stats

// Bootstrap is the percentile interval, at the level of [PercentileLevel], of any
// number that follows from how often each cluster was drawn. Unlike [Resamples] it
// keeps no draws and takes any number of clusters, from two on. Draws without an
// answer are left out; where they are more than one in twenty there is none.
func Bootstrap(groups, draws int, seed uint64, of func(drawn []uint8) (number float64, ok bool), level float64) (interval Interval, ok bool) {
	if groups < 2 {
		return Interval{}, false
	}
	var numbers []float64
	all := 0
	for drawn := range resamples(groups, draws, seed) {
		all++
		if number, ok := of(drawn); ok && isFinite(number) {
			numbers = append(numbers, number)
		}
	}
	if 20*len(numbers) < 19*all {
		return Interval{}, false
	}
	return percentiles(numbers, PercentileLevel(groups, level))
}
