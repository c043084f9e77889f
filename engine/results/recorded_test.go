package results_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/engine/results"
	suite "github.com/agentbench/agentbench/spec"
)

const spec = `{
 "suite": {"suite": "s", "tasks": [{"id": "b", "input": "x"}, {"id": "a", "input": "y"}], "prices": "prices.yaml", "baseline": "gone",
  "models": {"m": {"provider": "openai", "base_url": "http://localhost:1/v1"}},
  "configurations": [{"name": "wide", "loop": "somewhere/else.yaml"}],
  "scorers": [{"name": "right", "type": "exact", "target": "\"yes\""}, {"name": "short", "type": "cel", "expr": "size(iterations) < 3"}, {"name": "reads", "type": "cel", "expr": "stop.success"}]},
 "configurations": {"wide": {"loop": "l", "agent": {"model": "m"}, "prompt": "{{ task.input }}",
  "evaluate": {"checks": [{"name": "c", "expr": "output != \"\""}], "confidence": "0.5"}, "terminate": {"max_iterations": 3, "no_improvement": "off"}}}}`

// folder writes a result folder with runs of the configuration wide.
func folder(t testing.TB, resolved string, runs ...*record.Run) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r")
	m := record.Manifest{Suite: "s", Spec: json.RawMessage(resolved), Status: record.StateComplete, Tasks: 2, Trials: 1,
		Scorers: []string{"right", "short", "reads"}, Configurations: []record.ConfigurationHead{{Name: "wide", Loop: "hash", Aliases: []string{"also"}}}}
	j, err := record.Create(dir, m, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		if err := j.Append(run, scoresOf(run), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func scoresOf(run *record.Run) []record.Score {
	return []record.Score{{Run: run.ID, Name: "right", Value: 1}, {Run: run.ID, Name: "right", Iteration: 1, Value: 0.25},
		{Run: run.ID, Name: "right", Iteration: 1, Value: 0.5}, {Run: run.ID, Name: "short", Unscored: "no target"}, {Run: run.ID, Name: "late", Value: 2},
		{Run: run.ID, Name: "gone", Value: 1}, {Run: run.ID, Name: "gone", Removed: true},
		{Run: run.ID, Name: "right", Iteration: 2, Value: 1}, {Run: run.ID, Name: "right", Iteration: 2, Removed: true}}
}

func made(configuration, task string, trial int, status record.Status) *record.Run {
	r := &record.Run{Version: record.Version, ID: record.RunID(configuration, task, trial), Configuration: configuration, Task: task, Trial: trial, Loop: "hash",
		Outcome: record.Outcome{Status: status, Reason: record.ReasonMaxIterations, Returned: 1}}
	if status == record.Completed {
		for n := 1; n <= 3; n++ {
			r.Iterations = append(r.Iterations, record.Iteration{N: n, Output: json.RawMessage(`"yes"`), Evaluation: &record.Evaluation{Confidence: 0.5}})
		}
	}
	return r
}

func open(t *testing.T, dir string, s results.Selection) (*results.Folder, []sweep.Recording, results.Notes) {
	t.Helper()
	f, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	recordings, notes, err := f.Read(s)
	if err != nil {
		t.Fatal(err)
	}
	return f, recordings, notes
}

// TestRead: runs that count come by task and trial, with their tasks and the scores that stand; all others are counted.
func TestRead(t *testing.T) {
	faulted := made("wide", "b", 2, record.Faulted)
	again := made("wide", "b", 2, record.Completed)
	mixed := made("wide", "b", 3, record.Completed)
	mixed.Loop = "other hash"
	dir := folder(t, spec, made("wide", "b", 1, record.Completed), made("wide", "a", 1, record.Completed), faulted, again, mixed,
		made("wide", "a", 2, record.Faulted), made("wide", "a", 3, record.Cancelled), made("other", "a", 1, record.Completed), made("wide", "c", 1, record.Completed))
	for _, texts := range []bool{false, true} {
		f, recordings, notes := open(t, dir, results.Selection{Texts: texts})
		if want := (results.Notes{Faults: 1, Cancelled: 1, Strangers: 1, Others: 1, Taskless: 1}); notes != want {
			t.Errorf("texts %v: noted %+v, want %+v", texts, notes, want)
		}
		if len(recordings) != 1 || recordings[0].Configuration != "wide" || recordings[0].Loop != f.Loop("also") || f.Loop("none") != nil {
			t.Fatalf("texts %v: %+v", texts, recordings)
		}
		var ids []string
		for _, run := range recordings[0].Runs {
			ids = append(ids, run.Run.ID)
		}
		if !slices.Equal(ids, []string{"wide/a/1", "wide/b/1", "wide/b/2", "wide/c/1"}) {
			t.Errorf("texts %v: the runs are %v", texts, ids)
		}
		first := recordings[0].Runs[0]
		if first.Task.Input != "y" || first.Task.ID != "a" {
			t.Errorf("texts %v: the task is %+v", texts, first.Task)
		}
		if output := first.Whole(nil).Iterations[0].Output; (string(output) == `"yes"`) != texts {
			t.Errorf("texts %v: the output is %s", texts, output)
		}
		right, short, late := first.Scores[0], first.Scores[1], first.Scores[3]
		if right[0] != 1 || right[1] != 0.5 || !math.IsNaN(right[2]) || !math.IsNaN(short[0]) || late[0] != 2 {
			t.Errorf("texts %v: the scores are %v", texts, first.Scores)
		}
		if want := []string{"right", "short", "reads", "late"}; !slices.Equal(recordings[0].Scores, want) {
			t.Errorf("the scores are named %v", recordings[0].Scores)
		}
		if want := []sweep.Reads{sweep.ReadsOutput, sweep.ReadsCourse, sweep.ReadsStop, sweep.ReadsUnknown}; !slices.Equal(recordings[0].Reads, want) {
			t.Errorf("the scores read %v, want %v", recordings[0].Reads, want)
		}
	}
}

// TestReadReplays: what is read replays as it was recorded.
func TestReadReplays(t *testing.T) {
	dir := folder(t, spec, made("wide", "b", 1, record.Completed))
	for _, texts := range []bool{false, true} {
		f, recordings, _ := open(t, dir, results.Selection{Texts: texts})
		s, err := sweep.New(recordings, []sweep.Candidate{{Name: "wide", Loop: f.Loop("wide")}}, sweep.Options{})
		if err != nil {
			t.Fatal(err)
		}
		outcomes, err := s.Outcomes(context.Background(), 0)
		if err != nil || outcomes[0][0].Verdict != "exact" || outcomes[0][0].Iterations != 3 || outcomes[0][0].Scores[0] != (sweep.Range{Least: 1, Most: 1}) {
			t.Errorf("texts %v: %+v, %v", texts, outcomes, err)
		}
	}
}

// TestSelection: only the runs of the configurations that are asked for are read.
func TestSelection(t *testing.T) {
	dir := folder(t, spec, made("wide", "b", 1, record.Completed))
	if _, recordings, _ := open(t, dir, results.Selection{Configurations: []string{"narrow"}}); len(recordings) != 0 {
		t.Error("runs of another configuration:", recordings)
	}
}

// TestUnknownTasks: tasks of a file that is not in the folder are not known, and nothing else is said of them.
func TestUnknownTasks(t *testing.T) {
	var suite map[string]map[string]any
	if err := json.Unmarshal([]byte(spec), &suite); err != nil {
		t.Fatal(err)
	}
	suite["suite"]["tasks"] = "tasks.jsonl"
	text, _ := json.Marshal(suite)
	dir := folder(t, string(text), made("wide", "b", 1, record.Completed))
	f, recordings, notes := open(t, dir, results.Selection{})
	if f.KnowsTasks() || notes.Taskless != 0 || recordings[0].Runs[0].Task.ID != "b" {
		t.Error(f.KnowsTasks(), notes, recordings[0].Runs[0].Task)
	}
	// A file of that name in the folder of runs that were not imported is not theirs.
	if err := os.WriteFile(filepath.Join(dir, "tasks.jsonl"), []byte(`{"id": "b", "input": "other"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, _, _ := open(t, dir, results.Selection{}); f.KnowsTasks() {
		t.Error("tasks of nobody are taken for theirs")
	}
}

// TestDamage: bad lines are counted, and the rest is read.
func TestDamage(t *testing.T) {
	dir := folder(t, spec, made("wide", "b", 1, record.Completed), made("wide", "a", 1, record.Completed))
	path := filepath.Join(dir, "records.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[20] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, recordings, notes := open(t, dir, results.Selection{Texts: true})
	if notes.BadLines != 1 || notes.FirstBad == "" || len(recordings[0].Runs) != 1 {
		t.Errorf("%+v, %d runs", notes, len(recordings[0].Runs))
	}
}

// TestWithoutScorers: a spec whose scorers cannot be read any more can still be replayed.
func TestWithoutScorers(t *testing.T) {
	var suite map[string]map[string]any
	if err := json.Unmarshal([]byte(spec), &suite); err != nil {
		t.Fatal(err)
	}
	suite["suite"]["scorers"] = []any{map[string]any{"name": "right", "type": "of another version"}}
	text, _ := json.Marshal(suite)
	dir := folder(t, string(text), made("wide", "b", 1, record.Completed))
	if _, recordings, _ := open(t, dir, results.Selection{}); recordings[0].Runs[0].Scores[0][0] != 1 || recordings[0].Reads[0] != sweep.ReadsUnknown {
		t.Error(recordings[0])
	}
}

// TestOpenRefuses: a spec that has no loop of a configuration is told.
func TestOpenRefuses(t *testing.T) {
	for _, resolved := range []string{`{"suite": {"suite": "s", "tasks": []}}`, `{}`, `[]`} {
		dir := folder(t, resolved)
		if _, err := results.Open(dir, results.Options{}); err == nil {
			t.Errorf("%s can be opened", resolved)
		}
	}
	if _, err := results.Open(t.TempDir(), results.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error("an empty folder:", err)
	}
}

// BenchmarkRead reads 10,000 runs of three iterations without texts.
func BenchmarkRead(b *testing.B) {
	var runs []*record.Run
	for i := range 10_000 {
		runs = append(runs, made("wide", []string{"a", "b"}[i%2], 1+i/2, record.Completed))
	}
	f, err := results.Open(folder(b, spec, runs...), results.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if recordings, _, err := f.Read(results.Selection{}); err != nil || len(recordings[0].Runs) != len(runs) {
			b.Fatal(err)
		}
	}
}

// Who follows a folder gets the runs that a reader of all of it would get, those from
// before and those that are added, with texts and without.
func TestFollow(t *testing.T) {
	for _, texts := range []bool{false, true} {
		early := made("wide", "b", 1, record.Completed)
		later := []*record.Run{made("wide", "a", 1, record.Completed), made("wide", "a", 2, record.Cancelled), made("wide", "b", 1, record.Completed), made("none", "a", 1, record.Completed)}
		before, err := results.Open(folder(t, spec, early), results.Options{})
		if err != nil {
			t.Fatal(err)
		}
		after, err := results.Open(folder(t, spec, append([]*record.Run{early}, later...)...), results.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := after.Read(results.Selection{Texts: texts})
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]*suite.Task{}
		for task, err := range after.Tasks() {
			if err != nil {
				t.Fatal(err)
			}
			known[task.ID] = task
		}
		following, err := before.Follow(results.Selection{Texts: texts}, known)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(before.Path); err != nil { // nothing is read any more
			t.Fatal(err)
		}
		for _, run := range later {
			following.Add(run, scoresOf(run))
		}
		got := following.Recordings()
		if len(got) != 1 || len(want) != 1 || len(got[0].Runs) != 2 || !reflect.DeepEqual(got[0].Scores, want[0].Scores) || !slices.EqualFunc(got[0].Runs, want[0].Runs, alikeRuns) {
			t.Errorf("texts %v: got %+v, want %+v", texts, got, want)
		}
	}
}

// alikeRuns compares runs; scores that are not known are NaN.
func alikeRuns(a, b sweep.Run) bool {
	return fmt.Sprintf("%v %v", a.Scores, *a.Task) == fmt.Sprintf("%v %v", b.Scores, *b.Task) && reflect.DeepEqual(a.Run, b.Run)
}
