package calibrate

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// levelNames are what labels can say, by number.
func (m *measure) levelNames() []string {
	if !m.ordered() || len(m.Labels.Levels) == 0 {
		return []string{"no", "yes"}
	}
	var names []string
	for _, level := range m.Labels.Levels {
		names = append(names, level.Name)
	}
	return names
}

func (m *measure) confusion() Confusion {
	c := Confusion{Levels: m.levelNames()}
	for range c.Levels {
		c.Counts = append(c.Counts, make([]int, len(c.Levels)))
	}
	for i := range m.scored {
		c.Counts[m.labelSays(m.scored[i].Label)][m.says(m.scored[i].Score)]++
	}
	return c
}

// disagreements are the outputs of which scorer and label do not say the same.
func (m *measure) disagreements() []Disagreement {
	all := []Disagreement{}
	for _, p := range m.scored {
		if m.labelSays(p.Label) != m.says(p.Score) {
			all = append(all, Disagreement{p.Name, p.Label, p.Score, p.Explanation})
		}
	}
	slices.SortStableFunc(all, func(a, b Disagreement) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Label-b.Score), math.Abs(a.Label-a.Score)), strings.Compare(a.Name, b.Name))
	})
	return all
}

// mostThresholds are tried: the scores that there are, or else as many steps.
const mostThresholds = 20

// thresholds are what other numbers would make of the scores.
func (m *measure) thresholds() []Threshold {
	all := []Threshold{}
	if m.ordered() {
		return all
	}
	var scores []float64
	for i := range m.scored {
		scores = append(scores, m.scored[i].Score)
	}
	slices.Sort(scores)
	if scores = slices.Compact(scores); len(scores) > mostThresholds {
		scores = nil
		for i := range mostThresholds {
			scores = append(scores, float64(i+1)/mostThresholds)
		}
	}
	for _, threshold := range scores {
		all = append(all, m.threshold(threshold))
	}
	return all
}

func (m *measure) threshold(threshold float64) Threshold {
	at := *m
	at.Threshold = threshold
	counts := at.confusion().Counts
	said := mapped(m.clusters(scoreAndLabel), at.says, at.labelSays)
	kappa, ok := stats.Kappa(said, stats.Same)
	no, yes := counts[0], counts[1]
	return Threshold{
		Threshold: threshold, Yes: no[1] + yes[1], Kappa: page.ValueOf(kappa.Value, ok),
		Same:  page.Ratio(int64(no[0]+yes[1]), int64(len(m.scored))),
		Found: page.Ratio(int64(yes[1]), int64(yes[0]+yes[1])), Wrong: page.Ratio(int64(no[1]), int64(no[0]+no[1])),
	}
}
