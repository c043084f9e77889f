package agentbench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/spec"
)

// tally is a journal that only counts, for each configuration.
type tally struct {
	mutex  sync.Mutex
	counts map[string]*counts
}

type counts struct {
	runs, steps, faults int
	score               map[string]float64
	unscored            int
}

func (y *tally) Append(run *record.Run, scores []record.Score, done func(error)) error {
	y.mutex.Lock()
	defer y.mutex.Unlock()
	c := y.counts[run.Configuration]
	if c == nil {
		c = &counts{score: map[string]float64{}}
		y.counts[run.Configuration] = c
	}
	c.runs++
	c.steps += len(run.Iterations)
	if !run.Outcome.Counts() {
		c.faults++
	}
	for _, score := range scores {
		switch {
		case score.Iteration > 0:
		case score.Unscored != "":
			c.unscored++
		default:
			c.score[score.Name] += score.Value
		}
	}
	done(nil)
	return nil
}

// runRecorded runs a suite of testdata/recorded and counts.
func runRecorded(t testing.TB, name string) (*spec.Suite, map[string]*counts) {
	t.Helper()
	recordingtest.Folder(t)
	doc, p, e := assembled(t, filepath.Join("testdata", "recorded", name))
	journal := &tally{counts: map[string]*counts{}}
	e.Executor, e.Journal = engine.Pool{Workers: 4}, journal
	if _, err := e.Run(t.Context(), p, doc.Tasks()); err != nil {
		t.Fatal(err)
	}
	return doc.Suite, journal.counts
}

// assembled loads a suite and makes everything that runs it, but for where runs
// happen and where they are put down.
func assembled(t testing.TB, file string, configurations ...string) (*spec.Document, *plan.Plan, *engine.Engine) {
	t.Helper()
	doc, faults := spec.Load(file, spec.Options{})
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(doc.Suite, -1, plan.Selection{Configurations: configurations})
	if err != nil {
		t.Fatal(err)
	}
	loops, err := engine.Loops(doc, p.Configurations, engine.BuildOptions{Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	set, faults := scorers.New(doc.Suite.Scorers, scorers.Options{Resolved: p.Configurations})
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	return doc, p, &engine.Engine{Loops: loops, Score: set.Score}
}

// byName finds the counts of a configuration by its name or an alias.
func byName(t *testing.T, suite *spec.Suite, all map[string]*counts, name string) *counts {
	t.Helper()
	for _, c := range suite.Resolved {
		if c.Name == name || slices.Contains(c.Aliases, name) {
			return all[c.Name]
		}
	}
	t.Fatalf("unknown configuration %q", name)
	return nil
}

func TestRecordedGSM8K(t *testing.T) {
	suite, all := runRecorded(t, "gsm8k.suite.yaml")
	for name, correct := range map[string]float64{"finetuning": 286, "verification": 515} {
		c := byName(t, suite, all, name)
		if c.runs != 1319 || c.steps != 1319 || c.unscored != 0 || c.faults != 0 || c.score["correct"] != correct || c.score["numeric"] < correct {
			t.Errorf("%s: %+v, want %v of 1319 correct, 0 unscored", name, c, correct)
		}
	}
}

// row is a rule of expected.json with what it gives.
type row struct {
	K             int     `json:"k"`
	Patience      int     `json:"patience"`
	Tau           float64 `json:"tau"`
	MinIterations int     `json:"min_iterations"`
	Times         int     `json:"times"`
	N             int     `json:"n"`
	Successes     int     `json:"successes"`
	TotalSteps    int     `json:"total_steps"`
}

// intercode is the part of expected.json on one of the InterCode recordings.
type intercode struct {
	Turns       []row `json:"max_iterations"`
	Patience    []row `json:"no_improvement"`
	Threshold   []row `json:"threshold"`
	Action      []row `json:"repeated_action"`
	Invalid     []row `json:"consecutive_invalid"`
	SameError   []row `json:"consecutive_same_error"`
	Observation []row `json:"repeated_observation"`
	Combined    []row `json:"combined"`
	Sweep       struct {
		Full struct {
			Successes  int `json:"successes"`
			TotalSteps int `json:"total_steps"`
		} `json:"full"`
		Pareto [][2]int `json:"pareto_steps_success"`
	} `json:"sweep"`
}

// named are the rows by the name of their configuration.
func (e *intercode) named() map[string]row {
	rows := map[string]row{}
	add := func(list []row, name func(row) string) {
		for _, r := range list {
			rows[name(r)] = r
		}
	}
	add(e.Turns, func(r row) string { return fmt.Sprintf("turns@max_iterations=%d", r.K) })
	add(e.Patience, func(r row) string { return fmt.Sprintf("patience@patience=%d", r.Patience) })
	add(e.Threshold, func(r row) string {
		return fmt.Sprintf("threshold@threshold=%v,min_iterations=%d", r.Tau, r.MinIterations)
	})
	for name, list := range map[string][]row{
		"repeated_action@same-action": e.Action, "consecutive_invalid@invalid": e.Invalid,
		"consecutive_same_error@same-error": e.SameError, "repeated_observation@same-observation": e.Observation,
	} {
		add(list, func(r row) string { return fmt.Sprintf("%s.times=%d", name, r.Times) })
	}
	for i, r := range e.Combined {
		rows[fmt.Sprintf("combined-%d", i+1)] = r
	}
	return rows
}

func TestRecordedInterCode(t *testing.T) {
	for _, name := range []string{"sql", "bash"} {
		t.Run(name, func(t *testing.T) {
			var want intercode
			recordingtest.Expected(t, "intercode_"+name+"_gpt-4", &want)
			suite, all := runRecorded(t, "intercode-"+name+".suite.yaml")
			rows := want.named()
			if len(rows) < 40 {
				t.Fatalf("expected.json has %d rows", len(rows))
			}
			for configuration, r := range rows {
				got := byName(t, suite, all, configuration)
				if got.runs != r.N || got.faults != 0 || got.score["solved"] != float64(r.Successes) || got.steps != r.TotalSteps {
					t.Errorf("%s: %+v, want %d successes in %d steps of %d runs", configuration, got, r.Successes, r.TotalSteps, r.N)
				}
			}
		})
	}
}

// TestRecordedInterCodeGrid runs all 300 combinations of three rules on the tasks in
// bash and holds their Pareto front, fewest steps and most successes, to the expected
// one. Of the tasks in SQL, TestTheFrontOfInterCode of reports/tune holds it.
func TestRecordedInterCodeGrid(t *testing.T) {
	var want intercode
	recordingtest.Expected(t, "intercode_bash_gpt-4", &want)
	_, all := runRecorded(t, "intercode-bash-grid.suite.yaml")
	if len(all) != 300 {
		t.Errorf("%d configurations", len(all))
	}
	if got := paretoFront(all); !slices.Equal(got, want.Sweep.Pareto) {
		t.Errorf("the front is %v, want %v", got, want.Sweep.Pareto)
	}
}

// paretoFront are the distinct (steps, successes) that no other beats in both.
func paretoFront(all map[string]*counts) [][2]int {
	var points [][2]int
	for _, c := range all {
		points = append(points, [2]int{c.steps, int(c.score["solved"])})
	}
	slices.SortFunc(points, func(a, b [2]int) int {
		if a[0] != b[0] {
			return a[0] - b[0]
		}
		return b[1] - a[1]
	})
	var front [][2]int
	for _, p := range points {
		if len(front) == 0 || p[1] > front[len(front)-1][1] {
			front = append(front, p)
		}
	}
	return front
}
