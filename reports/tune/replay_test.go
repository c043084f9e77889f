package tune_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/reports/tune/coachtest"
	"github.com/agentbench/agentbench/spec"
)

func replayed(t testing.TB, of tune.Recorded, o tune.ReplayOptions) *tune.Replay {
	t.Helper()
	r, err := tune.Collect(context.Background(), of, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReplayGolden(t *testing.T) {
	r := replayed(t, coachtest.Sweep(t, coachtest.Candidates(t), coachtest.Recording(t, 60)), tune.ReplayOptions{Suite: "interview-coach"})
	for name, options := range map[string]page.Options{
		"replay.80.txt":  {},
		"replay.200.txt": {Width: 200},
		"replay.md":      {Format: "markdown"},
		"replay.csv":     {Format: "csv"},
		"replay.json":    {Format: "json"},
	} {
		pagetest.Golden(t, name, pagetest.Written(t, r, options))
	}
}

// What is exact is a point, what is not has bounds and no point, and nobody fills
// in what the recording does not have.
func TestOnlyExactRowsHavePoints(t *testing.T) {
	r := replayed(t, coachtest.Sweep(t, coachtest.Candidates(t), coachtest.Recording(t, 60)), tune.ReplayOptions{})
	labels := map[string]string{
		"wide": "recorded", "max_iterations=3": "exact", "max_iterations=5": "exact", "max_iterations=9": "bounded", "threshold=0.8": "exact", "prompt=short": "needs calls",
	}
	for i := range r.Configurations {
		c := &r.Configurations[i]
		if c.Label != labels[c.Name] {
			t.Errorf("%s is %s", c.Name, c.Label)
		}
		exact := c.Label == "exact" || c.Label == "recorded"
		for _, s := range c.Scores {
			if s.Mean.Known() != exact || s.Interval.Known() != exact || s.Bounds.Known() == exact {
				t.Errorf("%s: %s is %v, %v, %v", c.Name, s.Name, s.Mean, s.Interval, s.Bounds)
			}
		}
		for what, a := range map[string]tune.Amount{"iterations": c.Iterations, "calls": c.Calls, "tokens": c.Tokens, "cost": c.Cost, "latency": c.Latency} {
			if a.Mean.Known() != exact || a.Saved.Known() != exact || a.Bounds.Known() == exact || a.Bounds.High.Known() {
				t.Errorf("%s: %s is %+v", c.Name, what, a)
			}
		}
	}
}

// A run that the recording cut counts with every score that it may still get.
func TestBoundsHoldWhatCutRunsMayBecome(t *testing.T) {
	r := replayed(t, coachtest.Sweep(t, coachtest.Candidates(t), coachtest.Recording(t, 60)), tune.ReplayOptions{})
	recorded, bounded := &r.Configurations[0], &r.Configurations[3]
	low, high := bounded.Scores[0].Bounds.Low.Number, bounded.Scores[0].Bounds.High.Number
	if width := high - low; math.Abs(width-float64(bounded.Censored)/120) > 1e-12 {
		t.Errorf("%d of 120 runs were cut, and the bounds are %v apart", bounded.Censored, width)
	}
	if mean := recorded.Scores[0].Mean.Number; low > mean || mean > high {
		t.Errorf("what was recorded, %v, is not within %v to %v", mean, low, high)
	}
	if bounded.Iterations.Bounds.Low.Number != recorded.Iterations.Mean.Number || bounded.Iterations.SavedBounds.High.Number != 0 {
		t.Errorf("at least what was recorded is made: %+v", bounded.Iterations)
	}
}

func TestLostAndGainedAreAgainstTheRecording(t *testing.T) {
	from := coachtest.Recording(t, 60)
	r := replayed(t, coachtest.Sweep(t, coachtest.Candidates(t), from), tune.ReplayOptions{})
	var lost, gained, iterations, most int // of max_iterations=3, by hand
	for _, run := range from.Runs {
		made := run.Run.Iterations[:min(3, len(run.Run.Iterations))]
		best := 0
		for i := range made {
			if made[i].Evaluation.Confidence > made[best].Evaluation.Confidence {
				best = i
			}
		}
		before, now := run.Scores[0][0], run.Scores[0][best+1]
		if before > now {
			lost++
		}
		if before < now {
			gained++
		}
		iterations, most = iterations+len(made), most+len(run.Run.Iterations)
	}
	c := r.Configurations[1]
	if s := c.Scores[0]; s.Lost != lost || s.Gained != gained || lost == 0 || gained == 0 {
		t.Errorf("lost %d, gained %d; by hand %d, %d", s.Lost, s.Gained, lost, gained)
	}
	if saved := 1 - float64(iterations)/float64(most); math.Abs(c.Iterations.Saved.Number-saved) > 1e-12 {
		t.Errorf("saved %v, by hand %v", c.Iterations.Saved, saved)
	}
}

// Unknown is not zero: neither cost nor time nor a score is made up.
func TestWhatTheRecordingLacksStaysUnknown(t *testing.T) {
	bare := coachtest.Recording(t, 30)
	for i := range bare.Runs {
		run := bare.Runs[i].Run
		run.Elapsed, run.Untimed, run.Usage = 0, true, record.Usage{Unreported: 1}
		for n := range run.Iterations {
			it := &run.Iterations[n]
			it.Start, it.End, it.Calls = 0, 0, []record.Call{{Role: record.RoleAgent, Usage: record.Usage{Unreported: 1}}}
		}
		bare.Runs[i].Scores[1] = bare.Runs[i].Scores[1][:1] // of the run alone
	}
	r := replayed(t, coachtest.Sweep(t, coachtest.Candidates(t)[:1], bare), tune.ReplayOptions{})
	c := r.Configurations[1]
	for what, a := range map[string]tune.Amount{"calls": c.Calls, "tokens": c.Tokens, "cost": c.Cost, "latency": c.Latency} {
		if a.Mean.Known() || a.Bounds.Known() || a.Saved.Known() || a.Mean.Missing != page.Unknown {
			t.Errorf("%s is %+v", what, a)
		}
	}
	if s := c.Scores[1]; s.Mean.Known() || s.Bounds.Known() || s.Unscored == 0 {
		t.Errorf("nobody scored the iterations, and yet: %+v", s)
	}
	text := pagetest.Written(t, r, page.Options{Width: 100})
	for _, want := range []string{"have no usage", "has no times", "quality of"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}

// Where only the tokens are unknown, the page says so, whether the cost is known or not.
func TestUnknownTokensAreNoted(t *testing.T) {
	for what, unpriced := range map[string]int64{"money is known": 0, "money is not known": 1} {
		bare := coachtest.Recording(t, 30)
		for i := range bare.Runs {
			run := bare.Runs[i].Run
			run.Usage.Uncounted, run.Usage.Unpriced = 1, unpriced
			for n := range run.Iterations {
				calls := run.Iterations[n].Calls
				for c := range calls {
					calls[c].Usage.Uncounted, calls[c].Usage.Unpriced = 1, unpriced
				}
			}
		}
		text := pagetest.Written(t, replayed(t, coachtest.Sweep(t, coachtest.Candidates(t)[:1], bare), tune.ReplayOptions{}), page.Options{Width: 200})
		want := fmt.Sprintf("· %d recorded runs have calls whose tokens are not recorded, so the tokens are unknown\n", len(bare.Runs))
		if !strings.Contains(text, want) || strings.Contains(text, "without a price") != (unpriced > 0) {
			t.Errorf("%s: the page does not say %q:\n%s", what, want, text)
		}
	}
}

// fewer is a table of outcomes: nobody has to find loops that have them.
type fewer struct {
	recording sweep.Recording
	outcomes  []sweep.Outcome
}

func (f *fewer) Candidates() []sweep.Candidate {
	return []sweep.Candidate{{Name: "it", Params: []spec.Param{{Path: "p", Value: 1.0}}}}
}
func (f *fewer) Scores() []string                            { return f.recording.Scores }
func (f *fewer) Runs() []sweep.Run                           { return f.recording.Runs }
func (f *fewer) Recordings() []sweep.Recording               { return []sweep.Recording{f.recording} }
func (f *fewer) Recording(context.Context, int) (int, error) { return 0, nil }
func (f *fewer) Outcomes(_ context.Context, candidates ...int) ([][]sweep.Outcome, error) {
	return slices.Repeat([][]sweep.Outcome{f.outcomes}, len(candidates)), nil
}
func (f *fewer) Visit(_ context.Context, candidates []int, visitor func() func(k, run int, o *sweep.Outcome)) error {
	visit := visitor()
	for run := range f.outcomes {
		for k := range candidates {
			visit(k, run, &f.outcomes[run])
		}
	}
	return nil
}

// used are as many outcomes as the recording has runs, each of an iteration that
// cost between two amounts.
func (f *fewer) used(least, most record.Usage) *fewer {
	for range f.recording.Runs {
		f.outcomes = append(f.outcomes, sweep.Outcome{
			Result: replay.Result{Verdict: replay.Exact, Iterations: 1, Usage: replay.Span{Least: least, Most: most}, Elapsed: time.Second},
			Scores: []sweep.Range{{Least: 1, Most: 1}, {Least: 0.5, Most: 0.5}},
		})
	}
	return f
}

// What a call costs that is cancelled in flight nobody knows: there are bounds, and
// what is saved has them, too.
func TestACallInFlightHasBounds(t *testing.T) {
	f := (&fewer{recording: coachtest.Recording(t, 4)}).used(record.Usage{Calls: 1, Cost: record.USD / 1000}, record.Usage{Calls: 2, Cost: record.USD / 500})
	r := replayed(t, f, tune.ReplayOptions{})
	before, c := r.Configurations[0].Cost.Mean.Number, &r.Configurations[1].Cost
	if c.Mean.Known() || c.Bounds.Low.Number != 0.001 || c.Bounds.High.Number != 0.002 {
		t.Errorf("the cost is %+v", c)
	}
	if low, high := 1-0.002/before, 1-0.001/before; math.Abs(c.SavedBounds.Low.Number-low) > 1e-9 || math.Abs(c.SavedBounds.High.Number-high) > 1e-9 {
		t.Errorf("saved is %+v, not from %v to %v", c.SavedBounds, low, high)
	}
	if i := r.Configurations[1].Iterations; !i.Mean.Known() || !i.Saved.Known() {
		t.Errorf("nothing is in doubt of the iterations: %+v", i)
	}
}

// What the whole run cost may be unknown where a part of it is known.
func TestNothingIsSavedOfAnUnknownCost(t *testing.T) {
	from := coachtest.Recording(t, 4)
	for i := range from.Runs {
		from.Runs[i].Run.Usage.Unpriced = 1
	}
	used := record.Usage{Calls: 1, Cost: record.USD / 1000}
	c := &replayed(t, (&fewer{recording: from}).used(used, used), tune.ReplayOptions{}).Configurations[1]
	if c.Cost.Mean.Number != 0.001 || !c.Cost.Mean.Known() || c.Cost.Saved.Known() || !c.Tokens.Mean.Known() {
		t.Errorf("cost %+v, tokens %+v", c.Cost, c.Tokens)
	}
}

// A score that may be anything between two numbers is no point, whatever the label.
func TestARangeIsNoPoint(t *testing.T) {
	f := (&fewer{recording: coachtest.Recording(t, 4)}).used(record.Usage{}, record.Usage{})
	f.outcomes[0].Scores[0] = sweep.Range{Least: 0, Most: 1}
	f.outcomes[1].Scores[1] = sweep.Range{Least: 0, Most: math.Inf(1)}
	s := replayed(t, f, tune.ReplayOptions{}).Configurations[1].Scores
	if s[0].Mean.Known() || s[0].Bounds.Low.Number != 7.0/8 || s[0].Bounds.High.Number != 1 {
		t.Errorf("the first is %+v", s[0])
	}
	if s[1].Mean.Known() || s[1].Bounds.High.Known() || !s[1].Bounds.Low.Known() {
		t.Errorf("the second is %+v", s[1])
	}
}

// The worst reasons come first, of each kind that of most runs.
func TestReasonsAreInOrder(t *testing.T) {
	f := (&fewer{recording: coachtest.Recording(t, 4)}).used(record.Usage{}, record.Usage{})
	for i, r := range []replay.Result{
		{Verdict: replay.Censored, At: 7, Why: "cut"}, {Verdict: replay.Branches, At: 3, Why: "prompt"}, {Verdict: replay.Censored, At: 4, Why: "cut"},
		{Verdict: replay.Branches, At: 2, Why: "tools"}, {Verdict: replay.Branches, At: 5, Why: "prompt"}, {Verdict: replay.Branches, Told: true, At: 1, Why: "told"},
	} {
		f.outcomes[i].Result = r
	}
	c := &replayed(t, f, tune.ReplayOptions{}).Configurations[1]
	want := []tune.ReplayNote{
		{Kind: tune.ToldLimits, Count: 1, Of: 8, More: "told"}, {Kind: tune.Branching, Count: 3, Of: 8, More: "mostly prompt"}, {Kind: tune.Bounds, Count: 2, Of: 8, More: "cut"},
	}
	if !slices.Equal(c.Warnings[:3], want) || c.Label != "counterfactual" || c.Exact != 2 || c.Censored != 2 || c.Branches != 4 || c.Told != 1 {
		t.Errorf("%s: %+v", c.Label, c.Warnings)
	}
}

// What was recorded has the scores, with their intervals, that a report has.
func TestRecordedRunsHaveTheNumbersOfTheirReport(t *testing.T) {
	for name, change := range map[string]func(*sweep.Run, int){
		"as they are": func(*sweep.Run, int) {},
		"in clusters": func(r *sweep.Run, i int) { r.Run.Cluster = fmt.Sprint("c", i%7) },
		"some in clusters, beyond 0 to 1": func(r *sweep.Run, i int) {
			if i%3 == 0 {
				r.Run.Cluster = fmt.Sprint("c", i/2%4)
			}
			r.Scores[1][0] = 40 * (r.Scores[1][0] - 0.9)
		},
		"unscored": func(r *sweep.Run, i int) {
			if i%5 == 0 {
				r.Scores[0][0] = math.NaN()
			}
		},
	} {
		from := coachtest.Recording(t, 30)
		for i := range from.Runs {
			change(&from.Runs[i], i/2) // the trials of a task alike
		}
		want := reported(t, &from)
		got := replayed(t, (&fewer{recording: from}).used(record.Usage{}, record.Usage{}), tune.ReplayOptions{}).Configurations[0]
		for s := range want.Scores {
			w, g := &want.Scores[s], &got.Scores[s]
			low, high := w.Mean.Low.Number-g.Interval.Low.Number, w.Mean.High.Number-g.Interval.High.Number
			if math.Abs(w.Mean.Number-g.Mean.Number) > 1e-12 || math.Abs(low) > 1e-12 || math.Abs(high) > 1e-12 || w.Successes != g.Successes {
				t.Errorf("%s: %s is %v %v, in the report %v [%v, %v]", name, w.Name, g.Mean, g.Interval, w.Mean.Value, w.Mean.Low, w.Mean.High)
			}
		}
		for what, pair := range map[string][2]page.Value{
			"iterations": {want.Iterations.Mean.Value, got.Iterations.Mean}, "tokens": {want.Tokens.Value, got.Tokens.Mean}, "cost": {want.Cost.Mean.Value, got.Cost.Mean},
			"latency": {want.Latency.Mean.Value, got.Latency.Mean}, "calls": {want.Calls.Value, got.Calls.Mean},
		} {
			if math.Abs(pair[0].Number-pair[1].Number) > 1e-9 {
				t.Errorf("%s: %s is %v, in the report %v", name, what, pair[1], pair[0])
			}
		}
	}
}

// An interval beyond the scale of its scores is cut where people read it, and as
// it is where machines do.
func TestIntervalsAreCutOnlyWhereTheyAreShown(t *testing.T) {
	from := coachtest.Recording(t, 3)
	for i := range from.Runs {
		for n := range from.Runs[i].Scores[1] {
			from.Runs[i].Scores[1][n] = 1 - 0.1*float64(i/4)
		}
	}
	r := replayed(t, coachtest.Sweep(t, coachtest.Candidates(t)[:1], from), tune.ReplayOptions{})
	if high := r.Configurations[0].Scores[1].Interval.High.Number; high <= 1 {
		t.Fatalf("the interval ends at %v", high)
	}
	if text := pagetest.Written(t, r, page.Options{Width: 200}); !strings.Contains(text, "–1.0") || strings.Contains(text, "–1.1") {
		t.Errorf("the interval is shown beyond the scale:\n%s", text)
	}
}

// reported is the configuration as a report of its runs has it.
func reported(t *testing.T, from *sweep.Recording) *reports.Configuration {
	m := &record.Manifest{Suite: "s", Status: record.StateComplete, Tasks: 30, Trials: 2, Scorers: from.Scores, Configurations: []record.ConfigurationHead{{Name: "wide"}}}
	signals := func(yield func(*record.Run, error) bool) {
		for i := range from.Runs {
			if !yield(from.Runs[i].Run.Light(), nil) {
				return
			}
		}
	}
	scores := func(yield func(record.Score, error) bool) {
		for i := range from.Runs {
			for s, name := range from.Scores {
				score := record.Score{Run: from.Runs[i].Run.ID, Name: name, Value: from.Runs[i].Scores[s][0]}
				if math.IsNaN(score.Value) {
					score.Value, score.Unscored = 0, "nobody knows"
				}
				if !yield(score, nil) {
					return
				}
			}
		}
	}
	r, err := reports.Collect(m, signals, scores)
	if err != nil {
		t.Fatal(err)
	}
	return &r.Configurations[0]
}

func TestTheAnswerOfReplay(t *testing.T) {
	for _, c := range []struct {
		settings []int
		state    page.State
		text     string
	}{
		{[]int{0, 1}, page.Passed, "2 configurations are exact"},
		{[]int{0}, page.Passed, "1 configuration is exact"},
		{[]int{0, 2, 4}, page.Undecided, "1 of 3 configurations is exact, 1 is bounded, 1 needs calls"},
	} {
		var some []sweep.Candidate
		for _, i := range c.settings {
			some = append(some, coachtest.Candidates(t)[i])
		}
		if a := replayed(t, coachtest.Sweep(t, some, coachtest.Recording(t, 40)), tune.ReplayOptions{}).Answer(); a.State != c.state || string(a.Text) != c.text {
			t.Errorf("%v: %s: %s", c.settings, a.State, a.Text)
		}
	}
	if a := (&tune.Replay{Runs: 1}).Answer(); a.State != page.Undecided {
		t.Errorf("without configurations: %s: %s", a.State, a.Text)
	}
	if a := (&tune.Replay{}).Answer(); a.State != page.Errored {
		t.Errorf("without runs: %s: %s", a.State, a.Text)
	}
}

// Two recordings of different prompts answer for different candidates.
func TestEachCandidateIsHeldAgainstItsRecording(t *testing.T) {
	short := coachtest.Recording(t, 30)
	short.Configuration, short.Loop = "short", coachtest.Loop(t, coachtest.Settings[4].Loop)
	for i := range short.Runs {
		run := *short.Runs[i].Run
		run.Configuration, run.ID = "short", record.RunID("short", run.Task, run.Trial)
		short.Runs[i].Run = &run
		for n, score := range short.Runs[i].Scores[0] { // it fails where the other succeeds
			short.Runs[i].Scores[0][n] = 1 - score
		}
	}
	r := replayed(t, coachtest.Sweep(t, coachtest.Candidates(t), coachtest.Recording(t, 30), short), tune.ReplayOptions{})
	on := map[string]string{}
	for i := range r.Configurations {
		c := &r.Configurations[i]
		on[c.Name] = c.Recording
		if c.Name == "prompt=short" && (c.Scores[0].Lost != 0 || c.Scores[0].Gained != 0 || c.Iterations.Saved.Number != 0) {
			t.Errorf("what was recorded of the short prompt loses something: %+v", c.Scores[0])
		}
	}
	if on["max_iterations=3"] != "wide" || on["prompt=short"] != "short" || on["wide"] != "wide" || on["short"] != "short" {
		t.Errorf("replayed on %v", on)
	}
	if text := pagetest.Written(t, r, page.Options{}); !strings.Contains(text, "recorded: wide, short") || !strings.Contains(text, "recording") {
		t.Errorf("the page does not name the recordings:\n%s", text)
	}
}

func TestReplayKeepsToItsSchema(t *testing.T) {
	schema := pagetest.Schema(t, tune.ReplayJSONSchema)
	for name, r := range map[string]*tune.Replay{
		"coach":   replayed(t, coachtest.Sweep(t, coachtest.Candidates(t), coachtest.Recording(t, 30)), tune.ReplayOptions{Suite: "s", Simulated: []string{"toy"}}),
		"nothing": {Schema: tune.ReplaySchema, Recordings: []string{}, Scorers: []string{}, Configurations: []tune.Configuration{}, Warnings: []tune.ReplayNote{}},
	} {
		pagetest.Validate(t, schema, name, pagetest.Written(t, r, page.Options{Format: "json"}))
	}
}

// The same runs give the same bytes.
func TestReplayIsTheSameAgain(t *testing.T) {
	once := pagetest.Written(t, replayed(t, coachtest.Sweep(t, coachtest.Candidates(t), coachtest.Recording(t, 30)), tune.ReplayOptions{Suite: "s"}), page.Options{Format: "json"})
	again := pagetest.Written(t, replayed(t, coachtest.Sweep(t, coachtest.Candidates(t), coachtest.Recording(t, 30)), tune.ReplayOptions{Suite: "s"}), page.Options{Format: "json"})
	if once != again {
		t.Error("two replays of the same runs differ")
	}
}

// Runs that would have a fault are in no number, as after a live run: all numbers
// are those of the other runs alone, and the row says how many are left out and why.
func TestRunsThatWouldHaveAFaultAreInNoNumber(t *testing.T) {
	used := record.Usage{Calls: 1, InputTokens: 10, Cost: record.USD / 1000}
	whole := coachtest.Recording(t, 4)
	f := (&fewer{recording: whole}).used(used, used)
	without := &fewer{recording: whole}
	without.recording.Runs = nil
	for i := range f.outcomes {
		if i%3 > 0 {
			f.outcomes[i].Outcome = record.Outcome{Status: record.Completed, Reason: "when:sure", Fired: "sure", Returned: 1}
			f.outcomes[i].Elapsed += time.Duration(i) * time.Second
			without.recording.Runs = append(without.recording.Runs, whole.Runs[i])
			without.outcomes = append(without.outcomes, f.outcomes[i])
			continue
		}
		f.outcomes[i].Iterations, f.outcomes[i].Usage.Most.Calls, f.outcomes[i].Scores = 2, 7, []sweep.Range{{Least: math.NaN(), Most: math.NaN()}, {Least: math.NaN(), Most: math.NaN()}}
		f.outcomes[i].Outcome = record.Outcome{Status: record.Faulted, Reason: record.ReasonError, Fired: "expression", Error: &record.Error{Class: record.Expression, Message: `key "sure" not found`}}
	}
	got, want := replayed(t, f, tune.ReplayOptions{}).Configurations[1], replayed(t, without, tune.ReplayOptions{}).Configurations[1]
	if got.Runs != 8 || got.Exact != 5 || got.Faults != 3 || got.Label != "exact" {
		t.Errorf("%s: %d of %d runs are exact, %d have a fault", got.Label, got.Exact, got.Runs, got.Faults)
	}
	if len(got.Warnings) == 0 || got.Warnings[0] != (tune.ReplayNote{Kind: tune.WouldFault, Count: 3, Of: 8, More: `expression: key "sure" not found`}) {
		t.Errorf("warnings %+v", got.Warnings)
	}
	got.Runs, got.Faults, got.Warnings = want.Runs, want.Faults, want.Warnings
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\ngot  %+v\nwant %+v", got, want)
	}
	if !want.Iterations.Saved.Known() || !want.Scores[0].Mean.Known() {
		t.Errorf("the numbers are missing: %+v", want)
	}
}
