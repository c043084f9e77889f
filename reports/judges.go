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
	// the scores of one task's trials, Between that of the tasks.
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
func (c *collector) judges(configuration int) (all []Judges) {
	for _, s := range c.runs.scores {
		heard := c.heard(s.name, configuration)
		if len(heard) == 0 {
			continue
		}
		j := Judges{Scorer: s.name, Scores: len(heard), Within: page.Missing(page.OneTrial), Between: page.Missing(page.OneTrial)}
		j.count(heard)
		if of, _, ok := s.components(c.runs, configuration); ok {
			j.Within, j.Between = page.Known(of.Within), page.Known(of.Between)
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
		return page.Right(head, key, func(row judges) page.Cell {
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
		page.Right("failed", "failed", func(row judges) page.Cell {
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
	for v := range page.EachOf(s.Votes) {
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
		}
	}
	j.differ = differ(questions)
	j.variance, j.several = stats.Mean(variances)
	j.noise = j.variance / float64(max(1, given))
	if j.panel = slices.ContainsFunc(votes, func(v record.Vote) bool { return v.Judge != "" }); j.panel {
		j.questions, j.apart = len(questions), apart(votes, questions)
	}
}

// Disagree reports whether votes on the same question differ.
func Disagree(votes []record.Vote) bool { return differ(byQuestion(votes)) }

func differ(questions [][]float64) bool {
	return slices.ContainsFunc(questions, func(of []float64) bool { return len(of) > 1 && slices.Min(of) < slices.Max(of) })
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
	for v := range page.EachOf(votes) {
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
	if len(heard) == 0 { // else the places of a million runs would be for nothing
		return nil
	}
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

// apart is by how much each vote of a panel is off the mean of those on its
// question; nil where one judge voted alone, or a vote is missing.
func apart(votes []record.Vote, questions [][]float64) (all []float64) {
	missing := func(v record.Vote) bool { return v.Judge == "" || v.Unscored != "" }
	if slices.ContainsFunc(votes, missing) {
		return nil
	}
	for _, of := range questions {
		mean, _ := stats.Mean(of)
		for _, value := range of {
			all = append(all, value-mean)
		}
	}
	return all
}

// noise is the variance that votes leave in the mean of them. What a judge of a
// panel differs by from the others on every output is no part of it, since it
// moves the scores of all trials alike.
func noise(heard []*judged) (variance float64, ok bool) {
	var alone []float64
	var panel [][]float64
	questions := 0
	for _, one := range heard {
		switch {
		case len(one.apart) > 0:
			panel, questions = append(panel, one.apart), max(questions, one.questions)
		case one.several && !one.panel:
			alone = append(alone, one.noise)
		}
	}
	if len(panel) > 0 {
		return panelNoise(panel, questions)
	}
	return stats.Mean(alone)
}

// panelNoise is what is left of the votes when the means over outputs are taken
// from the votes at each place of the panel: the residual of two ways, outputs and
// places, per vote.
func panelNoise(panel [][]float64, questions int) (variance float64, ok bool) {
	places := 0
	for _, votes := range panel {
		places = max(places, len(votes))
	}
	panel = slices.DeleteFunc(panel, func(votes []float64) bool { return len(votes) < places })
	if len(panel) < 2 || places <= questions {
		return 0, false
	}
	left := 0.0
	column := make([]float64, len(panel))
	for place := range places {
		for i := range panel {
			column[i] = panel[i][place]
		}
		of, _ := stats.Variance(column) // over one less than the outputs, as wanted
		left += of
	}
	return left / float64(places-questions) / float64(places), true
}

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
	for v := range page.EachOf(votes) {
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
