package browsertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// suite is what a test records: runs of two configurations on so many tasks.
type suite struct {
	tasks            int
	configurations   []string
	task, output     func(task int) string
	scorer, declares string                 // of the YAML of the suite; "": it is unknown
	change           func(*record.Run, int) // may change the run of a task
	votes            func(task int) []record.Vote
	judge            func(*record.Score, int)               // may change the score of a task; nil: does not
	params           func(configuration int) []record.Param // nil: none
}

// usual has runs that differ in all that a list shows.
func usual() suite {
	return suite{
		tasks: 40, configurations: []string{"base", "new"},
		task:   func(n int) string { return fmt.Sprintf("task-%d", n) },
		output: func(n int) string { return fmt.Sprintf("the answer to task %d", n) },
		scorer: "right", change: func(*record.Run, int) {}, votes: func(int) []record.Vote { return nil },
	}
}

// folder records a suite. The third of the tasks is lost by the second configuration.
func (s suite) folder(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "results")
	m := record.Manifest{Suite: "browsed", Tasks: s.tasks, Trials: 1, Scorers: []string{s.scorer}, Baseline: s.configurations[0], Totals: record.Totals{Planned: s.tasks * len(s.configurations)}}
	for c, name := range s.configurations {
		head := record.ConfigurationHead{Name: name, MaxIterations: 5, EffectiveMax: 5}
		if s.params != nil {
			head.Params = s.params(c)
		}
		m.Configurations = append(m.Configurations, head)
	}
	if s.declares != "" {
		m.Specs = madeOf(t, dir, s.declares, s.configurations, s.scorer)
	}
	journal, err := record.Create(dir, m, record.Options{Delay: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	for c, name := range s.configurations {
		for n := range s.tasks {
			score := record.Score{Name: s.scorer, Value: 1, Explanation: "because <b>of</b> it", Votes: s.votes(n)}
			if n%3 == 2-c || c == 1 && n == 0 {
				score.Value = 0
			}
			run := s.run(name, n)
			s.change(run, n)
			if s.judge != nil {
				s.judge(&score, n)
			}
			err = errors.Join(err, journal.Append(run, []record.Score{score}, nil))
		}
	}
	if err := errors.Join(err, journal.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// madeOf puts a copy of the suite into a result folder that is to be made: its tasks and its scorer, as YAML.
func madeOf(t testing.TB, dir, declares string, configurations []string, scorer string) []record.Spec {
	t.Helper()
	var named []map[string]string
	for _, name := range configurations {
		named = append(named, map[string]string{"name": name, "loop": "l.yaml"})
	}
	list, err := json.Marshal(named)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"l.yaml":     "{loop: l, agent: {model: m}, prompt: p}",
		"suite.yaml": fmt.Sprintf("{suite: s, models: {m: {provider: script, price: free, responses: [a]}}, configurations: %s, %s}", list, declares),
	}
	s := record.Spec{Dir: "spec/1", Suite: "suite.yaml", Configurations: configurations, Scorers: []string{scorer}, Files: map[string]string{}}
	for name, text := range files {
		path := filepath.Join(dir, "spec", "1", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
		s.Files[name] = record.FileHash([]byte(text))
	}
	return []record.Spec{s}
}

// run is one of 1 to 4 iterations, of which more cost more.
func (s suite) run(configuration string, n int) *record.Run {
	task := s.task(n)
	r := &record.Run{
		Version: record.Version, ID: record.RunID(configuration, task, 1), Configuration: configuration, Task: task, Trial: 1,
		Outcome: record.Outcome{Status: record.Completed, Reason: record.ReasonPassed, Class: record.ByCondition, Success: true},
	}
	if n%5 == 4 {
		r.Outcome = record.Outcome{Status: record.Failed, Reason: record.ReasonMaxIterations, Class: record.ByCondition, Limit: 5, Used: 5}
	}
	for i := range 1 + n%4 {
		used := record.Usage{Calls: 1, InputTokens: int64(100 + n), OutputTokens: 10, Cost: record.Money(1+n) * 1e9}
		r.Iterations = append(r.Iterations, record.Iteration{
			N: i + 1, Phase: "execution", Start: r.Elapsed, End: r.Elapsed + time.Second, Thinking: fmt.Sprintf("thinking %d", i+1), Output: quoted(s.output(n)),
			Evaluation: &record.Evaluation{Confidence: float64(i+1) / 5, Feedback: s.output(n), Checks: []record.Check{{Name: s.task(n), Passed: true}}},
			Calls:      []record.Call{{Role: record.RoleAgent, Model: "m", Usage: used, Start: r.Elapsed, Duration: time.Second}},
			ToolCalls:  []record.ToolCall{{Tool: "search", Arguments: quoted(s.output(n)), Result: quoted(s.output(n))}},
		})
		r.Usage = r.Usage.Plus(used)
		r.Elapsed += time.Second
	}
	r.Outcome.Returned = len(r.Iterations)
	return r
}

func quoted(text string) json.RawMessage {
	written, _ := json.Marshal(text) // a string can always be written
	return written
}
