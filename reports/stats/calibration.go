package stats

import (
	"cmp"
	"slices"
)

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
	for len(sorted) > 0 {
		tied := tiedWithFirst(sorted)
		tiedOnes := countOnes(sorted[:tied])
		tiedZeros := float64(tied) - tiedOnes
		won += tiedOnes*zeros + tiedOnes*tiedZeros/2
		ones, zeros = ones+tiedOnes, zeros+tiedZeros
		sorted = sorted[tied:]
	}
	return Ratio(won, ones*zeros)
}

func tiedWithFirst(sorted []Forecast) int {
	n := 1
	for n < len(sorted) && sorted[n].Probability == sorted[0].Probability {
		n++
	}
	return n
}

func countOnes(forecasts []Forecast) (ones float64) {
	for _, f := range forecasts {
		ones += f.Outcome
	}
	return ones
}
