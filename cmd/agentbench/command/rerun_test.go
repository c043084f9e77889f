package command

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Each edit runs what it affects: a task, a configuration, or everything.
func TestWatchRunsWhatAnEditAffects(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(name string) {
		t.Helper()
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	const listed = "tasks: [{id: one, input: x, target: x}, {id: two, input: y, target: x}]"
	const tasks = `{"id": "one", "input": "x", "target": "x"}` + "\n" + `{"id": "two", "input": "y", "target": "x"}` + "\n"
	suite := `suite: small
` + listed + `
models: {m: {provider: script, responses: [x], after_last: repeat}}
configurations: [{name: a, loop: a.loop.yaml}, {name: b, loop: b.loop.yaml}]
scorers: [{name: right, type: exact}]
`
	loop := "loop: a\nagent: {model: m}\nprompt: '{{ task.input }}'\nterminate: {max_iterations: 1}\n"
	write("suite.yaml", suite)
	write("a.loop.yaml", loop)
	write("b.loop.yaml", "loop: b\nagent: {command: [sh, agent.sh]}\nterminate: {max_iterations: 1}\n")
	write("agent.sh", "echo x\n")

	ctx, cancel := context.WithCancel(t.Context())
	edits := []struct {
		edit func()
		want string
	}{
		{func() {}, "2 configurations · 2 tasks · 4 runs"}, // before any edit
		{func() { write("suite.yaml", strings.Replace(suite, "input: y", "input: other", 1)) }, "2 configurations · 1 task · 2 runs"},
		{func() { write("a.loop.yaml", loop+"# a comment\n") }, "the edit affects no run"},
		{func() { write("a.loop.yaml", strings.Replace(loop, "task.input", "task.id", 1)) }, "1 configuration · 2 tasks · 2 runs"},
		{func() { write("a.loop.yaml", loop+"gards: {}\n") }, `unknown key "gards"`},
		{func() { write("a.loop.yaml", loop) }, "2 configurations · 2 tasks · 4 runs"},
		{func() { write("agent.sh", "echo changed\n") }, "2 configurations · 2 tasks · 4 runs"},
		{func() { write("suite.yaml", suite+"trials: 2\n") }, "2 configurations · 2 tasks × 2 trials · 8 runs"},
		{func() { write("tasks.jsonl", tasks+"{\n") }, ""}, // no file of the suite yet
		{func() { write("suite.yaml", strings.Replace(suite, listed, "tasks: tasks.jsonl", 1)) }, "tasks.jsonl:3"},
		{func() { write("tasks.jsonl", tasks) }, "2 configurations · 2 tasks · 4 runs"},
		{func() { write("tasks.jsonl", tasks+"{\n") }, "tasks.jsonl:3"},
		{func() { write("tasks.jsonl", tasks) }, "2 configurations · 2 tasks · 4 runs"},
		{func() { remove("agent.sh") }, "2 configurations · 2 tasks · 4 runs"},
		{func() { write("agent.sh", "echo x\n") }, "2 configurations · 2 tasks · 4 runs"},
		{func() { remove("suite.yaml") }, "file not found: suite.yaml"},
		{func() { write("suite.yaml", suite) }, "2 configurations · 2 tasks · 4 runs"},
		{cancel, ""},
	}
	var printed bytes.Buffer
	p := &program{env: os.Getenv, in: strings.NewReader(""), out: &printed, err: &printed, now: time.Now}
	p.guard()
	at := 1
	p.tick = func(time.Duration) <-chan time.Time {
		edits[at].edit()
		at++
		ready := make(chan time.Time, 1)
		if at < len(edits) || ctx.Err() == nil {
			ready <- time.Time{}
		}
		return ready
	}
	root := p.commands()
	root.SetArgs([]string{"run", "suite.yaml", "--watch"})
	if err := root.ExecuteContext(ctx); err != nil {
		t.Fatal(err)
	}
	p.flush()
	rest := printed.String()
	for _, e := range edits {
		_, after, found := strings.Cut(rest, e.want)
		if !found {
			t.Fatalf("no %q in:\n%s\nwhole:\n%s", e.want, rest, printed.String())
		}
		rest = after
	}
	if rounds := len(regexp.MustCompile(`(?m)^results: `).FindAllString(printed.String(), -1)); rounds != 11 {
		t.Errorf("%d rounds:\n%s", rounds, printed.String())
	}
}

// A round that stopped is resumed as it was narrowed, and without the watch.
func TestARoundOfAWatchCanBeResumed(t *testing.T) {
	t.Chdir(t.TempDir())
	suite := `suite: small
tasks: [{id: one, input: x}, {id: two, input: y}, {id: three, input: z}]
models: {m: {provider: script, responses: [x], after_last: repeat}}
configurations: [{name: a, loop: a.loop.yaml}]
trials: 2
budget: {calls: 1}
`
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("suite.yaml", suite)
	write("a.loop.yaml", "loop: a\nagent: {model: m}\nprompt: '{{ task.input }}'\nterminate: {max_iterations: 1}\n")
	ctx, cancel := context.WithCancel(t.Context())
	var printed bytes.Buffer
	p := &program{env: os.Getenv, in: strings.NewReader(""), out: &printed, err: &printed, now: time.Now}
	p.guard()
	edited := false
	p.tick = func(time.Duration) <-chan time.Time {
		ready := make(chan time.Time, 1)
		if edited {
			cancel()
			return ready
		}
		edited = true
		write("suite.yaml", strings.Replace(suite, "input: y", "input: other", 1))
		ready <- time.Time{}
		return ready
	}
	root := p.commands()
	root.SetArgs([]string{"run", "suite.yaml", "--watch", "--cache", "off"})
	if err := root.ExecuteContext(ctx); err != nil {
		t.Fatal(err)
	}
	p.flush()
	hints := regexp.MustCompile(`resume with: (.*) --out `).FindAllStringSubmatch(printed.String(), -1)
	want := []string{"agentbench run suite.yaml --cache off", "agentbench run suite.yaml --task two --cache off"}
	if len(hints) != len(want) || hints[0][1] != want[0] || hints[1][1] != want[1] {
		t.Errorf("%q, want %q in:\n%s", hints, want, printed.String())
	}
}
