package stats

import (
	"cmp"
	"math"
	"slices"
)

// AUROCInterval is the interval of [AUROC] when forecasts of one cluster depend on
// each other: Student's, with the standard error of N. A. Obuchowski, Biometrics
// 53, 1997 (that of DeLong where each cluster holds one forecast), kept within 0
// and 1. It needs two clusters and an outcome of each kind, 0 and 1.
func AUROCInterval(clusters [][]Forecast, level float64) (interval Interval, ok bool) {
	var all []placedForecast
	groups := 0
	for i, cluster := range clusters {
		groups += min(1, len(cluster))
		for _, f := range cluster {
			if !isFinite(f.Probability) || f.Outcome != 0 && f.Outcome != 1 {
				return Interval{}, false
			}
			all = append(all, placedForecast{f, i})
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

type placedForecast struct {
	Forecast
	cluster int
}

// placements are the area, and by how much each cluster moves it: the sum over
// its forecasts of the share of the other kind that they are on the right side
// of, less the area.
func placements(all []placedForecast, clusters int) (area float64, parts []float64, ok bool) {
	slices.SortFunc(all, func(a, b placedForecast) int { return cmp.Compare(a.Probability, b.Probability) })
	var ones float64
	for i := range all {
		ones += all[i].Outcome
	}
	zeros := float64(len(all)) - ones
	if ones == 0 || zeros == 0 {
		return 0, nil, false
	}
	right := make([]float64, len(all))
	var onesBelow, zerosBelow float64
	for from := 0; from < len(all); {
		to, tiedOnes := from, 0.0
		for ; to < len(all) && all[to].Probability == all[from].Probability; to++ {
			tiedOnes += all[to].Outcome
		}
		tiedZeros := float64(to-from) - tiedOnes
		for i := from; i < to; i++ {
			if all[i].Outcome == 1 {
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
		if all[i].Outcome == 1 {
			count = ones
		}
		parts[all[i].cluster] += (right[i] - area) / count
	}
	return area, parts, isFinite(area)
}
