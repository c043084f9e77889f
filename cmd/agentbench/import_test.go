package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
)

// importedRuns is an imported folder as replay reads it, with one configuration.
type importedRuns struct {
	loop   []byte
	runs   []*record.Run
	scores map[string][]float64 // by run: of the iterations, as the named scorer judged them
}

func importRuns(t *testing.T, mapping, pattern, scorer string) *importedRuns {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(recordedData(t), pattern))
	dir := filepath.Join(t.TempDir(), "r")
	var out, errs bytes.Buffer
	if code := run(context.Background(), append([]string{"import", mapping, "--out", dir}, files...), func(string) string { return "" }, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	m, err := record.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	var resolved struct{ Configurations map[string]json.RawMessage }
	if err := json.Unmarshal(m.Spec, &resolved); err != nil || len(resolved.Configurations) != 1 {
		t.Fatalf("%d configurations, %v", len(resolved.Configurations), err)
	}
	found := &importedRuns{scores: map[string][]float64{}}
	for _, loop := range resolved.Configurations {
		found.loop = loop
	}
	for run, err := range record.ReadRuns(dir) {
		if err != nil {
			t.Fatal(err)
		}
		found.runs = append(found.runs, run)
		found.scores[run.ID] = make([]float64, len(run.Iterations))
	}
	for s, err := range record.ReadScores(dir) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Name == scorer && s.Iteration > 0 {
			found.scores[s.Run][s.Iteration-1] = s.Value
		}
	}
	return found
}

func (r *importedRuns) load(t *testing.T, set map[string]string) *spec.Loop {
	t.Helper()
	options := spec.Options{Env: func(string) string { return "" }}
	for path, value := range set {
		options.Set = append(options.Set, spec.Setting{Path: path, Value: value})
	}
	d, faults := spec.LoadFS(fstest.MapFS{"loop.yaml": {Data: r.loop}}, "loop.yaml", options)
	if d == nil {
		t.Fatal(faults)
	}
	return d.Loop
}

// replayedSum is what a configuration comes to on recorded runs.
type replayedSum struct {
	successes, steps, censored int
	cost                       record.Money
	tokens                     int64
}

func (r *importedRuns) replay(t *testing.T, set map[string]string) (c replayedSum) {
	t.Helper()
	other := replay.New(r.load(t, nil), r.load(t, set), replay.Options{})
	for _, run := range r.runs {
		task := &spec.Task{ID: run.Task, Input: ""}
		result := other.Run(context.Background(), run, task)
		if signals := run.Signals(); len(other.Texts()) == 0 { // they tell the same, where no text is read
			same, err := other.Signals(context.Background(), &signals, task)
			if err != nil || !reflect.DeepEqual(same.Outcome, result.Outcome) || same.Usage != result.Usage || same.Verdict != result.Verdict {
				t.Fatalf("%v: %s: %v %+v, not %+v", set, run.ID, err, same, result)
			}
		}
		c.steps += result.Iterations
		c.cost += result.Usage.Least.Cost
		c.tokens += result.Usage.Least.Tokens()
		switch {
		case result.Verdict == replay.Censored:
			c.censored++
		case result.Verdict != replay.Exact:
			t.Fatalf("%v: %s branches: %s", set, run.ID, result.Why)
		case result.Outcome.Returned > 0 && r.scores[run.ID][result.Outcome.Returned-1] >= 1:
			c.successes++
		}
	}
	return c
}

// expectedRow is a row of expected.json.
type expectedRow map[string]any

func (r expectedRow) number(key string) float64 {
	n, _ := r[key].(float64)
	return n
}

func expectedRows(t *testing.T, dataset, table string) []expectedRow {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recordedData(t), "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	var rows []expectedRow
	if err := json.Unmarshal(all[dataset][table], &rows); err != nil || len(rows) == 0 {
		t.Fatalf("%s %s: %d rows, %v", dataset, table, len(rows), err)
	}
	return rows
}

// TestImportedRunsReplay: what is imported is enough to replay every rule that
// the recorded runs have numbers of.
func TestImportedRunsReplay(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes ten times as long")
	}
	times := func(kind, what string) func(expectedRow) map[string]string {
		return func(r expectedRow) map[string]string {
			return map[string]string{"terminate." + kind: fmt.Sprintf("{%s, times: %v}", what, r["times"])}
		}
	}
	steps := func(r expectedRow) map[string]string {
		return map[string]string{"terminate.max_iterations": fmt.Sprint(r["k"])}
	}
	turns := map[string]func(expectedRow) map[string]string{
		"max_iterations": steps,
		"no_improvement": func(r expectedRow) map[string]string {
			return map[string]string{"terminate.no_improvement.patience": fmt.Sprint(r["patience"])}
		},
		"threshold": func(r expectedRow) map[string]string {
			return map[string]string{"terminate.confidence": fmt.Sprintf("{threshold: %v, min_iterations: %v}", r["tau"], r["min_iterations"])}
		},
		"repeated_action":        times("repeated", "of: output.action"),
		"repeated_observation":   times("repeated", "of: output.observation"),
		"consecutive_invalid":    times("consecutive", "when: output.valid == false"),
		"consecutive_same_error": times("repeated", `of: "output.valid == false ? output.observation : null"`),
	}
	for _, c := range []struct {
		dataset, mapping, files, scorer string
		tables                          map[string]func(expectedRow) map[string]string
	}{
		{"intercode_sql_gpt-4", "intercode", "intercode/ic_sql_multiturn_gpt-4_10_turns.json", "solved", turns},
		{"intercode_bash_gpt-4", "intercode", "intercode/ic_bash_*", "solved", turns},
		{"taubench_gpt-4o_airline", "tau-bench", "taubench/gpt-4o-airline.json", "reward", map[string]func(expectedRow) map[string]string{
			"max_steps": steps,
			"repeated_tool_call": func(r expectedRow) map[string]string {
				return map[string]string{"guards.stagnation.window": fmt.Sprint(r["times"])}
			},
			"consecutive_errors": times("consecutive", `when: "iteration_tool_calls > 0 && output.results.exists(r, r.startsWith('Error'))"`),
		}},
		{"tau2_claude-sonnet-4-5_airline", "tau2", "tau2/claude-sonnet-4-5_airline.json", "reward", map[string]func(expectedRow) map[string]string{
			"max_steps": steps,
			"budget_usd": func(r expectedRow) map[string]string {
				return map[string]string{"guards.budget.cost_usd": fmt.Sprint(r["usd"])}
			},
			"budget_tokens": func(r expectedRow) map[string]string {
				return map[string]string{"guards.budget.tokens": fmt.Sprintf("%.0f", r["tokens"])}
			},
			"timeout_s": func(r expectedRow) map[string]string {
				return map[string]string{"terminate.timeout": fmt.Sprintf("{after: %vs, cancel: false}", r["seconds"])}
			},
		}},
	} {
		t.Run(c.dataset, func(t *testing.T) {
			runs := importRuns(t, c.mapping, c.files, c.scorer)
			for table, setting := range c.tables {
				for _, r := range expectedRows(t, c.dataset, table) {
					got := runs.replay(t, setting(r))
					if got.censored > 0 || float64(got.successes) != r.number("successes") || float64(got.steps) != r.number("total_steps") {
						t.Errorf("%s %v: %+v", table, r, got)
					}
					if usd, has := r["total_cost_usd"].(float64); has && (got.cost != record.Money(math.Round(usd*1e12)) || float64(got.tokens) != r.number("total_tokens")) {
						t.Errorf("%s %v: %+v", table, r, got)
					}
				}
			}
		})
	}
}

// TestBeyondTheRecordedLimitIsBounded: the five runs of tau-bench that their
// limit cut are not known beyond it.
func TestBeyondTheRecordedLimitIsBounded(t *testing.T) {
	runs := importRuns(t, "tau-bench", "taubench/gpt-4o-airline.json", "reward")
	if got := runs.replay(t, map[string]string{"terminate.max_iterations": "40"}); got.censored != 5 || got.successes != 84 {
		t.Errorf("%+v", got)
	}
}

// TestImportDocument runs the examples of docs/import.md.
func TestImportDocument(t *testing.T) {
	text := readDoc(t, "import.md")
	t.Chdir(t.TempDir())
	commands := 0
	for _, b := range blocks(text) {
		switch b.language {
		case "jsonl":
			if err := os.WriteFile("log.jsonl", []byte(strings.Join(b.lines, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
		case "yaml":
			writeNamed(t, b.lines)
		case "console":
			commands += runAll(t, b.lines)
		}
	}
	if commands < 4 {
		t.Errorf("found %d commands", commands)
	}
	if _, faults := spec.Load("chat.yaml", spec.Options{}); len(faults) > 0 {
		t.Error(faults)
	}
}

// TestImportNamesEveryKey holds docs/import.md against the schema of mappings.
func TestImportNamesEveryKey(t *testing.T) {
	text := readDoc(t, "import.md")
	written, err := spec.SchemaImport()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(written, &schema); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range []string{"Import", "Zip", "ImportedIterations", "ImportedUsage", "RecordedUnder"} {
		found = properties(schema.Defs[name], found)
	}
	if len(found) < 30 {
		t.Fatalf("only %d keys: %v", len(found), found)
	}
	for key := range found {
		if !named(text, key) && !strings.Contains(text, "\n"+key+": ") {
			t.Errorf("docs/import.md does not name the key %q", key)
		}
	}
}

// interrupting is a log that ends its reader's context after some rows.
type interrupting struct {
	rows   int
	cancel context.CancelFunc
}

func (i *interrupting) Read(b []byte) (int, error) {
	if i.rows--; i.rows == 0 {
		i.cancel()
	}
	return copy(b, fmt.Sprintf("{\"a\": %d}\n", i.rows)), nil
}

// An import that is interrupted keeps what it has read, and says so.
func TestAnInterruptedImportIsStopped(t *testing.T) {
	dir := t.TempDir()
	mapping, results := filepath.Join(dir, "m.yaml"), filepath.Join(dir, "r")
	if err := os.WriteFile(mapping, []byte("import: m\niterations: {of: '[row.a]', output: it}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	code := run(ctx, []string{"import", mapping, "-", "--out", results}, func(string) string { return "" }, &interrupting{3, cancel}, &out, &errs)
	m, err := record.ReadManifest(results)
	if err != nil || code != stopped || m.Status != record.StateStopped || m.Totals.Runs() < 1 || out.Len() > 0 {
		t.Errorf("exit code %d, %s, %+v, %v: %s", code, m.Status, m.Totals, err, errs.String())
	}
	if want := fmt.Sprintf("agentbench: interrupted after %s\n", count(m.Totals.Runs(), "run", "runs")); !strings.Contains(errs.String(), want) {
		t.Errorf("it says %q, want %q", errs.String(), want)
	}
	runs := 0
	for _, err := range record.ReadRuns(results) {
		if runs++; err != nil {
			t.Fatal(err)
		}
	}
	if runs != m.Totals.Runs() {
		t.Errorf("%d runs are there, %d counted", runs, m.Totals.Runs())
	}
}
