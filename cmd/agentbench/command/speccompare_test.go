package command

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
)

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
func manifestOf(t *testing.T, files map[string]string, args ...string) record.Manifest {
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
	m, err := record.ReadManifest(filepath.Join(dir, "r"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSpecDifferencesAreThoseThatAreWithinRuns(t *testing.T) {
	files := func(replacements ...string) map[string]string {
		r := strings.NewReplacer(replacements...)
		return map[string]string{
			"suite.yaml": r.Replace(comparedSuite), "a.loop.yaml": r.Replace(comparedLoop),
			"tasks.jsonl": r.Replace(`{"id": "one", "input": "first"}` + "\n"),
		}
	}
	before := manifestOf(t, files())
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
			now := manifestOf(t, c.files, c.args...)
			found, err := results.DifferencesBetween(&before, &now)
			got := found.Lines()
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v\n got %q\nwant %q", err, got, c.want)
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
