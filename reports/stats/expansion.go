package stats

import "math"

// ExpandedRatio is the interval that [Resamples.Ratio] would give after
// infinitely many draws, for many clusters: the distribution of a drawn sum is
// expanded around the normal one by its skewness and kurtosis (E. A. Cornish and
// R. A. Fisher, Revue de l'Institut international de statistique 5, 1938; P. Hall,
// The Bootstrap and Edgeworth Expansion, 1992, 2.5). A drawn ratio is at most r
// where the sum of numerators - r denominators is at most 0, so that the ratio
// needs no expansion of its own.
func ExpandedRatio(numerators, denominators []float64, level float64) (interval Interval, ok bool) {
	e, ok := expand(numerators, denominators)
	z, zOK := NormalQuantile(twoSided(level))
	if !ok || !zOK {
		return Interval{}, false
	}
	interval = Interval{e.ratio + e.scale*e.root(-z), e.ratio + e.scale*e.root(z)}
	return interval, interval.spans()
}

// expansion holds the joint moments of both parts of a ratio: u is by how much a
// numerator is above its share, v the denominator, both in units of the means.
type expansion struct {
	ratio, scale, groups float64
	moments              [5][5]float64 // of u^i v^j, i + j <= 4
}

func expand(numerators, denominators []float64) (e expansion, ok bool) {
	e.groups = float64(len(numerators))
	below := Sum(denominators) / e.groups
	ratio, ok := Ratio(Sum(numerators)/e.groups, below)
	if !ok || len(numerators) != len(denominators) || len(numerators) < 2 || !isFinite(ratio) || !(below > 0) {
		return e, false
	}
	e.ratio = ratio
	for i, numerator := range numerators {
		e.scale = max(e.scale, math.Abs(numerator-ratio*denominators[i])/below)
	}
	if !(e.scale > 0) {
		return e, false
	}
	for i, numerator := range numerators {
		e.add((numerator-ratio*denominators[i])/below/e.scale, denominators[i]/below)
	}
	for i := range e.moments {
		for j := range e.moments[i] {
			e.moments[i][j] /= e.groups
		}
	}
	return e, isFinite(e.moments[4][0], e.moments[0][4])
}

func (e *expansion) add(u, v float64) {
	power := 1.0
	for i := range 5 {
		both := power
		for j := range 5 - i {
			e.moments[i][j] += both
			both *= v
		}
		power *= u
	}
}

// root is the deviation d from the ratio at which the z-quantile of the drawn
// mean of u - d v is 0; infinite where the denominators leave no bound.
func (e *expansion) root(z float64) float64 {
	step := math.Copysign(math.Sqrt(e.moments[2][0]/e.groups), z)
	far := step
	for n := 0; (e.quantile(far, z) > 0) == (z > 0); n++ {
		if n > 60 {
			return math.Copysign(math.Inf(1), z)
		}
		far += step * math.Exp2(float64(n)/4)
	}
	near := 0.0
	for range 100 {
		middle := (near + far) / 2
		if (e.quantile(middle, z) > 0) == (z > 0) {
			near = middle
		} else {
			far = middle
		}
	}
	return near
}

// quantile is that of the drawn mean of w = u - d v.
func (e *expansion) quantile(d, z float64) float64 {
	m := func(i, j int) float64 { return e.moments[i][j] }
	mean := m(1, 0) - d*m(0, 1)
	second := m(2, 0) - 2*d*m(1, 1) + d*d*m(0, 2)
	third := m(3, 0) - 3*d*m(2, 1) + 3*d*d*m(1, 2) - d*d*d*m(0, 3)
	fourth := m(4, 0) - 4*d*m(3, 1) + 6*d*d*m(2, 2) - 4*d*d*d*m(1, 3) + d*d*d*d*m(0, 4)
	variance := second - mean*mean
	if !(variance > 0) {
		return mean
	}
	deviation := math.Sqrt(variance)
	skewness := (third - 3*mean*second + 2*mean*mean*mean) / (variance * deviation)
	kurtosis := (fourth-4*mean*third+6*mean*mean*second-3*mean*mean*mean*mean)/(variance*variance) - 3
	return mean + deviation/math.Sqrt(e.groups)*cornishFisher(z, skewness/math.Sqrt(e.groups), kurtosis/e.groups)
}

// cornishFisher is the quantile of a distribution of that skewness and excess
// kurtosis where the normal one has z.
func cornishFisher(z, skewness, kurtosis float64) float64 {
	z3 := z * z * z
	return z + skewness*(z*z-1)/6 + kurtosis*(z3-3*z)/24 - skewness*skewness*(2*z3-5*z)/36
}
