package reports

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Judges is what a scorer asked others about the runs of a configuration, what
// that took, and how much it matters whom and how often one asks. What it took is
// in no run's usage. Only scores that count are in it, those of iterations too.
type Judges struct {
	Scorer   string  `json:"scorer"`
	Scores   int     `json:"scores"`
	Votes    int     `json:"votes"`
	Failed   []Count `json:"failed"`   // votes that are missing, by the class of the error
	Repaired int     `json:"repaired"` // votes that were in the form asked for at the second time
	// Calls, Tokens and Cost are as if nothing were cached.
	Calls  int64      `json:"calls"`
	Tokens page.Value `json:"tokens"`
	Cost   page.Value `json:"cost_usd"`

	// Differ is the share of the scores with several votes on a question in which
	// these differ; SD is their standard deviation, the mean over such scores.
	Differ page.Value `json:"votes_differ"`
	SD     page.Value `json:"votes_sd"`
	// Variance is that of the votes on the same output. Within is the variance of
	// the scores of one task's trials, Between that of the tasks, as in the residue.
	Variance page.Value `json:"variance_votes"`
	Within   page.Value `json:"variance_within"`
	Between  page.Value `json:"variance_between"`
	// Noise is how much of Within the votes make: the variance that is left in the
	// mean of them, beside it. What judges of a panel always differ by is not in it.
	Noise page.Value `json:"votes_share_of_within"`

	// Pairs are those votes that were asked for in both orders, Changed the share
	// of them in which the order changed the verdict, First what standing first is
	// worth (0.5: nothing), PlaceP the chance of as many tasks, or clusters of them,
	// in favour of one place where it says nothing (stats.PositionBias).
	Pairs   int        `json:"pairs"`
	Changed page.Value `json:"order_changed"`
	First   page.Value `json:"first_place"`
	PlaceP  page.Value `json:"first_place_p"`
}

// judges are the scorers that asked others about a configuration.
func (c *collector) judges(configuration int, residue []Part) (all []Judges) {
	for _, s := range c.runs.scores {
		heard := c.heard(s.name, configuration)
		if len(heard) == 0 {
			continue
		}
		j := Judges{Scorer: s.name, Scores: len(heard), Within: page.Missing(page.OneTrial), Between: page.Missing(page.OneTrial)}
		j.count(heard)
		for i := range residue {
			if residue[i].Scorer == s.name {
				j.Within, j.Between = residue[i].Within, residue[i].Between
			}
		}
		j.disagree(heard)
		j.places(c.runs, heard)
		all = append(all, j)
	}
	return all
}

// count adds up what was asked and what that took.
func (j *Judges) count(heard []*judged) {
	var used record.Usage
	failed := map[record.ErrorClass]int{}
	for _, one := range heard {
		j.Votes += one.votes
		j.Repaired += one.repaired
		used = used.Plus(one.used)
		for _, class := range one.failed {
			failed[class]++
		}
	}
	j.Failed, j.Calls = counted(failed), used.Calls
	j.Cost = costOr(used.Cost, used.Unpriced > 0, used.Unreported > 0)
	if j.Tokens = page.Known(float64(used.Tokens())); !used.TokensTold() {
		j.Tokens = page.Missing(page.Unknown)
	}
}

// disagree compares votes on the same output.
func (j *Judges) disagree(heard []*judged) {
	var variances, deviations []float64
	differ := 0
	for _, one := range heard {
		if !one.several {
			continue
		}
		variances, deviations = append(variances, one.variance), append(deviations, math.Sqrt(one.variance))
		if one.differ {
			differ++
		}
	}
	j.Differ, j.SD, j.Variance = page.Ratio(int64(differ), int64(len(variances))), page.ValueOf(stats.Mean(deviations)), page.ValueOf(stats.Mean(variances))
	j.Noise = page.Missing(page.Nothing)
	if noise, ok := noise(heard); ok && j.Within.Known() && j.Within.Number > 0 {
		j.Noise = page.Known(noise / j.Within.Number)
	}
}

// places compares both orders of pairs. Those of one task, or of one cluster of
// tasks, speak with one voice for or against a place.
func (j *Judges) places(runs *runs, heard []*judged) {
	var clusters [][]stats.Placed
	at := map[unit]int{}
	for _, one := range heard {
		of, known := at[runs.unitOf(one.task)]
		if !known {
			of = len(clusters)
			at[runs.unitOf(one.task)], clusters = of, append(clusters, nil)
		}
		clusters[of] = append(clusters[of], one.placed...)
	}
	bias, ok := stats.PositionBias(clusters)
	j.Pairs = bias.Pairs
	j.Changed, j.First, j.PlaceP = page.ValueOf(bias.Changed, ok), page.ValueOf(bias.First, ok), page.ValueOf(bias.P, ok)
}

// judgesTable tells of the scorers that asked others: what that took, which is in
// no cost of a run, and how much their votes differ, beside what trials and tasks
// do.
func judgesTable(r *Report) page.Table {
	type judges = row[Judges]
	count := func(head, key string, of func(*Judges) int) page.Fields[judges] {
		return page.Counted(head, key, func(row judges) int { return of(row.of) })
	}
	number := func(head, key string, form func(page.Value) string, of func(*Judges) page.Value, kinds ...WarningKind) page.Fields[judges] {
		return page.Of(page.Column{Head: head, Key: key, Right: true}, func(row judges) page.Cell {
			return page.Number(of(row.of), form, row.notesOf(row.of.Scorer, kinds...)...)
		}).Optional()
	}
	score := func(v page.Value) string { return page.Score(v, 2) }
	variance := func(v page.Value) string { return page.Score(v, 3) }
	fields := slices.Concat(nameFields(r, configurationOf[Judges]),
		page.Named("score", "scorer", func(row judges) string { return row.of.Scorer }),
		count("scores", "scores", func(j *Judges) int { return j.Scores }),
		count("votes", "votes", func(j *Judges) int { return j.Votes }),
		number("votes\ndiffer", "votes_differ", page.Percent, func(j *Judges) page.Value { return j.Differ }, VotesDiffer),
		number("order\nmatters", "order_changed", page.Percent, func(j *Judges) page.Value { return j.Changed }, FirstPlace),
		number("cost", "cost_usd", r.dollars, func(j *Judges) page.Value { return j.Cost }),
		page.Of(page.Column{Head: "failed", Key: "failed", Right: true}, func(row judges) page.Cell {
			if n := countAll(row.of.Failed); n > 0 {
				return page.Cell{Text: fmt.Sprint(n), Raw: countText(row.of.Failed)}
			}
			return page.Cell{Raw: ""}
		}).Optional(),
		count("repaired", "repaired", func(j *Judges) int { return j.Repaired }).Minor(),
		count("calls", "calls", func(j *Judges) int { return int(j.Calls) }).Minor(),
		number("tokens", "tokens", page.Whole, func(j *Judges) page.Value { return j.Tokens }).Minor(),
		number("SD of\nvotes", "votes_sd", score, func(j *Judges) page.Value { return j.SD }).Wide(),
		number("variance\nof votes", "variance_votes", variance, func(j *Judges) page.Value { return j.Variance }).Wide(),
		number("within\ntasks", "variance_within", variance, func(j *Judges) page.Value { return j.Within }).Wide(),
		number("between\ntasks", "variance_between", variance, func(j *Judges) page.Value { return j.Between }).Wide(),
		number("first\nplace", "first_place", score, func(j *Judges) page.Value { return j.First }).Wide(),
		number("", "votes_share_of_within", score, func(j *Judges) page.Value { return j.Noise }).ForMachines(),
		count("", "pairs", func(j *Judges) int { return j.Pairs }).ForMachines(),
		number("", "first_place_p", score, func(j *Judges) page.Value { return j.PlaceP }).ForMachines())
	return page.Filled(page.Table{Keys: 2, Name: "judges", Title: "What scorers asked of others, which is in no cost of a run"}, fields,
		rowsOf(r, func(c *Configuration) []Judges { return c.Judges }))
}

// judged is what is kept of a score that was asked for: nothing of its texts.
type judged struct {
	votes, repaired int
	failed          []record.ErrorClass // of the votes that are missing
	used            record.Usage
	several         bool    // some question has several votes
	differ          bool    // votes on one question do
	variance        float64 // of the votes on a question, the mean over the questions
	noise           float64 // what the variance leaves in the score
	panel           bool    // several judges were asked
	questions       int
	apart           []float64      // of a panel: see there
	placed          []stats.Placed // what pairs are worth in both orders
	task            int32
}

// judgedBy are the scores of a scorer on the runs of a configuration.
type judgedBy struct {
	scorer        string
	configuration int32
}

// judgedThing is what was judged: a run, or one of its iterations.
type judgedThing struct {
	run       int32
	iteration int32 // 0: the run
}

// hear keeps what others said of a run for a scorer, in the place of what they
// said before.
func (c *collector) hear(run int32, s *record.Score) {
	thing := judgedThing{run, int32(s.Iteration)}
	by := judgedBy{s.Name, c.runs.all[run].configuration}
	all := c.judged[by]
	if s.Removed || len(s.Votes) == 0 && s.Usage == (record.Usage{}) {
		delete(all, thing)
		return
	}
	if all == nil {
		all = map[judgedThing]*judged{}
		c.judged[by] = all
	}
	all[thing] = judgedOf(s)
	all[thing].task = c.runs.all[run].task
}

func judgedOf(s *record.Score) *judged {
	j := &judged{votes: len(s.Votes), used: s.Usage}
	for i := range s.Votes {
		v := &s.Votes[i]
		switch {
		case v.Unscored != "":
			j.failed = append(j.failed, classOf(v.Unscored))
		case v.Repaired:
			j.repaired++
		}
	}
	j.placed = orders(s.Votes)
	j.spread(s.Votes)
	return j
}

// classOf is the class of an error that stands before its message, which may
// quote what a model said.
func classOf(unscored string) record.ErrorClass {
	class, _, ok := strings.Cut(unscored, ": ")
	if !ok || strings.Trim(class, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return "other"
	}
	return record.ErrorClass(strings.Clone(class))
}

// spread is how much the votes on the same question differ. Of a pair that was
// asked about in both orders, both answers are one vote.
func (j *judged) spread(votes []record.Vote) {
	var variances []float64
	questions := byQuestion(votes)
	given := 0
	for _, of := range questions {
		given += len(of)
		if variance, ok := stats.Variance(of); ok {
			variances = append(variances, variance)
			j.differ = j.differ || slices.Min(of) < slices.Max(of)
		}
	}
	j.variance, j.several = stats.Mean(variances)
	j.noise = j.variance / float64(max(1, given))
	if j.panel = slices.ContainsFunc(votes, func(v record.Vote) bool { return v.Judge != "" }); j.panel {
		j.questions, j.apart = len(questions), apart(votes, questions)
	}
}

// byQuestion are the values of the votes that there are, by what was asked.
func byQuestion(votes []record.Vote) (questions [][]float64) {
	if slices.ContainsFunc(votes, func(v record.Vote) bool { return v.Swapped }) {
		var both []float64
		for _, v := range orders(votes) {
			both = append(both, (v.First+v.Second)/2)
		}
		return [][]float64{both}
	}
	at := map[string]int{}
	for i := range votes {
		v := &votes[i]
		question, known := at[v.Criterion]
		if !known {
			question = len(questions)
			at[v.Criterion], questions = question, append(questions, nil)
		}
		if v.Unscored == "" {
			questions[question] = append(questions[question], v.Value)
		}
	}
	return questions
}

// heard are the scores of a scorer on runs of a configuration, in the order of
// the runs.
func (c *collector) heard(scorer string, configuration int) []*judged {
	heard := c.judged[judgedBy{scorer, int32(configuration)}]
	things := slices.Collect(maps.Keys(heard))
	place := make(map[int32]int, len(things))
	for i, run := range c.runs.ordered[configuration] {
		place[run] = i
	}
	slices.SortFunc(things, func(a, b judgedThing) int {
		return cmp.Or(cmp.Compare(place[a.run], place[b.run]), cmp.Compare(a.iteration, b.iteration))
	})
	all := make([]*judged, len(things))
	for i, thing := range things {
		all[i] = heard[thing]
	}
	return all
}

// Score is what one scorer says of a configuration.
type Score struct {
	Name string `json:"name"`
	// Mean is the mean over tasks of the mean over their scored runs.
	Mean page.Value `json:"mean"`
	// Low and High are the ends of the 95 % interval of the mean: that of scores
	// which are all 0 or 1 is stats.MeanProportionInterval, that of others
	// stats.MeanInterval, whose ends may lie beyond the scale of the scores.
	Low  page.Value `json:"low"`
	High page.Value `json:"high"`
	// Successes are the runs with a score of 1 or more.
	Successes int `json:"successes"`
	Tasks     int `json:"tasks"` // with a scored run
	Scored    int `json:"scored"`
	Unscored  int `json:"unscored"` // the scorer could not judge them
	Pending   int `json:"pending"`  // it has not judged them yet
	// Binary says that all scores are 0 or 1.
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

func (s *scores) grow(n int) {
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

// summary sums up the scores of a configuration's runs.
func (s *scores) summary(r *runs, configuration int) Score {
	sum := Score{Name: s.name, Binary: true, unit: true}
	means := taskMeans{runs: r}
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
		if means.add(group[0], scored) {
			sum.count(scored)
		}
	}
	sum.Tasks, sum.Mean = len(means.all), page.ValueOf(stats.Mean(means.all))
	sum.Binary = sum.Binary && sum.Scored > 0
	interval := rangeOf(means.interval())
	sum.Low, sum.High = interval.Low, interval.High
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
