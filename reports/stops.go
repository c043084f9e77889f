package reports

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Stop is one way in which runs of a configuration stopped.
type Stop struct {
	Reason record.Reason `json:"reason"`
	Class  record.Class  `json:"class"`
	// Fired is the name of the condition or guard.
	Fired              string     `json:"fired,omitempty"`
	Runs               int        `json:"runs"`
	Share              page.Value `json:"share"` // of the runs that count
	ShareInterval      page.Range `json:"share_interval"`
	Iterations         page.Value `json:"iterations"` // mean of these runs
	IterationsInterval page.Range `json:"iterations_interval"`
	// Steps is the mean number of steps of these runs; missing where no agent of the
	// configuration makes several in an iteration.
	Steps         page.Value `json:"steps"`
	StepsInterval page.Range `json:"steps_interval"`
	// Score is the mean of the primary score over these runs.
	Score         page.Value `json:"score"`
	ScoreInterval page.Range `json:"score_interval"`
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
func (c *collector) stops(configuration int, m *measure) []Stop {
	runs := make([]int, len(c.runs.stops))
	for _, at := range c.runs.ordered[configuration] {
		runs[c.runs.all[at].stop]++
	}
	stops, graded := []Stop{}, m.graded()
	for i, n := range runs {
		if n > 0 {
			stops = append(stops, m.stop(int32(i), graded, c.talks(configuration)))
		}
	}
	slices.SortFunc(stops, func(a, b Stop) int {
		return cmp.Or(mostFirst(a.Runs, b.Runs, a.Name(), b.Name()), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Fired, b.Fired))
	})
	return stops
}

// talks says that agents of the configuration make steps, and that it is known how
// many.
func (c *collector) talks(configuration int) bool {
	return !c.manifest.Brief && len(c.manifest.Configurations[configuration].Steps) > 0
}

// stop measures the runs that stopped in one way. The means of these runs vary
// with the tasks that have any.
func (m *measure) stop(way int32, graded, talks bool) Stop {
	stopped := m.among(func(at int32) bool { return m.runs.all[at].stop == way })
	scored := stopped.among(func(at int32) bool { _, ok := m.runs.primary(at); return ok })
	var iterations, steps int64
	for _, at := range stopped.ordered {
		iterations += int64(m.runs.all[at].iterations)
		steps += int64(m.runs.all[at].talked)
	}
	var scores []float64
	for _, at := range scored.ordered {
		score, _ := m.runs.primary(at)
		scores = append(scores, score)
	}
	key, runs := m.runs.stops[way], len(stopped.ordered)
	s := Stop{
		Reason: key.Reason, Class: key.Class, Fired: key.Fired, Runs: runs,
		Share:              page.Ratio(int64(runs), int64(len(m.ordered))),
		ShareInterval:      m.share(func(r *run) bool { return r.stop == way }, anyRun),
		Iterations:         page.Ratio(iterations, int64(runs)),
		IterationsInterval: stopped.ratio(stopped.sums(func(r *run) float64 { return float64(r.iterations) }), stopped.counts(), m.curveDraws),
		Score:              page.ValueOf(stats.Mean(scores)), ScoreInterval: scored.meanScore(graded),
		Steps: page.Missing(page.Nothing), StepsInterval: rangeOf(stats.Interval{}, false),
	}
	if talks {
		s.Steps = page.Ratio(steps, int64(runs))
		s.StepsInterval = stopped.ratio(stopped.sums(func(r *run) float64 { return float64(r.talked) }), stopped.counts(), m.curveDraws)
	}
	return s
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
