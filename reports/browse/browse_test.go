package browse

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/trajectory"
	"github.com/agentbench/agentbench/spec"
)

// A folder that a test records: two configurations on so many tasks, in that order.
func recorded(t *testing.T, tasks []int, output string) *record.Results {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r")
	m := record.Manifest{Suite: "s", Seed: 7, Tasks: len(tasks), Trials: 1, Scorers: []string{"right"}, Configurations: []record.ConfigurationHead{{Name: "b"}, {Name: "a"}}}
	journal, err := record.Create(dir, m, record.Options{Delay: time.Nanosecond})
	for _, n := range tasks {
		for _, name := range []string{"a", "b"} {
			task := fmt.Sprintf("task-%d", n)
			run := &record.Run{
				Version: record.Version, ID: record.RunID(name, task, 1), Configuration: name, Task: task, Trial: 1, Elapsed: time.Duration(n) * time.Second,
				Outcome:    record.Outcome{Status: record.Completed, Reason: record.ReasonPassed, Class: record.ByCondition, Returned: 1},
				Iterations: []record.Iteration{{N: 1, Output: json.RawMessage(`"` + output + `"`)}},
				Usage:      record.Usage{Calls: 1, InputTokens: int64(n), Cost: record.Money(n) * 1e9},
			}
			if n == 3 {
				run.Usage.Unpriced = 1
			}
			score := record.Score{Name: "right", Value: float64(n % 2), Votes: []record.Vote{{Judge: name, Value: float64(n % 2), Explanation: "vote on " + run.ID}, {Judge: "other"}}}
			err = errors.Join(err, journal.Append(run, []record.Score{score}, nil))
		}
	}
	if err = errors.Join(err, journal.Close()); err != nil {
		t.Fatal(err)
	}
	results, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// written is the data as it is in a page.
func written(t *testing.T, s *Sources) string {
	t.Helper()
	data, err := s.Collect()
	var page bytes.Buffer
	if err = errors.Join(err, data.Write(&page)); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// unpack reads a chunk of a page as another program would.
func unpack(t *testing.T, page, name string, into any) {
	t.Helper()
	found := regexp.MustCompile(`<script type="application/octet-stream" data-chunk="` + name + `">([A-Za-z0-9+/=]+)</script>`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("no chunk %s in %.200s", name, page)
	}
	packed, err := base64.StdEncoding.DecodeString(found[1])
	if err != nil {
		t.Fatal(err)
	}
	text, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		err = json.NewDecoder(text).Decode(into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func sourcesOf(results ...*record.Results) *Sources {
	s := &Sources{Suite: "s", MostTexts: MostTexts, Disagree: func(votes []record.Vote) bool { return votes[0].Value != votes[1].Value }}
	for _, r := range results {
		s.Sides = append(s.Sides, Side{Results: r, Name: "results/r"})
	}
	return s
}

// readHead is the head as other programs read it.
type readHead struct {
	Format  string
	Runs    int
	Texts   int
	Run     []string
	Words   map[string]dictionary
	Numbers map[string][]*float64
	Scores  []struct {
		Name    string
		Values  []*float64
		Split   []int32
		Range   []float64
		Choices []string
	}
	Inputs []string
	Chunk  []int32
}

func TestAPageHasTheNumbersOfItsRuns(t *testing.T) {
	s := sourcesOf(recorded(t, []int{1, 2, 3}, "x"))
	s.Flips = map[string]string{"a/task-2/1": "lost"}
	page := written(t, s)
	var h readHead
	unpack(t, page, "runs", &h)
	want := []string{"b/task-1/1", "b/task-2/1", "b/task-3/1", "a/task-1/1", "a/task-2/1", "a/task-3/1"}
	if h.Format != Format || h.Runs != 6 || h.Texts != 6 || !slices.Equal(h.Run, want) {
		t.Fatalf("the head is %+v", h)
	}
	word := func(column string, run int) string { return h.Words[column].Of[h.Words[column].At[run]] }
	if word("configuration", 4) != "a" || word("task", 4) != "task-2" || word("status", 4) != "completed" || word("stop", 4) != "passed" || word("flip", 4) != "lost" || word("flip", 1) != "" {
		t.Errorf("the words are %+v", h.Words)
	}
	if n := h.Numbers; *n["cost"][4] != 0.002 || n["cost"][5] != nil || *n["tokens"][5] != 3 || *n["latency"][2] != 3 || *n["iterations"][0] != 1 {
		t.Errorf("the numbers are %+v", h.Numbers)
	}
	if h.Scores[0].Name != "right" || *h.Scores[0].Values[0] != 1 || *h.Scores[0].Values[1] != 0 {
		t.Errorf("the scores are %+v", h.Scores)
	}
	if split := h.Scores[0].Split; !slices.Equal(split, []int32{0, 2, 3, 5}) { // where one judge says 1 and the other 0
		t.Errorf("judges disagree about the runs %v", split)
	}
	var texts []trajectory.Texts
	unpack(t, page, fmt.Sprintf("texts-%d", h.Chunk[4]), &texts)
	at := slices.IndexFunc(texts, func(t trajectory.Texts) bool { return t.Run == "a/task-2/1" })
	if said := fmt.Sprint(texts); at != 0 || !strings.Contains(said, "vote on b/task-1/1") { // a flip comes first
		t.Errorf("run %d of the chunk is it: %s", at, said)
	}
}

// What tasks ask and what labels can say is in the page where the suite says it.
func TestAPageHasWhatTheSuiteDeclares(t *testing.T) {
	results := recorded(t, []int{1, 2}, "x")
	s := sourcesOf(results)
	document, faults := spec.LoadFS(fstest.MapFS{"s.yaml": {Data: []byte(`{suite: s, tasks: [{id: task-2, input: "What is it?"}, {id: task-1, input: {n: 1}}],
		models: {m: {provider: script, price: free, responses: [a]}}, configurations: [{name: a, loop: l.yaml}],
		scorers: [{name: right, type: judge, model: m, rubric: r, range: [1, 5]}, {name: kind, type: judge, model: m, rubric: r, choices: {good: 1, bad: 0, "so so": 0.5}}]}`)},
		"l.yaml": {Data: []byte("{loop: l, agent: {model: m}, prompt: p}")}}, "s.yaml", spec.Options{})
	if document == nil {
		t.Fatal(faults.Err())
	}
	s.Sides[0].Document = document
	var h readHead
	unpack(t, written(t, s), "runs", &h)
	if want := []string{`{"n":1}`, "What is it?"}; !slices.Equal(h.Inputs, want) {
		t.Errorf("the inputs are %q, want %q", h.Inputs, want)
	}
	if !slices.Equal(h.Scores[0].Range, []float64{1, 5}) || h.Scores[0].Choices != nil {
		t.Errorf("the score is %+v", h.Scores[0])
	}
	if is := declaredBy(s.Sides).scales["kind"].Choices; !slices.Equal(is, []string{"bad", "so so", "good"}) {
		t.Errorf("the choices are %q", is)
	}
	s.Sides[0].Document = nil
	h = readHead{}
	if unpack(t, written(t, s), "runs", &h); h.Inputs != nil {
		t.Errorf("the inputs of an unknown suite are %q", h.Inputs)
	}
}

// The order in which runs finished makes no difference.
func TestEqualResultsGiveEqualData(t *testing.T) {
	one, other := written(t, sourcesOf(recorded(t, []int{1, 2, 3, 4}, "x"))), written(t, sourcesOf(recorded(t, []int{3, 1, 4, 2}, "x")))
	if one != other {
		t.Errorf("the data differ: %d and %d bytes", len(one), len(other))
	}
}

func TestTextsHaveABound(t *testing.T) {
	var tasks []int
	for n := range 200 {
		tasks = append(tasks, n)
	}
	s := sourcesOf(recorded(t, tasks, strings.Repeat("x", 4000)))
	s.MostTexts = 5000
	s.Flips = map[string]string{"a/task-77/1": "won"}
	page := written(t, s)
	var h readHead
	unpack(t, page, "runs", &h)
	in := 0
	for _, chunk := range h.Chunk {
		if chunk >= 0 {
			in++
		}
	}
	if in == 0 || in >= 200 || in != h.Texts {
		t.Fatalf("%d of 400 runs have their texts, the page says %d", in, h.Texts)
	}
	if length := len(page) - strings.Index(page, "texts-0"); length > s.MostTexts+1000 {
		t.Errorf("the texts take %d bytes, want at most %d", length, s.MostTexts)
	}
	if at := slices.Index(h.Run, "a/task-77/1"); h.Chunk[at] != 0 {
		t.Error("a run with a flip has no texts")
	}
	for i, value := range h.Scores[0].Values { // there is no room for all failures
		if h.Chunk[i] >= 0 && *value == 1 && h.Run[i] != "a/task-77/1" {
			t.Errorf("%s is in the page, and failures are not", h.Run[i])
		}
	}
}

func TestSecretsAreRemovedBeforeDataArePacked(t *testing.T) {
	s := sourcesOf(recorded(t, []int{1}, "the password is hunter2-hunter2"))
	s.Redact = func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("hunter2-hunter2"), []byte("***")) }
	var texts []trajectory.Texts
	unpack(t, written(t, s), "texts-0", &texts)
	if said := fmt.Sprint(texts); strings.Contains(said, "hunter2") || !strings.Contains(said, "the password is ***") {
		t.Errorf("the texts are %s", said)
	}
}

// The script is plain, small, and asks for no markup.
func TestTheScriptMakesNoMarkup(t *testing.T) {
	script, err := Script()
	if err != nil {
		t.Fatal(err)
	}
	if len(script) > 60<<10 {
		t.Errorf("the script has %d bytes, want at most 60 KB", len(script))
	}
	for _, word := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "</script"} {
		if strings.Contains(script, word) {
			t.Errorf("the script has %s", word)
		}
	}
	files, err := scripts.ReadDir("script")
	if err != nil || len(files) != len(scriptFiles) {
		t.Errorf("%d of %d files are in the script: %v", len(scriptFiles), len(files), err)
	}
}
