package reports

import (
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// Judges is how far those whom a scorer asked about the runs of a configuration
// agree. Only scores that count are in it, those of iterations too.
type Judges struct {
	Scorer string `json:"scorer"`
	// Agreement is the share of the scores with several votes on a question in which
	// these are equal.
	Agreement page.Value `json:"agreement"`
	// WithoutScore is the share of the runs without a score.
	WithoutScore page.Value `json:"without_score"`
}

// judges are the scorers that asked others about a configuration, in the order of the scores.
func (c *collector) judges(configuration int, scores []Score) (all []Judges) {
	for _, s := range scores {
		heard := c.judged[judgedBy{s.Name, int32(configuration)}]
		if len(heard) == 0 {
			continue
		}
		var agree, several int64
		for _, votes := range heard {
			agree += int64(number(votes == votesAgree))
			several += int64(number(votes != oneVote))
		}
		runs := len(c.runs.ordered[configuration])
		all = append(all, Judges{s.Name, page.Ratio(agree, several), page.Ratio(int64(runs-s.Scored), int64(runs))})
	}
	return all
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

// agreement is whether the votes on the same question agree.
type agreement uint8

const (
	oneVote agreement = iota // no question has several
	votesAgree
	votesDiffer
)

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
		all = map[judgedThing]agreement{}
		c.judged[by] = all
	}
	all[thing] = agreementOf(s.Votes)
}

// Disagree reports whether votes on the same question differ.
func Disagree(votes []record.Vote) bool { return agreementOf(votes) == votesDiffer }

func agreementOf(votes []record.Vote) (of agreement) {
	for _, values := range byQuestion(votes) {
		if len(values) > 1 {
			of = max(of, votesAgree)
			if slices.Min(values) < slices.Max(values) {
				of = votesDiffer
			}
		}
	}
	return of
}

// byQuestion are the values of the votes that there are, by what was asked. Of a pair that was
// asked about in both orders, both answers are one vote.
func byQuestion(votes []record.Vote) (questions [][]float64) {
	if slices.ContainsFunc(votes, func(v record.Vote) bool { return v.Swapped }) {
		return [][]float64{inBothOrders(votes)}
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

// inBothOrders are the means of what votes on pairs are worth to the same output where it stands
// first, and where it stands second: of each judge the n-th with the n-th, where
// both are there.
func inBothOrders(votes []record.Vote) (means []float64) {
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
			means = append(means, (straight[v.Judge][n].Value+v.Value)/2)
		}
	}
	return means
}
