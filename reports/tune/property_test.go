package tune_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec/expr"
)

// random is a table of runs that stop at the first of some limits; what goes on
// longer is right more often, and costs more.
func random(tasks, trials int, seed uint64) *table {
	r := rand.New(rand.NewPCG(seed, 7))
	all := map[limits][]cell{}
	order := []limits{{9}}
	for k := 1; k <= 5; k++ {
		for _, p := range []int{1, 2, 0} {
			order = append(order, limits{k, p})
		}
	}
	type draw struct{ solved, stuck int }
	draws := make([]draw, tasks*trials)
	for i := range draws {
		draws[i] = draw{1 + r.IntN(8), 1 + r.IntN(6)}
	}
	for _, l := range order {
		for _, d := range draws {
			steps := min(l[0], d.solved)
			if l[1] > 0 {
				steps = min(steps, d.stuck+l[1])
			}
			all[l] = append(all[l], cell{float64(toInt(steps >= d.solved)), steps, int64(steps) * int64(3+d.stuck)})
		}
	}
	return made(tasks, trials, all, order...)
}

var choosing = []tune.ChoiceRule{{Rule: tune.MaxLoss, Number: 0.3}, {Rule: tune.AtLeast, Number: 0.7}}

// What is recommended satisfies the constraints and the rule, and no exact candidate
// that does both is cheaper.
func TestTheRecommendedSatisfies(t *testing.T) {
	for seed := range uint64(20) {
		source := random(30, 1+int(seed%2), seed)
		o := tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.8}, Folds: -1, Constraints: []tune.Term{*compiled(t, expr.Objective(), expr.WantBool, "latency.mean < 4.0")}}
		got := tuned(t, source, o)
		if got.Recommended == nil {
			t.Fatalf("seed %d: %s", seed, got.WhyNone)
		}
		best := 0.0
		for c := range source.candidates {
			score, seconds, _ := means(source.outcomes[c])
			if seconds < 4 {
				best = max(best, score)
			}
		}
		score, seconds, cost := means(source.outcomes[got.Recommended.Candidate])
		if seconds >= 4 || score < 0.8*best-1e-9 {
			t.Errorf("seed %d: %s takes %v s and reaches %v of %v", seed, got.Recommended.Name, seconds, score, best)
		}
		for c := range source.candidates {
			if s, sec, usd := means(source.outcomes[c]); sec < 4 && s >= 0.8*best && usd < cost-1e-9 {
				t.Errorf("seed %d: %s is cheaper than %s", seed, source.candidates[c].Name, got.Recommended.Name)
			}
		}
	}
}

func means(outcomes []sweep.Outcome) (score, seconds, cost float64) {
	for i := range outcomes {
		score += outcomes[i].Scores[0].Least / float64(len(outcomes))
		seconds += outcomes[i].Elapsed.Seconds() / float64(len(outcomes))
		cost += outcomes[i].Usage.Most.Cost.Dollars() / float64(len(outcomes))
	}
	return score, seconds, cost
}

// The order of candidates changes nothing but their numbers.
func TestTheOrderOfCandidatesDoesNotMatter(t *testing.T) {
	for seed, by := range choosing {
		source := random(40, 2, uint64(seed))
		want := tuned(t, source, tune.ChoiceOptions{Choose: by, Today: -1})
		shuffled := *source
		shuffled.candidates, shuffled.outcomes = nil, nil
		for _, c := range rand.New(rand.NewPCG(3, 4)).Perm(len(source.candidates)) {
			shuffled.candidates, shuffled.outcomes = append(shuffled.candidates, source.candidates[c]), append(shuffled.outcomes, source.outcomes[c])
		}
		got := tuned(t, &shuffled, tune.ChoiceOptions{Choose: by, Today: -1})
		if a, b := anonymous(t, want), anonymous(t, got); !bytes.Equal(a, b) {
			t.Errorf("%v: in another order %s, not %s", by.Rule, b, a)
		}
	}
}

// The order of the runs changes nothing.
func TestTheOrderOfRunsDoesNotMatter(t *testing.T) {
	for seed, by := range choosing {
		source := random(40, 2, uint64(seed))
		want := tuned(t, source, tune.ChoiceOptions{Choose: by, Today: 2})
		shuffled := *source
		shuffled.runs, shuffled.outcomes = nil, make([][]sweep.Outcome, len(source.outcomes))
		for _, i := range rand.New(rand.NewPCG(3, 4)).Perm(len(source.runs)) {
			shuffled.runs = append(shuffled.runs, source.runs[i])
			for c := range source.outcomes {
				shuffled.outcomes[c] = append(shuffled.outcomes[c], source.outcomes[c][i])
			}
		}
		got := tuned(t, &shuffled, tune.ChoiceOptions{Choose: by, Today: 2})
		if a, b := anonymous(t, want), anonymous(t, got); !bytes.Equal(a, b) {
			t.Errorf("%v: in another order %s, not %s", by.Rule, b, a)
		}
	}
}

// anonymous is a tuning without the numbers of its candidates.
func anonymous(t *testing.T, of *tune.Tuning) []byte {
	t.Helper()
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	strip(plain)
	text, _ = json.Marshal(plain)
	return text
}

func strip(value any) {
	switch v := value.(type) {
	case map[string]any:
		if _, ok := v["candidate"].(float64); ok {
			delete(v, "candidate")
		}
		for _, below := range v {
			strip(below)
		}
	case []any:
		for _, below := range v {
			strip(below)
		}
	}
}

// Every task is in one fold, tasks of one cluster are in the same, and every run is
// held out once.
func TestFoldsKeepTasksTogether(t *testing.T) {
	source := random(30, 2, 5)
	for i := range source.runs {
		source.runs[i].Run.Cluster = string(rune('a' + i/10))
	}
	got := tuned(t, source, tune.ChoiceOptions{Choose: choosing[1]})
	runs, tasks := 0, 0
	for _, f := range got.Validation.Folds {
		runs, tasks = runs+f.HeldOut.Runs, tasks+f.Tasks
		if f.HeldOut.Runs%10 != 0 || f.HeldOut.Runs+f.Train.Runs != len(source.runs) {
			t.Errorf("fold %d holds %d runs out and trains on %d of %d", f.Fold, f.HeldOut.Runs, f.Train.Runs, len(source.runs))
		}
	}
	if runs != len(source.runs) || tasks != 30 || got.Terms.FoldsBy != "cluster" || got.Clusters != 6 {
		t.Errorf("%d runs, %d tasks, by %s of %d", runs, tasks, got.Terms.FoldsBy, got.Clusters)
	}
	one := random(1, 4, 5)
	if alone := tuned(t, one, tune.ChoiceOptions{Choose: choosing[1]}); alone.Validation != nil || alone.Terms.Folds != 0 {
		t.Error("one task makes folds")
	}
}
