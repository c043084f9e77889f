package reports_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

// asked is a score by these votes, each of which took a call.
func asked(run string, iteration int, votes ...record.Vote) record.Score {
	n := int64(len(votes))
	s := record.Score{Run: run, Name: "right", Iteration: iteration, Votes: votes, Usage: record.Usage{Calls: n, InputTokens: 10 * n, Cost: record.Money(n) * record.USD / 100}}
	for _, v := range votes {
		s.Value += v.Value / float64(n)
	}
	return s
}

func votes(values ...float64) (all []record.Vote) {
	for _, v := range values {
		all = append(all, record.Vote{Value: v})
	}
	return all
}

func judgesOf(t *testing.T, f *fixture) (*reports.Report, reports.Judges) {
	t.Helper()
	r := f.collect()
	if len(r.Configurations[0].Judges) != 1 {
		t.Fatalf("%d scorers asked", len(r.Configurations[0].Judges))
	}
	return r, r.Configurations[0].Judges[0]
}

// Votes on one output agree or not; runs that the judges gave no score are counted. What judges cost is in no cost of a run.
func TestJudgesAgree(t *testing.T) {
	f := one(2)
	f.manifest.Trials = 2
	for _, task := range []string{"a", "b"} {
		for trial := range 2 {
			s := f.run(task, trial+1, 0.5)
			f.scores = append(f.scores, asked(s.ID, 0, votes(0, 1, 1, 0)...))
		}
	}
	f.scores[2].Votes = append(votes(1, 1, 1), record.Vote{Unscored: "rate_limit: slow down"})
	f.scores[3].Unscored = "rate_limit: slow down"
	r, j := judgesOf(t, f)
	if j.Scorer != "right" || j.Agreement.Number != 0.25 || j.WithoutScore.Number != 0.25 {
		t.Errorf("%+v", j)
	}
	if c := r.Configurations[0]; math.Abs(c.Cost.Total.Number-0.04) > 1e-12 {
		t.Errorf("the runs cost %v", c.Cost.Total)
	}
	text := pagetest.Written(t, r, page.Options{Tables: []string{"metrics"}})
	if !regexp.MustCompile(`(?s)right  +right\n.*judges  +without\n.*tasks  +agree  +score\n.* 2  +25%  +25%\n`).MatchString(text) {
		t.Errorf("%s", text)
	}
	csv := pagetest.Written(t, r, page.Options{Format: "csv", Tables: []string{"metrics"}})
	if !strings.Contains(csv, `"right_agreement","right_without_score"`) || !strings.Contains(csv, "0.25,0.25") {
		t.Errorf("%s", csv)
	}
}

// Of several scores of one thing the last one counts, and none that was taken
// back.
func TestJudgesOfScoresThatCount(t *testing.T) {
	f := one(1)
	s := f.run("a", 1, 0.5, 0.6)
	f.scores = []record.Score{
		asked(s.ID, 0, votes(1, 1)...), asked(s.ID, 1, votes(0, 1)...), asked(s.ID, 2, votes(0.5, 0.5, 0.5)...),
		asked(s.ID, 0, votes(0, 1)...), {Run: s.ID, Name: "right", Iteration: 1, Removed: true},
	}
	if _, j := judgesOf(t, f); j.Agreement.Number != 0.5 {
		t.Errorf("%+v", j)
	}
	f.scores = append(f.scores, record.Score{Run: s.ID, Name: "right", Value: 1}, record.Score{Run: s.ID, Name: "right", Iteration: 2, Removed: true})
	if all := f.collect().Configurations[0].Judges; len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// Votes on different criteria may differ; in both orders of a pair a judge may be
// asked to say the same.
func TestJudgesCompareVotesOnTheSameQuestion(t *testing.T) {
	f := one(8)
	for i := range 8 {
		s := f.run(fmt.Sprint("t", i), 1, 0.5)
		f.scores = append(f.scores, asked(s.ID, 0, record.Vote{Criterion: "tone", Value: 0}, record.Vote{Criterion: "facts", Value: 1}))
	}
	if _, j := judgesOf(t, f); j.Agreement.Known() {
		t.Errorf("%+v", j)
	}
	for i := range f.scores {
		f.scores[i].Votes = []record.Vote{{Value: 1}, {Value: 0, Swapped: true}} // the first one, both times
	}
	if _, j := judgesOf(t, f); j.Agreement.Known() {
		t.Errorf("%+v", j)
	}
}

func TestJudgesDoNotDependOnOrder(t *testing.T) {
	f := one(12)
	for i := range 12 {
		s := f.run(fmt.Sprint("t", i), 1, 0.5, 0.7)
		for iteration := range 3 {
			f.scores = append(f.scores, asked(s.ID, iteration, votes(draw("v", i, iteration), draw("w", i, iteration), draw("x", i, iteration))...))
		}
	}
	want := pagetest.Written(t, f.collect(), page.Options{Format: "json"})
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(f.signals), func(i, j int) { f.signals[i], f.signals[j] = f.signals[j], f.signals[i] })
		random.Shuffle(len(f.scores), func(i, j int) { f.scores[i], f.scores[j] = f.scores[j], f.scores[i] })
		if got := pagetest.Written(t, f.collect(), page.Options{Format: "json"}); got != want {
			t.Fatalf("%s\nwant %s", got, want)
		}
	}
}

// Votes on one question that differ disagree; of a pair that was asked about in both orders, both
// answers are one vote.
func TestVotesThatDisagree(t *testing.T) {
	vote := func(judge string, value float64) record.Vote { return record.Vote{Judge: judge, Value: value} }
	swapped := func(v record.Vote) record.Vote { v.Swapped = true; return v }
	criterion := func(v record.Vote, name string) record.Vote { v.Criterion = name; return v }
	for want, cases := range map[bool][][]record.Vote{
		true: {{vote("a", 1), vote("b", 0)}, {vote("a", 1), vote("a", 0.5)}},
		false: {
			nil, {vote("a", 1)}, {vote("a", 1), vote("b", 1)}, {vote("a", 1), {Judge: "b", Unscored: "refused"}}, {vote("a", 1), swapped(vote("a", 0))},
			{criterion(vote("a", 1), "kind"), criterion(vote("a", 0), "short")},
		},
	} {
		for _, votes := range cases {
			if got := reports.Disagree(votes); got != want {
				t.Errorf("%+v: %v, want %v", votes, got, want)
			}
		}
	}
}
