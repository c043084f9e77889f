package compare_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/agentbench/agentbench/reports/compare"
)

// large is a side with a binary score, a graded one and five amounts.
func large(tasks, trials int, seed uint64) *compare.Side {
	random := rand.New(rand.NewPCG(seed, 1))
	s := &compare.Side{Starts: []int32{0}}
	quantities := []compare.Quantity{{Name: "right"}, {Name: "close"}}
	for _, name := range []string{"cost_usd", "tokens", "latency_s", "iterations", "calls"} {
		quantities = append(quantities, compare.Quantity{Name: name, Lower: true, Ratio: true})
	}
	columns := make([][]float64, len(quantities))
	for task := range tasks {
		s.Tasks = append(s.Tasks, fmt.Sprint("task-", task))
		for trial := range trials {
			s.Trials = append(s.Trials, int32(trial+1))
			columns[0] = append(columns[0], float64(random.IntN(2)))
			columns[1] = append(columns[1], random.Float64())
			for i := 2; i < len(columns); i++ {
				columns[i] = append(columns[i], random.ExpFloat64()+1e-9)
			}
		}
		s.Starts = append(s.Starts, int32(len(s.Trials)))
	}
	for i, q := range quantities {
		s.Columns = append(s.Columns, compare.Column{Quantity: q, Values: columns[i]})
	}
	return s
}

// BenchmarkSides compares two sides of 100,000 runs in seven quantities.
func BenchmarkSides(b *testing.B) {
	for _, trials := range []int{1, 4, 50} {
		for _, how := range []string{"paired", "apart", "clustered"} {
			base, new := large(100_000/trials, trials, 1), large(100_000/trials, trials, 2)
			if how == "clustered" {
				for i := range base.Tasks {
					base.Clusters = append(base.Clusters, fmt.Sprint(i%1000))
				}
			}
			b.Run(fmt.Sprintf("%s/trials=%d", how, trials), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := compare.Sides(base, new, compare.Options{Unpaired: how == "apart"}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
