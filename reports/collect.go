package reports

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/stats"
)

// Collect reads the signals and scores of a result folder into a report. It
// keeps some numbers for each run and nothing of its trajectory. The order in
// which runs and scores come makes no difference, except that of several scores
// by one scorer on the same thing the last one stands, unless it was taken back.
//
// Lines that cannot be read ([record.Problem]) become a warning; any other
// error ends the collection.
func Collect(m *record.Manifest, signals iter.Seq2[*record.Signals, error], scores iter.Seq2[record.Score, error]) (*Report, error) {
	c := newCollector(m)
	for s, err := range signals {
		if err == nil {
			c.add(s)
		} else if err = c.unread(err); err != nil {
			return nil, fmt.Errorf("reading signals: %w", err)
		}
	}
	for s, err := range scores {
		if err == nil {
			c.score(&s)
		} else if err = c.unread(err); err != nil {
			return nil, fmt.Errorf("reading scores: %w", err)
		}
	}
	return c.report(), nil
}

// collector gathers what a report is made of.
type collector struct {
	manifest *record.Manifest
	runs     *runs
	at       map[string]int32 // the number of a configuration
	sums     []sums           // of each configuration
	uses     []taskUse        // of each configuration
	scorers  map[string]*scores
	absent   map[string]absent // runs that do not count, by their id
	answers  *answers          // nil: no metric asks for them
	judged   map[judgedBy]map[judgedThing]*judged
	// resamples are made once for each number of clusters and of draws.
	resamples map[[2]int]*stats.Resamples
	levels    map[int]float64 // of percentiles, by the number of clusters

	badLines, unknown, repeated int
	firstBad                    string
}

// absent is a run that does not count.
type absent struct {
	configuration int32
	task          string
	fault         record.ErrorClass // "" for a cancelled run
}

func newCollector(m *record.Manifest) *collector {
	c := &collector{
		manifest: m, runs: newRuns(m.Totals.Planned), at: map[string]int32{}, sums: make([]sums, len(m.Configurations)),
		uses:    make([]taskUse, len(m.Configurations)),
		scorers: map[string]*scores{}, absent: map[string]absent{}, answers: newAnswers(m.Metrics), judged: map[judgedBy]map[judgedThing]*judged{},
		resamples: map[[2]int]*stats.Resamples{}, levels: map[int]float64{},
	}
	for i := range m.Configurations {
		c.at[m.Configurations[i].Name] = int32(i)
		c.sums[i] = newSums()
	}
	for _, name := range m.Scorers {
		c.scorer(name)
	}
	return c
}

func (c *collector) unread(err error) error {
	var problem *record.Problem
	if !errors.As(err, &problem) {
		return err
	}
	if c.badLines == 0 {
		c.firstBad = problem.Error()
	}
	c.badLines += max(1, problem.Lines)
	return nil
}

func (c *collector) add(s *record.Signals) {
	configuration, ok := c.at[s.Configuration]
	switch {
	case !ok:
		c.unknown++
	case c.runs.find(s.ID) >= 0:
		if s.Outcome.Counts() {
			c.repeated++
		}
	case !s.Outcome.Counts():
		c.addAbsent(configuration, s)
	default:
		delete(c.absent, s.ID) // a later attempt succeeded
		head := &c.manifest.Configurations[configuration]
		c.runs.add(configuration, s, head)
		c.runs.keepSteps(s)
		c.answers.returned(s)
		if len(c.manifest.Scorers) > 0 {
			c.runs.keepReturned(s)
		}
		c.sums[configuration].add(s, head)
		task := c.runs.all[len(c.runs.all)-1].task
		c.uses[configuration].add(task, s, head, c.manifest.Tasks)
		c.uses[configuration].addSteps(task, s, head, c.manifest.Tasks)
	}
}

// addAbsent keeps one entry for each run, the same whatever the order of its
// attempts.
func (c *collector) addAbsent(configuration int32, s *record.Signals) {
	a := absent{configuration: configuration, task: strings.Clone(s.Task)}
	if s.Outcome.Status == record.Faulted {
		a.fault = "unknown"
		if e := s.Outcome.Error; e != nil && e.Class != "" {
			a.fault = e.Class
		}
	}
	if before, seen := c.absent[s.ID]; !seen || a.fault > before.fault {
		c.absent[s.ID] = a
	}
}

func (c *collector) report() *Report {
	m := c.manifest
	c.runs.scores = c.orderedScores()
	c.runs.order(len(m.Configurations))
	c.runs.absent = orderedAbsent(c.absent, len(m.Configurations))
	c.runs.forget()
	r := &Report{
		Schema: Schema, Incomplete: m.Incomplete, Suite: m.Suite, Status: m.Status, SpecHash: m.SpecHash, Seed: m.Seed, Baseline: m.Baseline,
		TaskCount: m.Tasks, Trials: m.Trials, Clusters: c.runs.countClusters(), PricesAsOf: m.PricesAsOf, Volatile: EffortOf(m), Scorers: []string{}, Simulated: m.Simulated,
		Configurations: make([]Configuration, len(m.Configurations)), runs: c.runs,
	}
	for _, s := range c.runs.scores {
		r.Scorers = append(r.Scorers, s.name)
	}
	for i := range r.Configurations {
		r.Configurations[i] = c.summarise(i)
	}
	c.warn(r)
	return r
}

// orderedScores are the scores in the order in which the suite declares them;
// those that it does not declare follow by name.
func (c *collector) orderedScores() []*scores {
	var ordered []*scores
	for _, s := range c.scorers {
		if any := s.settle(); any || slices.Contains(c.manifest.Scorers, s.name) { // else all were taken back
			ordered = append(ordered, s)
		}
	}
	place := func(s *scores) int {
		if at := slices.Index(c.manifest.Scorers, s.name); at >= 0 {
			return at
		}
		return len(c.manifest.Scorers)
	}
	slices.SortFunc(ordered, func(a, b *scores) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.name, b.name))
	})
	return ordered
}
