package stats

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The approximation that samples of this size would not take, for the vectors.
var (
	MannWhitneyNormal = func(u float64, x, y []float64) float64 {
		return mannWhitneyNormal(u, float64(len(x)), float64(len(y)), rank(slices.Concat(x, y)).tieCubes())
	}
)

// The ways to the p of one test, which must not differ.
var (
	FlipWays = func(differences []float64, seed uint64) (whole, all, drawn float64, isWhole bool) {
		sizes, seen, total := withoutZeros(differences)
		atLeast := max(seen, -seen) - tolerance*total
		counts, isWhole := steps(sizes)
		if isWhole {
			whole = flipWhole(counts)
		}
		return whole, flipAll(sizes, atLeast), flipDrawn(sizes, atLeast, seed), isWhole
	}
	Steps = steps
)

// Quantiles and chances are, to the last bit, those of gonum's distuv, which is far larger than the functions beneath it
// and so linked into tests only.
func TestDistributionsEqualThoseOfDistuv(t *testing.T) {
	same := func(what string, got, want float64, of ...float64) {
		t.Helper()
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s%v: %v, want %v", what, of, got, want)
		}
	}
	levels := []float64{1e-12, 1e-4, 0.005, 0.025, 0.05, 0.3, 0.5, 0.7, 0.9, 0.95, 0.975, 0.995, 0.9999, 1 - 1e-12}
	for _, p := range levels {
		z, _ := NormalQuantile(p)
		same("normal", z, distuv.UnitNormal.Quantile(p), p)
		for _, degrees := range []float64{0.1, 0.5, 1, 1.7, 2, 3, 9, 29.5, 100, 12345, 1e6, 1e7} {
			if got, ok := StudentQuantile(p, degrees); ok && degrees <= manyDegrees {
				same("t", got, distuv.StudentsT{Sigma: 1, Nu: degrees}.Quantile(p), p, degrees)
			}
			same("tails", studentTails(10*p, min(degrees, manyDegrees)), min(1, 2*distuv.StudentsT{Sigma: 1, Nu: min(degrees, manyDegrees)}.CDF(-10*p)), p, degrees)
		}
	}
	for n := 1.0; n <= 4096; n = math.Ceil(n * 1.3) {
		coins := distuv.Binomial{N: n, P: 0.5}
		for k := 0.0; k <= n; k = math.Ceil(k*1.2 + 0.5) {
			same("heads at most", headsAtMost(k, n), coins.CDF(k), k, n)
		}
	}
}
