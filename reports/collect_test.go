package reports_test

import (
	"bytes"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
	"pgregory.net/rapid"
)

func TestOrderOfRunsAndScoresMakesNoDifference(t *testing.T) {
	want := allFormats(t, coach(4).simulated("default").collect())
	propertytest.Check(t, func(rt *rapid.T) {
		f := coach(4).simulated("default")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		random.Shuffle(len(f.signals), func(i, j int) { f.signals[i], f.signals[j] = f.signals[j], f.signals[i] })
		random.Shuffle(len(f.scores), func(i, j int) { f.scores[i], f.scores[j] = f.scores[j], f.scores[i] })
		for i, got := range allFormats(t, f.collect()) {
			if got != want[i] {
				rt.Fatalf("the report depends on the order of the records:\n%s", got)
			}
		}
	})
}

func allFormats(t *testing.T, r *reports.Report) []string {
	return []string{
		pagetest.Written(t, r, page.Options{Format: "json"}), pagetest.Written(t, r, page.Options{Format: "csv"}),
		pagetest.Written(t, r, page.Options{Tables: []string{"configurations"}}),
	}
}

// one is a folder with one configuration and one scorer, to be filled by hand.
func one(tasks int) *fixture {
	return &fixture{manifest: record.Manifest{
		Suite: "one", Status: record.StateComplete, Tasks: tasks, Trials: 1, Scorers: []string{"right"},
		Configurations: []record.ConfigurationHead{{Name: "c", MaxIterations: 5, EffectiveMax: 5}},
	}}
}

// run adds a run with these confidences; below 0 the iteration failed. The best
// is returned.
func (f *fixture) run(task string, trial int, confidences ...float64) *record.Run {
	s := &record.Run{
		ID: record.RunID("c", task, trial), Configuration: "c", Task: task, Trial: trial,
		Outcome: record.Outcome{Status: record.Completed, Reason: record.ReasonMaxIterations, Class: record.ByCondition},
	}
	for i, confidence := range confidences {
		it := record.Iteration{
			N: i + 1, Output: []byte(`"x"`), Evaluation: &record.Evaluation{Confidence: confidence}, Start: s.Elapsed, End: s.Elapsed + 1e9,
			Calls: []record.Call{{Role: record.RoleAgent, Usage: record.Usage{Calls: 1, Cost: record.USD / 100}}},
		}
		if confidence < 0 {
			it.Evaluation.Confidence, it.Error, it.Output = 0, &record.Error{Class: record.NoAnswer}, nil
		} else if n := s.Outcome.Returned; n == 0 || confidence > confidences[n-1] {
			s.Outcome.Returned = i + 1
		}
		s.Elapsed = it.End
		s.Usage = s.Usage.Plus(it.Calls[0].Usage)
		s.Iterations = append(s.Iterations, it)
	}
	f.signals = append(f.signals, s)
	return s
}

func (f *fixture) scored(s *record.Run, iteration int, value float64) {
	f.scores = append(f.scores, record.Score{Run: s.ID, Name: "right", Iteration: iteration, Value: value})
}

func TestScoreIsMeanOfTaskMeans(t *testing.T) {
	f := one(2)
	f.scored(f.run("a", 1, 0.5), 0, 1)
	f.scored(f.run("a", 2, 0.5), 0, 1)
	f.scored(f.run("a", 3, 0.5), 0, 1)
	f.scored(f.run("b", 1, 0.5), 0, 0)
	score := f.collect().Configurations[0].Scores[0]
	if score.Mean.Value != (page.Value{Number: 0.5}) || score.Successes != 3 || score.Scored != 4 {
		t.Errorf("score = %+v, want a mean of 0.5 over two tasks", score)
	}
	if !hasWarning(f.collect().Configurations[0].Warnings, reports.UnequalRuns) {
		t.Error("nothing warns of unequal numbers of runs")
	}
}

func TestUnscoredIsNeitherZeroNorPending(t *testing.T) {
	f := one(3)
	f.scored(f.run("a", 1, 0.5), 0, 1)
	unjudged := f.run("b", 1, 0.5)
	f.scores = append(f.scores, record.Score{Run: unjudged.ID, Name: "right", Unscored: "no target"})
	f.run("c", 1, 0.5)
	score := f.collect().Configurations[0].Scores[0]
	if score.Mean.Number != 1 || score.Scored != 1 || score.Unscored != 1 || score.Pending != 1 {
		t.Errorf("score = %+v, want a mean of 1 over one run, 1 unscored, 1 pending", score)
	}
}

// A run with a fault is in no number; a later attempt takes its place.
func TestFaultsAreExcludedUntilTheRunSucceeds(t *testing.T) {
	f := one(2)
	f.scored(f.run("a", 1, 0.5), 0, 1)
	fault := *f.run("b", 1, 0.5)
	f.signals[1] = &fault
	fault.Outcome = record.Outcome{Status: record.Faulted, Error: &record.Error{Class: record.Server}}
	c := f.collect().Configurations[0]
	if c.Runs != 1 || c.Coverage.Number != 0.5 || !slices.Equal(c.Faults, []reports.Count{{Name: "server", N: 1}}) || c.TotalCalls.Number != 1 {
		t.Errorf("with a fault: %d runs, coverage %v, faults %v, %v calls", c.Runs, c.Coverage, c.Faults, c.TotalCalls)
	}
	f.scored(f.run("b", 1, 0.5), 0, 0)
	for range 2 { // in both orders
		c = f.collect().Configurations[0]
		if c.Runs != 2 || c.Coverage.Number != 1 || len(c.Faults) != 0 || len(f.collect().Warnings) > 2 {
			t.Errorf("after the retry: %d runs, coverage %v, faults %v, %v", c.Runs, c.Coverage, c.Faults, f.collect().Warnings)
		}
		slices.Reverse(f.signals)
	}
}

// Of several attempts with faults one counts, the same in any order.
func TestAttemptsWithFaultsCountOnce(t *testing.T) {
	f := one(1)
	for _, class := range []record.ErrorClass{record.Server, record.RateLimit} {
		f.run("a", 1).Outcome = record.Outcome{Status: record.Faulted, Error: &record.Error{Class: class}}
	}
	f.run("a", 1).Outcome = record.Outcome{Status: record.Cancelled}
	for range f.signals {
		c := f.collect().Configurations[0]
		if !slices.Equal(c.Faults, []reports.Count{{Name: "server", N: 1}}) || c.Cancelled != 0 {
			t.Errorf("faults %v, %d cancelled; want one fault", c.Faults, c.Cancelled)
		}
		f.signals = append(f.signals[1:], f.signals[0])
	}
}

func TestCostPerSuccess(t *testing.T) {
	for name, test := range map[string]struct {
		scores   []float64
		unpriced int64
		want     page.Value
	}{
		"ratio of sums":   {scores: []float64{1, 0, 1}, want: page.Value{Number: 0.015}},
		"above one":       {scores: []float64{2, 0.9, 0}, want: page.Value{Number: 0.03}},
		"without success": {scores: []float64{0, 0, 0.9}, want: page.Value{Missing: "none"}},
		"unpriced":        {scores: []float64{1, 1, 1}, unpriced: 1, want: page.Value{Missing: "unpriced"}},
		"scored only":     {scores: []float64{1, 1}, want: page.Value{Number: 0.01}},
	} {
		f := one(3)
		for i, task := range []string{"a", "b", "c"} {
			s := f.run(task, 1, 0.5)
			s.Usage.Unpriced = test.unpriced
			if i < len(test.scores) {
				f.scored(s, 0, test.scores[i])
			}
		}
		if got := f.collect().Configurations[0].Cost.PerSuccess.Value; got != test.want {
			t.Errorf("%s: cost per success = %+v, want %+v", name, got, test.want)
		}
	}
}

func TestWithoutScorersTheLoopSaysWhatASuccessIs(t *testing.T) {
	f := one(2)
	f.manifest.Scorers = nil
	f.run("a", 1, 0.5).Outcome.Success = true
	f.run("b", 1, 0.5)
	c := f.collect().Configurations[0]
	if c.Success.Number != 0.5 || c.Cost.PerSuccess.Number != 0.02 {
		t.Errorf("success = %v, cost per success = %v; want 0.5 and 0.02", c.Success, c.Cost.PerSuccess)
	}
	for i := range f.signals {
		f.signals[i].Iterations[0].Evaluation = nil
	}
	if got := f.collect().Configurations[0].Success; got.Known() {
		t.Errorf("success = %v although nothing was evaluated", got)
	}
}

func TestTheLastOfSeveralScoresStands(t *testing.T) {
	f := one(1)
	s := f.run("a", 1, 0.5)
	f.scores = []record.Score{
		{Run: s.ID, Name: "right", Unscored: "no target", Scorer: "v1"}, {Run: s.ID, Name: "right", Value: 1, Scorer: "v2"},
	}
	r := f.collect()
	if score := r.Configurations[0].Scores[0]; score.Mean.Number != 1 || score.Unscored != 0 {
		t.Errorf("score = %+v, want the last one", score)
	}
	if hasWarning(r.Warnings, reports.MixedScorers) {
		t.Error("it warns of a version that made none of the scores that count")
	}
}

func TestScoresThatWereTakenBackAreNone(t *testing.T) {
	f := one(2)
	a, b := f.run("a", 1, 0.5, 0.6), f.run("b", 1, 0.5)
	for _, s := range []*record.Run{a, b} {
		f.scored(s, 0, 1)
		f.scores = append(f.scores, record.Score{Run: s.ID, Name: "other", Value: 1}, record.Score{Run: s.ID, Name: "other", Removed: true})
	}
	f.scored(a, 1, 1)
	f.scores = append(f.scores, record.Score{Run: a.ID, Name: "right", Removed: true}, record.Score{Run: a.ID, Name: "right", Iteration: 1, Removed: true})
	r := f.collect()
	score := r.Configurations[0].Scores[0]
	if score.Mean.Number != 1 || score.Scored != 1 || score.Pending != 1 || score.Unscored != 0 {
		t.Errorf("score = %+v, want that of one run", score)
	}
	if !slices.Equal(r.Scorers, []string{"right"}) {
		t.Errorf("scorers %q, want only the one that is left", r.Scorers)
	}
	f.scored(a, 0, 0)
	if score := f.collect().Configurations[0].Scores[0]; score.Mean.Number != 0.5 || score.Scored != 2 {
		t.Errorf("made again: score = %+v", score)
	}
}

// A run whose score at an iteration was taken back has none there, and not 0.
func TestAScoreOfAnIterationThatWasTakenBackIsNoZero(t *testing.T) {
	f := one(2)
	for _, task := range []string{"a", "b"} {
		s := f.run(task, 1, 0.5, 0.6)
		for n := range 3 {
			f.scored(s, n, 1)
		}
		if task == "a" {
			f.scores = append(f.scores, record.Score{Run: s.ID, Name: "right", Iteration: 1, Removed: true})
		}
	}
	curve := f.collect().Configurations[0].Curve
	if len(curve) != 2 || curve[0].Score.Number != 1 || !curve[0].Score.Known() {
		t.Errorf("curve %+v, want 1 at each iteration", curve)
	}
}

func TestMixedVersionsOfAScorerWarn(t *testing.T) {
	for name, test := range map[string]struct {
		versions []string // of the run a, then of the run b, in turn
		mixed    bool
	}{
		"one version":          {[]string{"1", "1"}, false},
		"two versions":         {[]string{"1", "2"}, true},
		"one was made again":   {[]string{"1", "1", "2"}, true},
		"both were made again": {[]string{"1", "1", "2", "2"}, false},
		"an unknown one":       {[]string{"", "1"}, false},
	} {
		f := one(2)
		runs := []*record.Run{f.run("a", 1, 0.5), f.run("b", 1, 0.5)}
		for i, version := range test.versions {
			f.scores = append(f.scores, record.Score{Run: runs[i%2].ID, Name: "right", Value: 1, Scorer: version})
		}
		if got := hasWarning(f.collect().Warnings, reports.MixedScorers); got != test.mixed {
			t.Errorf("%s: warned %v, want %v", name, got, test.mixed)
		}
	}
}

func TestUnusualRecordsWarn(t *testing.T) {
	f := one(20)
	s := f.run("a", 1, 0.5)
	f.scored(s, 0, 1)
	f.scored(s, 99, 1) // an iteration that the run does not have
	f.signals = append(f.signals, s, &record.Run{ID: "other/a/1", Configuration: "other", Task: "a"})
	f.scores = append(f.scores, record.Score{Run: "other/a/1", Name: "right", Value: 1})
	s.Outcome.Returned = 7 // an iteration that the run does not have
	r := f.collect()
	for _, kind := range []reports.WarningKind{reports.Repeated, reports.UnknownRuns} {
		if !hasWarning(r.Warnings, kind) {
			t.Errorf("nothing warns of %s: %v", kind, r.Warnings)
		}
	}
	if c := r.Configurations[0]; c.Runs != 1 || !hasWarning(c.Warnings, reports.NotRun) {
		t.Errorf("%d runs, warnings %v; want 1 run and the others missing", c.Runs, c.Warnings)
	}
}

func hasWarning(all []reports.Warning, kind reports.WarningKind) bool {
	return slices.ContainsFunc(all, func(w reports.Warning) bool { return w.Kind == kind })
}

func TestWhatCannotBeReadEndsTheReport(t *testing.T) {
	f := one(1)
	f.scored(f.run("a", 1, 0.5), 0, 1)
	broken := errors.New("the disk is gone")
	if _, err := reports.Collect(&f.manifest, thenError(f.signals, broken), each(f.scores)); !errors.Is(err, broken) {
		t.Errorf("an unreadable file: error %v, want %v", err, broken)
	}
	if _, err := reports.Collect(&f.manifest, each(f.signals), thenError(f.scores, broken)); !errors.Is(err, broken) {
		t.Errorf("an unreadable file: error %v, want %v", err, broken)
	}
}

func thenError[T any](all []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		if !yield(zero, err) {
			return
		}
		for _, one := range all {
			if !yield(one, nil) {
				return
			}
		}
	}
}

// Costs that add up to more than can be counted are told as that: not as the most
// that fits, and not as what is left after an overflow.
func TestMoreMoneyThanCanBeCounted(t *testing.T) {
	f := small(3)
	for _, s := range f.signals {
		if s.Configuration == "once" {
			s.Usage.Cost = record.Countless / 2
			for i := range s.Iterations {
				s.Iterations[i].Calls[0].Usage.Cost = record.Countless / 2
			}
		}
	}
	r := f.collect()
	c := r.Configurations[0]
	for what, v := range map[string]page.Value{"mean": c.Cost.Mean.Value, "total": c.Cost.Total, "per success": c.Cost.PerSuccess.Value, "curve": c.Curve[0].Cost.Value} {
		if v.Known() || v.Missing != "over $9.2M" {
			t.Errorf("%s: %v", what, v)
		}
	}
	if c.Cost.Mean.Range.Known() || !c.Tokens.Known() {
		t.Errorf("%+v", c)
	}
	text := pagetest.Written(t, r, page.Options{Width: 160})
	if !strings.Contains(text, "over $9.2M") || strings.Contains(text, "$-") || strings.Contains(text, "-$") || strings.Contains(text, "922") {
		t.Errorf("%s", text)
	}
	// One run alone is worth counting: the comparison has it, and says nothing of those that are too large.
	f.signals[0].Usage.Cost = record.Countless
	d := differing(t, small(3).collect(), f.collect(), reports.DiffOptions{BaseConfiguration: "once", NewConfiguration: "once"})
	if cost := quantity(t, &d.Pairs[0], "cost_usd"); cost.Tasks != 2 || cost.LeftOut != 1 {
		t.Errorf("%+v", cost)
	}
}

// Tokens beyond what can be counted stay the most that fits, and no interval
// turns below zero.
func TestMoreTokensThanCanBeCounted(t *testing.T) {
	f := one(3)
	f.manifest.Trials = 2
	for _, task := range []string{"a", "b", "c"} {
		for trial := range 2 {
			s := f.run(task, trial+1, 0.5)
			s.Usage.InputTokens = math.MaxInt64
			if task == "a" {
				s.Usage.InputTokens = 5
			}
		}
	}
	c := f.collect().Configurations[0]
	if got := c.InputTokens.Range; !got.Known() || got.Low.Number < 5 || c.OutputTokens.Range.Low.Number < 0 {
		t.Errorf("%v and %v", got, c.OutputTokens.Range)
	}
}

// effort is a folder of one run whose two calls cost a cent each as-if, with what was spent.
func effort(e record.Effort, spent record.Usage) *fixture {
	f := one(1)
	f.scored(f.run("a", 1, 0.5, 0.6), 0, 1)
	f.manifest.Totals.Add(f.signals[0].Outcome.Status, f.signals[0].Usage, f.signals[0].Judging, f.signals[0].User)
	f.manifest.Volatile.Effort = e
	f.manifest.Volatile.Ledger = &record.Spent{Total: spent}
	return f
}

func TestF82_WhatWasPaidIsToldWhereItDiffers(t *testing.T) {
	cents := func(calls int64) record.Usage {
		return record.Usage{Calls: calls, Cost: record.Money(calls) * record.USD / 100}
	}
	unpriced := record.Usage{Calls: 1, Unpriced: 1}
	for name, c := range map[string]struct {
		effort record.Effort
		spent  record.Usage
		want   string
	}{
		"all as it seems": {record.Effort{Made: 2}, cents(2), ""},
		"from the cache":  {record.Effort{Cached: 2}, record.Usage{}, "cache: 2 hits, 0 misses; 0 requests sent; uncached cost of the runs $0.02"},
		"tried again": {record.Effort{Made: 2, Waited: 1500 * time.Millisecond}, cents(3),
			"cache: 0 hits, 2 misses; 3 requests sent, 1.50 s waited; uncached cost of the runs $0.02"},
		"unpriced": {record.Effort{Cached: 1, Made: 1}, unpriced, "cache: 1 hit, 1 miss; 1 request sent; uncached cost of the runs $0.02"},
	} {
		got := effort(c.effort, c.spent).collect().Volatile
		switch {
		case got == nil && c.want == "":
		case got == nil || got.Text()+got.Uncached() != c.want:
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

// P3: what was paid is in no table, and in JSON only under "volatile".
func TestP3_ReportsDifferOnlyInWhatIsVolatile(t *testing.T) {
	made, cached := effort(record.Effort{Made: 2}, record.Usage{}).collect(), effort(record.Effort{Cached: 2}, record.Usage{}).collect()
	for _, format := range []string{"terminal", "markdown", "csv"} {
		if a, b := pagetest.Written(t, made, page.Options{Format: format}), pagetest.Written(t, cached, page.Options{Format: format}); a != b {
			t.Errorf("%s differs: %s", format, pagetest.FirstDifference(a, b))
		}
	}
	if text := pagetest.Written(t, cached, page.Options{Format: "json"}); !strings.Contains(text, `"volatile": {`) || !strings.Contains(text, `"cached": 2`) {
		t.Errorf("JSON does not tell of the cache:\n%s", text)
	}
	made.Volatile, cached.Volatile = nil, nil
	if a, b := pagetest.Written(t, made, page.Options{Format: "json"}), pagetest.Written(t, cached, page.Options{Format: "json"}); a != b {
		t.Errorf("JSON differs: %s", pagetest.FirstDifference(a, b))
	}
}

// F42: where a budget ended in the middle, each configuration says how many of
// its runs are missing, and the report that they are uneven.
func TestF42_UnequalNumbersOfRunsAreMarked(t *testing.T) {
	f := coach(24)
	f.manifest.Status = record.StateStopped
	half := f.signals[:0]
	for _, s := range f.signals {
		if s.Configuration == "single-pass" || s.Configuration == "default" && s.Trial < 3 {
			half = append(half, s)
		}
	}
	f.signals = half
	f.manifest.Configurations = f.manifest.Configurations[:2]
	r := f.collect()
	if hasWarning(r.Configurations[0].Warnings, reports.NotRun) || !hasWarning(r.Configurations[1].Warnings, reports.NotRun) {
		t.Errorf("missing runs: %v, %v", r.Configurations[0].Warnings, r.Configurations[1].Warnings)
	}
	if !hasWarning(r.Warnings, reports.UnevenRuns) || !hasWarning(r.Warnings, reports.NotComplete) {
		t.Errorf("of the report: %v", r.Warnings)
	}
	pagetest.Golden(t, "budget.txt", pagetest.Written(t, r, page.Options{Width: 100, Tables: []string{"configurations"}}))
	if even := coach(24).collect(); hasWarning(even.Warnings, reports.UnevenRuns) {
		t.Errorf("faults alone: %v", even.Warnings)
	}
}

// F41: the report shows the day of the prices.
func TestF41_TheDayOfThePricesIsShown(t *testing.T) {
	f := one(1)
	f.run("a", 1, 0.5)
	f.manifest.PricesAsOf = "2026-11-01"
	for _, format := range []string{"terminal", "markdown", "json"} {
		if text := pagetest.Written(t, f.collect(), page.Options{Format: format}); !strings.Contains(text, "2026-11-01") {
			t.Errorf("%s does not show it:\n%s", format, text)
		}
	}
}

// What some shards of a suite say is never taken for what all of them say.
func TestAReportOfSomeShardsBeginsWithThat(t *testing.T) {
	m := record.Manifest{Suite: "dealt", Incomplete: "only shard 2 of 3, with 10 of 30 tasks", Tasks: 10, Trials: 1}
	none := func(func(*record.Run, error) bool) {}
	r, err := reports.Collect(&m, none, func(func(record.Score, error) bool) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range page.Formats {
		var b bytes.Buffer
		if err := page.Write(&b, r, page.Options{Format: format, Width: 120}); err != nil {
			t.Fatal(err)
		}
		before, _, found := strings.Cut(b.String(), "only shard 2 of 3")
		if format == "csv" { // nothing but a table, which has no row
			found = strings.HasSuffix(strings.TrimSpace(b.String()), `,"incomplete"`)
		}
		if !found || strings.Contains(before, "0 configurations") {
			t.Errorf("%s begins with something else:\n%s", format, b.String())
		}
	}
}

// So does a comparison, whichever side it is; CSV has it in a column of its own.
func TestAComparisonWithSomeShardsBeginsWithThat(t *testing.T) {
	whole, part := small(3), small(3)
	part.manifest.Incomplete = "only shard 2 of 3"
	for name, c := range map[string]struct{ base, new *reports.Report }{"base": {part.collect(), whole.collect()}, "new": {whole.collect(), part.collect()}} {
		d := differing(t, c.base, c.new, reports.DiffOptions{})
		for _, format := range []string{"terminal", "markdown", "github", "html", "comment"} {
			before, _, found := strings.Cut(writtenDiff(t, d, page.Options{Format: format, Width: 120}), "only shard 2 of 3")
			if !found || strings.Contains(before, "compared with") || format != "comment" && strings.Contains(before, "right") {
				t.Errorf("%s, %s begins with something else: %s", name, format, before)
			}
		}
		lines := strings.Split(strings.TrimSpace(writtenDiff(t, d, page.Options{Format: "csv"})), "\r\n")
		for i, line := range lines {
			if i == 0 && !strings.HasSuffix(line, `,"incomplete"`) || i > 0 && !strings.HasSuffix(line, `only shard 2 of 3"`) {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	if text := writtenDiff(t, differing(t, whole.collect(), whole.collect(), reports.DiffOptions{BaseConfiguration: "once", NewConfiguration: "twice"}), page.Options{Format: "csv"}); strings.Contains(text, "incomplete") {
		t.Errorf("nothing lacks:\n%s", text)
	}
}

// The cause of an error stands at its end; a headline has all of it, though names are cut.
func TestTheAnswerHasTheWholeCause(t *testing.T) {
	cause := "aborted after 60 of 100 runs: network: dial tcp 127.0.0.1:43267: connect: connection refused: the last of 20 runs in a row that failed"
	f := one(1)
	f.run("a", 1, 0.5)
	r := f.collect()
	r.Unanswered = cause
	text := pagetest.Written(t, r, page.Options{Format: "markdown"})
	if !strings.Contains(strings.ReplaceAll(text, "`", ""), cause) {
		t.Errorf("the page says\n%s", text)
	}
}
