package reports

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/numbers"
	"github.com/agentbench/agentbench/reports/stats"
)

// Stop is one way in which runs of a configuration stopped.
type Stop struct {
	Reason record.Reason `json:"reason"`
	Class  record.Class  `json:"class"`
	// Fired is the name of the condition or guard.
	Fired      string        `json:"fired,omitempty"`
	Runs       int           `json:"runs"`
	Share      numbers.Value `json:"share"`      // of the runs that count
	Iterations numbers.Value `json:"iterations"` // mean of these runs
	// Score is the mean of the primary score over these runs.
	Score numbers.Value `json:"score"`
}

type stopKey struct {
	Reason record.Reason
	Class  record.Class
	Fired  string
}

// Name is the reason, and what fired where that says more.
func (s *Stop) Name() string {
	reason := string(s.Reason)
	if s.Fired == "" || s.Fired == reason || strings.HasSuffix(reason, ":"+s.Fired) {
		return reason
	}
	return reason + " (" + s.Fired + ")"
}

// stops are the ways in which a configuration's runs stopped, the most frequent
// first.
func (c *collector) stops(configuration int) []Stop {
	type group struct {
		runs, iterations int64
		scores           []float64
	}
	groups := make([]group, len(c.runs.stops))
	for _, at := range c.runs.ordered[configuration] {
		run := &c.runs.all[at]
		g := &groups[run.stop]
		g.runs++
		g.iterations += int64(run.iterations)
		if score, ok := c.runs.primary(at); ok {
			g.scores = append(g.scores, score)
		}
	}
	stops := []Stop{}
	for i, g := range groups {
		if g.runs > 0 {
			key := c.runs.stops[i]
			stops = append(stops, Stop{
				Reason: key.Reason, Class: key.Class, Fired: key.Fired, Runs: int(g.runs),
				Share:      numbers.Over(g.runs, int64(len(c.runs.ordered[configuration]))),
				Iterations: numbers.Over(g.iterations, g.runs), Score: numbers.Of(stats.Mean(g.scores)),
			})
		}
	}
	slices.SortFunc(stops, func(a, b Stop) int {
		return cmp.Or(mostFirst(a.Runs, b.Runs, a.Name(), b.Name()), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Fired, b.Fired))
	})
	return stops
}

// primary is the primary score of a run.
func (r *runs) primary(run int32) (score float64, ok bool) {
	if len(r.scores) == 0 {
		return 0, false
	}
	return r.scores[0].of(run)
}

func mostFirst(a, b int, nameA, nameB string) int {
	return cmp.Or(cmp.Compare(b, a), cmp.Compare(nameA, nameB))
}
