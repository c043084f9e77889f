package reports

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/stats"
)

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
