package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// NeededT is how many independent values of the given variance Student's t test
// needs to show that their mean differs from 0 by the difference; round it up.
// Only the tail on the side of the difference counts, as in R's power.t.test.
// There is no answer beyond a million values: there Power.Needed is the same.
func (p Power) NeededT(variance, difference float64) (n float64, ok bool) {
	byNormal, ok := p.Needed(variance, difference)
	effect := math.Abs(difference) / math.Sqrt(variance)
	if !ok || byNormal > manyDegrees || !(p.Alpha > 0 && p.Alpha < 1) {
		return 0, false
	}
	low, high := 2.0, byNormal+100
	if p.powerOfT(low, effect) >= p.Power {
		return low, true
	}
	if p.powerOfT(high, effect) < p.Power {
		return 0, false
	}
	for range 100 {
		if middle := (low + high) / 2; p.powerOfT(middle, effect) < p.Power {
			low = middle
		} else {
			high = middle
		}
	}
	return high, true
}

// powerOfT is the chance to find an effect, a difference in standard deviations.
func (p Power) powerOfT(n, effect float64) float64 {
	t, ok := StudentQuantile(1-p.Alpha/2, n-1)
	if !ok {
		return 0
	}
	return 1 - noncentralT(t, n-1, effect*math.Sqrt(n))
}

// noncentralT is the distribution function at t > 0 of Student's t around a
// shift that is not below 0 (R. V. Lenth, algorithm AS 243, Applied Statistics
// 38, 1989).
func noncentralT(t, degrees, shift float64) float64 {
	const enough, most = 1e-14, 10_000
	x := t * t / (t*t + degrees)
	half := shift * shift / 2
	p := math.Exp(-half) / 2
	q := math.Sqrt(2/math.Pi) * math.Exp(-half) * shift / 2
	chance, rest := 0.0, 0.5-p
	for j := 0.0; j < most && rest > enough; j++ {
		chance += p*mathext.RegIncBeta(j+0.5, degrees/2, x) + q*mathext.RegIncBeta(j+1, degrees/2, x)
		p *= half / (j + 1)
		q *= half / (j + 1.5)
		rest -= p
	}
	return min(1, chance+normalTails(shift)/2)
}
