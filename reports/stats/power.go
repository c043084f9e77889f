package stats

import "math"

// Power is what a planned test shall hold: the level at which it finds a
// difference (0.05) and the chance to find one that is there (0.8).
type Power struct{ Alpha, Power float64 }

// z is the sum of the normal quantiles of both.
func (p Power) z() (level, power float64, ok bool) {
	level, levelOK := NormalQuantile(1 - p.Alpha/2)
	power, powerOK := NormalQuantile(p.Power)
	return level, power, levelOK && powerOK && level+power > 0
}

// Needed is how many independent values of the given variance show that their
// mean differs from 0 by the difference, by the normal distribution; round it
// up. Below about 30 NeededT is more honest.
func (p Power) Needed(variance, difference float64) (n float64, ok bool) {
	level, power, ok := p.z()
	n = (level + power) * (level + power) * variance / (difference * difference)
	return n, ok && variance > 0 && isFinite(n)
}

// Detectable is the smallest difference from 0 that the mean of n independent
// values of the given variance shows.
func (p Power) Detectable(variance, n float64) (difference float64, ok bool) {
	level, power, ok := p.z()
	difference = (level + power) * math.Sqrt(variance/n)
	return difference, ok && n > 0 && isFinite(difference)
}

// NeededMcNemar is how many pairs of zeros and ones McNemar's test needs when
// the share won is to be found different from the share lost (R. J. Connor,
// Biometrics 43, 1987); round it up.
func (p Power) NeededMcNemar(won, lost float64) (pairs float64, ok bool) {
	level, power, ok := p.z()
	discordant, d := won+lost, won-lost
	if !ok || !(won >= 0) || !(lost >= 0) || !(discordant <= 1) || d == 0 {
		return 0, false
	}
	root := (level*math.Sqrt(discordant) + power*math.Sqrt(discordant-d*d)) / d
	return root * root, isFinite(root * root)
}

// NeededTwoProportions is how many values each of two independent samples needs
// to tell the proportions p1 and p2 apart (J. L. Fleiss, Statistical Methods for
// Rates and Proportions, without continuity correction); round it up.
func (p Power) NeededTwoProportions(p1, p2 float64) (each float64, ok bool) {
	level, power, ok := p.z()
	if !ok || !(p1 >= 0 && p1 <= 1) || !(p2 >= 0 && p2 <= 1) || p1 == p2 {
		return 0, false
	}
	middle := (p1 + p2) / 2
	root := (level*math.Sqrt(2*middle*(1-middle)) + power*math.Sqrt(p1*(1-p1)+p2*(1-p2))) / (p1 - p2)
	return root * root, isFinite(root * root)
}

// PairedVariance is that of a paired difference of two means of trials: Between
// is the variance of the true differences, Within that of one trial on either
// side (E. Miller, arXiv 2411.00640, 2024). Power.Needed of it is a number of pairs.
type PairedVariance struct {
	Between          float64
	WithinA, WithinB float64
	TrialsA, TrialsB int
}

// Value is the variance of one pair's difference.
func (v PairedVariance) Value() (variance float64, ok bool) {
	variance = v.Between + v.WithinA/float64(v.TrialsA) + v.WithinB/float64(v.TrialsB)
	return variance, v.TrialsA > 0 && v.TrialsB > 0 && variance >= 0 && isFinite(variance)
}
