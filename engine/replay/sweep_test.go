package replay_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
	"pgregory.net/rapid"
)

// A sweep gives what a replay of each configuration on each run gives, and its
// totals are the sums of that: for random loops, candidates, recordings and parts.
func TestASweepIsItsReplays(t *testing.T) {
	labels := map[replay.Label]int{}
	propertytest.CheckCases(t, 60, func(t *rapid.T) {
		w, tells := replay.DrawWorld(t), replay.Often(t, "tells", 50)
		base := replay.DrawLoop(t, tells)
		if replay.Often(t, "wide", 60) {
			base = replay.Widest(base)
		}
		r := sweep.Recording{Loop: base, Scores: []string{"a", "b"}, Reads: drawReads(t)}
		for i := range rapid.SampledFrom([]int{1, 3, 5, 8, 66}).Draw(t, "runs") {
			r.Runs = append(r.Runs, drawRun(t, w.Run(base), i))
		}
		var announced []string
		if replay.Often(t, "announced", 10) {
			announced = []string{"terminate"}
		}
		r.Announced = announced
		candidates := drawCandidates(t, base)
		options := func(recorded, target *spec.Loop, announced ...string) *replay.Replay {
			o := w.Options(target)
			o.Announced = announced
			return replay.New(recorded, target, o)
		}
		s, err := sweep.New([]sweep.Recording{r}, candidates, sweep.Options{Replay: options})
		spectest.Must(t, err)
		part := rapid.SliceOfN(rapid.IntRange(-1, 2), len(r.Runs), len(r.Runs)).Draw(t, "part")
		totals := make([][]sweep.Totals, len(candidates))
		spectest.Must(t, s.Totals(context.Background(), part, 3, func(candidate int, all []sweep.Totals) { totals[candidate] = all }))
		parts := sweep.Divide(s.Runs(), rapid.SliceOfN(rapid.IntRange(-1, 9), len(r.Runs), len(r.Runs)).Draw(t, "other part"), 10)
		others := make([][]sweep.Totals, len(candidates))
		err = s.Sums(context.Background(), parts, rapid.Permutation(numbers(len(candidates))).Draw(t, "order"), func(candidate int, sums *sweep.Sums) {
			others[candidate] = sums.Totals()
			for score := range s.Scores() {
				for part, of := range sums.Score(score) {
					if all := others[candidate][part].Scores; len(all) > score && of != all[score] {
						t.Fatalf("candidate %d, part %d, score %d: %+v, in all sums %+v", candidate, part, score, of, all[score])
					}
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range candidates {
			all, err := s.Outcomes(context.Background(), i)
			spectest.Must(t, err)
			outcomes := all[0]
			replayed := options(base, candidates[i].Loop, announced...)
			for k := range outcomes {
				recorded := r.Runs[k].Run
				want := replayed.Run(context.Background(), recorded, r.Runs[k].Task)
				if strings.HasSuffix(outcomes[k].Why, "is unknown") && recorded.Outcome.Status == record.Faulted && want.Verdict == replay.Exact && !want.Excluded() {
					// what it returns before its fault has no score
					want.Verdict, want.At, want.Outcome, want.Why = replay.Censored, want.Iterations, recorded.Outcome, outcomes[k].Why
				}
				if !reflect.DeepEqual(outcomes[k].Result, want) {
					t.Fatalf("candidate %d, run %d:\n%+v, want\n%+v", i, k, outcomes[k].Result, want)
				}
			}
			want := sweep.Sum(outcomes, s.Runs(), part, 3)
			for n := range want {
				if naive := naiveTotals(outcomes, s.Runs(), part, n); !naive.are(&want[n]) {
					t.Fatalf("candidate %d, part %d: %+v, one by one %+v", i, n, want[n], naive)
				}
				if want[n].Least != want[n].Most {
					labels[-1]++
				}
			}
			if got := fmt.Sprintf("%+v", totals[i]); !slices.Equal(strings.Fields(got), strings.Fields(fmt.Sprintf("%+v", want))) {
				t.Fatalf("candidate %d:\n%s, want\n%+v\n%+v %+v", i, got, want, candidates[i].Loop.Terminate, candidates[i].Loop.Guards)
			}
			want = parts.Sum(outcomes).Totals()
			if got := fmt.Sprintf("%+v", others[i]); got != fmt.Sprintf("%+v", want) {
				t.Fatalf("candidate %d by other parts:\n%s, want\n%+v\n%+v %+v", i, got, want, candidates[i].Loop.Terminate, candidates[i].Loop.Guards)
			}
			labels[totals[i][0].Label()]++
		}
	})
	if len(labels) < 5 {
		t.Errorf("only %v, and spans in %d parts: the property says little", labels, labels[-1])
	}
}

// numbers are those below n.
func numbers(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// naive are sums that are added up run by run.
type naive sweep.Totals

// naiveTotals are those of one part.
func naiveTotals(outcomes []sweep.Outcome, runs []sweep.Run, part []int, of int) (t naive) {
	t.Scores = make([]sweep.ScoreTotals, len(runs[0].Scores))
	for i := range outcomes {
		o := &outcomes[i]
		if part[i] != of {
			continue
		}
		t.Runs++
		used := o.Total()
		t.Iterations, t.Elapsed, t.Least, t.Most = t.Iterations+int64(o.Iterations), t.Elapsed+int64(o.Elapsed), t.Least.Plus(used.Least), t.Most.Plus(used.Most)
		switch o.Verdict {
		case replay.Exact:
			t.Exact++
			if o.Outcome.Success {
				t.Successes++
			}
			if !o.Outcome.Counts() {
				t.Faults++
			}
		case replay.Censored:
			t.Censored++
		default:
			t.Branches++
			if o.Told {
				t.Told++
			}
		}
		for s, r := range o.Scores {
			sum, hit := &t.Scores[s], r.Least >= 1 && r.Least == r.Most
			if !r.Known() {
				continue
			}
			sum.Known, sum.Least, sum.Most = sum.Known+1, sum.Least+r.Least, sum.Most+r.Most
			if recorded := runs[i].Scores[s][0] >= 1; o.Verdict == replay.Exact && hit {
				sum.Hits++
				if !recorded {
					sum.Gained++
				}
			} else if o.Verdict == replay.Exact && recorded {
				sum.Lost++
			}
		}
	}
	return t
}

// are reports whether sums are the same, scores up to the steps in which they are added.
func (t naive) are(o *sweep.Totals) bool {
	a, b := sweep.Totals(t), *o
	if a.Runs == 0 {
		return b.Runs == 0
	}
	for s := range a.Scores {
		x, y := &a.Scores[s], &b.Scores[s]
		near := func(x, y float64) bool { return x == y || math.Abs(x-y) < 1e-6 }
		if x.Known != y.Known || x.Hits != y.Hits || x.Lost != y.Lost || x.Gained != y.Gained || !near(x.Least, y.Least) || !near(x.Most, y.Most) {
			return false
		}
	}
	a.Scores, b.Scores, b.PerTask = nil, nil, a.PerTask
	return reflect.DeepEqual(a, b)
}

// Where a loop needs no texts, a light run says what the whole one says.
func TestLightRunsSuffice(t *testing.T) {
	same, texts := 0, 0
	propertytest.CheckCases(t, 1500, func(t *rapid.T) {
		w, tight := replay.DrawWorld(t), replay.DrawLoop(t, false)
		wide := replay.Widest(tight)
		recorded := w.Run(wide)
		if sweep.NeedsTexts(wide, tight) != "" {
			texts++
			return
		}
		same++
		replayed := replay.New(wide, tight, replay.Options{})
		r, whole := replayed.Run(context.Background(), recorded.Run.Light(), recorded.Task), replayed.Run(context.Background(), recorded.Run, recorded.Task)
		if whole.Outcome.Error != nil { // a light one has the class alone
			whole.Outcome.Error = &record.Error{Class: whole.Outcome.Error.Class}
			r.Outcome.Error = &record.Error{Class: r.Outcome.Error.Class}
		}
		if !reflect.DeepEqual(r, whole) {
			t.Fatalf("light %+v\nwhole %+v", r, whole)
		}
	})
	if same < 30 || texts < 30 {
		t.Errorf("%d of light runs, %d needed texts: the property says little", same, texts)
	}
}

func drawReads(t *rapid.T) []sweep.Reads {
	return rapid.SliceOfN(rapid.SampledFrom([]sweep.Reads{sweep.ReadsUnknown, sweep.ReadsOutput, sweep.ReadsAround}), 2, 2).Draw(t, "reads")
}

// drawRun gives a run its place and random scores: one of 0 and 1, and a graded one.
func drawRun(t *rapid.T, recorded replay.Recorded, i int) sweep.Run {
	recorded.Run.Task, recorded.Run.Trial = fmt.Sprint("t", i*i%7), i+1
	n := 1 + len(recorded.Run.Iterations)
	values := []float64{0, 1, math.NaN()}
	graded := append(values, 0.1, 1.0/3, 0.75, -2, 1.5)
	if replay.Often(t, "run alone", 10) {
		n = 1
	}
	return sweep.Run{Recorded: recorded, Scores: [][]float64{
		rapid.SliceOfN(rapid.SampledFrom(values), n, n).Draw(t, "a"),
		rapid.SliceOfN(rapid.SampledFrom(graded), n, n).Draw(t, "b"),
	}}
}

// drawCandidates are some that differ in when they stop, and some in more.
func drawCandidates(t *rapid.T, base *spec.Loop) []sweep.Candidate {
	loops := []*spec.Loop{base, replay.DrawLimits(t, base), replay.Changed(t, base), replay.DrawLimits(t, base)}
	other := replay.Changed(t, base)
	loops = append(loops, other, replay.DrawLimits(t, other), replay.DrawLimits(t, replay.Widest(other)))
	for _, l := range slices.Clone(loops) { // the same timeouts, and another maximum
		tighter := *l
		tighter.Terminate.Any = append(slices.Clone(l.Terminate.Any), spec.Condition{Kind: spec.KindMaxIterations, Name: "tighter", MaxIterations: 2})
		loops = append(loops, &tighter)
		if hard := l.Guards.Budget; hard != nil && hard.Hard { // its limits divided, so that members of a family are cut at different calls
			for _, by := range []int64{2, 3, 5} {
				smaller, budget := *l, *hard
				part := func(n int64) int64 { return (n + by - 1) / by }
				budget.Calls, budget.Tokens, budget.CostUSD = part(budget.Calls), part(budget.Tokens), budget.CostUSD/float64(by)
				smaller.Guards.Budget = &budget
				loops = append(loops, &smaller)
			}
		}
	}
	candidates := make([]sweep.Candidate, len(loops))
	for i, l := range loops {
		candidates[i] = sweep.Candidate{Name: fmt.Sprint(i), Loop: l}
	}
	return candidates
}
