package stats_test

import (
	"testing"

	"github.com/agentbench/agentbench/reports/stats"
)

// alike are two configurations that do not differ, and how a test is fooled.
var alike = []struct {
	name string
	test func(w world, tasks int) (stats.Test, bool)
}{
	{"McNemar, 1 trial", func(w world, tasks int) (stats.Test, bool) {
		won, lost := 0, 0
		for range tasks {
			p := w.beta(0.5, 2)
			switch w.coin(p) - w.coin(p) {
			case 1:
				won++
			case -1:
				lost++
			}
		}
		return stats.McNemar(won, lost)
	}},
	{"sign-flip, 4 trials", func(w world, tasks int) (stats.Test, bool) { return stats.SignFlip(w.differences(tasks), w.Uint64()) }},
	{"sign-flip, graded", func(w world, tasks int) (stats.Test, bool) {
		return stats.SignFlip(w.gradedDifferences(tasks), w.Uint64())
	}},
	{"sign-flip, 2 trials, in 20 clusters", func(w world, tasks int) (stats.Test, bool) {
		gains := fill(20, func() float64 { return 0.5*w.Float64() - 0.25 })
		clusters := w.unequal(tasks, 20, func(g int) float64 { return w.tosses(0.5+gains[g], 2) - w.tosses(0.5, 2) })
		return stats.SignFlip(sums(clusters), w.Uint64())
	}},
	{"paired t, 4 trials", func(w world, tasks int) (stats.Test, bool) {
		estimate, _ := stats.MeanOf(w.differences(tasks))
		return estimate.Test()
	}},
	{"signed rank, 4 trials", func(w world, tasks int) (stats.Test, bool) { return stats.SignedRank(w.differences(tasks)) }},
	{"signed rank of Pratt, 4 trials", func(w world, tasks int) (stats.Test, bool) {
		return stats.SignedRankPratt(w.differences(tasks))
	}},
	{"Mann-Whitney, costs", func(w world, tasks int) (stats.Test, bool) {
		return stats.MannWhitney(fill(tasks, w.skewed), fill(tasks, w.skewed))
	}},
	{"permutation, costs", func(w world, tasks int) (stats.Test, bool) {
		return stats.Permutation(fill(min(tasks, 50), w.skewed), fill(min(tasks, 50), w.skewed), w.Uint64())
	}},
	{"Welch, graded", func(w world, tasks int) (stats.Test, bool) {
		draw := func() float64 { return w.graded(w.beta(0.7, 3)) }
		estimate, _ := stats.Welch(fill(tasks, draw), fill(tasks/2, draw))
		return estimate.Test()
	}},
	{"Cochran, 4 configurations", func(w world, tasks int) (stats.Test, bool) {
		return stats.CochranQ(w.rows(tasks, func(p float64) float64 { return w.coin(p) }))
	}},
	{"Friedman, 4 configurations", func(w world, tasks int) (stats.Test, bool) {
		return stats.Friedman(w.rows(tasks, w.graded))
	}},
	{"smallest of 5 by Holm", func(w world, tasks int) (stats.Test, bool) {
		adjusted, ok := stats.Holm(fill(5, func() float64 {
			test, _ := stats.SignedRank(w.gradedDifferences(tasks))
			return test.P
		}))
		least := 1.0
		for _, p := range adjusted {
			least = min(least, p)
		}
		return stats.Test{P: least}, ok
	}},
	{"evidence, looked at after every pair", func(w world, tasks int) (stats.Test, bool) {
		won, lost, most := 0, 0, 1.0
		for range tasks {
			if w.coin(0.5) == 1 {
				won++
			} else {
				lost++
			}
			evidence, _ := stats.Evidence(won, lost, 1)
			most = max(most, evidence)
		}
		return stats.Test{P: 1 / most}, true
	}},
	{"evidence of a mean, looked at after every pair", func(w world, tasks int) (stats.Test, bool) {
		differences, most := w.differences(tasks), 1.0
		for n := range differences {
			evidence, _ := stats.MeanEvidence(differences[:n+1], 0)
			most = max(most, evidence)
		}
		return stats.Test{P: 1 / most}, true
	}},
}

func (w world) differences(tasks int) []float64 {
	return fill(tasks, func() float64 {
		p := w.beta(0.5, 2)
		return w.tosses(p, 4) - w.tosses(p, 4)
	})
}

func (w world) gradedDifferences(tasks int) []float64 {
	return fill(tasks, func() float64 {
		quality := w.beta(0.7, 3)
		return w.graded(quality) - w.graded(quality)
	})
}

func (w world) rows(tasks int, value func(quality float64) float64) [][]float64 {
	rows := make([][]float64, tasks)
	for i := range rows {
		quality := w.beta(0.5, 2)
		rows[i] = fill(4, func() float64 { return value(quality) })
	}
	return rows
}

func sums(clusters [][]float64) []float64 {
	all := make([]float64, len(clusters))
	for i, cluster := range clusters {
		all[i] = stats.Sum(cluster)
	}
	return all
}

func TestLevels(t *testing.T) {
	const alpha = 0.05
	for _, a := range alike {
		for _, tasks := range sizes() {
			got := share(t, func(w world) bool {
				test, ok := a.test(w, tasks)
				return ok && test.P <= alpha
			})
			t.Logf("%-40s %4d tasks: %.1f %%", a.name, tasks, 100*got)
			if got > alpha+chanceError(t, alpha) {
				t.Errorf("%s, %d tasks: finds %v where there is nothing", a.name, tasks, got)
			}
		}
	}
}

// As many pairs as are said to be needed find the difference four times in five.
func TestPower(t *testing.T) {
	connor, _ := usual.NeededMcNemar(0.15, 0.05)
	byT, _ := usual.NeededT(1, 0.5)
	for name, finds := range map[string]func(w world) (stats.Test, bool){
		"McNemar": func(w world) (stats.Test, bool) {
			won, lost := 0, 0
			for range int(connor) + 1 {
				switch p := w.Float64(); {
				case p < 0.15:
					won++
				case p < 0.20:
					lost++
				}
			}
			return stats.McNemar(won, lost)
		},
		"t": func(w world) (stats.Test, bool) {
			estimate, _ := stats.MeanOf(fill(int(byT)+1, func() float64 { return w.NormFloat64() + 0.5 }))
			return estimate.Test()
		},
	} {
		got := share(t, func(w world) bool {
			test, ok := finds(w)
			return ok && test.P <= 0.05
		})
		t.Logf("%s: %.1f %%", name, 100*got)
		if exactness := 0.06; got < 0.8-exactness-chanceError(t, 0.8) || got > 0.8+0.02+chanceError(t, 0.8) {
			t.Errorf("%s: power %v", name, got)
		}
	}
}
