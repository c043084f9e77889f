package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/reports/stats"
	"pgregory.net/rapid"
)

// table makes things of their counts: row i and column j hold how many A calls i
// and B calls j.
func table(counts ...[]int) (clusters [][]stats.Rated) {
	for i, row := range counts {
		for j, n := range row {
			for range n {
				clusters = append(clusters, []stats.Rated{{A: float64(i), B: float64(j)}})
			}
		}
	}
	return clusters
}

func linear(a, b float64) float64 { return 1 - math.Abs(a-b) }

// Published numbers: the skin conditions of the documentation of SAS (PROC FREQ,
// "Agreement Study"), a table that statsmodels holds against SAS, and ratings of
// anxiety that it holds against R's irr (test_inter_rater.py).
func TestKappaIsThePublishedOne(t *testing.T) {
	skin := table([]int{10, 4, 1, 0}, []int{5, 10, 12, 2}, []int{2, 4, 12, 5}, []int{0, 2, 6, 13})
	small := table([]int{0, 4, 1}, []int{0, 8, 0}, []int{0, 1, 5})
	anxiety := anxieties(
		[]float64{3, 5, 4, 5, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4},
		[]float64{2, 1, 4, 4, 3, 2, 1, 5, 1, 1, 1, 2, 3, 3, 1, 1, 3, 3, 2, 2}) // nobody said 5, and irr counts 6 as the fifth
	for name, c := range map[string]struct {
		of        [][]stats.Rated
		weight    stats.Weight
		kappa, se float64 // se 0: not published
	}{
		"skin":             {skin, stats.Same, 0.3449, 0.0724},
		"skin, linear":     {skin, linear, 0.5082, 0.0655},
		"small":            {small, stats.Same, 0.4842, 0.1380},
		"small, linear":    {small, linear, 0.4701, 0.1457},
		"anxiety":          {anxiety, stats.Same, -0.0063, 0},
		"anxiety, squared": {anxiety, stats.Near, 0.2520, 0},
	} {
		got, ok := stats.Kappa(c.of, c.weight)
		if !ok || math.Abs(got.Value-c.kappa) > 5e-5 || c.se > 0 && math.Abs(got.SE-c.se) > 5e-5 {
			t.Errorf("%s: %+v (%v), want %v ± %v", name, got, ok, c.kappa, c.se)
		}
	}
}

func anxieties(a, b []float64) (clusters [][]stats.Rated) {
	for i := range a {
		clusters = append(clusters, []stats.Rated{{A: a[i], B: b[i]}})
	}
	return clusters
}

func ratings(t *rapid.T, of ...float64) [][]stats.Rated {
	one := rapid.SampledFrom(of)
	rated := rapid.Custom(func(t *rapid.T) stats.Rated { return stats.Rated{A: one.Draw(t, "a"), B: one.Draw(t, "b")} })
	return rapid.SliceOfN(rapid.SliceOfN(rated, 1, 3), 2, 20).Draw(t, "ratings")
}

// Of two categories there is one distance, so that weights change nothing.
func TestKappaOfTwoCategoriesHasNoWeights(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		all := ratings(t, 0.25, 0.75)
		same, sameOK := stats.Kappa(all, stats.Same)
		near2, nearOK := stats.Kappa(all, stats.Near)
		if sameOK != nearOK || !near(same.Value, near2.Value, closed) || !near(same.SE, near2.SE, closed) {
			t.Fatalf("%v (%v) and %v (%v)", same, sameOK, near2, nearOK)
		}
	})
}

// The quadratic weights give the concordance of L. I.-K. Lin, Biometrics 45, 1989.
func TestNearKappaIsTheConcordance(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		all := ratings(t, 0, 0.1, 0.5, 0.75, 1)
		var n, a, b, aa, bb, ab float64
		for _, cluster := range all {
			for _, r := range cluster {
				n, a, b, aa, bb, ab = n+1, a+r.A, b+r.B, aa+r.A*r.A, bb+r.B*r.B, ab+r.A*r.B
			}
		}
		a, b = a/n, b/n
		apart := aa/n - a*a + bb/n - b*b + (a-b)*(a-b)
		got, ok := stats.Kappa(all, stats.Near)
		if want := 2 * (ab/n - a*b) / apart; ok && !near(got.Value, want, 1e-6) || !ok && apart > 1e-6 {
			t.Fatalf("%v (%v), want %v", got, ok, want)
		}
	})
}

// The standard error is the jackknife's, which leaves each cluster out, but for what
// falls faster than it.
func TestKappaVariesAsTheJackknifeSays(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, weight := range []stats.Weight{stats.Same, stats.Near} {
		all := clusteredRatings(random, 400, 3)
		whole, _ := stats.Kappa(all, weight)
		var squares float64
		for i := range all {
			rest := append(append([][]stats.Rated{}, all[:i]...), all[i+1:]...)
			without, _ := stats.Kappa(rest, weight)
			squares += (without.Value - whole.Value) * (without.Value - whole.Value)
		}
		if jackknife := math.Sqrt(squares); math.Abs(whole.SE/jackknife-1) > 0.02 {
			t.Errorf("%v, and the jackknife says %v", whole.SE, jackknife)
		}
	}
}

// clusteredRatings are of raters who often agree, and within a cluster more often on
// the same rating.
func clusteredRatings(random *rand.Rand, groups, each int) (clusters [][]stats.Rated) {
	for range groups {
		of := float64(random.IntN(3)) / 2
		agree := random.Float64() < 0.6
		var cluster []stats.Rated
		for range each {
			r := stats.Rated{A: of, B: of}
			if !agree {
				r.B = float64(random.IntN(3)) / 2
			}
			cluster = append(cluster, r)
		}
		clusters = append(clusters, cluster)
	}
	return clusters
}

// Above and below the number of clusters from which on the standard error is trusted
// the intervals hold their level. The raters agree in 0.6 of the clusters, and by
// chance in a third of the others: kappa is 0.6.
func TestKappaIntervalCoversKappa(t *testing.T) {
	for _, groups := range []int{20, 60} {
		random := rand.New(rand.NewPCG(7, uint64(groups)))
		const samples = 300
		covered := 0
		for range samples {
			interval, ok := stats.KappaInterval(clusteredRatings(random, groups, 2), stats.Same, 0.95, 1)
			if ok && interval.Low <= 0.6 && 0.6 <= interval.High {
				covered++
			}
		}
		if share := float64(covered) / samples; share < 0.91 || share > 0.99 {
			t.Errorf("%d clusters: %.3f of the intervals cover kappa", groups, share)
		}
	}
}

// Raters that never differed may differ yet: the interval is that of the agreement.
func TestKappaOfRatersWhoNeverDiffered(t *testing.T) {
	agreement, _ := stats.Wilson(1, 40, 0.95)
	interval, ok := stats.KappaInterval(table([]int{20, 0}, []int{0, 20}), stats.Same, 0.95, 1)
	if want := (agreement.Low - 0.5) / 0.5; !ok || interval.High != 1 || !near(interval.Low, want, closed) {
		t.Errorf("%v (%v), want from %v to 1", interval, ok, want)
	}
}

// What a rater who always says the same agrees by is chance, whatever the other one
// says: a kappa of 0 that nothing is known by.
func TestKappaOfARaterWhoAlwaysSaysTheSame(t *testing.T) {
	for _, counts := range [][][]int{{{0, 6}, {0, 9}}, {{0, 60}, {0, 90}}, {{0, 0}, {60, 90}}} {
		for _, weight := range []stats.Weight{stats.Same, stats.Near} {
			kappa, ok := stats.Kappa(table(counts...), weight)
			if !ok || math.Abs(kappa.Value) > 1e-12 {
				t.Errorf("%v: %v (%v), want 0", counts, kappa, ok)
			}
			if interval, ok := stats.KappaInterval(table(counts...), weight, 0.95, 1); ok {
				t.Errorf("%v: %v", counts, interval)
			}
		}
	}
}

func TestKappaHasNoAnswer(t *testing.T) {
	r := func(a, b float64) []stats.Rated { return []stats.Rated{{A: a, B: b}} }
	for name, clusters := range map[string][][]stats.Rated{
		"nothing": nil, "empty clusters": {{}, {}}, "all the same": {r(1, 1), r(1, 1)},
		"NaN": {r(0, 0), r(1, math.NaN()), r(1, 1)}, "infinite": {r(0, 0), r(1, math.Inf(1)), r(1, 1)},
	} {
		for _, weight := range []stats.Weight{stats.Same, stats.Near} {
			if kappa, ok := stats.Kappa(clusters, weight); ok {
				t.Errorf("%s: %v", name, kappa)
			}
			if interval, ok := stats.KappaInterval(clusters, weight, 0.95, 1); ok {
				t.Errorf("%s: %v", name, interval)
			}
		}
	}
	if interval, ok := stats.KappaInterval([][]stats.Rated{{{A: 0, B: 0}, {A: 1, B: 1}, {A: 1, B: 0}}}, stats.Same, 0.95, 1); ok {
		t.Errorf("of one cluster: %v", interval)
	}
}

// Bootstrap gives what Resamples gives, at the level that it corrects.
func TestBootstrapIsTheResamplesInterval(t *testing.T) {
	values := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}
	mean := func(drawn []uint8) (float64, bool) {
		var sum float64
		for i, times := range drawn {
			sum += float64(times) * values[i]
		}
		return sum / float64(len(values)), true
	}
	got, ok := stats.Bootstrap(len(values), 2000, 3, mean, 0.95)
	want, wantOK := stats.Resample(len(values), 2000, 3).Ratio(values, ones(len(values)), stats.PercentileLevel(len(values), 0.95))
	if !ok || !wantOK || !near(got.Low, want.Low, closed) || !near(got.High, want.High, closed) {
		t.Errorf("%v, want %v", got, want)
	}
	if one, ok := stats.Bootstrap(1, 2000, 3, mean, 0.95); ok {
		t.Errorf("of one cluster: %v", one)
	}
	rarely := func(drawn []uint8) (float64, bool) { return 1, drawn[0] == 0 }
	if rare, ok := stats.Bootstrap(12, 2000, 3, rarely, 0.95); ok {
		t.Errorf("of a number that most draws do not have: %v", rare)
	}
}
