package reports_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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

// Votes on one output are told apart from what trials of a task differ by, and
// from what tasks do; what they cost is in no cost of a run.
func TestJudgesAreTheirOwnLedger(t *testing.T) {
	f := one(2)
	f.manifest.Trials = 2
	for _, task := range []string{"a", "b"} {
		for trial := range 2 {
			s := f.run(task, trial+1, 0.5)
			f.scores = append(f.scores, asked(s.ID, 0, votes(0, 1, 1, 0)...))
		}
	}
	last := &f.scores[3]
	last.Votes = votes(1, 1, 1)
	last.Votes = append(last.Votes, record.Vote{Unscored: "rate_limit: slow down"})
	last.Votes[0].Repaired, last.Value = true, 1
	r, j := judgesOf(t, f)
	if j.Scores != 4 || j.Votes != 16 || j.Repaired != 1 || j.Calls != 16 || j.Tokens.Number != 160 || math.Abs(j.Cost.Number-0.16) > 1e-12 {
		t.Errorf("%+v", j)
	}
	if !slices.Equal(j.Failed, []reports.Count{{Name: "rate_limit", N: 1}}) {
		t.Errorf("failed: %v", j.Failed)
	}
	if j.Differ.Number != 0.75 || math.Abs(j.Variance.Number-0.25) > 1e-12 || math.Abs(j.SD.Number-0.75*math.Sqrt(1.0/3)) > 1e-12 {
		t.Errorf("%v differ, by %v and %v", j.Differ, j.Variance, j.SD)
	}
	// The trials are worth 0.5 and 0.5, 0.5 and 1: a variance of 0 and 0.125. The votes leave 1/12 in three of the scores.
	if math.Abs(j.Within.Number-0.0625) > 1e-12 || math.Abs(j.Noise.Number-0.75/12/0.0625) > 1e-12 {
		t.Errorf("within %v, of which %v", j.Within, j.Noise)
	}
	if c := r.Configurations[0]; math.Abs(c.Cost.Total.Number-0.04) > 1e-12 {
		t.Errorf("the runs cost %v", c.Cost.Total)
	}
	text := pagetest.Written(t, r, page.Options{Tables: []string{"judges"}, Width: 200})
	if !strings.Contains(text, "the votes of right differ so much that this is 100% of what the trials of a task") || !strings.Contains(text, "75%") {
		t.Errorf("%s", text)
	}
}

// Of several scores of one thing the last one counts, and none that was taken
// back.
func TestJudgesOfScoresThatCount(t *testing.T) {
	f := one(1)
	s := f.run("a", 1, 0.5, 0.6)
	f.scores = []record.Score{
		asked(s.ID, 0, votes(1, 1)...), asked(s.ID, 1, votes(0, 0)...), asked(s.ID, 2, votes(0.5, 0.5, 0.5)...),
		asked(s.ID, 0, votes(1)...), {Run: s.ID, Name: "right", Iteration: 1, Removed: true},
	}
	if _, j := judgesOf(t, f); j.Scores != 2 || j.Votes != 4 || j.Calls != 4 || j.Differ.Number != 0 {
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
	if _, j := judgesOf(t, f); j.Differ.Known() || j.Pairs != 0 || j.First.Known() {
		t.Errorf("%+v", j)
	}
	for i := range f.scores {
		f.scores[i].Votes = []record.Vote{{Value: 1}, {Value: 0, Swapped: true}} // the first one, both times
	}
	r, j := judgesOf(t, f)
	if j.Pairs != 8 || j.Changed.Number != 1 || j.First.Number != 1 || j.Differ.Known() {
		t.Errorf("%+v", j)
	}
	text := pagetest.Written(t, r, page.Options{Tables: []string{"judges"}, Width: 160})
	if want := "right depends on the place of an output, over 8 pairs: the first position is worth 1.00, p 0.008; both orders were asked"; !strings.Contains(text, want) {
		t.Errorf("%s", text)
	}
}

// A judge who is stricter than the other on every output moves the scores of all
// trials alike: no noise. What is left of the differences is.
func TestStrictJudgesAreNoNoise(t *testing.T) {
	by := func(strict float64) reports.Judges {
		f := one(3)
		f.manifest.Trials = 2
		for i := range 6 {
			s := f.run(fmt.Sprint("t", i/2), i%2+1, 0.5)
			worth, off := 0.5+float64(i%2)/4, 0.02*float64(i%3-1)
			f.scores = append(f.scores, asked(s.ID, 0, record.Vote{Judge: "kind", Value: worth + off}, record.Vote{Judge: "strict", Value: worth - strict - off}))
		}
		_, j := judgesOf(t, f)
		return j
	}
	// The votes are off their mean by 0.02 times -1, 0, 1, twice: of a judge 4 of 5 of that squared, and there is one degree for two votes.
	alike, apart := by(0), by(0.4)
	if want := 2 * 0.0004 * 0.8 / 2 / alike.Within.Number; math.Abs(alike.Noise.Number-want) > 1e-9 || math.Abs(apart.Noise.Number-want) > 1e-9 {
		t.Errorf("%v and %v, want %v", alike.Noise, apart.Noise, want)
	}
	if apart.Differ.Number != 1 || apart.Variance.Number < 0.07 {
		t.Errorf("they differ: %+v", apart)
	}
}

// However often a judge is asked about the outputs of one task, they say one thing of
// the place; so do the tasks of a cluster.
func TestPlacesAreToldByTasks(t *testing.T) {
	for name, of := range map[string]func(i int) (task, cluster string){
		"task":    func(i int) (string, string) { return "a", "" },
		"cluster": func(i int) (string, string) { return fmt.Sprint("t", i), "c" },
	} {
		f := one(8)
		for i := range 8 {
			task, cluster := of(i)
			s := f.run(task, i+1, 0.5)
			s.Cluster = cluster
			f.scores = append(f.scores, asked(s.ID, 0, record.Vote{Value: 1}, record.Vote{Value: 0, Swapped: true}))
		}
		if _, j := judgesOf(t, f); j.Pairs != 8 || j.Changed.Number != 1 || j.PlaceP.Number != 1 {
			t.Errorf("%s: %+v", name, j)
		}
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
