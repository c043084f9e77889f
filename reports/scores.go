package reports

import (
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Score is what one scorer says of a configuration.
type Score struct {
	Name string `json:"name"`
	// Mean is the mean over tasks of the mean over their scored runs. The interval
	// of scores which are all 0 or 1 is stats.MeanProportionInterval, that of others
	// stats.MeanInterval, whose ends may lie beyond the scale of the scores.
	Mean page.Estimate `json:"mean" interval:"low,high"`
	// Successes are the runs with a score of 1 or more.
	Successes int `json:"successes" col:",,machines"`
	Tasks     int `json:"tasks"` // with a scored run
	Scored    int `json:"scored" col:",,machines"`
	Unscored  int `json:"unscored" col:",,machines"` // the scorer could not judge them
	Pending   int `json:"pending" col:",,machines"`  // it has not judged them yet
	// Binary is true if all scores are 0 or 1.
	Binary bool `json:"binary"`
	// Fewest and Most are the numbers of scored runs that a task has.
	Fewest int `json:"fewest_per_task"`
	Most   int `json:"most_per_task"`

	unit bool // all scores are from 0 to 1
}

// success is the least score that counts as one.
const success = 1

// scores are what one scorer said of the runs that count, in columns parallel
// to runs.all.
type scores struct {
	name     string
	values   []float64 // NaN where there is none
	unscored []bool
	versions map[string]bool // hashes of the scorer's spec that made any of them
	why      string          // of the reasons why runs are unscored, the first by order

	// What is gathered until all scores were read, when it is known which of them
	// count.
	made   []uint8  // by which of the hashes, from 1; 0: by none that is known
	hashes []string // of the scorer's spec
	whys   map[int32]string
}

func (c *collector) scorer(name string) *scores {
	s, ok := c.scorers[name]
	if !ok {
		s = &scores{name: name, versions: map[string]bool{}, whys: map[int32]string{}}
		c.scorers[name] = s
	}
	return s
}

func (c *collector) score(s *record.Score) {
	run := c.runs.find(s.Run)
	if run < 0 {
		return // the run does not count
	}
	c.hear(run, s)
	if s.Iteration != 0 {
		c.scoreStep(run, s)
		return
	}
	column := c.scorer(s.Name)
	column.grow(len(c.runs.all))
	column.put(run, s)
	c.answers.scored(run, s)
}

// put keeps what a score says of a run in the place of what one before it said.
func (s *scores) put(run int32, score *record.Score) {
	delete(s.whys, run)
	s.unscored[run], s.made[run] = false, 0
	if s.values[run] = score.Value; score.Removed || score.Unscored != "" {
		s.values[run] = math.NaN()
	}
	if score.Removed {
		return
	}
	s.made[run] = s.version(score.Scorer)
	if score.Unscored != "" {
		s.unscored[run], s.whys[run] = true, score.Unscored
	}
}

// mostVersions are told apart; those beyond count as the last one.
const mostVersions = math.MaxUint8

func (s *scores) version(hash string) uint8 {
	if hash == "" {
		return 0
	}
	at := slices.Index(s.hashes, hash)
	if at < 0 && len(s.hashes) == mostVersions {
		at = mostVersions - 1
	} else if at < 0 {
		at, s.hashes = len(s.hashes), append(s.hashes, strings.Clone(hash))
	}
	return uint8(at + 1)
}

// settle sums up what of the scores that count is told once, and says whether
// there are any.
func (s *scores) settle() (any bool) {
	for run, made := range s.made {
		if made > 0 {
			s.versions[s.hashes[made-1]] = true
		}
		any = any || s.unscored[run] || !math.IsNaN(s.values[run])
	}
	for _, why := range s.whys {
		if s.why == "" || why < s.why {
			s.why = why
		}
	}
	s.made, s.hashes, s.whys = nil, nil, nil
	return any
}

// scoreStep keeps the primary scorer's scores of iterations.
func (c *collector) scoreStep(at int32, s *record.Score) {
	run := &c.runs.all[at]
	if len(c.manifest.Scorers) == 0 || s.Name != c.manifest.Scorers[0] || s.Iteration < 1 || s.Iteration > int(run.iterations) {
		return
	}
	value := s.Value
	if s.Unscored != "" || s.Removed {
		value = math.NaN()
	}
	c.runs.stepScores[int(run.steps)+s.Iteration-1] = value
}

// grow makes room for all runs at once: growing step by step takes as much again.
func (s *scores) grow(n int) {
	if more := n - len(s.values); more > 0 {
		s.values, s.unscored, s.made = slices.Grow(s.values, more), slices.Grow(s.unscored, more), slices.Grow(s.made, more)
	}
	for len(s.values) < n {
		s.values = append(s.values, math.NaN())
		s.unscored, s.made = append(s.unscored, false), append(s.made, 0)
	}
}

// of is the score of a run, where it has one; scores that are nil have none.
func (s *scores) of(run int32) (value float64, ok bool) {
	if s == nil || int(run) >= len(s.values) || math.IsNaN(s.values[run]) {
		return 0, false
	}
	return s.values[run], true
}

// among are the scores of those runs that have one.
func (s *scores) among(group []int32) (scored []float64) {
	for _, run := range group {
		if value, ok := s.of(run); ok {
			scored = append(scored, value)
		}
	}
	return scored
}

func (s *scores) summary(r *runs, configuration int) Score {
	sum := Score{Name: s.name, Binary: true, unit: true}
	means := Means{}
	var scored []float64
	for group := range r.byTask(configuration) {
		scored = scored[:0]
		for _, run := range group {
			if value, ok := s.of(run); ok {
				scored = append(scored, value)
			} else if int(run) < len(s.unscored) && s.unscored[run] {
				sum.Unscored++
			} else {
				sum.Pending++
			}
		}
		if means.Add(r.clusterOfRun(group[0]), scored) {
			sum.count(scored)
		}
	}
	sum.Tasks, sum.Mean = len(means.All), means.Estimate()
	sum.Binary = sum.Binary && sum.Scored > 0
	return sum
}

func (s *Score) count(scored []float64) {
	if s.Scored == 0 {
		s.Fewest = len(scored)
	}
	s.Fewest, s.Most = min(s.Fewest, len(scored)), max(s.Most, len(scored))
	s.Scored += len(scored)
	for _, value := range scored {
		if value >= success {
			s.Successes++
		}
		s.Binary = s.Binary && (value == 0 || value == 1)
		s.unit = s.unit && value >= 0 && value <= 1
	}
}

func (r *runs) primary(run int32) (score float64, ok bool) {
	if len(r.scores) == 0 {
		return 0, false
	}
	return r.scores[0].of(run)
}

// primaries are the primary scores of those runs that have one.
func (r *runs) primaries(group []int32) []float64 {
	if len(r.scores) == 0 {
		return nil
	}
	return r.scores[0].among(group)
}

// succeeded is what the primary scorer says; without scorers, what the loop
// believed.
func (r *runs) succeeded(run int32) (succeeded, known bool) {
	if len(r.scores) == 0 {
		return r.all[run].believed, true
	}
	value, ok := r.scores[0].of(run)
	return value >= success, ok
}

// worthwhile is how much of the standard error has to go with twice the trials
// for more of them to be the advice. Twice the tasks take 29 % of it at the same
// number of runs, but tasks have to be written.
const worthwhile = 0.1

// moreTrials reports whether twice the trials would make the mean of a score of a configuration clearly surer.
func (s *scores) moreTrials(r *runs, configuration int) bool {
	var tasks [][]float64
	runs := 0
	for group := range r.byTask(configuration) {
		if scored := s.among(group); len(scored) > 0 {
			tasks, runs = append(tasks, scored), runs+len(scored)
		}
	}
	c, ok := stats.VarianceComponents(tasks)
	trials := float64(runs) / float64(len(tasks))
	now, twice := c.Between+c.Within/trials, c.Between+c.Within/(2*trials)
	return ok && now > 0 && twice <= (1-worthwhile)*(1-worthwhile)*now
}
