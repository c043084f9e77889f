package results

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/spectest"
)

// exampleRuns have every kind of value, known and unknown.
func exampleRuns() ([]*record.Run, []record.Score) {
	confidence := 0.25
	known := record.Usage{Calls: 2, InputTokens: 100, CachedTokens: 40, CacheWriteTokens: 20, CacheWrite1hTokens: 10, OutputTokens: 9, ReasoningTokens: 3, ToolCalls: 1, Cost: record.USD / 4}
	runs := []*record.Run{
		{
			Version: 1, ID: "a/x/1", Configuration: "a", Task: "x", Trial: 1, Group: "g",
			Outcome: record.Outcome{Status: record.Completed, Reason: record.ReasonPassed, Class: "condition", Success: true, Returned: 2},
			Iterations: []record.Iteration{
				{N: 1, Output: json.RawMessage(`"a, \"b\"\nc"`), Confidence: &confidence, Error: &record.Error{Class: record.Server, Message: "down"}, End: time.Second},
				{N: 2, Phase: "refine", Output: json.RawMessage(`{"n":1}`), Evaluation: &record.Evaluation{Confidence: 0.75, Passed: true}, Start: time.Second, End: 3 * time.Second, Calls: []record.Call{{Role: record.RoleAgent, Usage: known}}},
			},
			Usage: known, Judging: record.Usage{Calls: 1, InputTokens: 5, OutputTokens: 1, Cost: record.USD / 8}, Elapsed: 3 * time.Second,
			Volatile: record.Volatile{Started: time.Date(2026, 11, 24, 10, 0, 0, 123456000, time.UTC), Waited: time.Second / 2},
		},
		{
			Version: 1, ID: "a/y/1", Configuration: "a", Task: "y", Trial: 1, Untimed: true,
			Outcome: record.Outcome{Status: record.Faulted, Reason: record.ReasonError, Class: "fault", Error: &record.Error{Class: record.Network, Message: "lost"}},
			Usage:   record.Usage{Calls: 1, Unreported: 1},
		},
	}
	scores := []record.Score{
		{Run: "a/x/1", Name: "right", Scorer: "h1", Value: 0.5},
		{Run: "a/x/1", Name: "right", Scorer: "h2", Value: 1, Answer: "42", Explanation: "equal"},
		{Run: "a/x/1", Name: "right", Scorer: "h2", Iteration: 1, Unscored: "no answer"},
		{Run: "a/x/1", Name: "gone", Scorer: "h3", Value: 1},
		{Run: "a/x/1", Name: "gone", Scorer: "h3", Removed: true},
	}
	return runs, scores
}

// exampleSnapshots are two states, one of them scored twice, as they were found.
func exampleSnapshots() [][]record.Snapshot {
	one := record.Snapshot{Iteration: 2, Key: "k1", Steps: []int{2, 3}, Scores: []record.Score{{Name: "right", Scorer: "h1", Iteration: 2, Value: 0.5}}}
	two := record.Snapshot{Iteration: 2, Key: "k2", Steps: []int{4}, Scores: []record.Score{
		{Name: "right", Scorer: "h2", Iteration: 2, Value: 1}, {Name: "right", Scorer: "h2", Value: 0.25}, {Name: "ended", Scorer: "h4", Unscored: "not known"},
	}}
	again := one
	again.Scores = []record.Score{{Name: "right", Scorer: "h2", Iteration: 2, Value: 0, Answer: "41", Explanation: "differs"}}
	return [][]record.Snapshot{{one, two}, {again, {Iteration: 1, Key: "k3", Evaluator: "e"}}}
}

// exampleTables writes them into a result folder, and that as tables.
func exampleTables(t *testing.T, format string) (out string) {
	t.Helper()
	dir, out := filepath.Join(t.TempDir(), "r"), filepath.Join(t.TempDir(), "out")
	journal, err := record.Create(dir, record.Manifest{Suite: "s", Tasks: 2, Trials: 1}, record.Options{})
	spectest.Must(t, err)
	runs, scores := exampleRuns()
	for i, run := range runs {
		of := scores
		if i > 0 {
			of = nil
		}
		spectest.Must(t, journal.Append(run, of, nil))
	}
	for _, of := range exampleSnapshots() {
		spectest.Must(t, journal.AppendSnapshots("a/x/1", of, nil))
	}
	spectest.Must(t, journal.Close())
	n, err := WriteTables(dir, out, format, strings.ToUpper)
	if want := (Written{Runs: 2, Iterations: 2, Scores: 2, Steps: 4}); err != nil || n != want {
		t.Fatalf("%+v, %v", n, err)
	}
	return out
}

var wantRuns = [][]string{
	{"a/x/1", "a", "x", "1", "", "g", "completed", "passed", "condition", "true", "2", "2", "3", "1", "105", "40", "20", "10", "10", "3", "0.375", "0.125", "3", "0.5", "2026-11-24T10:00:00.123456Z", "false", "", ""},
	{"a/y/1", "a", "y", "1", "", "", "fault", "error", "fault", "false", "", "0", "", "0", "", "", "", "", "", "", "", "0", "", "0", "", "false", "network", "lost"},
}

var wantIterations = [][]string{
	{"a/x/1", "1", "", "", "0.25", "", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "1", "", "server", "a, \"b\"\nc"},
	{"a/x/1", "2", "refine", "", "0.75", "true", "0", "2", "1", "100", "40", "20", "10", "9", "3", "0.25", "1", "3", "", "", `{"n":1}`},
}

var wantScores = [][]string{
	{"a/x/1", "", "right", "h2", "1", "", "42", "equal", "0", "0"},
	{"a/x/1", "1", "right", "h2", "", "no answer", "", "", "0", "0"},
}

var wantSteps = [][]string{
	{"a/x/1", "2", "4", "k2", "right", "h2", "0.25", "", "", ""},
	{"a/x/1", "2", "4", "k2", "ended", "h4", "", "not known", "", ""},
	{"a/x/1", "2", "2", "k1", "right", "h2", "0", "", "41", "differs"},
	{"a/x/1", "2", "3", "k1", "right", "h2", "0", "", "41", "differs"},
}

func wantOf(name string) [][]string {
	var rows [][]string
	for _, row := range map[string][][]string{"runs": wantRuns, "iterations": wantIterations, "scores": wantScores, "steps": wantSteps}[name] {
		rows = append(rows, slices.Clone(row))
	}
	return rows
}

// What is known is there, what is unknown is empty; of several scores the last counts.
func TestTables(t *testing.T) {
	out := exampleTables(t, "csv")
	for name, row := range map[string]any{"runs": runRow{}, "iterations": iterationRow{}, "scores": scoreRow{}, "steps": stepRow{}} {
		file, err := os.Open(filepath.Join(out, name+".csv"))
		spectest.Must(t, err)
		defer file.Close()
		got, err := csv.NewReader(file).ReadAll()
		if err != nil || !reflect.DeepEqual(got[0], columnsOf(reflect.TypeOf(row))) {
			t.Fatalf("%s: %q, %v", name, got[0], err)
		}
		want := wantOf(name)
		for _, row := range want { // the cells of the test, of which only texts have letters
			for i, cell := range row {
				if cell != "true" && cell != "false" {
					row[i] = strings.ToUpper(cell)
				}
			}
		}
		if !reflect.DeepEqual(got[1:], want) {
			t.Errorf("%s:\n%q, want\n%q", name, got[1:], want)
		}
	}
}

// JSON Lines have the values of CSV with their types, and null for what is unknown.
func TestTablesAsJSONLines(t *testing.T) {
	out := exampleTables(t, "jsonl")
	for _, name := range []string{"runs", "iterations", "scores", "steps"} {
		text, err := os.ReadFile(filepath.Join(out, name+".jsonl"))
		spectest.Must(t, err)
		var got [][]string
		for line := range strings.Lines(string(text)) {
			got = append(got, cellsOfLine(t, line))
		}
		if want := wantOf(name); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%q, want\n%q", name, got, want)
		}
	}
}

// cellsOfLine are the values of a JSON object, in their order, as CSV has them.
func cellsOfLine(t *testing.T, line string) (cells []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	for key := true; ; key = !key {
		token, err := d.Token()
		switch {
		case err != nil:
			t.Fatal(err)
		case token == json.Delim('{'):
			key = false // the next is one
		case token == json.Delim('}'):
			return cells
		case key:
		case token == nil:
			cells = append(cells, "")
		default:
			cells = append(cells, fmt.Sprint(token))
		}
	}
}

// docs/results.md names each column of each table, and no other.
func TestColumnsAreDocumented(t *testing.T) {
	manual, err := os.ReadFile("../../docs/results.md")
	spectest.Must(t, err)
	for name, row := range map[string]any{"runs": runRow{}, "iterations": iterationRow{}, "scores": scoreRow{}, "steps": stepRow{}} {
		_, section, _ := strings.Cut(string(manual), "\n### "+name+"\n")
		section, _, _ = strings.Cut(section, "\n##")
		documented := map[string]bool{}
		for line := range strings.Lines(section) {
			if cells := strings.Split(line, "|"); len(cells) > 2 {
				for _, column := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(cells[1], -1) {
					documented[column[1]] = true
				}
			}
		}
		columns := columnsOf(reflect.TypeOf(row))
		for _, column := range columns {
			if !documented[column] {
				t.Errorf("docs/results.md lacks the column %s of %s", column, name)
			}
		}
		if len(documented) != len(columns) {
			t.Errorf("docs/results.md has %d columns of %s, the table %d", len(documented), name, len(columns))
		}
	}
}
