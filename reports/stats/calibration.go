package stats

import (
	"cmp"
	"math"
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
		if !isFinite(sorted[0].Probability) {
			return 0, false
		}
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

// calibrationBins is into how many bins ECE sorts.
const calibrationBins = 10

// ECE is the expected calibration error: how far the mean probability of the
// forecasts in each of ten bins of equal width, the last of which holds 1, lies
// from the share of ones among them, on average over the forecasts (M. P. Naeini,
// G. F. Cooper and M. Hauskrecht, AAAI 2015). It is too large for few forecasts.
func ECE(forecasts []Forecast) (score float64, ok bool) {
	var off [calibrationBins]float64
	for _, f := range forecasts {
		if !(f.Probability >= 0 && f.Probability <= 1) {
			return 0, false
		}
		off[binOf(f.Probability)] += f.Probability - f.Outcome
	}
	var sum float64
	for _, o := range off {
		sum += math.Abs(o)
	}
	return Ratio(sum, float64(len(forecasts)))
}

// binOf puts 0.3 into the bin that begins at 0.3, whatever 0.3*10 rounds to.
func binOf(p float64) int {
	bin := min(calibrationBins-1, int(p*calibrationBins))
	if bin+1 < calibrationBins && p >= float64(bin+1)/calibrationBins {
		bin++
	}
	return bin
}

// LogLoss is the mean of -log of the probability given to what came, in natural
// units (I. J. Good, JRSS B 14, 1952). Probabilities below 1e-15 count as that,
// so that one forecast that was sure and wrong does not make it infinite.
func LogLoss(forecasts []Forecast) (loss float64, ok bool) {
	const least = 1e-15
	losses := make([]float64, len(forecasts))
	for i, f := range forecasts {
		if !(f.Probability >= 0 && f.Probability <= 1) {
			return 0, false
		}
		p := min(1-least, max(least, f.Probability))
		losses[i] = -f.Outcome*math.Log(p) - (1-f.Outcome)*math.Log1p(-p)
	}
	return Mean(losses)
}
