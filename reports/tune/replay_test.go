package tune_test

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/numbers"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/tune"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew): it is\n%s", path, got)
	}
}

func written(t testing.TB, p page.Page, options page.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.Write(&out, p, options); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestReplayGolden(t *testing.T) {
	r := replayed(t, swept(t, candidates(t), recording(t, 60)), tune.ReplayOptions{Suite: "interview-coach"})
	for name, options := range map[string]page.Options{
		"replay.80.txt":  {},
		"replay.200.txt": {Width: 200},
		"replay.md":      {Format: "markdown"},
		"replay.csv":     {Format: "csv"},
		"replay.json":    {Format: "json"},
	} {
		golden(t, name, written(t, r, options))
	}
}

// What is exact is a point, what is not has bounds and no point, and nobody fills
// in what the recording does not have.
func TestOnlyExactRowsHavePoints(t *testing.T) {
	r := replayed(t, swept(t, candidates(t), recording(t, 60)), tune.ReplayOptions{})
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
	r := replayed(t, swept(t, candidates(t), recording(t, 60)), tune.ReplayOptions{})
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
	from := recording(t, 60)
	r := replayed(t, swept(t, candidates(t), from), tune.ReplayOptions{})
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
	bare := recording(t, 30)
	for i := range bare.Runs {
		run := bare.Runs[i].Run
		run.Elapsed, run.Usage = 0, record.Usage{Unreported: 1}
		for n := range run.Iterations {
			it := &run.Iterations[n]
			it.Start, it.End, it.Calls = 0, 0, []record.Call{{Role: record.RoleAgent, Usage: record.Usage{Unreported: 1}}}
		}
		bare.Runs[i].Scores[1] = bare.Runs[i].Scores[1][:1] // of the run alone
	}
	r := replayed(t, swept(t, candidates(t)[:1], bare), tune.ReplayOptions{})
	c := r.Configurations[1]
	for what, a := range map[string]tune.Amount{"calls": c.Calls, "tokens": c.Tokens, "cost": c.Cost, "latency": c.Latency} {
		if a.Mean.Known() || a.Bounds.Known() || a.Saved.Known() || a.Mean.Missing != numbers.Unknown {
			t.Errorf("%s is %+v", what, a)
		}
	}
	if s := c.Scores[1]; s.Mean.Known() || s.Bounds.Known() || s.Unscored == 0 {
		t.Errorf("nobody scored the iterations, and yet: %+v", s)
	}
	text := written(t, r, page.Options{Width: 100})
	for _, want := range []string{"do not say what they used", "has no times", "quality of"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}

// Two recordings of different prompts answer for different candidates.
func TestEachCandidateIsHeldAgainstItsRecording(t *testing.T) {
	short := recording(t, 30)
	short.Configuration, short.Loop = "short", loop(t, settings[4].loop)
	for i := range short.Runs {
		run := *short.Runs[i].Run
		run.Configuration, run.ID = "short", record.RunID("short", run.Task, run.Trial)
		short.Runs[i].Run = &run
	}
	r := replayed(t, swept(t, candidates(t), recording(t, 30), short), tune.ReplayOptions{})
	on := map[string]string{}
	for i := range r.Configurations {
		on[r.Configurations[i].Name] = r.Configurations[i].Recording
	}
	if on["max_iterations=3"] != "wide" || on["prompt=short"] != "short" || on["wide"] != "wide" || on["short"] != "short" {
		t.Errorf("replayed on %v", on)
	}
	if text := written(t, r, page.Options{}); !strings.Contains(text, "recorded: wide, short") || !strings.Contains(text, "recording") {
		t.Errorf("the page does not name the recordings:\n%s", text)
	}
}

func TestReplayKeepsToItsSchema(t *testing.T) {
	schema := schemaOf(t, tune.ReplayJSONSchema)
	for name, r := range map[string]*tune.Replayed{
		"coach":   replayed(t, swept(t, candidates(t), recording(t, 30)), tune.ReplayOptions{Suite: "s", Simulated: []string{"toy"}}),
		"nothing": {Schema: tune.ReplaySchema, Recordings: []string{}, Scorers: []string{}, Configurations: []tune.ReplayedConfiguration{}, Warnings: []tune.Note{}},
	} {
		validate(t, schema, name, written(t, r, page.Options{Format: "json"}))
	}
}

// The same runs give the same bytes.
func TestReplayIsTheSameAgain(t *testing.T) {
	once := written(t, replayed(t, swept(t, candidates(t), recording(t, 30)), tune.ReplayOptions{Suite: "s"}), page.Options{Format: "json"})
	again := written(t, replayed(t, swept(t, candidates(t), recording(t, 30)), tune.ReplayOptions{Suite: "s"}), page.Options{Format: "json"})
	if once != again {
		t.Error("two replays of the same runs differ")
	}
}
