package judge

import (
	"fmt"
	"math"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
)

// Reduce is what several votes make together.
type Reduce string

// What votes make together.
const (
	Mean   Reduce = "mean"
	Median Reduce = "median" // of an even number of votes the mean of the two in the middle
	// Majority is the value that most votes gave; of several such values their mean.
	Majority Reduce = "majority"
)

// Of is the value of the votes that there are. It is missing where fewer than
// half are there.
func (r Reduce) Of(votes []record.Vote) (value float64, missing string) {
	values := make([]float64, 0, len(votes))
	reason := "there are no votes"
	for i := len(votes) - 1; i >= 0; i-- {
		if votes[i].Unscored != "" {
			reason = votes[i].Unscored
		} else {
			values = append(values, votes[i].Value)
		}
	}
	if len(values) == 0 && len(votes) < 2 {
		return 0, reason
	}
	if failed := len(votes) - len(values); failed > len(values) {
		return 0, fmt.Sprintf("%d of %d votes failed: %s", failed, len(votes), reason)
	}
	slices.Sort(values)
	return r.reduce(values), ""
}

// reduce makes one value of those sorted, of which there is one at least.
func (r Reduce) reduce(values []float64) float64 {
	switch r {
	case Median:
		return mean(values[(len(values)-1)/2 : len(values)/2+1])
	case Majority:
		return mean(mostGiven(values))
	}
	return mean(values)
}

func mostGiven(sorted []float64) []float64 {
	var given []float64
	most := 0
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n] == sorted[0] {
			n++
		}
		if n > most {
			most, given = n, nil
		}
		if n == most {
			given = append(given, sorted[0])
		}
		sorted = sorted[n:]
	}
	return given
}

// mean is no less than the least of the values and no more than the greatest,
// which the sum of rounded numbers may miss.
func mean(sorted []float64) float64 {
	sum := 0.0
	for _, value := range sorted {
		sum += value
	}
	return min(max(sum/float64(len(sorted)), sorted[0]), sorted[len(sorted)-1])
}

// Nearest is the vote whose value is nearest, the first of several; one that says
// nothing where there is none.
func Nearest(votes []record.Vote, value float64) *record.Vote {
	const rounding = 1e-12
	nearest := &record.Vote{Value: math.Inf(1)}
	for i := range votes {
		if votes[i].Unscored == "" && math.Abs(votes[i].Value-value) < math.Abs(nearest.Value-value)-rounding {
			nearest = &votes[i]
		}
	}
	return nearest
}
