package stats

import (
	"cmp"
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
	for _, part := range t.influences(observed, byChance) {
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
	distinct = slices.Compact(slices.Sorted(slices.Values(values)))
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

// varied reports whether chance does not agree on everything, but for rounding.
func (t *ratings) varied(byChance float64) bool { return 1-byChance > tolerance }

// drawn is the kappa of clusters that were drawn so often.
func (t *ratings) drawn(drawn []uint8) (kappa float64, ok bool) {
	observed, byChance := t.agreement(drawn)
	return beyond(observed, byChance), t.varied(byChance)
}

// influences are by how much each cluster moves the kappa.
func (t *ratings) influences(observed, byChance float64) []float64 {
	ofA, ofB := t.meanWeights()
	parts := make([]float64, t.groups)
	n, left := float64(len(t.cluster)), 1-byChance
	for i, cluster := range t.cluster {
		own := t.weights[t.a[i]*t.nB+t.b[i]] - observed
		chance := ofA[t.a[i]] + ofB[t.b[i]] - 2*byChance
		parts[cluster] += (own*left - chance*(1-observed)) / (left * left * n)
	}
	return parts
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

// AUROCInterval is the interval of [AUROC] when forecasts of one cluster depend on
// each other: Student's, with the standard error of N. A. Obuchowski, Biometrics
// 53, 1997 (that of DeLong where each cluster holds one forecast), kept within 0
// and 1. It needs two clusters and an outcome of each kind, 0 and 1.
func AUROCInterval(clusters [][]Forecast, level float64) (interval Interval, ok bool) {
	n := 0
	for _, cluster := range clusters {
		n += len(cluster)
	}
	all, groups := make([]placedForecast, 0, n), 0
	for i, cluster := range clusters {
		groups += min(1, len(cluster))
		for _, f := range cluster {
			if !isFinite(f.Probability) || f.Outcome != 0 && f.Outcome != 1 {
				return Interval{}, false
			}
			all = append(all, placedForecast{f.Probability, int32(i), f.Outcome == 1})
		}
	}
	area, parts, ok := placements(all, len(clusters))
	t, tOK := StudentQuantile(twoSided(level), float64(groups-1))
	if !ok || !tOK {
		return Interval{}, false
	}
	squares := make([]float64, len(parts))
	for i, part := range parts {
		squares[i] = part * part
	}
	half := t * math.Sqrt(Sum(squares)*float64(groups)/float64(groups-1))
	interval = Interval{max(0, area-half), min(1, area+half)}
	return interval, interval.spans()
}

// placedForecast is small: there is one for every run of a suite.
type placedForecast struct {
	probability float64
	cluster     int32
	came        bool
}

// placements are the area, and by how much each cluster moves it: the sum over
// its forecasts of the share of the other kind that they are on the right side
// of, less the area.
func placements(all []placedForecast, clusters int) (area float64, parts []float64, ok bool) {
	slices.SortFunc(all, func(a, b placedForecast) int { return cmp.Compare(a.probability, b.probability) })
	var ones float64
	for i := range all {
		ones += float64(zeroOrOne(all[i].came))
	}
	zeros := float64(len(all)) - ones
	if ones == 0 || zeros == 0 {
		return 0, nil, false
	}
	right := make([]float64, len(all))
	var onesBelow, zerosBelow float64
	for from := 0; from < len(all); {
		to, tiedOnes := from, 0.0
		for ; to < len(all) && all[to].probability == all[from].probability; to++ {
			tiedOnes += float64(zeroOrOne(all[to].came))
		}
		tiedZeros := float64(to-from) - tiedOnes
		for i := from; i < to; i++ {
			if all[i].came {
				right[i] = (zerosBelow + tiedZeros/2) / zeros
				area += right[i] / ones
			} else {
				right[i] = (ones - onesBelow - tiedOnes/2) / ones
			}
		}
		onesBelow, zerosBelow, from = onesBelow+tiedOnes, zerosBelow+tiedZeros, to
	}
	parts = make([]float64, clusters)
	for i := range all {
		count := zeros
		if all[i].came {
			count = ones
		}
		parts[all[i].cluster] += (right[i] - area) / count
	}
	return area, parts, isFinite(area)
}

// Forecast is a probability that was given before, and what came: 0 or 1.
type Forecast struct{ Probability, Outcome float64 }

// Brier is the mean squared error of the forecasts: 0 is perfect, 0.25 is what
// a constant 0.5 gets (G. W. Brier, Monthly Weather Review 78, 1950).
func Brier(forecasts []Forecast) (score float64, ok bool) {
	squares := make([]float64, len(forecasts))
	for i, f := range forecasts {
		squares[i] = (f.Probability - f.Outcome) * (f.Probability - f.Outcome)
	}
	return Mean(squares)
}

// AUROC is the chance that a forecast whose outcome was 1 has a larger
// probability than one whose outcome was 0, ties counting half: the area under
// the ROC curve. It needs an outcome of each kind.
func AUROC(forecasts []Forecast) (area float64, ok bool) {
	sorted := slices.Clone(forecasts)
	slices.SortFunc(sorted, func(a, b Forecast) int { return cmp.Compare(a.Probability, b.Probability) })
	var ones, zeros, won float64
	for from, to := 0, 0; from < len(sorted); from = to {
		if !isFinite(sorted[from].Probability) {
			return 0, false
		}
		tiedOnes := 0.0
		for ; to < len(sorted) && sorted[to].Probability == sorted[from].Probability; to++ {
			tiedOnes += sorted[to].Outcome
		}
		tiedZeros := float64(to-from) - tiedOnes
		won += tiedOnes*zeros + tiedOnes*tiedZeros/2
		ones, zeros = ones+tiedOnes, zeros+tiedZeros
	}
	return Ratio(won, ones*zeros)
}

// Components are the parts of the variance of values in clusters: of what the
// clusters truly are, and of the values around that.
type Components struct{ Between, Within float64 }

// VarianceComponents splits the variance by the analysis of variance of random
// effects (S. R. Searle, G. Casella and C. E. McCulloch, Variance Components,
// 1992, chapter 3). Between is 0 where the estimate falls below it. It needs two
// clusters, of which one has two values.
func VarianceComponents(clusters [][]float64) (c Components, ok bool) {
	mean, n, groups := clusteredMean(clusters)
	g := float64(groups)
	if groups < 2 || n <= g {
		return Components{}, false
	}
	within, between, sizes := make([]float64, 0, int(n)), make([]float64, 0, groups), make([]float64, 0, groups)
	for _, cluster := range clusters {
		own, ok := Mean(cluster)
		if !ok {
			continue
		}
		for _, v := range cluster {
			within = append(within, (v-own)*(v-own))
		}
		size := float64(len(cluster))
		between = append(between, size*(own-mean)*(own-mean))
		sizes = append(sizes, size*size)
	}
	c.Within = Sum(within) / (n - g)
	typical := (n - Sum(sizes)/n) / (g - 1)
	c.Between = max(0, (Sum(between)/(g-1)-c.Within)/typical)
	return c, len(sizes) == groups && isFinite(c.Between, c.Within)
}
