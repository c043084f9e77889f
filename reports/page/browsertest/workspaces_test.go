package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program writes a line in each of two iterations.
const mending = `suite: mending
tasks: [{id: one, input: x}]
scorers: [{name: done, type: cel, expr: 'true'}]
configurations: [{name: twice, loop: twice.loop.yaml}]
`

const twice = `loop: twice
workspace: {files: '{"a.txt": "seed\n"}'}
agent: {command: [sh, -c, "echo line {{ iteration + 1 }} >>a.txt"]}
prompt: "{{ task.input }}"
terminate: {max_iterations: 2}
`

// The diff of an iteration is that to the one before, in a file and served. Where the states
// are not kept, it is the one since the seed, and says so.
func TestDiffsOfIterations(t *testing.T) {
	dir := t.TempDir()
	results := filepath.Join(dir, "results")
	for name, text := range map[string]string{"suite.yaml": mending, "twice.loop.yaml": twice} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	agentbench(t, "run", filepath.Join(dir, "suite.yaml"), "-q", "--cache", "off", "--out", results)
	const run = "#run=twice%2Fone%2F1"
	diff := func(b *tab, iteration, name string) string {
		b.wait(`document.querySelectorAll(".run article").length === 3`)
		return b.text(`[...document.querySelectorAll(".run article")][` + iteration + ` - 1].innerText.split("` + name + `\n")[1]`)
	}
	file := open(t, write(t, results), run)
	for name, b := range map[string]*tab{"file": file, "view": enter(t, viewed(t, results), "1/", run)} {
		if first := diff(b, "1", "diff"); !strings.Contains(first, " seed\n+line 1") {
			t.Errorf("%s: iteration 1 changed %q", name, first)
		}
		if second := diff(b, "2", "diff"); !strings.Contains(second, " line 1\n+line 2") || strings.Contains(second, "+line 1") {
			t.Errorf("%s: iteration 2 changed %q", name, second)
		}
	}
	if err := os.RemoveAll(filepath.Join(results, "workspaces")); err != nil {
		t.Fatal(err)
	}
	if second := diff(open(t, write(t, results), run), "2", "diff since the seed"); !strings.Contains(second, "+line 1\n+line 2") {
		t.Errorf("without states iteration 2 has %q", second)
	}
}
