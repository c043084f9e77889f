package stats

import "math"

// MeanInterval is the 95 % interval of the mean of independent values, which may
// be the means of clusters: mean ± t(0.975, n-1) standard errors. It has no
// answer for fewer than two values, nor where all are equal: how much they vary
// is then unknown.
func MeanInterval(values []float64) (interval Interval, ok bool) {
	se, ok := StandardError(values)
	if !ok || se == 0 {
		return Interval{}, false
	}
	mean, _ := Mean(values)
	half := StudentT95(len(values)-1) * se
	return Interval{mean - half, mean + half}, true
}

// StudentT95 is the 0.975 quantile of Student's t distribution: 95 % of it lie
// between minus and plus the quantile. It needs a degree of freedom or more.
func StudentT95(degrees int) float64 {
	const many = 200
	if degrees > many {
		return studentByNormal(Z95, float64(degrees))
	}
	low, high := 0.0, math.Pi/2
	for range 64 {
		if middle := (low + high) / 2; studentWithin(middle, degrees) < 0.95 {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Tan(low) * math.Sqrt(float64(degrees))
}

// studentByNormal expands the quantile around that of the normal distribution
// (Abramowitz and Stegun 26.7.5, to the third term).
func studentByNormal(z, degrees float64) float64 {
	z3, z5, z7 := math.Pow(z, 3), math.Pow(z, 5), math.Pow(z, 7)
	return z + (z3+z)/(4*degrees) + (5*z5+16*z3+3*z)/(96*degrees*degrees) +
		(3*z7+19*z5+17*z3-15*z)/(384*degrees*degrees*degrees)
}

// studentWithin is the chance that |t| is at most sqrt(degrees) tan(angle)
// (Abramowitz and Stegun 26.7.3 and 26.7.4).
func studentWithin(angle float64, degrees int) float64 {
	cos := math.Cos(angle)
	term, first := 1.0, 2
	if degrees%2 == 1 {
		term, first = cos, 3
	}
	sum := term
	for k := first; k <= degrees-2; k += 2 {
		term *= float64(k-1) / float64(k) * cos * cos
		sum += term
	}
	switch {
	case degrees == 1:
		return 2 * angle / math.Pi
	case degrees%2 == 1:
		return 2 / math.Pi * (angle + math.Sin(angle)*sum)
	}
	return math.Sin(angle) * sum
}
