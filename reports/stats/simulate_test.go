package stats_test

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/agentbench/agentbench/reports/stats"
)

// suites is how many synthetic suites a simulation has: enough to see a fault, or
// as many as the environment variable AGENTBENCH_SUITES says.
func suites(t *testing.T) int {
	t.Helper()
	if raceEnabled {
		t.Skip("nothing here runs at the same time")
	}
	text := os.Getenv("AGENTBENCH_SUITES")
	if text == "" {
		return 200
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("AGENTBENCH_SUITES is %q", text)
	}
	return n
}

// sizes are the numbers of tasks.
func sizes() []int {
	if os.Getenv("AGENTBENCH_SUITES") == "" {
		return []int{30, 200}
	}
	return []int{30, 50, 200}
}

// share is in how many of the suites something holds.
func share(t *testing.T, holds func(w world) bool) float64 {
	t.Helper()
	n, held := suites(t), 0
	for i := range n {
		if holds(world{rand.New(rand.NewPCG(uint64(i), 2026))}) {
			held++
		}
	}
	return float64(held) / float64(n)
}

// chanceError is how far such a share may lie off by chance.
func chanceError(t *testing.T, p float64) float64 {
	return 3.5 * math.Sqrt(p*(1-p)/float64(suites(t)))
}

// world draws suites: tasks differ in how hard they are, and trials of a task
// depend on each other only by that.
type world struct{ *rand.Rand }

// beta is spread around its mean, the less the larger the concentration.
func (w world) beta(mean, concentration float64) float64 {
	return distuv.Beta{Alpha: mean * concentration, Beta: (1 - mean) * concentration, Src: w.Rand}.Rand()
}

func (w world) coin(p float64) float64 {
	if w.Float64() < p {
		return 1
	}
	return 0
}

// tosses is the mean of k coins.
func (w world) tosses(p float64, k int) (mean float64) {
	for range k {
		mean += w.coin(p) / float64(k)
	}
	return mean
}

// graded is a score between 0 and 1 whose mean is gradedMean of the quality.
func (w world) graded(quality float64) float64 { return w.beta(gradedMean(quality), 5) }

func gradedMean(quality float64) float64 { return 0.01 + 0.98*quality }

// skewed is a cost: its logarithm is normal, its mean skewedMean.
func (w world) skewed() float64 { return math.Exp(0.8 * w.NormFloat64()) }

var skewedMean = math.Exp(0.8 * 0.8 / 2)

// unequal puts tasks into groups of which the first ones are larger.
func (w world) unequal(tasks, groups int, value func(group int) float64) [][]float64 {
	clusters := make([][]float64, groups)
	for range tasks {
		at := int(float64(groups) * math.Pow(w.Float64(), 1.5))
		clusters[at] = append(clusters[at], value(at))
	}
	return clusters
}

// qualities are those of groups of tasks.
func (w world) qualities(groups int) []float64 {
	q := make([]float64, groups)
	for i := range q {
		q[i] = w.beta(0.7, 8)
	}
	return q
}

func fill(n int, draw func() float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = draw()
	}
	return values
}

func bootstrapped(above, below []float64, seed uint64) (stats.Interval, bool) {
	level := stats.PercentileLevel(len(above), 0.95)
	if len(above) > stats.MostResampled {
		return stats.ExpandedRatio(above, below, level)
	}
	return stats.Resample(len(above), 1_000, seed).Ratio(above, below, level)
}
