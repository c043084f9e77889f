package results

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/spectest"
)

// suiteFiles is a suite of two tasks, with the loop of its configuration.
var suiteFiles = map[string]string{
	"suite.yaml": `suite: s
tasks: tasks.jsonl
models: {m: {provider: openai, base_url: "http://localhost:1/v1"}}
configurations: [{name: wide, loop: l.yaml}, {name: also, loop: l.yaml}]
scorers:
  - {name: right, type: exact, target: '"yes"'}
  - {name: short, type: cel, expr: 'size(iterations) < 3'}
  - {name: reads, type: cel, expr: stop.success}
`,
	"tasks.jsonl": `{"id": "b", "input": "x"}
{"id": "a", "input": "y"}
`,
	"l.yaml": `loop: l
agent: {model: m}
prompt: '{{ task.input }}'
evaluate: {checks: [{name: c, expr: 'output != ""'}], confidence: "0.5"}
terminate: {max_iterations: 3, no_improvement: off}
`,
}

var writer = Writer{Redact: func(text []byte) []byte { return text }}

// folder writes a result folder with runs of the configuration wide.
func folder(t testing.TB, files map[string]string, runs ...*record.Run) *record.Results {
	t.Helper()
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "r")
	for name, text := range files {
		spectest.Must(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
	d, faults := spec.Load(filepath.Join(home, "suite.yaml"), spec.Options{})
	if d == nil {
		t.Fatal(faults.Err())
	}
	copies, err := writer.NewCopies(d, d.Tasks())
	spectest.Must(t, err)
	m := record.Manifest{Suite: "s", Status: record.StateComplete, Tasks: 2, Trials: 1,
		Scorers: []string{"right", "short", "reads"}, Configurations: []record.ConfigurationHead{{Name: "wide", Loop: "hash", Aliases: []string{"also"}}}}
	made, err := copies.Keep(dir, nil)
	spectest.Must(t, err)
	made.Configurations = []string{"wide"}
	for _, scorer := range d.Suite.Scorers {
		made.Scorers = append(made.Scorers, scorer.Name)
	}
	m.Specs = []record.Spec{made}
	j, err := record.Create(dir, m, record.Options{})
	spectest.Must(t, err)
	for _, run := range runs {
		spectest.Must(t, j.Append(run, scoresOf(run), nil))
	}
	spectest.Must(t, j.Close())
	return &record.Results{Path: dir, Manifest: m}
}

// with is the suite with one of its files written another way.
func with(name, old, new string) map[string]string {
	files := maps.Clone(suiteFiles)
	files[name] = strings.ReplaceAll(files[name], old, new)
	return files
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

func open(t *testing.T, of *record.Results, s Selection) (*Folder, []sweep.Recording, Notes) {
	t.Helper()
	f, err := Open(of, nil)
	spectest.Must(t, err)
	recordings, notes, err := f.Read(s)
	spectest.Must(t, err)
	return f, recordings, notes
}

// TestRead: runs that count come by task and trial, with their tasks and the scores that stand; all others are counted.
func TestRead(t *testing.T) {
	faulted := made("wide", "b", 2, record.Faulted)
	again := made("wide", "b", 2, record.Completed)
	mixed := made("wide", "b", 3, record.Completed)
	mixed.Loop = "other hash"
	dir := folder(t, suiteFiles, made("wide", "b", 1, record.Completed), made("wide", "a", 1, record.Completed), faulted, again, mixed,
		made("wide", "a", 2, record.Faulted), made("wide", "a", 3, record.Cancelled), made("other", "a", 1, record.Completed), made("wide", "c", 1, record.Completed))
	if _, recordings, _ := open(t, dir, Selection{Configurations: []string{"narrow"}}); len(recordings) != 0 {
		t.Error("runs of another configuration:", recordings)
	}
	for _, texts := range []bool{false, true} {
		f, recordings, notes := open(t, dir, Selection{Texts: texts})
		if want := (Notes{Faults: 1, Cancelled: 1, UnknownConfigurations: 1, Others: 1, Taskless: 1}); notes != want {
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
		if output := first.Run.Iterations[0].Output; (string(output) == `"yes"`) != texts {
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
	dir := folder(t, suiteFiles, made("wide", "b", 1, record.Completed))
	for _, texts := range []bool{false, true} {
		f, recordings, _ := open(t, dir, Selection{Texts: texts})
		s, err := sweep.New(recordings, []sweep.Candidate{{Name: "wide", Loop: f.Loop("wide")}}, sweep.Options{})
		spectest.Must(t, err)
		outcomes, err := s.Outcomes(context.Background(), 0)
		if err != nil || outcomes[0][0].Verdict != "exact" || outcomes[0][0].Iterations != 3 || outcomes[0][0].Scores[0] != (sweep.Range{Least: 1, Most: 1}) {
			t.Errorf("texts %v: %+v, %v", texts, outcomes, err)
		}
	}
}

// TestDamage: a damaged line is named, and nothing is read without it.
func TestDamage(t *testing.T) {
	dir := folder(t, suiteFiles, made("wide", "b", 1, record.Completed), made("wide", "a", 1, record.Completed))
	path := filepath.Join(dir.Path, "records.jsonl")
	text, err := os.ReadFile(path)
	spectest.Must(t, err)
	text[20] ^= 1
	spectest.Must(t, os.WriteFile(path, text, 0o600))
	f, err := Open(dir, nil)
	spectest.Must(t, err)
	for _, texts := range []bool{true, false} {
		_, _, err = f.Read(Selection{Texts: texts})
		if damage, is := errors.AsType[*record.Damage](err); !is || *damage != (record.Damage{File: path, Line: 1, What: "the checksum does not fit"}) {
			t.Error(err)
		}
	}
}

// A copy that was changed, or that lacks a file, is named; so is a manifest that names no suite.
func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(of *record.Results, spec string) error
		want   string
	}{
		"no suite":         {func(of *record.Results, _ string) error { of.Manifest.Specs = nil; return nil }, "it is not known of which suite"},
		"no configuration": {func(of *record.Results, _ string) error { of.Manifest.Specs[0].Configurations = nil; return nil }, `no suite of the configuration "wide"`},
		"other": {func(of *record.Results, _ string) error {
			of.Manifest.Configurations[0].Name, of.Manifest.Specs[0].Configurations = "x", []string{"x"}
			return nil
		}, `has no configuration "x"`},
		"a file is changed": {func(_ *record.Results, spec string) error {
			return os.WriteFile(filepath.Join(spec, "l.yaml"), []byte("loop: l"), 0o600)
		}, "l.yaml cannot be read: it was changed"},
		"a file is gone":    {func(_ *record.Results, spec string) error { return os.Remove(filepath.Join(spec, "l.yaml")) }, "l.yaml"},
		"the suite is gone": {func(_ *record.Results, spec string) error { return os.Remove(filepath.Join(spec, "suite.yaml")) }, "suite.yaml"},
		"the data is damaged": {func(_ *record.Results, spec string) error {
			return os.WriteFile(filepath.Join(spec, "tasks.jsonl"), []byte("{}"), 0o600)
		}, "tasks.jsonl"},
	} {
		of := folder(t, suiteFiles, made("wide", "b", 1, record.Completed))
		spectest.Must(t, c.change(of, filepath.Join(of.Path, "spec", "1")))
		f, err := Open(of, nil)
		if err == nil {
			_, _, err = f.Read(Selection{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// A folder with a large data set has the tasks that ran, and those of small ones as they are; its tasks are the same.
func TestALargeDataSetIsCopiedByItsTasks(t *testing.T) {
	files := with("tasks.jsonl", `"x"`, `"`+strings.Repeat("long ", 1<<18)+`"`)
	of := folder(t, files, made("wide", "b", 1, record.Completed))
	if names := slices.Sorted(maps.Keys(of.Manifest.Specs[0].Data)); !slices.Equal(names, []string{spec.TasksCopy}) {
		t.Errorf("the data is %v", names)
	}
	_, recordings, _ := open(t, of, Selection{})
	if input, _ := recordings[0].Runs[0].Task.Input.(string); len(input) != 5<<18 {
		t.Errorf("the input has %d bytes", len(input))
	}
}

// The scores of a baseline are compared by its suite, which it holds without data.
func TestABaselineHoldsItsSuite(t *testing.T) {
	of := folder(t, with("suite.yaml", "configurations:", "margin: 0.1\nthresholds: ['true']\nconfigurations:"), made("wide", "b", 1, record.Completed))
	file := filepath.Join(t.TempDir(), "b.jsonl")
	var text bytes.Buffer
	spectest.Must(t, record.WriteBaseline(&text, of, record.BaselineOptions{}))
	spectest.Must(t, os.WriteFile(file, text.Bytes(), 0o600))
	baseline, err := record.Open(file)
	spectest.Must(t, err)
	bounds, err := BoundsOf(baseline)
	if err != nil || !slices.Equal(bounds.Thresholds, []string{"true"}) {
		t.Errorf("%v, %v", bounds, err)
	}
	margins, err := MarginsOver([]string{"right=5%"}, baseline)
	if err != nil || margins["scores"] != 0.1 || margins["right"] != 0.05 {
		t.Errorf("%v, %v", margins, err)
	}
}

// Who follows a folder gets the runs that a reader of all of it would get, those from
// before and those that are added, with texts and without.
func TestFollow(t *testing.T) {
	for _, texts := range []bool{false, true} {
		early := made("wide", "b", 1, record.Completed)
		later := []*record.Run{made("wide", "a", 1, record.Completed), made("wide", "a", 2, record.Cancelled), made("wide", "b", 1, record.Completed), made("none", "a", 1, record.Completed)}
		before, err := Open(folder(t, suiteFiles, early), nil)
		spectest.Must(t, err)
		after, err := Open(folder(t, suiteFiles, append([]*record.Run{early}, later...)...), nil)
		spectest.Must(t, err)
		want, _, err := after.Read(Selection{Texts: texts})
		spectest.Must(t, err)
		known := map[string]*spec.Task{}
		for task, err := range after.Tasks() {
			spectest.Must(t, err)
			known[task.ID] = task
		}
		following, err := before.Follow(Selection{Texts: texts}, known)
		spectest.Must(t, err)
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
