package stats

import (
	"math"
	"slices"
)

// Rated is what two raters say of one thing, as numbers.
type Rated struct{ A, B float64 }

// Weight is how much two ratings agree; of equal ones it is 1, the largest.
type Weight func(a, b float64) float64

// Same is the weight of categories: ratings agree or they do not.
func Same(a, b float64) float64 {
	if a == b {
		return 1
	}
	return 0
}

// Near is the quadratic weight of ratings whose distances mean something. On what
// scale they are makes no difference to a kappa.
func Near(a, b float64) float64 { return 1 - (a-b)*(a-b) }

// Kappa is the agreement of two raters beyond what the shares of their ratings
// would give by chance, as a part of the most that is possible: 1 is perfect, 0 is
// chance (J. Cohen, Educational and Psychological Measurement 20, 1960; weighted:
// Psychological Bulletin 70, 1968). Its standard error is that of large samples
// (J. L. Fleiss, J. Cohen and B. S. Everitt, Psychological Bulletin 72, 1969), with
// the parts of things of one cluster added up before they are squared. There is no
// answer where both raters give everything one and the same rating.
func Kappa(clusters [][]Rated, weight Weight) (estimate Estimate, ok bool) {
	t := rate(clusters, weight)
	observed, byChance := t.agreement(nil)
	if !t.finite || !t.varied(byChance) {
		return Estimate{}, false
	}
	estimate = Estimate{Value: beyond(observed, byChance), Degrees: float64(t.groups - 1)}
	var squares float64
	for part := range t.influences(observed, byChance) {
		squares += part * part
	}
	estimate.SE = math.Sqrt(squares)
	return estimate, isFinite(estimate.Value, estimate.SE)
}

// fewToRate is the number of clusters below which a standard error of large samples
// is not trusted, and kappaDraws how often these few are drawn.
const (
	fewToRate  = 30
	kappaDraws = 2_000
)

// KappaInterval is Student's with the standard error of [Kappa], below 30 clusters
// that of a bootstrap, kept within -1 and 1. Where the raters agree on everything it
// reaches down to what kappa would be at the lower end of Wilson's interval of the
// agreement, a cluster counting once. It wants two clusters, and a kappa that could
// have been another: a rater who gives everything the same rating has one of 0,
// whatever the other says, and that it does not vary does not make it certain.
func KappaInterval(clusters [][]Rated, weight Weight, level float64, seed uint64) (interval Interval, ok bool) {
	estimate, ok := Kappa(clusters, weight)
	groups := estimate.Degrees + 1
	if !ok || groups < 2 {
		return Interval{}, false
	}
	if estimate.Value == 1 {
		return perfect(clusters, groups, level)
	}
	if estimate.SE < tolerance {
		return Interval{}, false
	}
	if groups < fewToRate {
		t := rate(clusters, weight)
		interval, ok = Bootstrap(t.groups, kappaDraws, seed, t.drawn, level)
	} else {
		estimate.SE *= math.Sqrt(groups / (groups - 1))
		interval, ok = estimate.Interval(level)
	}
	return Interval{max(-1, interval.Low), min(1, interval.High)}, ok
}

// perfect is the interval of a kappa of 1. How far apart ratings are that differ is
// then not known: they count as no agreement at all.
func perfect(clusters [][]Rated, groups, level float64) (interval Interval, ok bool) {
	agreement, ok := Wilson(1, groups, level)
	_, byChance := rate(clusters, Same).agreement(nil)
	return Interval{beyond(agreement.Low, byChance), 1}, ok
}

// beyond is the part of what chance leaves.
func beyond(observed, byChance float64) float64 { return (observed - byChance) / (1 - byChance) }

// ratings are the ratings of two raters by their numbers in sorted lists of those
// that each gave, and how much these agree.
type ratings struct {
	finite  bool // all of them
	groups  int
	cluster []int // of each thing
	a, b    []int
	nA, nB  int
	weights []float64 // nB for each of A's ratings
}

func rate(clusters [][]Rated, weight Weight) *ratings {
	t := &ratings{}
	var ofA, ofB []float64
	for _, cluster := range clusters {
		for _, r := range cluster {
			t.cluster = append(t.cluster, t.groups)
			ofA, ofB = append(ofA, r.A), append(ofB, r.B)
		}
		t.groups += min(1, len(cluster))
	}
	t.finite = isFinite(ofA...) && isFinite(ofB...)
	var valuesA, valuesB []float64
	t.a, valuesA = numbered(ofA)
	t.b, valuesB = numbered(ofB)
	t.nA, t.nB = len(valuesA), len(valuesB)
	for _, a := range valuesA {
		for _, b := range valuesB {
			t.weights = append(t.weights, weight(a, b))
		}
	}
	return t
}

// numbered are the places of values in the sorted list of those that there are.
func numbered(values []float64) (at []int, distinct []float64) {
	distinct = slices.Clone(values)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	at = make([]int, len(values))
	for i, v := range values {
		at[i], _ = slices.BinarySearch(distinct, v)
	}
	return at, distinct
}

// agreement is the mean weight of what the raters say, and of what they would say
// by chance. Each cluster counts as often as it was drawn; nil: once.
func (t *ratings) agreement(drawn []uint8) (observed, byChance float64) {
	sharesA, sharesB := make([]float64, t.nA), make([]float64, t.nB)
	var n float64
	for i, cluster := range t.cluster {
		times := 1.0
		if drawn != nil {
			times = float64(drawn[cluster])
		}
		n += times
		sharesA[t.a[i]] += times
		sharesB[t.b[i]] += times
		observed += times * t.weights[t.a[i]*t.nB+t.b[i]]
	}
	for i, a := range sharesA {
		for k, b := range sharesB {
			byChance += a * b * t.weights[i*t.nB+k]
		}
	}
	return observed / n, byChance / n / n
}

// varied says that chance does not agree on everything, but for rounding.
func (t *ratings) varied(byChance float64) bool { return 1-byChance > tolerance }

// drawn is the kappa of clusters that were drawn so often.
func (t *ratings) drawn(drawn []uint8) (kappa float64, ok bool) {
	observed, byChance := t.agreement(drawn)
	return beyond(observed, byChance), t.varied(byChance)
}

// influences are by how much each cluster moves the kappa.
func (t *ratings) influences(observed, byChance float64) func(func(float64) bool) {
	ofA, ofB := t.meanWeights()
	parts := make([]float64, t.groups)
	n, left := float64(len(t.cluster)), 1-byChance
	for i, cluster := range t.cluster {
		own := t.weights[t.a[i]*t.nB+t.b[i]] - observed
		chance := ofA[t.a[i]] + ofB[t.b[i]] - 2*byChance
		parts[cluster] += (own*left - chance*(1-observed)) / (left * left * n)
	}
	return slices.Values(parts)
}

// meanWeights are how much each rating of one rater agrees, on average, with those
// of the other.
func (t *ratings) meanWeights() (ofA, ofB []float64) {
	ofA, ofB = make([]float64, t.nA), make([]float64, t.nB)
	sharesA, sharesB := shares(t.a, t.nA), shares(t.b, t.nB)
	for i := range ofA {
		for k := range ofB {
			w := t.weights[i*t.nB+k]
			ofA[i] += w * sharesB[k]
			ofB[k] += w * sharesA[i]
		}
	}
	return ofA, ofB
}

func shares(at []int, of int) []float64 {
	shares := make([]float64, of)
	for _, i := range at {
		shares[i] += 1 / float64(len(at))
	}
	return shares
}
