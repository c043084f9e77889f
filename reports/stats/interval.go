package stats

// Interval is a confidence interval with both ends included.
type Interval struct{ Low, High float64 }

// Level is the level of an interval, and Alpha that of a test, unless one is told.
const (
	Level = 0.95
	Alpha = 0.05
)

// checked refuses ends that are no numbers.
func checked(interval Interval) (Interval, bool) {
	if !isFinite(interval.Low, interval.High) {
		return Interval{}, false
	}
	return interval, true
}
