package stats

// The approximations that samples of this size would not take, for the vectors.
var (
	SignedRankNormal = func(differences []float64) float64 {
		rest, _, _ := withoutZeros(differences)
		return signedRankNormal(signedRanks(rest, 0))
	}
	MannWhitneyNormal = func(u float64, x, y []float64) float64 {
		return mannWhitneyNormal(u, float64(len(x)), float64(len(y)), rank(append(append([]float64(nil), x...), y...)).tieCubes())
	}
)
