package tune_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/pagetest"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// cell is what a candidate makes of a run.
type cell struct {
	score float64
	steps int
	cents int64
}

// made builds a table: the recorded runs of tasks with so many trials, and the
// candidates' limits with what they make of them. Candidate 0 is what was recorded.
func made(tasks, trials int, cells map[limits][]cell, order ...limits) *table {
	s := &table{scores: []string{"right"}}
	recorded := cells[order[0]]
	for i := range tasks * trials {
		run := sweep.Run{Scores: [][]float64{{recorded[i].score, recorded[i].score}}}
		run.Run = &record.Run{Task: fmt.Sprintf("t%03d", i/trials), Trial: i%trials + 1, Configuration: "c", Iterations: make([]record.Iteration, recorded[i].steps),
			Outcome: record.Outcome{Status: record.Completed, Returned: 1}, Usage: usage(recorded[i].cents), Elapsed: time.Second * time.Duration(recorded[i].steps)}
		s.runs = append(s.runs, run)
	}
	for _, l := range order {
		s.candidates = append(s.candidates, sweep.Candidate{Name: fmt.Sprint(l), Params: l.params(), Loop: &spec.Loop{}})
		outcomes := make([]sweep.Outcome, tasks*trials)
		for i, c := range cells[l] {
			o := &outcomes[i]
			o.Verdict, o.Iterations, o.Elapsed = replay.Exact, c.steps, time.Second*time.Duration(c.steps)
			o.Outcome = record.Outcome{Status: record.Completed, Reason: "max_iterations", Returned: 1}
			o.Usage = replay.Span{Least: usage(c.cents), Most: usage(c.cents)}
			o.Scores = []sweep.Range{{Least: c.score, Most: c.score}}
		}
		s.outcomes = append(s.outcomes, outcomes)
	}
	return s
}

func usage(cents int64) record.Usage {
	return record.Usage{Calls: 1, InputTokens: 10 * cents, Cost: record.Money(cents) * record.USD / 100}
}

// cells are n runs of which the first so many are right, all of one cost.
func cells(n, right, steps int, cents int64) []cell {
	all := make([]cell, n)
	for i := range all {
		all[i] = cell{float64(toInt(i < right)), steps, cents}
	}
	return all
}

func toInt(is bool) int {
	if is {
		return 1
	}
	return 0
}

func tuned(t testing.TB, source tune.Candidates, o tune.ChoiceOptions) *tune.Tuning {
	t.Helper()
	r, err := tune.Choose(context.Background(), source, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func name(c *tune.Choice) string {
	if c == nil {
		return "none"
	}
	return c.Name
}

func TestRulesChooseTheCheapestTheyAllow(t *testing.T) {
	const n = 200
	source := made(n, 1, map[limits][]cell{
		{5}: cells(n, 150, 5, 50), {4}: cells(n, 149, 4, 40), {3}: cells(n, 140, 3, 30), {2}: cells(n, 100, 2, 20),
	}, limits{5}, limits{4}, limits{3}, limits{2})
	for _, c := range []struct {
		choose tune.ChoiceRule
		want   string
	}{
		{tune.ChoiceRule{}, "[5 0 0]"}, // one of 200 lost may be 2.4 %, none at most 1.5 %
		{tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.01}, "none"},
		{tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.03}, "[4 0 0]"},
		{tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.1}, "[3 0 0]"},
		{tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.4}, "[2 0 0]"},
		{tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.99}, "[4 0 0]"},
		{tune.ChoiceRule{Rule: tune.AtLeast, Number: 1}, "[5 0 0]"},
		{tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.5}, "[2 0 0]"},
	} {
		if got := tuned(t, source, tune.ChoiceOptions{Choose: c.choose}); name(got.Recommended) != c.want {
			t.Errorf("%v: %s (%s%s), want %s", c.choose, name(got.Recommended), got.Why, got.WhyNone, c.want)
		}
	}
}

func TestWhatLosesNothingNeedsEnoughRuns(t *testing.T) {
	for n, want := range map[int]string{148: "none", 149: "[1 0 0]"} {
		source := made(n, 1, map[limits][]cell{{2}: cells(n, n, 2, 2), {1}: cells(n, n, 1, 1)}, limits{2}, limits{1})
		got := tuned(t, source, tune.ChoiceOptions{})
		if name(got.Recommended) != want {
			t.Errorf("%d runs: %s, want %s", n, name(got.Recommended), want)
		}
		if want == "none" && !strings.Contains(got.WhyNone, "it takes at least 149") {
			t.Errorf("%q does not say how many runs it takes", got.WhyNone)
		}
	}
}

// Where few runs show too little, the hint is the least loss that they can show.
func TestTheHintOfFewRunsIsFollowed(t *testing.T) {
	few := func(n, trials int) tune.Candidates {
		return made(n, trials, map[limits][]cell{{2}: cells(n*trials, n*trials, 2, 2), {1}: cells(n*trials, n*trials, 1, 1)}, limits{2}, limits{1})
	}
	for what, c := range map[string]struct {
		source func() tune.Candidates
		want   string
	}{
		"60 tasks":               {func() tune.Candidates { return few(60, 1) }, "[1 0 0]"},
		"20 tasks, three trials": {func() tune.Candidates { return few(20, 3) }, "[1 0 0]"},
		"three paths, which share the error rate": {func() tune.Candidates { return threePaths("tight", "default", "loose") }, "loose"},
	} {
		_, hint, ok := strings.Cut(tuned(t, c.source(), tune.ChoiceOptions{}).WhyNone, "; the smallest bound that they prove is --choose max_loss:")
		least, err := strconv.ParseFloat(hint, 64)
		if !ok || err != nil {
			t.Fatalf("%s: no hint: %q", what, hint)
		}
		if got := tuned(t, c.source(), tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: least}}); name(got.Recommended) != c.want {
			t.Errorf("%s: %v recommends %s: %s", what, least, name(got.Recommended), got.WhyNone)
		}
		if got := tuned(t, c.source(), tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: least - 0.01}}); got.Recommended != nil {
			t.Errorf("%s: %v is not the least, %v serves", what, least, least-0.01)
		}
	}
}

// Runs of one task are not as many tasks.
func TestTrialsOfATaskAreNotIndependent(t *testing.T) {
	const tasks, trials = 60, 4
	source := made(tasks, trials, map[limits][]cell{{2}: cells(tasks*trials, 200, 2, 2), {1}: cells(tasks*trials, 200, 1, 1)}, limits{2}, limits{1})
	got := tuned(t, source, tune.ChoiceOptions{})
	if got.Recommended != nil || !strings.Contains(got.WhyNone, ": 60 tasks prove 4.87% at best") {
		t.Errorf("%s (%s), want none: 0 of 60 tasks leave 4.9 %%", name(got.Recommended), got.WhyNone)
	}
	alone := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.05}})
	if most := alone.Recommended.LostMost.Number; math.Abs(most-(1-math.Pow(0.05, 1.0/60))) > 1e-9 {
		t.Errorf("at most %v lost, want that of 0 of 60", most)
	}
}

// A loss shows no more than none: of 60 tasks with four runs each none lost leaves
// 4.9 %, and so do one lost, and one lost with another gained.
func TestALossShowsNoMoreThanNone(t *testing.T) {
	const tasks, trials = 60, 4
	recorded := cells(tasks*trials, 200, 2, 2)
	none := 1 - math.Pow(0.05, 1.0/tasks)
	for _, c := range []struct {
		name         string
		lost, gained int
	}{{"one lost", 1, 0}, {"two of two tasks lost", 2, 0}, {"one lost, one gained", 1, 1}, {"two lost, two gained", 2, 2}} {
		other := cells(tasks*trials, 200, 1, 1)
		for i := range c.lost {
			other[i*trials].score = 0
		}
		for i := range c.gained {
			other[len(other)-1-i*trials].score = 1
		}
		source := made(tasks, trials, map[limits][]cell{{2}: recorded, {1}: other}, limits{2}, limits{1})
		got := tuned(t, source, tune.ChoiceOptions{Today: 1})
		if most := got.Today.LostMost.Number; most < none-1e-9 {
			t.Errorf("%s: at most %v lost, and where none is it is %v", c.name, most, none)
		}
	}
}

// Where a candidate gains more than it loses, the net loss counts.
func TestGainsCountAgainstLosses(t *testing.T) {
	const n = 400
	gains := cells(n, 200, 1, 1)
	for i := range 10 {
		gains[i].score = 0
	}
	source := made(n, 1, map[limits][]cell{{2}: cells(n, 200, 2, 2), {1}: gains}, limits{2}, limits{1})
	if got := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.03}}); name(got.Recommended) != "[2 0 0]" {
		t.Errorf("%s, want the recorded one: 10 of 400 lost may be 4.2 %%", name(got.Recommended))
	}
	for i := range 10 {
		gains[n-1-i].score = 1
	}
	source = made(n, 1, map[limits][]cell{{2}: cells(n, 200, 2, 2), {1}: gains}, limits{2}, limits{1})
	got := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.03}})
	if name(got.Recommended) != "[1 0 0]" || got.Recommended.Lost != 10 || got.Recommended.Gained != 10 {
		t.Errorf("%s, want the one that gains as much as it loses", name(got.Recommended))
	}
}

// The bound of a net loss counts one more run that is lost, and is that of the share where none gains.
func TestTheBoundOfANetLoss(t *testing.T) {
	const n, lost, gained = 400, 12, 4
	mixed := cells(n, 200, 1, 1)
	for i := range lost {
		mixed[i].score = 0
	}
	for i := range gained {
		mixed[n-1-i].score = 1
	}
	got := tuned(t, made(n, 1, map[limits][]cell{{2}: cells(n, 200, 2, 2), {1}: mixed}, limits{2}, limits{1}), tune.ChoiceOptions{Today: 1})
	sample, _ := stats.NewBounded([]stats.Units{{Sum: 1, Size: 1, Count: lost}, {Sum: -1, Size: 1, Count: gained}, {Size: 1, Count: n - lost - gained}}, -1, 1)
	if want := sample.AtMost(0.95); math.Abs(got.Today.LostMost.Number-want) > 1e-12 || !got.Today.LossIsNet {
		t.Errorf("at most %v lost, want %v", got.Today.LostMost, want)
	}
}

func TestConstraintsOnManyCandidates(t *testing.T) {
	all, order := map[limits][]cell{}, []limits{}
	for k := range 150 {
		l := limits{k + 1}
		all[l], order = cells(5, 3, k+1, int64(k+1)), append(order, l)
	}
	o := tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.1}, Constraints: []tune.Term{
		*compiled(t, expr.Objective(), expr.WantBool, "iterations.mean > 100.0"), *compiled(t, expr.Objective(), expr.WantBool, "iterations.mean > 30.0")}}
	got := tuned(t, made(5, 1, all, order...), o)
	want := []tune.Note{{Kind: tune.ExcludedBy, Name: o.Constraints[0].Text, Count: 100, Of: 150}, {Kind: tune.ExcludedBy, Name: o.Constraints[1].Text, Count: 30, Of: 150}}
	if excluded := excludedBy(got); !slices.Equal(excluded, want) || got.Recommended.Name != "[101 0 0]" {
		t.Errorf("%s, excluded %+v, want %+v", name(got.Recommended), excluded, want)
	}
}

func TestGradedScoresAreBoundByTheirMean(t *testing.T) {
	const n = 1000
	graded := func(by float64, cents int64) []cell {
		all := make([]cell, n)
		for i := range all {
			all[i] = cell{0.5 - by*float64(1+i%2), 1, cents}
		}
		return all
	}
	source := made(n, 1, map[limits][]cell{{3}: graded(0, 3), {2}: graded(0.01, 2), {1}: graded(0.02, 1)}, limits{3}, limits{2}, limits{1})
	if got := tuned(t, source, tune.ChoiceOptions{}); name(got.Recommended) != "[2 0 0]" { // the mean falls by 0.015 and by 0.03
		t.Errorf("%s (%s%s), want [2 0 0]", name(got.Recommended), got.Why, got.WhyNone)
	}
}

// Where a limit makes few tasks fail wholly, few tasks prove nothing, however little the
// scores of the others vary: 12 tasks that saw no failure proved a fall of at most 0.02.
func TestRareFailuresAreCountedWith(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		tasks          int
		allowed, fails float64
	}{{12, 0.05, 0.075}, {30, 0.05, 0.075}, {60, 0.05, 0.075}, {30, 0.02, 0.03}, {120, 0.02, 0.03}} {
		const rounds = 40
		exceeded := 0
		for range rounds {
			before, after := make([]cell, c.tasks), make([]cell, c.tasks)
			for i := range before {
				before[i], after[i] = cell{0.75 + 0.02*r.Float64(), 2, 2}, cell{0.75 + 0.02*r.Float64(), 1, 1}
				if r.Float64() < c.fails {
					after[i].score = 0
				}
			}
			source := made(c.tasks, 1, map[limits][]cell{{2}: before, {1}: after}, limits{2}, limits{1})
			got := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: c.allowed}, Today: 0, Folds: -1})
			exceeded += toInt(got.Recommended != nil && name(got.Recommended) == "[1 0 0]")
			if least := 12 / c.allowed / 5; got.Recommended == nil && (got.Guess == nil || !got.Guess.Cheapest && float64(got.Guess.Tasks) < least) {
				t.Fatalf("%+v: guess %+v", c, got.Guess)
			}
		}
		if exceeded > 4 { // 5 % and two standard errors
			t.Errorf("%+v: of %d recommendations %d lose more than is allowed", c, rounds, exceeded)
		}
	}
}

// rounds of a simulation: as many as the environment variable AGENTBENCH_SUITES says.
func rounds(t *testing.T, short int) int {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv("AGENTBENCH_SUITES")); err == nil {
		return n
	}
	return short
}

// What at_least takes has a bound that counts with rare failures, too.
func TestBoundsOfAtLeastCountWithRareFailures(t *testing.T) {
	t.Parallel()
	n := rounds(t, 40)
	rule := tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.8}
	for _, c := range []struct {
		tasks int
		fails float64
	}{{12, 0.075}, {30, 0.03}, {60, 0.05}} {
		r := rand.New(rand.NewPCG(7, 9))
		taken, exceeded := 0, 0
		for range n {
			before, after := make([]cell, c.tasks), make([]cell, c.tasks)
			for i := range before {
				before[i], after[i] = cell{0.75 + 0.02*r.Float64(), 2, 2}, cell{0.75 + 0.02*r.Float64(), 1, 1}
				if r.Float64() < c.fails {
					after[i].score = 0
				}
			}
			got := tuned(t, made(c.tasks, 1, map[limits][]cell{{2}: before, {1}: after}, limits{2}, limits{1}), tune.ChoiceOptions{Choose: rule, Folds: -1})
			if got.Bound == nil {
				continue
			}
			if taken++; got.Bound.Method != tune.Corrected {
				t.Fatalf("%+v", got.Bound)
			}
			exceeded += toInt(got.Bound.Most.Number < 0.76*c.fails)
		}
		if most := 0.05*float64(n) + 2*math.Sqrt(0.05*float64(n)); taken == 0 || float64(exceeded) > most {
			t.Errorf("%s, %+v: of %d bounds %d are exceeded", rule.Rule, c, taken, exceeded)
		}
		t.Logf("%s, %+v: of %d bounds %d are exceeded", rule.Rule, c, taken, exceeded)
	}
}

// Where scores vary little and nothing fails wholly, counting with rare failures costs little: most of what Student's t of the
// differences would save is saved. Each limit is one step tighter, saves a tenth of the cost and
// loses three times as much.
func TestSmoothAgentsKeepMostOfTheirSavings(t *testing.T) {
	t.Parallel()
	n := rounds(t, 20)
	const steps = 8
	for _, c := range []struct {
		tasks          int
		allowed, least float64
	}{{60, 0.05, 0.7}, {150, 0.02, 0.6}, {200, 0.02, 0.8}, {300, 0.02, 0.9}} {
		r := rand.New(rand.NewPCG(3, 4))
		saved, students := 0, 0
		for range n {
			order, all := []limits{}, map[limits][]cell{}
			for k := range steps {
				cells := make([]cell, c.tasks)
				for i := range cells {
					fall := 0.0
					if k > 0 {
						fall = c.allowed * math.Pow(3, float64(k-steps+2))
					}
					cells[i] = cell{0.76 - fall + 0.02*r.NormFloat64(), 10 - k, int64(10 - k)}
				}
				l := limits{10 - k}
				order, all[l] = append(order, l), cells
			}
			got := tuned(t, made(c.tasks, 1, all, order...), tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: c.allowed}, Folds: -1})
			if got.Recommended != nil {
				saved += slices.IndexFunc(order, func(l limits) bool { return fmt.Sprint(l) == got.Recommended.Name })
			}
			for k := 1; k < steps; k++ {
				falls := make([]float64, c.tasks)
				for i := range falls {
					falls[i] = all[order[0]][i].score - all[order[k]][i].score
				}
				if bound, _ := stats.MeanInterval(falls, 0.9); bound.High > c.allowed {
					break
				}
				students++
			}
		}
		t.Logf("%+v: %d of %d tenths are saved, %.0f %%", c, saved, students, 100*float64(saved)/float64(students))
		if float64(saved) < c.least*float64(students) {
			t.Errorf("%+v: %d tenths are saved, by Student's t %d", c, saved, students)
		}
	}
}

// A score without a scale has Student's bound, and the text says what that assumes.
func TestAScoreWithoutAScaleAssumesNoRareLoss(t *testing.T) {
	const n = 40
	of := func(less float64, cents int64) []cell {
		all := make([]cell, n)
		for i := range all {
			all[i] = cell{5 - less*float64(1+i%2), int(cents), cents}
		}
		return all
	}
	source := made(n, 1, map[limits][]cell{{2}: of(0, 2), {1}: of(0.005, 1)}, limits{2}, limits{1})
	got := tuned(t, source, tune.ChoiceOptions{})
	if name(got.Recommended) != "[1 0 0]" || !got.Bound.AssumesNoRareLoss || !strings.Contains(pagetest.AnswerOf(got.Answer(), strconv.Quote).String(), "assumes no rare large loss") {
		t.Errorf("%s, %+v: %s", name(got.Recommended), got.Bound, pagetest.AnswerOf(got.Answer(), strconv.Quote))
	}
}

// Equally cheap: the better; equally good: the smaller parameters, off the largest.
func TestTies(t *testing.T) {
	const n = 10
	same := cells(n, 5, 1, 1)
	all := []limits{{3}, {0, 0, 2}, {3, 2}, {3, 0, 2}, {2, 9, 2}, {10, 1, 1}}
	table := map[limits][]cell{}
	for _, l := range all {
		table[l] = same
	}
	o := tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.5}, Today: -1}
	for range len(all) {
		want := slices.Clone(all)
		slices.SortFunc(want, func(a, b limits) int { return slices.Compare(off(a), off(b)) })
		if got := tuned(t, made(n, 1, table, all...), o); got.Recommended.Name != fmt.Sprint(want[0]) {
			t.Errorf("%s of %v, want %v", got.Recommended.Name, all, want[0])
		}
		delete(table, want[0])
		all = slices.DeleteFunc(all, func(l limits) bool { return l == want[0] })
	}
	better := slices.Clone(same)
	better[9].score = 1
	table = map[limits][]cell{{1}: same, {9}: better}
	if got := tuned(t, made(n, 1, table, limits{1}, limits{9}), o); got.Recommended.Name != "[9 0 0]" {
		t.Errorf("%s, want the better of equally cheap ones", got.Recommended.Name)
	}
}

func off(l limits) []int {
	values := slices.Clone(l[:])
	for i := range values {
		if values[i] == 0 {
			values[i] = math.MaxInt
		}
	}
	return values
}

// excludedBy are the notes on constraints.
func excludedBy(of *tune.Tuning) []tune.Note {
	return slices.DeleteFunc(slices.Clone(of.Notes), func(n tune.Note) bool { return n.Kind != tune.ExcludedBy })
}

func TestConstraints(t *testing.T) {
	const n = 50
	source := made(n, 1, map[limits][]cell{{3}: cells(n, 40, 3, 30), {2}: cells(n, 30, 2, 20), {1}: cells(n, 20, 1, 10)}, limits{3}, limits{2}, limits{1})
	constrained := func(texts ...string) *tune.Tuning {
		o := tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.1}}
		for _, text := range texts {
			o.Constraints = append(o.Constraints, *compiled(t, expr.Objective(), expr.WantBool, text))
		}
		return tuned(t, source, o)
	}
	if got := constrained(`scores["right"].mean >= 0.5`); name(got.Recommended) != "[2 0 0]" || got.Tried.Within != 2 {
		t.Errorf("%s of %d, want [2 0 0] of 2", name(got.Recommended), got.Tried.Within)
	}
	got := constrained(`scores["right"].mean >= 0.5`, `latency.mean < 2.0`, `iterations.p95 < 9.0`)
	want := []tune.Note{
		{Kind: tune.ExcludedBy, Name: `scores["right"].mean >= 0.5`, Count: 1, Of: 3}, {Kind: tune.ExcludedBy, Name: `latency.mean < 2.0`, Count: 2, Of: 3},
		{Kind: tune.ExcludedBy, Name: `iterations.p95 < 9.0`, Of: 3},
	}
	if excluded := excludedBy(got); got.Recommended != nil || !slices.Equal(excluded, want) || got.Tried.Within != 0 {
		t.Errorf("%s, excluded %+v, want none and %+v", name(got.Recommended), excluded, want)
	}
	if !strings.Contains(got.WhyNone, "none satisfies the constraints") {
		t.Errorf("%q does not say that nothing satisfies", got.WhyNone)
	}
}

// Quantiles are of runs, those of the folds as well.
func TestQuantilesAreEvaluated(t *testing.T) {
	const n = 40
	uneven := cells(n, 30, 1, 10)
	for i := range 4 {
		uneven[10*i].steps = 9
	}
	source := made(n, 1, map[limits][]cell{{2}: cells(n, 30, 2, 10), {1}: uneven}, limits{2}, limits{1})
	o := tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.5, Cost: compiled(t, expr.Objective(), expr.WantNumber, "iterations.p95")}}
	if got := tuned(t, source, o); got.Recommended.Name != "[2 0 0]" || got.Recommended.ChoiceCost.Number != 2 {
		t.Errorf("%s at %v, want [2 0 0] at 2", got.Recommended.Name, got.Recommended.ChoiceCost)
	}
	o.Choose.Cost = compiled(t, expr.Objective(), expr.WantNumber, "iterations.p50")
	if got := tuned(t, source, o); got.Recommended.Name != "[1 0 0]" || got.Recommended.ChoiceCost.Number != 1 {
		t.Errorf("%s at %v, want [1 0 0] at 1", got.Recommended.Name, got.Recommended.ChoiceCost)
	}
}

func TestWhatIsNotExactIsNotChosen(t *testing.T) {
	const n = 20
	source := made(n, 1, map[limits][]cell{{3}: cells(n, 15, 3, 3), {2}: cells(n, 15, 2, 2), {1}: cells(n, 15, 1, 1)}, limits{3}, limits{2}, limits{1})
	source.outcomes[2][4].Result = replay.Result{Verdict: replay.Censored, At: 2, Why: "the record ends", Iterations: 1}
	source.outcomes[2][4].Scores = []sweep.Range{{Least: 0, Most: 1}}
	source.outcomes[1][7].Scores = []sweep.Range{{Least: math.NaN(), Most: math.NaN()}}
	source.outcomes[1][7].Unscored = []sweep.Why{sweep.NotJudged}
	got := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.1}})
	if name(got.Recommended) != "[3 0 0]" {
		t.Errorf("%s, want the only one of which all is known", name(got.Recommended))
	}
	if tried := got.Tried; tried.Exact != 2 || tried.Bounded != 1 || tried.Unscored != 1 || tried.Within != 1 {
		t.Errorf("tried %+v, want one bounded and one unscored", tried)
	}
	if got.Tried.WhyNotExact != "the record ends" {
		t.Errorf("not exact, because %q", got.Tried.WhyNotExact)
	}
}

// Where runs of today's configuration would have gone on, those that ended are no
// measure of it: nothing is gained or saved against them, and no limit is advised.
func TestTodayThatIsNotAnsweredForIsNoMeasure(t *testing.T) {
	const n = 40
	source := made(n, 1, map[limits][]cell{{2}: cells(n, 30, 2, 2), {1}: cells(n, 25, 1, 1), {9}: cells(n, 30, 2, 2)}, limits{2}, limits{1}, limits{9})
	for i := range source.runs {
		if i%2 == 0 {
			o := &source.outcomes[2][i]
			o.Verdict, o.At, o.Scores = replay.Censored, 3, []sweep.Range{{Least: 0, Most: 1}}
		}
	}
	limited := phases(1, 9, 9)
	source.candidates[1].Loop, source.candidates[2].Loop = limited, limited
	got := tuned(t, source, tune.ChoiceOptions{Today: 2, Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.8}})
	if name(got.Recommended) != "[1 0 0]" || got.Today.Label == "exact" {
		t.Fatalf("%s instead of %s, want [1 0 0] instead of one that is bounded", name(got.Recommended), got.Today.Label)
	}
	if got.Validation.Today != nil || got.Luck.Over != "recording" {
		t.Errorf("%+v over %s on tasks left out, want nothing of today", got.Validation.Today, got.Luck.Over)
	}
	if len(got.Against) != 1 || got.Against[0].What != "recording" {
		t.Errorf("held against %+v, want the recording alone", got.Against)
	}
	for _, l := range got.Limits {
		if l.Of == "today" {
			t.Errorf("advice on a limit of today: %+v", l)
		}
	}
	if answer := pagetest.AnswerOf(got.Answer(), strconv.Quote).String(); !strings.Contains(answer, "less than the recording") {
		t.Errorf("%q saves against what is not known", answer)
	}
}

func TestUnknownCostIsNotZero(t *testing.T) {
	const n = 20
	source := made(n, 1, map[limits][]cell{{2}: cells(n, 15, 2, 2), {1}: cells(n, 15, 3, 1)}, limits{2}, limits{1})
	for i := range source.outcomes[1] {
		source.outcomes[1][i].Usage.Most.Unpriced = 1
		source.outcomes[1][i].Usage.Most.Cost = 0
	}
	got := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.1}})
	if name(got.Recommended) != "[2 0 0]" || got.Tried.Costless != 1 || got.Unpriced != 1 || len(got.Front) != 1 {
		t.Errorf("%s, %+v, front %v: want the unpriced one left out", name(got.Recommended), got.Tried, got.Front)
	}
	if got.Terms.Cost != "cost_usd.mean" {
		t.Errorf("the cost is %s", got.Terms.Cost)
	}
	for i := range source.runs {
		source.runs[i].Run.Usage.Unpriced = 1
	}
	if got := tuned(t, source, tune.ChoiceOptions{}); got.Terms.Cost != "tokens.mean" || got.Terms.WhyCost == "" {
		t.Errorf("the cost of an unpriced recording is %s (%s), want tokens", got.Terms.Cost, got.Terms.WhyCost)
	}
	for i := range source.runs {
		source.runs[i].Run.Usage = record.Usage{Unreported: 1}
	}
	if got := tuned(t, source, tune.ChoiceOptions{}); got.Terms.Cost != "iterations.mean" || got.Terms.WhyCost == "" {
		t.Errorf("the cost of an unreported recording is %s (%s), want iterations", got.Terms.Cost, got.Terms.WhyCost)
	}
}

func TestMinimize(t *testing.T) {
	const n = 30
	source := made(n, 1, map[limits][]cell{{3}: cells(n, 20, 3, 1), {2}: cells(n, 20, 2, 2), {1}: cells(n, 20, 1, 3)}, limits{3}, limits{2}, limits{1})
	o := tune.ChoiceOptions{Objective: compiled(t, expr.Objective(), expr.WantNumber, "latency.mean"), Minimize: true, Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 1}}
	if got := tuned(t, source, o); got.Recommended.Name != "[1 0 0]" || got.Recommended.Objective.Number != 1 {
		t.Errorf("%s with %v, want the fastest", got.Recommended.Name, got.Recommended.Objective)
	}
	o.Choose.Number = 0
	if got := tuned(t, source, o); got.Recommended.Name != "[2 0 0]" {
		t.Errorf("%s, want the cheapest that is at most twice as slow as the fastest", got.Recommended.Name)
	}
}

func TestWrongOptions(t *testing.T) {
	source := made(4, 1, map[limits][]cell{{1}: cells(4, 2, 1, 1)}, limits{1})
	_, err := tune.Choose(t.Context(), source, tune.ChoiceOptions{Objective: compiled(t, expr.Objective(), expr.WantNumber, `scores["rigth"].mean`)})
	var unknown *tune.UnknownScoreError
	if !errors.As(err, &unknown) || unknown.Name != "rigth" || !strings.Contains(err.Error(), "right") {
		t.Errorf("a score that nothing gives: %v", err)
	}
	for _, o := range []tune.ChoiceOptions{{Choose: tune.ChoiceRule{Rule: "best"}}, {Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 2}}} {
		if _, err := tune.Choose(t.Context(), source, o); err == nil {
			t.Errorf("%+v is accepted", o.Choose)
		}
	}
	source.scores = nil
	for i := range source.outcomes[0] {
		source.outcomes[0][i].Scores, source.runs[i].Scores = nil, nil
	}
	o := tune.ChoiceOptions{Objective: compiled(t, expr.Objective(), expr.WantNumber, "success"), Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.5}}
	for _, o := range []tune.ChoiceOptions{{}, o} {
		if _, err := tune.Choose(t.Context(), source, o); !errors.Is(err, tune.ErrNoScore) {
			t.Errorf("without scores: %v", err)
		}
	}
}

func TestSavingsOfAThousandRuns(t *testing.T) {
	const n = 300
	uneven := cells(n, 200, 1, 30)
	for i := range n / 3 {
		uneven[i].cents = 60
	}
	source := made(n, 1, map[limits][]cell{{2}: cells(n, 200, 2, 100), {1}: uneven}, limits{2}, limits{1})
	got := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.05}, Today: 0})
	if len(got.Against) != 2 || got.Against[0].What != "today" || got.Against[1].What != "recording" {
		t.Fatalf("against %+v", got.Against)
	}
	saved := map[string]float64{}
	for _, s := range got.Against[0].Saved {
		saved[s.Quantity] = s.Saved.Number
	}
	if math.Abs(saved["cost_usd"]-600) > 1e-6 || math.Abs(saved["latency_s"]-1000) > 1e-6 || math.Abs(saved["iterations"]-1000) > 1e-6 {
		t.Errorf("saved %v, want $600, 1000 s and 1000 iterations", saved)
	}
	// The saving of a run is $0.40 or $0.70: sd 0.1417, 300 runs.
	if r := got.Against[0].Saved[0].Interval; math.Abs(r.Low.Number-(600-1000*1.96793*0.141658/math.Sqrt(300))) > 0.01 {
		t.Errorf("the interval of the saving is %v", r)
	}
	if !slices.Equal(got.Changes, []tune.Change{{Path: "max_iterations", From: "off", To: "1"}, {Path: "patience", From: "off", To: "off"}, {Path: "times", From: "off", To: "off"}}[:1]) {
		t.Errorf("changes %+v", got.Changes)
	}
}

func TestTheSameBytes(t *testing.T) {
	source := random(40, 3, 1)
	o := tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.9}, Today: 3}
	first, err := json.Marshal(tuned(t, source, o))
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(tuned(t, source, o))
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("the same input gives other bytes: %v", err)
	}
}

// What lost and gained mean is told once on a page.
func TestWhatLossesAreAgainstIsToldOnce(t *testing.T) {
	r := tuned(t, made(20, 1, map[limits][]cell{{1}: cells(20, 10, 5, 1)}, limits{1}), tune.ChoiceOptions{})
	told := 0
	for _, w := range r.WholeWarnings() {
		if note, ok := w.(tune.Note); ok && note.Kind == tune.Against {
			told++
		}
	}
	if told != 1 {
		t.Errorf("it is told %d times", told)
	}
}

// failing is a source of which the n-th answer fails.
type failing struct {
	*table
	n int
}

var errFails = errors.New("it fails")

func (f *failing) fails() error {
	if f.n--; f.n == 0 {
		return errFails
	}
	return nil
}

func (f *failing) Outcomes(ctx context.Context, candidates ...int) ([][]sweep.Outcome, error) {
	if err := f.fails(); err != nil {
		return nil, err
	}
	return f.table.Outcomes(ctx, candidates...)
}

func (f *failing) Sums(ctx context.Context, parts *sweep.Parts, candidates []int, visit func(int, *sweep.Sums)) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.table.Sums(ctx, parts, candidates, visit)
}

func (f *failing) Recording(ctx context.Context, candidate int) (int, error) {
	return 0, f.fails()
}

// Whatever fails while one is chosen, an interrupt among it, is the error of the choice: no sentence is made of half of the numbers.
func TestEveryErrorOfTheSourceIsTold(t *testing.T) {
	const n = 60
	source := made(n, 2, map[limits][]cell{{3}: cells(2*n, 100, 3, 30), {2}: cells(2*n, 94, 2, 20), {1}: cells(2*n, 30, 1, 10)}, limits{3}, limits{2}, limits{1})
	for _, o := range []tune.ChoiceOptions{{Choose: tune.ChoiceRule{Number: 0.001}, Today: 0}, {Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.9}, Today: 0, All: true}} {
		for at := 1; ; at++ {
			f := &failing{source, at}
			_, err := tune.Choose(t.Context(), f, o)
			if f.n > 0 {
				if at < 8 || err != nil {
					t.Errorf("%d answers, %v", at, err)
				}
				break
			}
			if !errors.Is(err, errFails) {
				t.Fatalf("answer %d fails: the error is %v", at, err)
			}
		}
	}
}
