package reports

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/stats"
)

// orders are what votes on pairs are worth to the same output where it stands
// first, and where it stands second: of each judge the n-th with the n-th, where
// both are there.
func orders(votes []record.Vote) (both []stats.Placed) {
	asked := map[string]int{}
	straight := map[string][]*record.Vote{}
	for i := range votes {
		if v := &votes[i]; !v.Swapped {
			straight[v.Judge] = append(straight[v.Judge], v)
		}
	}
	for i := range votes {
		v := &votes[i]
		if !v.Swapped {
			continue
		}
		n := asked[v.Judge]
		asked[v.Judge]++
		if n < len(straight[v.Judge]) && v.Unscored == "" && straight[v.Judge][n].Unscored == "" {
			both = append(both, stats.Placed{First: straight[v.Judge][n].Value, Second: v.Value})
		}
	}
	return both
}
