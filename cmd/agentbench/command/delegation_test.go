package command

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDelegationDocument runs the examples of docs/delegation.md.
func TestDelegationDocument(t *testing.T) { runDocument(t, "../../../docs/delegation.md", 3) }

// The loops of delegates are in the folder of results, those of delegates
// included, wherever their files lay: two files of one name are two loops.
func TestResultsHaveTheLoopsOfDelegates(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"s.yaml": `suite: s
tasks: [{id: a, input: x}]
models: {m: {provider: script, price: free, after_last: error, responses: [{tool_calls: [{name: one, arguments: {task: y}}]}, {tool_calls: [{name: one, arguments: {task: z}}]}, deep, middle, top]}}
configurations: [{name: c, loop: top.yaml}]
`,
		"top.yaml":   "loop: top\nagent: {model: m, delegates: [{name: one, loop: a/l.yaml}, {name: spare, loop: l.yaml}]}\nprompt: 'p'\nterminate: {max_iterations: 1}\n",
		"l.yaml":     "loop: spare\nagent: {model: m}\nprompt: never\n",
		"a/l.yaml":   "loop: middle\nagent: {model: m, delegates: [{name: one, loop: b/l.yaml}]}\nprompt: 'middle {{ task.input }}'\nterminate: {max_iterations: 1}\n",
		"a/b/l.yaml": "loop: deep\nagent: {model: m}\nprompt: 'deep {{ task.input }}'\nterminate: {max_iterations: 1}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	results := filepath.Join(dir, "results")
	do := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		if code := run(context.Background(), args, func(string) string { return "" }, strings.NewReader(""), &out, &out); code != 0 {
			t.Fatalf("%v: %d\n%s", args, code, out.String())
		}
		return out.String()
	}
	do("run", filepath.Join(dir, "s.yaml"), "--out", results, "--quiet")
	for _, file := range []string{"s.yaml", "top.yaml", "l.yaml", "a"} {
		if err := os.RemoveAll(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	if told := do("replay", results, "--set", "agent.max_steps=9"); !strings.Contains(told, "1 configuration is exact") {
		t.Errorf("replay says\n%s", told)
	}
	if told := do("show", results, "c/a/1"); !strings.Contains(told, "top") || !strings.Contains(told, "middle") {
		t.Errorf("show says\n%s", told)
	}
	manifest, err := os.ReadFile(filepath.Join(results, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, prompt := range []string{"deep {{ task.input }}", "middle {{ task.input }}", "never"} {
		if strings.Count(string(manifest), prompt) != 1 {
			t.Errorf("the manifest has %q %d times", prompt, strings.Count(string(manifest), prompt))
		}
	}
}
