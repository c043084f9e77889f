package tune_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/reports/tune/coachtest"
)

func known(x float64) page.Value { return page.Known(x) }

func between(low, high float64) page.Range {
	return page.Range{Low: known(low), High: known(high)}
}

var (
	none    = page.Missing(page.Nothing)
	noRange = page.Range{Low: none, High: none}
)

// choiceOf makes a choice of a replayed configuration.
func choiceOf(r *tune.Replay, name string, candidate int) *tune.Choice {
	for i := range r.Configurations {
		c := r.Configurations[i]
		if c.Name != name {
			continue
		}
		s := &c.Scores[0]
		choice := &tune.Choice{
			Configuration: c, Candidate: candidate, Objective: s.Mean, ChoiceCost: c.Cost.Mean, Intervals: tune.Intervals{ObjectiveInterval: s.Interval, CostInterval: noRange, LatencyInterval: noRange},
			Loss: tune.Loss{Lost: s.Lost, Gained: s.Gained, LostMost: known(float64(s.Lost+5) / 120), LossIsNet: s.Gained > 0},
		}
		return choice
	}
	return nil
}

// tuning is one of the coach with something in every table. The numbers of the
// configurations are replayed, those between them made up.
func tuning(t *testing.T) *tune.Tuning {
	r, err := tune.Collect(context.Background(), coachtest.Sweep(t, coachtest.Candidates(t), coachtest.Recording(t, 60)), tune.ReplayOptions{Suite: "interview-coach"})
	if err != nil {
		t.Fatal(err)
	}
	five, three, nine, wide := choiceOf(r, "max_iterations=5", 1), choiceOf(r, "max_iterations=3", 0), choiceOf(r, "max_iterations=9", 2), choiceOf(r, "wide", -1)
	counted := func(tasks, hits int, iterations int64) tune.Counted {
		return tune.Counted{
			Tasks: tasks, Runs: 2 * tasks, Hits: hits, Score: known(float64(hits) / float64(2*tasks)), Iterations: iterations,
			Tokens: known(float64(iterations) * 1380), Cost: known(float64(iterations) * 0.000255), Seconds: known(float64(iterations) * 2),
		}
	}
	out := &tune.Tuning{
		Schema: tune.Schema, Suite: "interview-coach", Tasks: 60, Runs: 120, Level: 0.95, Seed: 7,
		Terms: tune.Terms{Objective: `scores["right"].mean`, Score: "right", Cost: "cost_usd.mean", Rule: "max_loss", Number: 0.2, Folds: 2, FoldsBy: "task", Constraints: []string{"cost_usd.mean < 0.0011"}},
		Tried: tune.Tried{
			Candidates: 5, Exact: 3, Bounded: 1, NeedsCalls: 1, Within: 2, WhyNotExact: "the recording ended here: max_iterations",
		},
		Recommended: five, Today: nine, Recording: wide, Best: five, Alternatives: []tune.Choice{*three},
		Why:       "the cheapest of 2 configurations that is shown to lose at most 20% of the runs' successes; it loses 15 of 120",
		Reference: "wide", References: 1, Bound: &tune.Bound{Most: known(0.2), Net: true, Method: tune.InSteps, Tests: 4},
		Changes: []tune.Change{{Path: "terminate.max_iterations", From: "9", To: "5"}, {Path: "terminate.no_improvement.patience", From: "off", To: "2"}},
		Against: []tune.Versus{{
			What: "recording", Name: "wide", Lost: 15, Gained: 2,
			All: []compare.Difference{
				{Quantity: compare.Quantity{Name: "right", Score: true}, Base: 0.775, New: 0.667, Change: -0.108, Low: -0.17, High: -0.05, P: 0.002, Wins: 2, Losses: 13, Ties: 45, Tasks: 60, Verdict: compare.Worse},
				{Quantity: compare.Quantity{Name: "cost_usd"}, Base: 0.00113, New: 0.00105, Change: 0.00105/0.00113 - 1, Low: -0.1, High: -0.06, Relative: true, P: 0.0001, Wins: 30, Ties: 30, Tasks: 60, Verdict: compare.Better},
				{Quantity: compare.Quantity{Name: "tokens"}, Base: 5000, New: 5250, Change: 0.05, Low: 0.01, High: 0.09, Relative: true, P: 0.03, Wins: 2, Losses: 30, Ties: 28, Tasks: 60, Verdict: compare.Worse},
				{Quantity: compare.Quantity{Name: "latency_s"}, Base: 9.02, New: 8.35, Change: 8.35/9.02 - 1, Low: -0.1, High: 0.01, Relative: true, P: 0.07, Wins: 30, Losses: 2, Ties: 28, Tasks: 60, Verdict: compare.CannotTell},
			},
			Saved: []tune.Saving{{Quantity: "cost_usd", Saved: known(0.08), Interval: between(0.05, 0.11)}, {Quantity: "latency_s", Saved: known(670), Interval: between(-20, 1300)}},
		}},
		Validation: &tune.Validation{
			Folds: []tune.Fold{
				{Fold: 0, Tasks: 30, Chosen: 1, Name: "max_iterations=5", Train: counted(30, 41, 250), HeldOut: counted(30, 39, 240)},
				{Fold: 1, Tasks: 30, Chosen: -1, Why: "no configuration is shown to lose at most 20%"},
			},
			HeldOut: counted(30, 39, 240), InSample: counted(60, 80, 490), Recording: counted(60, 93, 533), Agree: 1,
		},
		Luck: &tune.Luck{
			Over:      "recording",
			Objective: tune.Gain{Apparent: known(-0.108), Honest: known(-0.12), HonestInterval: between(-0.18, -0.06), Luck: known(0.012)},
			Cost:      tune.Gain{Apparent: known(0.00008), Honest: known(0.00007), HonestInterval: between(0.00005, 0.00009), Luck: known(0.00001)},
		},
		Front: []tune.FrontRow{
			{Candidate: 0, Name: "max_iterations=3", Objective: known(0.458), ChoiceCost: known(0.00074), Seconds: known(5.88), Intervals: three.Intervals, Counted: counted(60, 55, 350), Share: known(1), P: known(0.001), Loss: three.Loss},
			{Candidate: 1, Name: "max_iterations=5", Objective: known(0.667), ChoiceCost: known(0.00105), Seconds: known(8.35), Intervals: tune.Intervals{ObjectiveInterval: five.ObjectiveInterval, CostInterval: between(0.001, 0.0011), LatencyInterval: between(7.9, 8.8)}, Counted: counted(60, 80, 490), Share: known(0.93), P: known(1), Same: 1, Recommended: true, Loss: five.Loss},
		},
		Beaten:      []tune.BeatenRow{{Candidate: 3, Name: "max_iterations=4", Objective: known(0.45), ChoiceCost: known(0.00091), Seconds: known(7.1), BeatenBy: "max_iterations=3"}},
		BeatenInAll: 1,
		Unpriced:    2,
		All:         []tune.AllRow{{Candidate: 1, Name: "max_iterations=5", Objective: known(0.667), ChoiceCost: known(0.00105), Counted: counted(60, 80, 490), Within: true, Loss: five.Loss, Alpha: 0.05, Recommended: true}},
		Limits: []tune.LimitUse{
			{Of: "recommended", Path: "max_iterations", Limit: 5, Used: known(4.1), Share: known(0.82), Reached: known(0.83), OfAll: none, OfCost: none, Largest: 5, Advice: tune.Raise, To: 6,
				Step: &tune.Step{Value: "6", Label: "exact", Objective: known(0.108), Cost: known(0.00008)}},
			{Of: "recommended", Path: "phases.planning.max_iterations", Limit: 2, Used: known(1), Share: known(0.5), Reached: known(0), OfAll: known(0.24), OfCost: known(0.2), Largest: 1, Advice: tune.Lower, To: 1},
			{Of: "recommended", Path: "phases.execution.max_iterations", Limit: 4, Used: known(3.1), Share: known(0.77), Reached: known(0.3), OfAll: known(0.76), OfCost: known(0.8), Largest: 4, Advice: tune.Rebalance},
		},
		Curve: []tune.CurveStep{
			{Iteration: 1, Reached: 120, Hits: 20, Extra: 20, Score: known(0.167), Cost: known(0.0306), ScoreInterval: between(0.1, 0.234), CostInterval: between(0.0299, 0.0313), ExtraCost: known(0.0306), Hazard: known(0.167), PerSuccess: known(0.00153), PerExtra: known(0.00153), Ahead: known(0.0012), AheadTo: 3},
			{Iteration: 2, Reached: 118, Hits: 38, Extra: 18, Score: known(0.317), Cost: known(0.0607), ScoreInterval: between(0.23, 0.404), CostInterval: between(0.0581, 0.0633), Cut: 2, ExtraCost: known(0.0301), Hazard: known(0.18), PerSuccess: known(0.0016), PerExtra: known(0.00167), Ahead: known(0.00167), AheadTo: 2},
			{Iteration: 3, Reached: 110, Hits: 38, Score: known(0.317), Cost: known(0.0888), ScoreInterval: between(0.23, 0.404), CostInterval: between(0.0841, 0.0935), Cut: 10, ExtraCost: known(0.0281), Hazard: known(0), PerSuccess: known(0.00234), PerExtra: none, Ahead: none},
		},
		Ranges: []tune.RangeHint{{Of: "today", Path: "phases.planning.max_iterations", Limit: 6, Hint: "planning takes 1 or 2 iterations most often, 2 or 3 where it is complex"}},
		Notes: []tune.Note{
			{Kind: "faults", Count: 2, Of: 122, More: "rate_limit 2"}, {Kind: tune.ExcludedBy, Name: "cost_usd.mean < 0.0011", Count: 1, Of: 3},
			{Kind: tune.OneStep, Count: 1, Of: 1, Name: "terminate.max_iterations=3", More: "27"},
		},
	}
	return out
}

func TestTuneGolden(t *testing.T) {
	r := tuning(t)
	for name, options := range map[string]page.Options{
		"tune.80.txt":      {},
		"tune.summary.txt": {Summary: true},
		"tune.200.txt":     {Width: 200},
		"tune.md":          {Format: "markdown"},
		"tune.comment.md":  {Format: "comment"},
		"tune.choice.csv":  {Format: "csv"},
		"tune.json":        {Format: "json"},
	} {
		pagetest.Golden(t, name, pagetest.Written(t, r, options))
	}
}

// The first screen has at most 15 lines of 80 columns, marks what is recommended, and
// offers to change the YAML only where that can be done.
func TestTheSummaryOfTune(t *testing.T) {
	r := tuning(t)
	r.Again = "agentbench tune results --configuration=default"
	for _, applies := range []bool{false, true} {
		r.Applies = map[bool]tune.Applies{true: tune.AppliesToSuite}[applies]
		text := pagetest.Written(t, r, page.Options{Summary: true})
		if lines := strings.Count(text, "\n"); lines > page.SummaryLines || !strings.Contains(text, "\n* recommended") {
			t.Errorf("%d lines:\n%s", lines, text)
		}
		if strings.Contains(text, " --apply") != applies || !strings.Contains(text, r.Again+" --all") {
			t.Errorf("applies: %v:\n%s", applies, text)
		}
	}
	r.Again += " --parameter terminate.confidence.threshold=" + strings.Repeat("0.123456,", 1000) + "1"
	if text := pagetest.Written(t, r, page.Options{Summary: true}); strings.Count(text, "\n") > page.SummaryLines || !strings.Contains(text, "\nall tables: the same command with --all\n") {
		t.Errorf("a long command:\n%s", text)
	}
	r.Again, r.Recommended, r.WhyNone, r.Applies = "agentbench tune results", nil, "of 5 configurations none satisfies the constraints", tune.AppliesToSuite
	if text := pagetest.Written(t, r, page.Options{Summary: true}); strings.Contains(text, "--apply") || strings.Contains(text, "\n* ") {
		t.Errorf("nothing is recommended:\n%s", text)
	}
}

func TestTuneKeepsToItsSchema(t *testing.T) {
	schema := pagetest.Schema(t, tune.JSONSchema)
	pagetest.Validate(t, schema, "coach", pagetest.Written(t, tuning(t), page.Options{Format: "json"}))
	nothing := tuning(t)
	nothing.Recommended, nothing.Today, nothing.Validation, nothing.Luck, nothing.WhyNone = nil, nil, nil, nil, "of 5 configurations none satisfies the constraints"
	pagetest.Validate(t, schema, "nothing", pagetest.Written(t, nothing, page.Options{Format: "json"}))
}

// The first lines are the answer.
func TestTheAnswerOfTune(t *testing.T) {
	same := func(text string) string { return text }
	quoted := func(text string) string { return "<" + text + ">" }
	take := tuning(t)
	if a := pagetest.AnswerOf(take.Answer(), quoted); a.State != page.Passed || a.Text !=
		"take <max_iterations=5> (chosen in 1 of 2 folds)" || !slices.Equal(a.More, []string{
		"<right> is 0.667; today it is 0.667–0.817",
		"1,000 runs take $0.08 (7%) and 670 s (7%) less than the recording",
		"compared with the recording, 15 of 120 runs lose their success and 2 gain one",
		"95% confidence: at most 0.200 below the recording (max_loss:0.2)",
	}) {
		t.Errorf("%s: %s", a.State, a.String())
	}
	take.Recommended.Lost, take.Recommended.Gained, take.Bound.Net = 2, 0, false
	if a := pagetest.AnswerOf(take.Answer(), quoted); !strings.HasSuffix(a.String(), "; compared with the recording, 2 of 120 runs lose their success; 95% confidence: at most 20.0% of the runs lose their success (max_loss:0.2)") {
		t.Errorf("without gains: %s", a.Text)
	}
	take.Recommended.Gained, take.Bound.Most, take.Bound.Net = 9, known(-0.02), true
	if a := pagetest.AnswerOf(take.Answer(), quoted); !strings.HasSuffix(a.String(), " and 9 gain one; 95% confidence: at least 0.020 above the recording (max_loss:0.2)") {
		t.Errorf("more gained than lost: %s", a.Text)
	}
	take.Today.Scores[0].Mean = known(0.66671)
	if a := pagetest.AnswerOf(take.Answer(), quoted); !strings.Contains(a.String(), "; <right> is 0.667, the same as today; ") {
		t.Errorf("as good as today: %s", a.Text)
	}
	take.References = 2
	if a := pagetest.AnswerOf(take.Answer(), quoted); !strings.Contains(a.String(), "; compared with <wide> as recorded, 2 of 120 runs ") {
		t.Errorf("several recordings: %s", a.Text)
	}
	take.Today, take.References = nil, 1
	if a := pagetest.AnswerOf(take.Answer(), quoted); !strings.Contains(a.String(), "; <right> is 0.667; as recorded it is 0.775; ") {
		t.Errorf("without today: %s", a.Text)
	}
	keep := tuning(t)
	keep.Unchanged, keep.Today = true, keep.Recommended
	if a := pagetest.AnswerOf(keep.Answer(), same); a.State != page.Passed || a.Text != "keep today's limits, max_iterations=5 (chosen in 1 of 2 folds)" {
		t.Errorf("%s: %s", a.State, a.Text)
	}
	keep.Against = append([]tune.Versus{{What: "today", Saved: []tune.Saving{{Quantity: "cost_usd", Saved: known(5)}}}}, keep.Against...)
	if a := pagetest.AnswerOf(keep.Answer(), same); !strings.Contains(a.String(), "less than the recording; ") {
		t.Errorf("it saves against itself: %s", a.Text)
	}
	both := tuning(t)
	both.Against = append(both.Against, tune.Versus{What: "today", Saved: []tune.Saving{{Quantity: "cost_usd", Saved: known(5)}, {Quantity: "latency_s", Saved: known(-90)}}})
	if a := pagetest.AnswerOf(both.Answer(), same); !strings.Contains(a.String(), "; 1,000 runs take $5.00 less, but 90.0 s more than today; ") {
		t.Error(a.String())
	}
	nothing := tuning(t)
	nothing.Recommended, nothing.WhyNone = nil, `of 5 configurations none satisfies scores["a@b"].mean > 0.5`
	if a := pagetest.AnswerOf(nothing.Answer(), quoted); a.State != page.Failed || a.Text != `nothing is recommended: of 5 configurations none satisfies <scores["a@b"].mean> <>> 0.5` {
		t.Errorf("%s: %s", a.State, a.Text)
	}
	for _, c := range []struct {
		guess tune.Guess
		want  string
	}{
		{tune.Guess{Name: "a@b", Lost: 1, Runs: 40, Tasks: 149}, "best guess: <a@b> loses 1 of 40 runs; 149 tasks would prove it"},
		{tune.Guess{Name: "c", Lost: 2, Gained: 1, Runs: 40}, "best guess: <c> loses 2 of 40 runs and gains 1; it is not proven"},
		{tune.Guess{Name: "d", Recorded: true, Value: known(0.192), Best: known(0.177), Tasks: 300}, "best guess: <d> as recorded has 0.192, the best that could be recommended has 0.177; 300 tasks would prove it"},
		{tune.Guess{Name: "d", Recorded: true, Value: known(0.192), Best: known(0.177)}, "best guess: <d> as recorded has 0.192, the best that could be recommended has 0.177"},
		{tune.Guess{Name: "e", Least: true, Value: known(0.5), Best: known(0.4), Tasks: 90}, "best guess: <e> has at least 0.500, the best that could be recommended has 0.400; 90 tasks recorded under it would prove it"},
		{tune.Guess{Name: "f", Unchanged: true, Runs: 40, Tasks: 149}, "best guess: keep today's limits; cheaper ones take at least 149 tasks to prove"},
		{tune.Guess{Name: "f", Unchanged: true, Runs: 40}, "best guess: keep today's limits; the cheaper ones that were tried lose too much"},
		{tune.Guess{Name: "f", Unchanged: true, Cheapest: true, Runs: 40}, "best guess: keep today's limits; no other that was tried is cheaper"},
		{tune.Guess{Name: "f", Unchanged: true, Cheapest: true, Unjudged: 2, Runs: 40}, "best guess: keep today's limits; 2 others cannot be judged"},
		{tune.Guess{Name: "g", Kept: true, Runs: 12, Tasks: 149}, "best guess: keep today's limits, which lose 0 of 12 runs; 149 tasks would prove it"},
		{tune.Guess{Name: "g", Runs: 1, Tasks: 149}, "best guess: <g> loses 0 of 1 run; 149 tasks would prove it"},
	} {
		nothing.Guess = &c.guess
		if a := pagetest.AnswerOf(nothing.Answer(), quoted); !slices.Equal(a.More, []string{c.want}) {
			t.Errorf("%q, want %q", a.More, c.want)
		}
		if a := pagetest.AnswerOf(nothing.Summary().State, quoted); a.Text != c.want || a.More != nil {
			t.Errorf("the first screen says %q %q, want the guess alone: %q", a.Text, a.More, c.want)
		}
	}
	if a := (&tune.Tuning{}).Answer(); a.State != page.Errored {
		t.Errorf("without runs: %s: %s", a.State, a.Text)
	}
}

// The first lines say what is left of a gain on tasks that did not choose, and where
// the folds are too small to choose.
func TestTheAnswerTellsWhatIsLuck(t *testing.T) {
	same := func(text string) string { return text }
	for _, c := range []struct {
		apparent, honest, high float64
		want                   string
	}{
		{0.083, 0, 0.1, "; on held-out tasks, right changes by 0.000, not +0.083, compared with the recording; "},
		{0, -0.167, -0.024, "; on held-out tasks, right changes by -0.167, not 0.000, compared with the recording; "},
		{0.083, 0.07, 0.1, ""},
		{-0.108, -0.12, -0.06, ""},
	} {
		r := tuning(t)
		r.Luck.Objective = tune.Gain{Apparent: known(c.apparent), Honest: known(c.honest), HonestInterval: between(-0.309, c.high), Luck: known(c.apparent - c.honest)}
		text := pagetest.AnswerOf(r.Answer(), same).String()
		if c.want == "" && strings.Contains(text, "held-out") || !strings.Contains(text, c.want) {
			t.Errorf("%v: %s", c, text)
		}
	}
	none := tuning(t)
	none.Validation.Folds[0].Chosen, none.Validation.Agree = -1, 0
	if text := pagetest.AnswerOf(none.Answer(), same).Text; !strings.Contains(text, " (too few tasks to test the choice on folds)") {
		t.Error(text)
	}
}

// An unknown cost is nothing that is saved, and a loss is told as such.
func TestTuneTellsNoSavingsThatItDoesNotKnow(t *testing.T) {
	r := tuning(t)
	r.Against[0].Saved = []tune.Saving{
		{Quantity: "cost_usd", Saved: page.Missing(page.Unpriced), Interval: noRange}, {Quantity: "latency_s", Saved: page.Missing(page.Unknown), Interval: noRange},
		{Quantity: "tokens", Saved: page.Missing(page.Unknown), Interval: noRange}, {Quantity: "iterations", Saved: known(-360), Interval: noRange},
	}
	text := pagetest.AnswerOf(r.Answer(), func(text string) string { return text }).String()
	if strings.Contains(text, "$") || strings.Contains(text, "less") || !strings.Contains(text, "; 1,000 runs take 360 iterations more than the recording; ") {
		t.Error(text)
	}
}

// What was recorded is told once where it is today's configuration.
func TestTodayIsNotToldTwice(t *testing.T) {
	r := tuning(t)
	today := *r.Recording
	today.Candidate, today.Name, today.Recorded, today.Label = 3, "as it is", false, "exact"
	r.Today = &today
	again := r.Against[0]
	again.What = "today"
	r.Against = []tune.Versus{again, r.Against[0]}
	text := pagetest.Written(t, r, page.Options{Width: 200})
	if !strings.Contains(text, "today, recorded ") {
		t.Errorf("the recording has a row of its own:\n%s", text)
	}
	if text := pagetest.Written(t, r, page.Options{Width: 200, Tables: []string{"differences"}}); strings.Contains(text, "\nrecording ") {
		t.Errorf("the differences tell the recording, too:\n%s", text)
	}
	today.Iterations.Mean, r.Against[1].All = known(4), r.Against[1].All[1:]
	if text := pagetest.Written(t, r, page.Options{Width: 200}); !strings.Contains(text, "\nrecorded ") || !strings.Contains(text, "\nrecording ") {
		t.Errorf("what differs has no row:\n%s", text)
	}
}

// Every word that may come from outside is quoted, every number stays as it is.
func TestSentencesQuoteWhatIsNotPlain(t *testing.T) {
	r := tuning(t)
	r.Recommended = nil
	for sentence, want := range map[string]string{
		"of 40 tasks none lost leaves up to 7.22%, and it takes 149": "of 40 tasks none lost leaves up to 7.22%, and it takes 149",
		"the runs' successes: 8 (at most 1.4%); p = 0.05":            "the runs' successes: 8 (at most 1.4%); p = 0.05",
		"see www.evil.example or @me":                                "see <www.evil.example> or <@me>",
		"*bold* _it_ `c` a_b <b> ![x](y) \x1b[31m #1 ::x":            "<*bold*> <_it_> <`c`> a_b <<b>> <![x](y)> <\x1b[31m> <#1> <::x>",
	} {
		r.WhyNone = sentence
		got := strings.TrimPrefix(pagetest.AnswerOf(r.Answer(), func(text string) string { return "<" + text + ">" }).Text, "nothing is recommended: ")
		if got != want {
			t.Errorf("%q became %q, not %q", sentence, got, want)
		}
	}
}

// Where held-out tasks gain more than those of the choice, nothing is overfitting; a verb
// goes with how many do something, not with of how many.
func TestTheWordsOfNotesFitTheirNumbers(t *testing.T) {
	r := tuning(t)
	r.Luck.Objective.Apparent, r.Luck.Objective.Luck, r.Tried.Exact = known(0.108), known(-0.008), 4
	text := strings.Join(strings.Fields(pagetest.Written(t, r, page.Options{Width: 200})), " ")
	for _, want := range []string{
		"(-0.180…-0.060) on held-out tasks ·", "(-$0.000090…-$0.000050) on held-out tasks; the difference is overfitting ·",
		"1 of 5 configurations is not exact (",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	r.Recommended.Lost, r.Recommended.Gained = 1, 1
	if a := pagetest.AnswerOf(r.Answer(), func(text string) string { return text }); !strings.Contains(a.String(), "1 of 120 runs loses its success and 1 gains one; ") {
		t.Error(a.String())
	}
}

// Where today's configuration stays, nothing was gained that could be luck; a loss is none either.
func TestNothingIsLuckWhereNothingIsGained(t *testing.T) {
	keep := tuning(t)
	keep.Unchanged, keep.Today = true, keep.Recommended
	if text := pagetest.Written(t, keep, page.Options{Width: 80}); !strings.Contains(text, "keep today's limits") || strings.Contains(text, "overfitting") {
		t.Error(text)
	}
	loses := tuning(t)
	loses.Luck.Objective.Luck = known(-0.008)
	if text := pagetest.Written(t, loses, page.Options{Width: 200}); !strings.Contains(text, "-0.108 on the tasks of the choice, and by -0.120 (-0.180…-0.060) on held-out tasks\n") {
		t.Error(text)
	}
}

// A note on the recording is as serious as it is on a replay of it.
func TestNotesOnTheRecordingKeepTheirWeight(t *testing.T) {
	for kind, want := range map[reports.WarningKind]bool{tune.ToldLimits: true, tune.NoTimes: false, tune.ChosenBy: false} {
		if got := (tune.Note{Kind: kind, Count: 1, Of: 2}).Serious(); got != want {
			t.Errorf("%s is serious: %v", kind, got)
		}
	}
}
