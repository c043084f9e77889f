package reports_test

import (
	"fmt"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// pairOf is two configurations with these scores: a task, then a trial.
func pairOf(base, other [][]float64) *fixture {
	f := one(len(base))
	f.manifest.Trials = len(base[0])
	f.manifest.Configurations = []record.ConfigurationHead{{Name: "base"}, {Name: "other"}}
	for c, scores := range [][][]float64{base, other} {
		for task := range scores {
			for trial, value := range scores[task] {
				s := f.run(fmt.Sprint(task), trial+1, 0.5)
				s.Configuration = f.manifest.Configurations[c].Name
				s.ID = record.RunID(s.Configuration, s.Task, s.Trial)
				f.scored(s, 0, value)
			}
		}
	}
	return f
}

func TestVariationOfPairs(t *testing.T) {
	// The differences are 0, 1, 0, 0, of variance 1/4.
	v, err := pairOf([][]float64{{0}, {0}, {1}, {1}}, [][]float64{{0}, {1}, {1}, {1}}).collect().Variation()
	if err != nil || v.Pairs != 1 || v.Tasks != 4 || !v.OneTrial || v.Paired.Between != 0.25 || v.Paired.WithinA != 0 || v.Score != "right" {
		t.Errorf("one trial: %+v, %v", v, err)
	}
	// Trials of the base vary by 1/2 each, which more than explains that the
	// differences 1/2, 1/2, -1/2 vary by 1/3.
	v, err = pairOf([][]float64{{0, 1}, {0, 1}, {0, 1}}, [][]float64{{1, 1}, {1, 1}, {0, 0}}).collect().Variation()
	if err != nil || v.OneTrial || v.Paired.WithinA != 0.5 || v.Paired.WithinB != 0 || !near(page.Value{Number: v.Paired.Between}, 1.0/3-1.0/4, 1e-12) {
		t.Errorf("two trials: %+v, %v", v, err)
	}
	if variance, ok := v.Variance(4); !ok || !near(page.Value{Number: variance}, 1.0/12+1.0/8, 1e-12) {
		t.Errorf("four trials: a variance of %v", variance)
	}
	few, many := pairOf([][]float64{{0}, {0}, {1}}, [][]float64{{0}, {1}, {1}}).collect(), pairOf([][]float64{{0, 1}, {0, 1}, {1, 1}}, [][]float64{{0, 1}, {1, 1}, {0, 1}}).collect()
	v, err = reports.VariationBetween(few, many, reports.DiffOptions{BaseConfiguration: "base", NewConfiguration: "other"})
	if err != nil || !v.OneTrial || v.Paired.WithinB == 0 {
		t.Errorf("one trial of the base alone, whose trials vary nobody knows how much: %+v, %v", v, err)
	}
	for name, f := range map[string]*fixture{"a lone configuration": tauBench(), "two tasks": pairOf([][]float64{{0}, {1}}, [][]float64{{1}, {1}})} {
		if v, err := f.collect().Variation(); err == nil {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
