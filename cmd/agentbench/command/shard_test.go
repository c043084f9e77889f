package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
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
		"a.loop.yaml": crashLoop,
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
	dir := dealtSuite(t)
	suite := filepath.Join(dir, "suite.yaml")
	at := func(name ...any) string { return filepath.Join(dir, fmt.Sprint(name...)) }
	want, _ := typed(t, 1, nil, "run", suite, "-q", "--out", at("whole"))
	for _, c := range []struct {
		name string
		of   int
		more []string
	}{
		{"one", 1, nil}, {"two", 2, nil}, {"five", 5, nil}, {"weighed", 3, []string{"--shard-weights", at("whole")}},
	} {
		var shards []string
		for i := range c.of {
			code := 0
			if c.of == 1 {
				code = 1 // it is the whole and judged
			}
			shards = append(shards, at(c.name, i+1))
			typed(t, code, nil, append([]string{"run", suite, "-q", "--out", shards[i], "--shard", fmt.Sprintf("%d/%d", i+1, c.of)}, c.more...)...)
		}
		slices.Reverse(shards)
		got, _ := typed(t, 1, nil, append([]string{"merge", "-q", "--out", at(c.name)}, shards...)...)
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
		for _, file := range []string{"records.jsonl", "signals.jsonl", "scores.jsonl", "manifest.json", "spent.jsonl"} {
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
		got, _ := typed(t, 0, nil, "report", dir, "--format", format)
		want, _ := typed(t, 0, nil, "report", whole, "--format", format)
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
		add("run", run.ID, run.Lasting(), err)
	}
	for s, err := range record.ReadSignals(dir) {
		s.Bytes = 0
		add("signals", s.ID, s, err)
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
		{env: map[string]string{"JOB_COMPLETION_INDEX": "0", "AGENTBENCH_SHARDS": "4"}, want: "1/4"},
		{env: map[string]string{"JOB_COMPLETION_INDEX": "3", "JOB_COMPLETIONS": "4"}, want: "4/4"},
		{env: map[string]string{"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "2"}, want: "1/2"},
		{env: map[string]string{"CI_NODE_TOTAL": "1"}, want: "1/1"},
		{env: map[string]string{"CIRCLE_NODE_INDEX": "1", "CIRCLE_NODE_TOTAL": "2"}, want: "2/2"},
		{env: map[string]string{"BUILDKITE_PARALLEL_JOB": "0", "BUILDKITE_PARALLEL_JOB_COUNT": "5"}, want: "1/5"},
		{env: map[string]string{"AGENTBENCH_SHARD": "auto"}, fail: "AGENTBENCH_SHARD=auto: want i/n"},
		{env: map[string]string{"JOB_COMPLETION_INDEX": "0"}, fail: "JOB_COMPLETION_INDEX is set, but not how many shards there are"},
		{env: map[string]string{"JOB_COMPLETION_INDEX": "4", "AGENTBENCH_SHARDS": "4"}, fail: "JOB_COMPLETION_INDEX=4 and AGENTBENCH_SHARDS=4: the shards of 4 are numbered"},
		{env: map[string]string{"CI_NODE_INDEX": "one", "CI_NODE_TOTAL": "2"}, fail: "CI_NODE_INDEX=one: want a whole number"},
		{env: map[string]string{"CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "2"}, fail: "CI_NODE_INDEX=0 and CI_NODE_TOTAL=2: "},
		{env: map[string]string{"CI_NODE_TOTAL": "3"}, fail: "none of the variables is set"},
	} {
		p := &program{env: func(name string) string { return c.env[name] }}
		got, err := p.shardOfMachine()
		switch {
		case c.fail == "" && (err != nil || got.String() != c.want):
			t.Errorf("%v: %v, %v", c.env, got, err)
		case c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)):
			t.Errorf("%v: %v, %v", c.env, got, err)
		}
	}
}
