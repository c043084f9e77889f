package tune_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// phased are n runs of a loop with phases: each makes so many iterations in each.
func phased(n int, loop *spec.Loop, of func(run int) map[string]int) *table {
	made := made(n, 1, map[limits][]cell{{1}: cells(n, n, 1, 1)}, limits{1})
	made.candidates[0].Loop = loop
	for i := range made.runs {
		run := made.runs[i].Run
		run.Iterations = nil
		for _, phase := range loop.Phases {
			for range of(i)[phase.Name] {
				run.Iterations = append(run.Iterations, record.Iteration{Phase: phase.Name})
			}
		}
		made.outcomes[0][i].Iterations = len(run.Iterations)
	}
	return made
}

func phases(planning, execution, refinement int) *spec.Loop {
	return &spec.Loop{Phases: []spec.Phase{
		{Name: "planning", MaxIterations: planning, Node: &source.Node{}}, {Name: "execution", MaxIterations: execution, Node: &source.Node{}},
		{Name: "refinement", MaxIterations: refinement, Until: &spec.Expr{}, Node: &source.Node{}},
	}}
}

func limitsOf(t *testing.T, source tune.Candidates) map[string]tune.LimitUse {
	t.Helper()
	r := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.1}})
	all := map[string]tune.LimitUse{}
	for _, l := range r.Limits {
		all[l.Path] = l
	}
	return all
}

// S0.6: consistently at the limit: more; consistently early: less; one phase takes
// most: another balance.
func TestS0_6_AdviceOnLimits(t *testing.T) {
	all := limitsOf(t, phased(100, phases(2, 10, 8), func(run int) map[string]int {
		planning := 2
		if run < 20 {
			planning = 1
		}
		return map[string]int{"planning": planning, "execution": 6 + run%3, "refinement": 1 + run%2}
	}))
	planning, execution, refinement := all["phases.planning.max_iterations"], all["phases.execution.max_iterations"], all["phases.refinement.max_iterations"]
	if planning.Advice != tune.Raise || planning.To != 3 || planning.Reached.Number != 0.8 || math.Abs(planning.Used.Number-1.8) > 1e-9 {
		t.Errorf("planning, which 80 of 100 runs use up: %+v", planning)
	}
	if refinement.Advice != tune.Lower || refinement.To != 2 || refinement.Largest != 2 {
		t.Errorf("refinement, of which no run uses more than 2 of 8: %+v", refinement)
	}
	if execution.Advice != tune.Rebalance || execution.OfAll.Number < 0.6 {
		t.Errorf("execution, which takes most iterations: %+v", execution)
	}
	if total := all["terminate.max_iterations"]; !total.Derived || total.Advice != tune.NoAdvice || total.Limit != 22 {
		t.Errorf("the derived maximum: %+v", total)
	}
}

func TestNoAdviceWithoutNeed(t *testing.T) {
	of := func(planning, run int) map[string]int {
		return map[string]int{"planning": planning, "execution": 1 + run%3, "refinement": 1}
	}
	for _, c := range []struct {
		runs int
		of   func(run int) map[string]int
		want map[string]tune.Advice
	}{
		{4, func(int) map[string]int { return of(2, 0) }, nil}, // too few runs
		{100, func(run int) map[string]int { return of(1+toInt(run < 79), run) }, map[string]tune.Advice{"refinement": tune.Raise}},
		{100, func(run int) map[string]int { return of(1+toInt(run < 4), run) }, map[string]tune.Advice{"refinement": tune.Raise, "planning": tune.NoAdvice}}, // 4 % reach it
		{100, func(run int) map[string]int { return of(toInt(run < 50), run) }, map[string]tune.Advice{"refinement": tune.Raise, "planning": tune.Lower}},
		{100, func(run int) map[string]int { return of(2, run) }, map[string]tune.Advice{"refinement": tune.Raise}}, // nothing but its limit ends planning
	} {
		all := limitsOf(t, phased(c.runs, phases(2, 3, 1), c.of))
		for _, phase := range []string{"planning", "execution", "refinement"} {
			if got := all["phases."+phase+".max_iterations"]; got.Advice != c.want[phase] {
				t.Errorf("%d runs, %s: %+v, want %q", c.runs, phase, got, c.want[phase])
			}
		}
	}
}

// S0.7: limits of phases outside all recommended ranges are hinted at.
func TestS0_7_RecommendedRangesInTheReport(t *testing.T) {
	source := phased(10, phases(4, 3, 1), func(int) map[string]int { return map[string]int{"planning": 1, "execution": 1, "refinement": 1} })
	got := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.1}}).Ranges
	want := []tune.RangeHint{{Of: "recommended", Path: "phases.planning.max_iterations", Limit: 4, Hint: "recommended: 1-2 for most tasks, 2-3 for complex planning"}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// What one step loses, what one more gains, and what a smaller limit would lose, where that was tried.
func TestStepsAndTheSmallestLimitThatLosesNothing(t *testing.T) {
	const n = 100
	all := map[limits][]cell{}
	order := []limits{}
	for k := 8; k >= 1; k-- {
		l := limits{k}
		right := map[int]int{1: 40, 2: 60, 3: 61}[min(k, 3)]
		all[l], order = cells(n, right, min(k, 4), int64(min(k, 4))), append(order, l)
	}
	source := made(n, 1, all, order...)
	for c := range source.candidates {
		l := &spec.Loop{}
		l.Terminate.Any = []spec.Condition{{Kind: spec.KindMaxIterations, MaxIterations: order[c][0]}}
		source.candidates[c].Loop = l
	}
	got := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.98}, Today: 0})
	if got.Recommended.Name != "[2 0 0]" {
		t.Fatalf("recommends %s", got.Recommended.Name)
	}
	if want := (tune.Note{Kind: tune.OneStep, Count: 1, Of: 2, Name: "max_iterations=1", More: "20"}); !slices.Contains(got.Notes, want) {
		t.Errorf("notes %+v, want %+v", got.Notes, want)
	}
	for _, l := range got.Limits {
		switch l.Of {
		case "recommended":
			if l.Advice != tune.Raise || l.To != 3 || l.Step == nil || l.Step.Value != "3" || math.Abs(l.Step.Objective.Number-0.01) > 1e-9 || math.Abs(l.Step.Cost.Number-0.01) > 1e-9 {
				t.Errorf("the recommended limit: %+v", l)
			}
		case "today": // no run makes more than 4 of 8, and 3 lose nothing
			if l.Advice != tune.Lower || l.To != 3 {
				t.Errorf("today's limit: %+v", l)
			}
		}
	}
}

// A limit that runs reach is not to be raised where one more, or one less, shows that
// more is worse.
func TestNoAdviceToRaiseWhereMoreIsWorse(t *testing.T) {
	const n = 100
	loop := func(k int) *spec.Loop {
		l := &spec.Loop{}
		l.Terminate.Any = []spec.Condition{{Kind: spec.KindMaxIterations, MaxIterations: k}}
		return l
	}
	for _, c := range []struct {
		two, three int // right under so many iterations
		want       tune.Advice
	}{{60, 50, tune.NoAdvice}, {50, 60, tune.Raise}} {
		source := made(n, 1, map[limits][]cell{{3}: cells(n, c.three, 3, 3), {2}: cells(n, c.two, 2, 2)}, limits{3}, limits{2})
		for i := range source.candidates {
			source.candidates[i].Loop = loop(3 - i)
		}
		for _, l := range tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.1}, Today: 1}).Limits {
			if l.Advice != c.want {
				t.Errorf("%d right under 2 and %d under 3: %+v, want %q", c.two, c.three, l, c.want)
			}
		}
	}
}

// What looks best among many that are equally good is luck, and tasks left out say so.
func TestLuckShowsOnTasksLeftOut(t *testing.T) {
	const n, tries = 100, 60
	r := rand.New(rand.NewPCG(1, 2))
	all, order := map[limits][]cell{}, []limits{}
	for c := range tries {
		l, made := limits{1 + c}, make([]cell, n)
		for i := range made {
			made[i] = cell{float64(r.IntN(2)), 1, 1}
		}
		all[l], order = made, append(order, l)
	}
	got := tuned(t, made(n, 1, all, order...), tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 1}, Today: 0})
	luck := got.Luck
	if luck == nil || luck.Over != "today" {
		t.Fatal("no luck is told")
	}
	if a, h := luck.Objective.Apparent.Number, luck.Objective.Honest.Number; a < 0.05 || a-h < 0.05 || math.Abs(luck.Objective.Luck.Number-(a-h)) > 1e-12 {
		t.Errorf("apparent %v, honest %v, luck %v", a, h, luck.Objective.Luck)
	}
	in, out, today := got.Validation.InSample, got.Validation.HeldOut, got.Validation.Today
	if in.Hits-today.Hits != int(math.Round(n*luck.Objective.Apparent.Number)) || out.Hits-today.Hits != int(math.Round(n*luck.Objective.Honest.Number)) {
		t.Errorf("in sample %d, held out %d, today %d: not the gains %+v", in.Hits, out.Hits, today.Hits, luck.Objective)
	}
	if !luck.Objective.HonestInterval.Known() || luck.Objective.HonestInterval.Low.Number > luck.Objective.Honest.Number {
		t.Errorf("the interval of the honest gain is %v", luck.Objective.HonestInterval)
	}
}

// two are recordings of two paths.
type two struct {
	*table
	on []int
}

func (s *two) Recording(_ context.Context, candidate int) (int, error) { return s.on[candidate], nil }

func (s *two) Recordings() []sweep.Recording {
	return []sweep.Recording{s.table.Recordings()[0], {Configuration: "other", Scores: s.scores, Runs: s.runs}}
}

func (s *two) Totals(ctx context.Context, part []int, parts int, visit func(int, []sweep.Totals)) error {
	return s.table.Totals(ctx, part, parts, func(c int, totals []sweep.Totals) {
		for f := range totals {
			if s.on[c] > 0 { // nothing is lost against the recording of its own path
				totals[f].Scores[0].Lost, totals[f].Scores[0].Gained = 0, 0
			}
		}
		visit(c, totals)
	})
}

// What another path loses is lost against the first recording, not its own.
func TestAnotherPathIsHeldAgainstTheFirstRecording(t *testing.T) {
	const n = 300
	source := &two{made(n, 1, map[limits][]cell{{2}: cells(n, 200, 2, 2), {1}: cells(n, 150, 1, 1)}, limits{2}, limits{1}), []int{0, 1}}
	got := tuned(t, source, tune.ChoiceOptions{})
	if got.Recommended == nil || got.Recommended.Candidate != 0 {
		t.Errorf("%s: %s", name(got.Recommended), fmt.Sprint(got.Why, got.WhyNone))
	}
}

// A phase that only its limit ends is not advised on because one value was tried; where
// several were, what they bring is told.
func TestNoAdviceOnAPhaseThatOnlyItsLimitEnds(t *testing.T) {
	for tried, want := range map[int]tune.Advice{1: tune.NoAdvice, 2: tune.Raise} {
		source := phased(100, phases(2, 3, 1), func(int) map[string]int { return map[string]int{"planning": 2, "execution": 3, "refinement": 1} })
		path := "phases.planning.max_iterations"
		source.candidates[0].Params = []spec.Param{{Path: path, Value: 2.0}}
		if tried == 2 {
			other := source.candidates[0]
			other.Name, other.Params, other.Loop = "other", []spec.Param{{Path: path, Value: 1.0}}, phases(1, 3, 1)
			source.candidates, source.outcomes = append(source.candidates, other), append(source.outcomes, slices.Clone(source.outcomes[0]))
			for i := range source.outcomes[1] {
				source.outcomes[1][i].Iterations, source.outcomes[1][i].Scores = 5, []sweep.Range{{Least: 0, Most: 0}}
			}
		}
		if got := limitsOf(t, source)[path]; got.Advice != want {
			t.Errorf("%d values tried: %+v, want %q", tried, got, want)
		}
	}
}

// Advice on today's limit does not contradict what is recommended.
func TestAdviceAgreesWithTheRecommendation(t *testing.T) {
	const n = 100
	right := map[int]int{1: 40, 2: 80, 3: 90, 4: 92}
	all, order := map[limits][]cell{}, []limits{}
	for k := 4; k >= 1; k-- {
		all[limits{k}], order = cells(n, right[k], k, int64(k)), append(order, limits{k})
	}
	for _, c := range []struct {
		today, recommended int
		share              float64
		to                 int
	}{{1, 4, 1, 4}, {1, 2, 0.8, 2}, {3, 2, 0.8, 0}, {2, 2, 0.8, 3}} {
		source := made(n, 1, all, order...)
		for i := range source.candidates {
			l := &spec.Loop{}
			l.Terminate.Any = []spec.Condition{{Kind: spec.KindMaxIterations, MaxIterations: 4 - i}}
			source.candidates[i].Loop = l
		}
		got := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: c.share}, Today: 4 - c.today})
		if want := fmt.Sprintf("[%d 0 0]", c.recommended); got.Recommended.Name != want {
			t.Fatalf("recommends %s, want %s", got.Recommended.Name, want)
		}
		last := got.Limits[len(got.Limits)-1]
		if last.Limit != c.today || last.To != c.to || (last.Advice == tune.Raise) != (c.to > 0) {
			t.Errorf("today %d, recommended %d: %+v, want to %d", c.today, c.recommended, last, c.to)
		}
	}
}

// What costs as much, is worth as much and takes as long as today's configuration is no
// reason to change it, and the best guess is to keep it.
func TestTiesKeepToday(t *testing.T) {
	const n = 40
	all := map[limits][]cell{{3, 2}: cells(n, 30, 3, 3), {3, 1}: cells(n, 30, 3, 3)}
	tie := func() *table {
		source := made(n, 1, all, limits{3, 2}, limits{3, 1})
		source.outcomes[1][0].Outcome.Success = true // one run ends for another reason
		return source
	}
	got := tuned(t, tie(), tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.9}})
	if name(got.Recommended) != "[3 2 0]" || name(got.Best) != "[3 2 0]" || !got.Unchanged {
		t.Errorf("recommended %s, best %s, unchanged %v", name(got.Recommended), name(got.Best), got.Unchanged)
	}
	got = tuned(t, tie(), tune.ChoiceOptions{}) // 40 tasks are too few to show a loss of at most 2 %
	if got.Recommended != nil || name(got.Best) != "[3 2 0]" || got.Guess == nil || !got.Guess.Unchanged || got.Guess.Name != "[3 2 0]" || !got.Guess.Cheapest || got.Guess.Tasks != 0 {
		t.Errorf("recommended %s, best %s, guess %+v", name(got.Recommended), name(got.Best), got.Guess)
	}
	all[limits{3, 1}] = cells(n, 20, 2, 2)
	if got = tuned(t, tie(), tune.ChoiceOptions{}); got.Guess == nil || !got.Guess.Unchanged || got.Guess.Cheapest || got.Guess.Tasks != 149 {
		t.Errorf("a cheaper one loses too much: %+v", got.Guess)
	}
	all[limits{3, 1}] = cells(n, 30, 2, 2)
	if got = tuned(t, tie(), tune.ChoiceOptions{}); got.Guess == nil || got.Guess.Name != "[3 1 0]" {
		t.Errorf("a cheaper one is no guess: %+v", got.Guess)
	}
}

// A saving that is shown to count as the same is called little; a larger one is not.
func TestLittleIsSaved(t *testing.T) {
	const n = 400
	for steps, little := range map[int]bool{96: true, 60: false} {
		fewer := cells(n, 300, steps, int64(steps))
		for i := range n / 2 { // half of the runs ended by themselves
			fewer[2*i] = cell{fewer[2*i].score, 100, 100}
		}
		source := made(n, 1, map[limits][]cell{{100}: cells(n, 300, 100, 100), {98}: fewer}, limits{100}, limits{98})
		got := tuned(t, source, tune.ChoiceOptions{})
		var text strings.Builder
		if err := page.Write(&text, got, page.Options{Format: "terminal", Width: 300}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(pagetest.AnswerOf(got.Answer(), page.Visible).String(), "than today, which counts as the same") != little {
			t.Errorf("%d steps: %s", steps, pagetest.AnswerOf(got.Answer(), page.Visible).String())
		}
		if name(got.Recommended) != "[98 0 0]" || strings.Contains(text.String(), "little is saved: cost_usd falls by 2%") != little {
			t.Errorf("%d steps: recommended %s\n%s", steps, name(got.Recommended), text.String())
		}
	}
}
