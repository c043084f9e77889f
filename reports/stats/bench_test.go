package stats_test

import (
	"math/rand/v2"
	"testing"

	"github.com/agentbench/agentbench/reports/stats"
)

// Sizes as in a suite of 1,000 tasks, and where exact tests give up.
func BenchmarkTests(b *testing.B) {
	w := world{rand.New(rand.NewPCG(1, 1))}
	graded, whole, twenty := w.gradedDifferences(1_000), w.differences(1_000), w.gradedDifferences(20)
	x, y := fill(50, w.skewed), fill(50, w.skewed)
	costs, won := fill(1_000, w.skewed), fill(1_000, func() float64 { return w.coin(0.5) })
	points := make([][]stats.Point, 20)
	for i := range points {
		points[i] = make([]stats.Point, 1_000)
		for j := range points[i] {
			points[i][j] = stats.Point{Cost: w.skewed(), Quality: w.coin(0.5)}
		}
	}
	for name, run := range map[string]func(){
		"sign-flip, drawn":      func() { stats.SignFlip(graded, 1) },
		"sign-flip, multiples":  func() { stats.SignFlip(whole, 1) },
		"sign-flip, all of 20":  func() { stats.SignFlip(twenty, 1) },
		"signed rank":           func() { stats.SignedRank(whole) },
		"Mann-Whitney, 50":      func() { stats.MannWhitney(x, y) },
		"permutation, drawn":    func() { stats.Permutation(x, y, 1) },
		"McNemar":               func() { stats.McNemar(33, 12) },
		"t quantile":            func() { stats.StudentQuantile(0.975, 49) },
		"bootstrap of 100":      func() { stats.Resample(100, 10_000, 1).Ratio(costs[:100], won[:100], 0.95) },
		"bootstrap of 1,000":    func() { bootstrapped(costs, won, 1) },
		"shares of 20 on front": func() { stats.FrontShares(points, 2_000, 1) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run()
			}
		})
	}
}
