package stats_test

import (
	"fmt"

	"github.com/agentbench/agentbench/reports/stats"
)

// 42 of 60 runs had success.
func ExampleWilson() {
	interval, _ := stats.Wilson(42.0/60, 60, 0.95)
	fmt.Printf("%.3f to %.3f\n", interval.Low, interval.High)
	// Output: 0.575 to 0.801
}

// Of tasks that two configurations answer differently, one wins 12 and the other 3.
func ExampleMcNemar() {
	test, _ := stats.McNemar(12, 3)
	fmt.Printf("%.3f\n", test.P)
	// Output: 0.035
}

// Four scores of each of three tasks: the mean's error is that of tasks, not of runs.
func ExampleClusteredMean() {
	mean, _ := stats.ClusteredMean([][]float64{{1, 1, 1, 1}, {0, 0, 0, 1}, {1, 1, 0, 1}})
	fmt.Printf("%.2f, standard error %.2f\n", mean.Value, mean.SE)
	// Output: 0.67, standard error 0.22
}

// A task with 3 successes in 5 trials: at least one of two, and both of two.
func ExamplePassAtK() {
	one, _ := stats.PassAtK(5, 3, 2)
	both, _ := stats.PassHatK(5, 3, 2)
	fmt.Printf("%.1f %.1f\n", one, both)
	// Output: 0.9 0.3
}

// Nothing else is both better and cheaper.
func ExampleFront() {
	points := []stats.Point{{Cost: 1, Quality: 0.5}, {Cost: 2, Quality: 0.4}, {Cost: 3, Quality: 0.9}}
	fmt.Println(stats.Front(points))
	// Output: [0 2]
}
