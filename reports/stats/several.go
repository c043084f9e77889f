package stats

import "gonum.org/v1/gonum/mathext"

// CochranQ tests whether several treatments of the same subjects succeed as
// often: each row is a subject and holds a zero or a one for every treatment (W.
// G. Cochran, Biometrika 37, 1950). For two treatments it is McNemar's test
// without correction. The statistic is Q; p is that of the chi-squared
// distribution, which wants some 24 values in rows that are not all equal.
func CochranQ(rows [][]float64) (test Test, ok bool) {
	sums, ok := columnSums(rows)
	if !ok {
		return Test{}, false
	}
	k := float64(len(sums))
	var within, squares float64
	for _, row := range rows {
		for _, v := range row {
			if v != 0 && v != 1 {
				return Test{}, false
			}
		}
		ones := Sum(row)
		within += ones * (k - ones)
	}
	total := Sum(sums)
	for _, s := range sums {
		squares += (s - total/k) * (s - total/k)
	}
	return chiSquared(k*(k-1)*squares, within, k-1), true
}

// Friedman tests whether several treatments of the same subjects give values of
// the same size, by the ranks within each row, a subject (M. Friedman, JASA 32,
// 1937; with the correction for ties). The statistic is chi-squared with one
// degree of freedom less than there are treatments.
func Friedman(rows [][]float64) (test Test, ok bool) {
	ranks := make([][]float64, len(rows))
	var cubes float64
	for i, row := range rows {
		r := rank(row)
		cubes += r.tieCubes()
		ranks[i] = halves(r.doubled)
	}
	sums, ok := columnSums(ranks)
	if _, finite := columnSums(rows); !ok || !finite {
		return Test{}, false
	}
	n, k := float64(len(rows)), float64(len(sums))
	var squares float64
	for _, s := range sums {
		squares += (s - n*(k+1)/2) * (s - n*(k+1)/2)
	}
	return chiSquared(12*squares, n*k*(k+1)-cubes/(k-1), k-1), true
}

// columnSums wants rows of one length, at least two, without NaN or infinities.
func columnSums(rows [][]float64) (sums []float64, ok bool) {
	if len(rows) == 0 || len(rows[0]) < 2 {
		return nil, false
	}
	sums = make([]float64, len(rows[0]))
	for _, row := range rows {
		if len(row) != len(sums) || !isFinite(row...) {
			return nil, false
		}
		for i, v := range row {
			sums[i] += v
		}
	}
	return sums, true
}

// chiSquared tests a statistic that is a ratio; where nothing varies at all
// there is no sign of a difference.
func chiSquared(squares, variance, degrees float64) Test {
	if variance <= 0 {
		return Test{P: 1, Method: Approximate}
	}
	statistic := squares / variance
	return Test{Statistic: statistic, P: mathext.GammaIncRegComp(degrees/2, statistic/2), Method: Approximate}
}

func halves(doubled []int) []float64 {
	values := make([]float64, len(doubled))
	for i, d := range doubled {
		values[i] = float64(d) / 2
	}
	return values
}
