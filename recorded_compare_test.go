package agentbench

import (
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// kept is a journal that keeps what reports read.
type kept struct {
	mutex   sync.Mutex
	signals []*record.Run
	scores  []record.Score
}

func (k *kept) Append(run *record.Run, scores []record.Score, done func(error)) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	light := run.Light()
	k.signals, k.scores = append(k.signals, light), append(k.scores, scores...)
	done(nil)
	return nil
}

// reported runs a suite of testdata/recorded, or only these configurations of it, and
// reports on it.
func reported(t *testing.T, name string, configurations ...string) *reports.Report {
	t.Helper()
	recordingtest.Folder(t)
	doc, p, e := assembled(t, filepath.Join("testdata", "recorded", name), configurations...)
	journal := &kept{}
	e.Executor, e.Journal = engine.Pool{Workers: 4}, journal
	if _, err := e.Run(t.Context(), p, doc.Tasks()); err != nil {
		t.Fatal(err)
	}
	m := &record.Manifest{Suite: doc.Suite.Name, Status: record.StateComplete, Tasks: p.Tasks, Trials: 1}
	for _, c := range p.Configurations {
		m.Configurations = append(m.Configurations, record.ConfigurationHead{Name: c.Name, Aliases: c.Aliases})
	}
	for _, s := range doc.Suite.Scorers {
		m.Scorers = append(m.Scorers, s.Name)
	}
	r, err := reports.Collect(m, all(journal.signals), all(journal.scores))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func all[T any](values []T) func(func(T, error) bool) {
	return func(yield func(T, error) bool) {
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// pairOf is a pair of expected.json.
type pairOf struct {
	N          int        `json:"n"`
	OnlyFirst  int        `json:"only_first"`
	OnlySecond int        `json:"only_second"`
	Diff       float64    `json:"diff"`
	Interval   [2]float64 `json:"ci95_bonett_price"`
	P          float64    `json:"mcnemar_exact_p"`
}

// check holds a comparison, of which the first of the pair is the new side,
// against what is expected.
func (want *pairOf) check(t *testing.T, c *reports.Comparison, score string) {
	t.Helper()
	pair := &c.Pairs[0]
	for i := range pair.Differences {
		d := &pair.Differences[i]
		if d.Name != score {
			continue
		}
		if d.Tasks != want.N || d.Wins != want.OnlyFirst || d.Losses != want.OnlySecond || d.Ties != want.N-d.Wins-d.Losses || d.Test != compare.McNemar {
			t.Errorf("%+v, want %+v", d, want)
		}
		if !near(d.Change, want.Diff) || !near(d.Low, want.Interval[0]) || !near(d.High, want.Interval[1]) || !near(d.P, want.P) {
			t.Errorf("%v [%v, %v] p %v, want %+v", d.Change, d.Low, d.High, d.P, want)
		}
		if d.Verdict != compare.Better || !d.NotWorse {
			t.Errorf("the verdict is %s, not worse %v", d.Verdict, d.NotWorse)
		}
		return
	}
	t.Errorf("%s is not compared: %+v", score, pair)
}

func near(got compare.Number, want float64) bool {
	return math.Abs(float64(got)-want) <= 1e-9*math.Abs(want)
}

func TestRecordedGSM8KCompared(t *testing.T) {
	var want struct{ Pairs []pairOf }
	recordingtest.Expected(t, "gsm8k", &want)
	r := reported(t, "gsm8k.suite.yaml")
	c, err := reports.Diff(r, r, reports.DiffOptions{BaseConfiguration: "finetuning", NewConfiguration: "verification"})
	if err != nil {
		t.Fatal(err)
	}
	want.Pairs[0].check(t, c, "correct")
	flips := 0
	for _, f := range c.Pairs[0].Flips {
		if f.Score != "correct" {
			continue
		}
		if worse := f.New < f.Base; worse != (flips < want.Pairs[0].OnlySecond) || f.BaseRuns[0] != "finetuning/"+f.Task+"/1" {
			t.Fatalf("flip %d: %+v; those that got worse come first", flips, f)
		}
		flips++
	}
	if flips != want.Pairs[0].OnlyFirst+want.Pairs[0].OnlySecond {
		t.Errorf("%d tasks flipped", flips)
	}
	var out strings.Builder
	if err := page.Write(&out, c, page.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"1319 tasks paired", "better", "+0.174", "+0.147…0.200", "<0.001", "293/64/962"} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("no %q in\n%s", text, out.String())
		}
	}
}

// Another prompt is another agent: what was recorded under a prompt for a single
// turn is better than ten turns cut at the first one.
func TestRecordedInterCodeCompared(t *testing.T) {
	var want pairOf
	recordingtest.Expected(t, "intercode_replay_vs_separate_single_turn_run", &want)
	ten, single := reported(t, "intercode-sql.suite.yaml", "turns@max_iterations=1"), reported(t, "intercode-sql-single.suite.yaml")
	c, err := reports.Diff(ten, single, reports.DiffOptions{BaseConfiguration: "turns@max_iterations=1"})
	if err != nil {
		t.Fatal(err)
	}
	want.check(t, c, "solved")
}
