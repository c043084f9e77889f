package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// dealtSuite writes a suite of 11 tasks, 2 configurations and 2 trials, some of
// whose runs fail for good and some of whose calls are tried again.
func dealtSuite(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var rows strings.Builder
	for n := range 11 {
		fmt.Fprintf(&rows, "{\"id\": \"t%d\", \"input\": \"task %d\"}\n", n, n)
	}
	for name, text := range map[string]string{
		"tasks.jsonl": rows.String(),
		"a.loop.yaml": `loop: a
agent: {model: m, reply: json}
prompt: "{{ task.input }} {{ feedback }}"
evaluate: {confidence: "double(output.quality)", feedback: '"more than " + string(output.quality)'}
terminate: {confidence: {threshold: 0.8}, max_iterations: 2}
`,
		"suite.yaml": `suite: dealt
tasks: tasks.jsonl
trials: 2
models: {m: {provider: simulate, price: {input: 1, output: 2}, quality: {start: 0.3, limit: 0.9, rate: 0.5, noise: 0.2}, latency: {median: 2s, sigma: 0.5}, errors: 0.02}}
configurations:
  - {name: once, loop: a.loop.yaml, set: {terminate.max_iterations: 1}}
  - {name: twice, loop: a.loop.yaml}
scorers: [{name: good, type: cel, expr: "double(output.quality) > 0.6 ? 1.0 : 0.0"}]
budget: {calls: 1000, cost_usd: 5}
min_coverage: 0.5
thresholds: ["configurations.twice.scores.good.mean > 0.1", "configurations.once.scores.good.mean > 0.99"]
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// However a suite is dealt and merged, the results are those of one run, byte
// for byte but for what is volatile, and so are its reports and its exit code.
func TestMergedShardsAreTheWhole(t *testing.T) {
	skipLong(t)
	t.Parallel()
	dir := dealtSuite(t)
	suite := filepath.Join(dir, "suite.yaml")
	at := func(name ...any) string { return filepath.Join(dir, fmt.Sprint(name...)) }
	want, _ := typed(t, 1, nil, "run", suite, "-q", "--all", "--out", at("whole"))
	for _, c := range []struct {
		name string
		of   int
	}{{"one", 1}, {"two", 2}, {"five", 5}} {
		var shards []string
		for i := range c.of {
			code := 0
			if c.of == 1 {
				code = 1 // it is the whole and judged
			}
			shards = append(shards, at(c.name, i+1))
			typed(t, code, nil, "run", suite, "-q", "--out", shards[i], "--shard", fmt.Sprintf("%d/%d", i+1, c.of))
		}
		slices.Reverse(shards)
		got, _ := typed(t, 1, nil, append([]string{"merge", "-q", "--all", "--out", at(c.name)}, shards...)...)
		if got != want {
			t.Errorf("%s: merge prints\n%s\nrun\n%s", c.name, got, want)
		}
		sameResults(t, at(c.name), at("whole"))
		if c.of < 3 {
			continue
		}
		typed(t, 1, nil, append([]string{"merge", "-q", "--allow-incomplete", "--out", at(c.name, "-some")}, shards[1:]...)...)
		typed(t, 1, nil, "merge", "-q", "--out", at(c.name, "-steps"), shards[0], at(c.name, "-some"))
		sameResults(t, at(c.name, "-steps"), at("whole"))
		for _, file := range []string{"records.jsonl", "scores.jsonl", "manifest.json", "spent.jsonl"} {
			if text(t, at(c.name, "-steps"), file) != text(t, at(c.name), file) {
				t.Errorf("%s differs when merged in steps", file)
			}
		}
	}
}

func text(t *testing.T, dir, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

var volatileEffort = regexp.MustCompile(`(?s),\n  "volatile": \{.*?\n  \}`)

func sameResults(t *testing.T, dir, whole string) {
	t.Helper()
	got, want := lastingText(t, dir), lastingText(t, whole)
	if got != want {
		t.Errorf("%s holds\n%s\nthe whole\n%s", filepath.Base(dir), got, want)
	}
	for _, format := range page.Formats {
		got, _ := typed(t, 0, nil, "report", dir, "--all", "--format", format)
		want, _ := typed(t, 0, nil, "report", whole, "--all", "--format", format)
		if format == "json" {
			got, want = volatileEffort.ReplaceAllString(got, ""), volatileEffort.ReplaceAllString(want, "")
		}
		if got != want {
			t.Errorf("%s: %s is\n%s\nthat of the whole\n%s", filepath.Base(dir), format, got, want)
		}
	}
}

// lastingText is what a result folder holds without what is volatile.
func lastingText(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	add := func(kind, id string, value any, err error) {
		line, failed := json.Marshal(value)
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		lines = append(lines, kind+" "+id+" "+string(line))
	}
	for run, err := range record.ReadRuns(dir) {
		add("run", run.ID, run.WithoutVolatile(), err)
	}
	for s, err := range record.ReadScores(dir) {
		add("score", s.Run, s, err)
	}
	slices.Sort(lines)
	m, err := record.ReadManifest(dir)
	m.Volatile = record.ManifestVolatile{}
	add("manifest", "", m, err)
	return strings.Join(lines, "\n")
}

func TestShardOfTheMachine(t *testing.T) {
	for _, c := range []struct {
		env        map[string]string
		want, fail string
	}{
		{env: map[string]string{"AGENTBENCH_SHARD": "2/3", "CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "9"}, want: "2/3"},
		{env: slurmArray("1", "1", "3", "1", "3"), want: "1/3"},
		{env: slurmArray("0", "0", "2", "1", "3"), want: "1/3"},
		{env: slurmArray("15", "10", "20", "5", "3"), want: "2/3"},
		{env: slurmArray("1", "1", "1", "1", "1"), want: "1/1"},
		{env: slurmArray("2", "1", "7", "1", "3"), fail: "the Slurm array from 1 to 7 has gaps: it has 3 jobs"},
		{env: slurmArray("12", "10", "20", "5", "3"), fail: "has gaps"},
		{env: slurmArray("3", "3", "3", "1", "1"), fail: "the Slurm array has one job with the index 3: is it a part of another array?"},
		{env: map[string]string{"SLURM_ARRAY_TASK_ID": "3"}, fail: "SLURM_ARRAY_TASK_MIN=: want a whole number"},
		{env: map[string]string{"JOB_COMPLETION_INDEX": "0", "AGENTBENCH_SHARDS": "4"}, want: "1/4"},
		{env: map[string]string{"JOB_COMPLETION_INDEX": "3", "JOB_COMPLETIONS": "4"}, want: "4/4"},
		{env: map[string]string{"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "2"}, want: "1/2"},
		{env: map[string]string{"CI_NODE_TOTAL": "1"}, want: "1/1"},
		{env: map[string]string{"CIRCLE_NODE_INDEX": "1", "CIRCLE_NODE_TOTAL": "2"}, want: "2/2"},
		{env: map[string]string{"BUILDKITE_PARALLEL_JOB": "0", "BUILDKITE_PARALLEL_JOB_COUNT": "5"}, want: "1/5"},
		{env: map[string]string{"AGENTBENCH_SHARD": "auto"}, fail: "AGENTBENCH_SHARD=auto: want i/n"},
		{env: map[string]string{"JOB_COMPLETION_INDEX": "0"}, fail: "JOB_COMPLETION_INDEX is set, but not how many shards there are"},
		{env: map[string]string{"JOB_COMPLETION_INDEX": "4", "AGENTBENCH_SHARDS": "4"}, fail: "JOB_COMPLETION_INDEX=4 and AGENTBENCH_SHARDS=4: invalid shard \"5\": the shards of 4 are numbered"},
		{env: map[string]string{"CI_NODE_INDEX": "one", "CI_NODE_TOTAL": "2"}, fail: "CI_NODE_INDEX=one: want a whole number"},
		{env: map[string]string{"CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "2"}, fail: "CI_NODE_INDEX=0 and CI_NODE_TOTAL=2: "},
		{env: map[string]string{"CI_NODE_TOTAL": "3"}, fail: "none of the variables is set"},
	} {
		got, err := results.ShardOfMachine(func(name string) string { return c.env[name] })
		switch {
		case c.fail == "" && (err != nil || got.String() != c.want):
			t.Errorf("%v: %v, %v", c.env, got, err)
		case c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)):
			t.Errorf("%v: %v, %v", c.env, got, err)
		}
	}
}

func slurmArray(id, first, last, step, of string) map[string]string {
	return map[string]string{
		"SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_MIN": first, "SLURM_ARRAY_TASK_MAX": last,
		"SLURM_ARRAY_TASK_STEP": step, "SLURM_ARRAY_TASK_COUNT": of,
	}
}

const comparedSuite = `suite: compared
tasks: tasks.jsonl
models:
  m: {provider: simulate, price: {input: 1, output: 2}, timeout: 5s, quality: {start: 0.5}}
configurations:
  - {name: two, loop: a.loop.yaml, set: {terminate.max_iterations: 2}}
  - {name: three, loop: a.loop.yaml, set: {terminate.max_iterations: 3}}
scorers: [{name: right, type: cel, expr: "1.0"}]
`

const comparedLoop = `loop: a
agent: {model: m}
prompt: "{{ task.input }}"
terminate: {max_iterations: 1}
`

// manifestOf is the manifest of a run of the files.
func manifestOf(t *testing.T, files map[string]string, args ...string) (record.Manifest, *results.Binding) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args = append([]string{"run", filepath.Join(dir, "suite.yaml"), "-q", "--out", filepath.Join(dir, "r")}, args...)
	var out, errs strings.Builder
	if code := run(context.Background(), args, func(string) string { return "" }, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	made, err := record.Open(filepath.Join(dir, "r"))
	if err != nil {
		t.Fatal(err)
	}
	folder, err := results.Open(made, nil)
	if err != nil {
		t.Fatal(err)
	}
	binding, err := results.Writer{}.Binding(folder.Document.Suite, &made.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	return made.Manifest, binding
}

func TestSpecDifferencesAreThoseThatAreWithinRuns(t *testing.T) {
	skipRace(t)
	files := func(replacements ...string) map[string]string {
		r := strings.NewReplacer(replacements...)
		return map[string]string{
			"suite.yaml": r.Replace(comparedSuite), "a.loop.yaml": r.Replace(comparedLoop),
			"tasks.jsonl": r.Replace(`{"id": "one", "input": "first"}` + "\n"),
		}
	}
	before, was := manifestOf(t, files())
	for name, c := range map[string]struct {
		files map[string]string
		args  []string
		want  []string
	}{
		"nothing":                  {files(), nil, nil},
		"a comment and the layout": {files("prompt:", "# hello\nprompt:   "), nil, nil},
		"budget, trials, thresholds": {
			files("scorers:", "budget: {calls: 900}\nconcurrency: 3\nmin_coverage: 0.5\nthresholds: [\"true\"]\nbaseline: two\ntrials: 1\nscorers:"), nil, nil},
		"a timeout":       {files("5s", "9s"), nil, nil},
		"a price":         {files("input: 1,", "input: 3,"), nil, []string{"models.m.price.input: 1 -> 3"}},
		"a new key":       {files("{start: 0.5}", "{start: 0.5, rate: 0.5}"), nil, []string{"models.m.quality.rate: absent -> 0.5"}},
		"a scorer":        {files(`"1.0"`, `"0.0"`), nil, []string{`scorers.right.expr: "1.0" -> "0.0"`}},
		"a task":          {files("first", "second"), nil, []string{"tasks.jsonl: its content has changed"}},
		"the seed":        {files(), []string{"--seed", "7"}, []string{"seed: 0 -> 7"}},
		"a parameter":     {files("max_iterations: 2", "max_iterations: 4"), nil, []string{"configurations.two.terminate.max_iterations: 2 -> 4"}},
		"a configuration": {files(), []string{"--configuration", "two"}, nil},
		"the end of a long text": {files("{{ task.input }}", strings.Repeat("long ", 40)+"{{ task.input }}"), nil, []string{
			`configurations.three.prompt: "{{ task.input }}" -> "long long long long long long long long long long long long…`,
			`configurations.two.prompt: "{{ task.input }}" -> "long long long long long long long long long long long long…`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			now, is := manifestOf(t, c.files, c.args...)
			found := results.DifferencesBetween(was, is)
			if got := found.Lines(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("\n got %q\nwant %q", got, c.want)
			}
			same := before.SpecHash == now.SpecHash
			if other := len(now.Configurations) < len(before.Configurations); same != (len(c.want) == 0 && !other) {
				t.Errorf("same hash: %v", same)
			}
		})
	}
}

func TestShellWords(t *testing.T) {
	for word, want := range map[string]string{
		"plain/file.yaml": "plain/file.yaml", "": "''", "two words": "'two words'", "a=b": "a=b", "it's": `'it'\''s'`, "$HOME": "'$HOME'",
	} {
		if got := exit.ShellWord(word); got != want {
			t.Errorf("%q becomes %s, not %s", word, got, want)
		}
	}
}

// TestImportDocument runs the examples of docs/import.md.
func TestImportDocument(t *testing.T) {
	runDocument(t, "../../../docs/import.md", 4)
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
	if err != nil || code != exit.Stopped || m.Status != record.StateStopped || m.Totals.Runs() < 1 || out.Len() > 0 {
		t.Errorf("exit code %d, %s, %+v, %v: %s", code, m.Status, m.Totals, err, errs.String())
	}
	if want := fmt.Sprintf("agentbench: interrupted after %s\n", page.Plural(m.Totals.Runs(), "run", "runs")); !strings.Contains(errs.String(), want) {
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
