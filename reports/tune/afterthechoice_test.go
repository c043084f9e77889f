package tune_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec/expr"
)

// severalPaths is a Source of several recordings: candidate i is what recording i did.
type severalPaths struct {
	*table
	recordings []sweep.Recording
	on         []int
}

func (s *severalPaths) Recordings() []sweep.Recording                   { return s.recordings }
func (s *severalPaths) Recording(_ context.Context, i int) (int, error) { return s.on[i], nil }
func (s *severalPaths) Runs() []sweep.Run                               { return s.recordings[0].Runs }
func (s *severalPaths) Lead(recording int) {
	for i, on := range s.on {
		switch {
		case on == recording:
			s.on[i] = 0
		case on < recording:
			s.on[i]++
		}
	}
	s.recordings = slices.Insert(slices.Delete(slices.Clone(s.recordings), recording, recording+1), 0, s.recordings[recording])
}

func (s *severalPaths) Totals(_ context.Context, part []int, parts int, visit func(int, []sweep.Totals)) error {
	for i := range s.outcomes {
		visit(i, sweep.Divide(s.recordings[s.on[i]].Runs, part, parts).Sum(s.outcomes[i]).Totals())
	}
	return nil
}

// threePaths are three recorded paths: so many of 120 tasks are right, the first of
// them, and each costs more than the one before.
func threePaths(order ...string) *severalPaths {
	right, cents := map[string]int{"tight": 76, "default": 97, "loose": 104}, map[string]int64{"tight": 10, "default": 15, "loose": 30}
	s := &severalPaths{}
	for i, name := range order {
		l := limits{int(cents[name])}
		one := made(120, 1, map[limits][]cell{l: cells(120, right[name], int(cents[name]), cents[name])}, l)
		if s.table == nil {
			s.table = &table{scores: one.scores}
		}
		one.candidates[0].Name = name
		s.recordings = append(s.recordings, sweep.Recording{Configuration: name, Scores: one.scores, Runs: one.runs})
		s.candidates, s.outcomes, s.on = append(s.candidates, one.candidates[0]), append(s.outcomes, one.outcomes[0]), append(s.on, i)
	}
	return s
}

// Losses are counted against the recording with the best objective, wherever it
// stands in the folder.
func TestLossesAreCountedAgainstTheBestRecording(t *testing.T) {
	for _, order := range [][]string{{"tight", "default", "loose"}, {"loose", "default", "tight"}, {"default", "loose", "tight"}, {"tight", "loose", "default"}} {
		for allowed, want := range map[float64]string{0.05: "loose", 0.15: "default", 0.4: "tight"} {
			got := tuned(t, threePaths(order...), tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: allowed}, Today: slices.Index(order, "default")})
			if got.Reference != "loose" || got.References != 3 || name(got.Recommended) != want || got.Bound.Most.Number != allowed {
				t.Errorf("%v, max_loss %v: %s against %s, want %s", order, allowed, name(got.Recommended), got.Reference, want)
			}
			if want == "tight" && (got.Recommended.Lost != 28 || got.Against[0].What != "today" || got.Against[0].Lost != 21) {
				t.Errorf("%v: tight loses %d against loose, %d against %s", order, got.Recommended.Lost, got.Against[0].Lost, got.Against[0].What)
			}
		}
	}
}

// A share of the best is one of the best that is known, the recording included.
func TestARecommendationIsComparedWithTheRecording(t *testing.T) {
	const n = 600
	source := made(n, 1, map[limits][]cell{{9}: cells(n, 115, 9, 90), {1}: cells(n, 106, 1, 10)}, limits{9}, limits{1})
	source.candidates, source.outcomes = source.candidates[1:], source.outcomes[1:] // the recording itself is not among those that are tried
	for _, rule := range []tune.ChoiceRule{{Rule: tune.AtLeast, Number: 0.98}, {Rule: tune.AtLeast, Number: 1}} {
		got := tuned(t, source, tune.ChoiceOptions{Choose: rule, Today: -1})
		g := got.Guess
		if got.Recommended != nil || !strings.Contains(got.WhyNone, "0.1767") || !strings.Contains(got.WhyNone, "0.1917") {
			t.Errorf("%v: %s (%s%s)", rule, name(got.Recommended), got.Why, got.WhyNone)
			continue
		}
		if g == nil || !g.Recorded || g.Name != "default" || g.Tasks != 0 || g.Value.Number < 0.19 || g.Best.Number > 0.18 {
			t.Errorf("%v: guess %+v", rule, g)
		}
	}
	if got := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.9}, Today: -1}); name(got.Recommended) != "[1 0 0]" || got.Guess != nil {
		t.Errorf("within a tenth: %s", name(got.Recommended))
	}
}

// Where the tasks do not show the difference, the guess says how many would.
func TestAGuessSaysHowManyTasksWouldProveIt(t *testing.T) {
	const n = 60
	source := made(n, 1, map[limits][]cell{{9}: cells(n, 12, 9, 90), {1}: cells(n, 11, 1, 10)}, limits{9}, limits{1})
	source.candidates, source.outcomes = source.candidates[1:], source.outcomes[1:]
	got := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.98}, Today: -1})
	if g := got.Guess; g == nil || g.Tasks < 400 || g.Tasks > 500 { // 7.85 * (1/60 - 1/3600) / (1/60)^2 = 463
		t.Errorf("guess %+v", g)
	}
	loses := made(n, 1, map[limits][]cell{{9}: cells(n, 12, 9, 90), {1}: cells(n, 12, 1, 10)}, limits{9}, limits{1})
	got = tuned(t, loses, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.02}, Today: -1})
	if g := got.Guess; got.Recommended != nil || g == nil || g.Name != "[1 0 0]" || g.Lost != 0 || g.Tasks != 149 {
		t.Errorf("%s, guess %+v", name(got.Recommended), g)
	}
}

// What the recording does not answer for may be better by its lower bound.
func TestARecommendationIsComparedWithLowerBounds(t *testing.T) {
	const n = 100
	source := made(n, 1, map[limits][]cell{{3}: cells(n, 50, 3, 30), {2}: cells(n, 50, 2, 20), {9}: cells(n, 60, 9, 90)}, limits{3}, limits{2}, limits{9})
	for i := 60; i < n; i++ { // the last runs of [9] would have gone on
		o := &source.outcomes[2][i]
		o.Verdict, o.Scores = replay.Censored, []sweep.Range{{Least: 0, Most: 1}}
	}
	for _, rule := range []tune.ChoiceRule{{Rule: tune.AtLeast, Number: 0.98}, {Rule: tune.MaxLoss, Number: 0.05}} {
		got := tuned(t, source, tune.ChoiceOptions{Choose: rule, Today: -1})
		if g := got.Guess; got.Recommended != nil || g == nil || g.Name != "[9 0 0]" || !g.Least || g.Value.Number != 0.6 || g.Best.Number != 0.5 || g.Tasks < n {
			t.Errorf("%v: %s, guess %+v", rule, name(got.Recommended), g)
		}
	}
	if got := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.2}, Today: -1}); name(got.Recommended) != "[2 0 0]" {
		t.Errorf("where so much may be lost: %s (%s)", name(got.Recommended), got.WhyNone)
	}
}

// What may be better and is not known to be withholds nothing: only lower bounds do.
func TestOnlyLowerBoundsWithholdARecommendation(t *testing.T) {
	const n = 200
	zero, below := sweep.Range{Least: 0, Most: 1}, sweep.Range{Least: math.Inf(-1), Most: math.Inf(1)}
	for what, c := range map[string]struct {
		verdict replay.Verdict
		score   sweep.Range
		known   int // runs that are right for sure
		want    bool
	}{
		"nothing is known":                     {replay.Censored, zero, 0, true},
		"it needs calls":                       {replay.Branches, zero, 0, true},
		"its score has no bounds":              {replay.Branches, below, 0, true},
		"it may be better, and may be worse":   {replay.Censored, zero, 150, true},
		"it is at least as good as the choice": {replay.Censored, zero, 160, true},
		"no bounds, beside runs that are":      {replay.Censored, below, 190, true},
		"it is better for sure":                {replay.Censored, zero, 190, false},
	} {
		source := made(n, 1, map[limits][]cell{{3}: cells(n, 160, 3, 30), {2}: cells(n, 160, 2, 20), {9}: cells(n, c.known, 9, 90)}, limits{3}, limits{2}, limits{9})
		for i := c.known; i < n; i++ {
			o := &source.outcomes[2][i]
			o.Verdict, o.Scores = c.verdict, []sweep.Range{c.score}
		}
		for _, rule := range []tune.ChoiceRule{{Rule: tune.AtLeast, Number: 0.98}, {Rule: tune.MaxLoss, Number: 0.05}} {
			got := tuned(t, source, tune.ChoiceOptions{Choose: rule, Today: -1})
			if is := name(got.Recommended) == "[2 0 0]"; is != c.want || (got.Guess == nil) != c.want {
				t.Errorf("%s, %v: %s (%s), guess %+v", what, rule, name(got.Recommended), got.WhyNone, got.Guess)
			}
		}
	}
}

// A parameter whose change changes no run keeps today's value.
func TestWhatHasNoEffectStays(t *testing.T) {
	const n = 200
	one, three := cells(n, 150, 1, 10), cells(n, 150, 3, 30)
	source := made(n, 1, map[limits][]cell{{3, 9}: three, {1, 4}: one, {1, 9}: one, {1}: one}, limits{3, 9}, limits{1, 4}, limits{1, 9}, limits{1})
	for _, rule := range []tune.ChoiceRule{{Rule: tune.MaxLoss, Number: 0.05}, {Rule: tune.AtLeast, Number: 0.9}} {
		if got := tuned(t, source, tune.ChoiceOptions{Choose: rule, Today: 0}); name(got.Recommended) != "[1 9 0]" || len(got.Changes) == 0 {
			t.Errorf("%v: %s, want today's patience of 9", rule, name(got.Recommended))
		}
	}
}

// Of equally cheap and equally good configurations the faster one is taken: nothing
// on the page is as cheap, as good and as fast at once.
func TestNothingOnThePageBeatsTheRecommendation(t *testing.T) {
	const n = 100
	all, order := map[limits][]cell{}, []limits{}
	r := rand.New(rand.NewPCG(3, 4))
	for k := range 12 {
		l := limits{k + 1, 1 + k%3}
		all[l] = cells(n, 80+r.IntN(12), 1+r.IntN(3), int64(1+r.IntN(3)))
		order = append(order, l)
	}
	for _, rule := range []tune.ChoiceRule{{Rule: tune.MaxLoss, Number: 0.2}, {Rule: tune.AtLeast, Number: 0.95}} {
		for range 5 {
			r.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
			got := tuned(t, made(n, 1, all, order...), tune.ChoiceOptions{Choose: rule, Today: -1})
			if got.Recommended != nil && !slices.ContainsFunc(got.Front, func(row tune.FrontRow) bool { return row.Recommended }) {
				t.Errorf("%v: %s is not on the front", rule, name(got.Recommended))
			}
		}
	}
}

// What another beats is not taken, also where the other one may not be taken: here it
// is as good, but loses and gains so many runs that it is not shown to lose little.
func TestWhatIsBeatenIsNotTaken(t *testing.T) {
	const n = 200
	changed := cells(n, 160, 1, 10) // as many are right, 30 of them others
	for i := range 30 {
		changed[i].score, changed[i+165].score = 0, 1
	}
	source := made(n, 1, map[limits][]cell{{9}: cells(n, 161, 9, 90), {3}: cells(n, 158, 3, 30), {1}: changed}, limits{9}, limits{3}, limits{1})
	got := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.05}, Today: -1, All: true})
	if at := slices.IndexFunc(got.All, func(row tune.AllRow) bool { return row.Name == "[3 0 0]" }); at < 0 || got.All[at].LostMost.Number > 0.05 {
		t.Fatalf("[3 0 0] is to lose little: %+v", got.All)
	}
	if name(got.Recommended) != "[9 0 0]" {
		t.Errorf("%s (%s), want [9 0 0]: [1 0 0] beats [3 0 0]", name(got.Recommended), got.Why)
	}
}

// A configuration is tested only after all looser ones have passed: one that loses
// little is not taken where a looser one loses much.
func TestTighterOnesWaitForLooserOnes(t *testing.T) {
	const n = 200
	line := func(second int) *table {
		return made(n, 1, map[limits][]cell{{3}: cells(n, 160, 3, 30), {2}: cells(n, second, 2, 20), {1}: cells(n, 159, 1, 10)}, limits{3}, limits{2}, limits{1})
	}
	grid := made(n, 1, map[limits][]cell{{2, 2}: cells(n, 160, 4, 40), {1, 2}: cells(n, 159, 3, 30), {2, 1}: cells(n, 100, 2, 20), {1, 1}: cells(n, 158, 1, 10)},
		limits{2, 2}, limits{1, 2}, limits{2, 1}, limits{1, 1})
	for what, c := range map[string]struct {
		source tune.Candidates
		want   string
	}{
		"one that loses nothing in between":   {line(160), "[1 0 0]"},
		"one that loses too much in between":  {line(100), "[3 0 0]"},
		"one of two looser ones that does so": {grid, "[1 2 0]"},
	} {
		got := tuned(t, c.source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.05}, Today: -1})
		if name(got.Recommended) != c.want {
			t.Errorf("%s: %s, want %s (%s%s)", what, name(got.Recommended), c.want, got.Why, got.WhyNone)
		}
	}
}

// Where what passes is beaten by what does not, nothing is recommended, and the reason
// is not that nothing passes.
func TestWhatPassesAndIsBeatenIsNamed(t *testing.T) {
	const n = 200
	source := made(n, 1, map[limits][]cell{{3}: cells(n, 160, 3, 30), {2}: cells(n, 100, 2, 20), {1}: cells(n, 160, 1, 10)}, limits{3}, limits{2}, limits{1})
	got := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.05}, Today: -1})
	if want := "[3 0 0] is proven to lose at most 5%, but [1 0 0], which is not, beats it"; got.Recommended != nil || got.WhyNone != want {
		t.Errorf("%s (%s), want none: %s", name(got.Recommended), got.WhyNone, want)
	}
}

// One parameter is tested without correction, several share the error rate with
// those that are as many steps away from the loosest; what changes no run is no step.
func TestTheErrorRateIsShared(t *testing.T) {
	const n = 100
	grid := func(lost func(k, p int) int) (*table, []limits) {
		all, order := map[limits][]cell{}, []limits{}
		for k := 3; k >= 1; k-- {
			for p := 3; p >= 1; p-- {
				l := limits{k, p}
				all[l], order = cells(n, 90-lost(k, p), 4*k+p, int64(4*k+p)), append(order, l)
			}
		}
		return made(n, 1, all, order...), order
	}
	alphas := func(source tune.Candidates) map[string]float64 {
		rates := map[string]float64{}
		for _, row := range tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.MaxLoss, Number: 0.1}, Today: -1, All: true}).All {
			rates[row.Name] = math.Round(row.Alpha*1e6) / 1e6
		}
		return rates
	}
	source, _ := grid(func(k, p int) int { return 6 - k - p })
	for name, want := range map[string]float64{"[3 3 0]": 0.05, "[3 2 0]": 0.025, "[2 3 0]": 0.025, "[2 2 0]": 0.016667, "[3 1 0]": 0.016667, "[1 2 0]": 0.025, "[1 1 0]": 0.05} {
		if got := alphas(source)[name]; got != want {
			t.Errorf("%s is tested at %v, want %v", name, got, want)
		}
	}
	one, order := grid(func(k, p int) int { return 3 - k })
	for i, l := range order { // p changes nothing
		for run := range one.outcomes[i] {
			o := &one.outcomes[i][run]
			o.Iterations, o.Elapsed, o.Usage = l[0], 0, replay.Span{Least: usage(int64(l[0])), Most: usage(int64(l[0]))}
		}
	}
	for name, got := range alphas(one) {
		if got != 0.05 {
			t.Errorf("%s is tested at %v, want 0.05: the other parameter changes nothing", name, got)
		}
	}
	if got := alphas(threePaths("tight", "default", "loose")); got["loose"] != 0.045 || got["tight"] != 0.0025 || got["default"] != 0.0025 {
		t.Errorf("paths are tested at %v", got)
	}
}

// Many configurations lose more than is allowed, each by chance less in some draw: the
// stated bound holds for the one that is taken, single bounds do not.
func TestTheBoundHoldsAfterTheChoice(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("one thing at a time, for long; it runs without -short")
	}
	const draws, n, candidates, truth = 100, 100, 48, 0.07
	r := rand.New(rand.NewPCG(5, 6))
	for _, rule := range []tune.ChoiceRule{{Rule: tune.MaxLoss, Number: 0.06}, {Rule: tune.AtLeast, Number: 0.97}} {
		exceeded, alone, taken := 0, 0, 0
		for range draws {
			all, order := map[limits][]cell{{99}: cells(n, n, 99, 99)}, []limits{{99}}
			for k := range candidates { // none is looser than another: each loses runs of its own
				l := limits{candidates - k, 1 + k}
				all[l] = cells(n, n, candidates-k, int64(candidates-k))
				for i := range all[l] {
					all[l][i].score = float64(toInt(r.Float64() >= truth))
				}
				order = append(order, l)
			}
			got := tuned(t, made(n, 1, all, order...), tune.ChoiceOptions{Choose: rule, Today: -1, Folds: -1})
			if got.Recommended == nil || got.Recommended.Candidate == 0 {
				continue
			}
			taken++
			exceeded += toInt(got.Bound.Most.Number < truth)
			alone += toInt(got.Recommended.LostMost.Number < truth)
		}
		t.Logf("%v: of %d choices %d lose more than the stated bound, %d more than their single bound", rule, taken, exceeded, alone)
		if exceeded > 8 { // 5 % of the draws, and 1.65 standard errors
			t.Errorf("%v: of %d draws %d lose more than the stated bound", rule, draws, exceeded)
		}
		if rule.Rule == tune.AtLeast && alone < 10 {
			t.Errorf("%v: only %d lose more than their single bound: the test shows nothing", rule, alone)
		}
	}
}

// Of several configurations that parameters are set in, each has steps of its own, and their order changes nothing.
func TestBasesAreApart(t *testing.T) {
	const n = 60
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		source := made(n, 1, map[limits][]cell{{3}: cells(n, 40, 3, 30), {2}: cells(n, 38, 2, 20)}, limits{3}, limits{2})
		other := made(n, 1, map[limits][]cell{{3}: cells(n, 30, 3, 60), {2}: cells(n, 20, 2, 50)}, limits{3}, limits{2})
		all := [2]*table{source, other}
		joined := &table{scores: source.scores, runs: source.runs}
		for _, base := range order {
			for i := range all[base].candidates {
				c := all[base].candidates[i]
				c.Base, c.Name = string(rune('a'+base)), string(rune('a'+base))+c.Name
				joined.candidates, joined.outcomes = append(joined.candidates, c), append(joined.outcomes, all[base].outcomes[i])
			}
		}
		got := tuned(t, joined, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.9}, Today: -1})
		if name(got.Recommended) != "a[2 0 0]" || !slices.Contains(got.Notes, tune.Note{Kind: tune.OneStep, Of: 1}) {
			t.Errorf("%v: %s, notes %+v", order, name(got.Recommended), got.Notes)
		}
	}
}

// max_loss counts what a score falls by: that is no loss where a small one is wanted.
func TestMaxLossOfASmallScoreIsRefused(t *testing.T) {
	source := made(10, 1, map[limits][]cell{{2}: cells(10, 5, 2, 2)}, limits{2})
	_, err := tune.Choose(t.Context(), source, tune.ChoiceOptions{Minimize: true})
	if !errors.Is(err, tune.ErrLossOfSmall) {
		t.Errorf("%v", err)
	}
	cost := compiled(t, expr.Objective(), expr.WantNumber, "cost_usd.mean")
	if _, err := tune.Choose(t.Context(), source, tune.ChoiceOptions{Minimize: true, Objective: cost}); err != nil {
		t.Errorf("a small cost, without losses of the score: %v", err)
	}
}
