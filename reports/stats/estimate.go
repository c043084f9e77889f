package stats

import "math"

// Estimate is a number, how much it varies from sample to sample, and how well
// that is known: as well as the variance of Degrees + 1 independent values.
type Estimate struct{ Value, SE, Degrees float64 }

// Interval is Value ± t(Degrees) SE. It has no answer where the standard error
// is 0: how much the values vary is then unknown.
func (e Estimate) Interval(level float64) (interval Interval, ok bool) {
	t, ok := StudentQuantile(twoSided(level), e.Degrees)
	if !ok || !(e.SE > 0) {
		return Interval{}, false
	}
	return checked(Interval{e.Value - t*e.SE, e.Value + t*e.SE})
}

// Test is Student's t test of whether the estimated number is 0.
func (e Estimate) Test() (test Test, ok bool) {
	t := e.Value / e.SE
	if !(e.SE > 0) || !(e.Degrees >= fewDegrees) || !isFinite(t) {
		return Test{}, false
	}
	return Test{Statistic: t, P: studentTails(t, e.Degrees), Method: Approximate}, true
}

// MeanOf estimates the mean of independent values, at least two.
func MeanOf(values []float64) (estimate Estimate, ok bool) {
	mean, ok := Mean(values)
	if !ok || len(values) < 2 {
		return Estimate{}, false
	}
	se, ok := StandardError(values)
	return Estimate{mean, se, float64(len(values) - 1)}, ok
}

// Welch estimates the difference of the means of two independent samples whose
// variances may differ, with Satterthwaite's degrees of freedom (B. L. Welch,
// Biometrika 34, 1947). Each sample has two values or more.
func Welch(x, y []float64) (difference Estimate, ok bool) {
	a, aOK := MeanOf(x)
	b, bOK := MeanOf(y)
	if !aOK || !bOK {
		return Estimate{}, false
	}
	return a.Minus(b)
}

// Minus is the difference of two independent estimates, with Satterthwaite's
// degrees of freedom (F. E. Satterthwaite, Biometrics Bulletin 2, 1946).
func (e Estimate) Minus(f Estimate) (difference Estimate, ok bool) {
	va, vb := e.SE*e.SE, f.SE*f.SE
	difference = Estimate{e.Value - f.Value, math.Sqrt(va + vb), e.Degrees + f.Degrees}
	if welch := (va + vb) * (va + vb) / (va*va/e.Degrees + vb*vb/f.Degrees); isFinite(welch) {
		difference.Degrees = welch
	}
	return difference, isFinite(difference.Value, difference.SE)
}

// StandardError is that of the mean of independent values, at least two.
func StandardError(values []float64) (se float64, ok bool) {
	variance, ok := Variance(values)
	return math.Sqrt(variance / float64(max(1, len(values)))), ok
}

// Variance is that of the population which the values were drawn from (divided
// by one less than their number, of which there are at least two).
func Variance(values []float64) (variance float64, ok bool) {
	mean, ok := Mean(values)
	if !ok || len(values) < 2 {
		return 0, false
	}
	squares := make([]float64, len(values))
	for i, v := range values {
		squares[i] = (v - mean) * (v - mean)
	}
	variance = Sum(squares) / float64(len(values)-1)
	return variance, isFinite(variance)
}

// MeanInterval is the interval of the mean of independent values, which may be
// the means of clusters. It has no answer for fewer than two values, nor where
// all are equal.
func MeanInterval(values []float64, level float64) (interval Interval, ok bool) {
	estimate, ok := MeanOf(values)
	if !ok {
		return Interval{}, false
	}
	return estimate.Interval(level)
}
