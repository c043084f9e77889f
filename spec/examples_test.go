package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// exampleFolders hold suites and loops that must load: those that ship, and the language's examples where they are.
func exampleFolders(t testing.TB) []string {
	folders, err := filepath.Glob("../suites/*")
	must(t, err)
	if examples := os.Getenv("AGENTBENCH_EXAMPLES"); examples != "" {
		return append(folders, examples)
	}
	if _, err := os.Stat("../../shared/design/examples"); err != nil {
		t.Log("the language's examples are not here: AGENTBENCH_EXAMPLES names their folder")
		return folders
	}
	return append(folders, "../../shared/design/examples")
}

func exampleFiles(t testing.TB) []string {
	var files []string
	for _, folder := range exampleFolders(t) {
		for _, pattern := range []string{"*.suite.yaml", "*.loop.yaml", "suite.yaml", "loop.yaml"} {
			found, err := filepath.Glob(filepath.Join(folder, pattern))
			must(t, err)
			files = append(files, found...)
		}
	}
	if len(files) == 0 {
		t.Skip("there are no shipped suites and no examples")
	}
	return files
}

func TestExamplesLoad(t *testing.T) {
	for _, file := range exampleFiles(t) {
		d, faults := Load(file, Options{})
		if faults.Err() != nil {
			t.Errorf("%s", printed(faults))
			continue
		}
		if d.Suite == nil {
			continue
		}
		if filepath.Base(file) == "recorded-sql.suite.yaml" && os.Getenv("AGENTBENCH_DATA") == "" {
			if _, err := os.Stat("../../shared/data"); err != nil {
				t.Log("the recordings are not here: AGENTBENCH_DATA names their folder")
				continue
			}
		}
		if n, faults := d.CountTasks(); n == 0 || faults.Err() != nil {
			t.Errorf("%s: %d tasks, %s", file, n, printed(faults))
		}
	}
}

func TestPrograms(t *testing.T) {
	d := loaded(t, "l.yaml", "loop: l\nagent: {model: m, tools: [{name: t, command: [no-such-tool]}, {mcp: {command: [no-such-server]}}]}\nprompt: p\nphases: [{name: a, tools: [{name: u, command: [no-such-phase-tool]}]}, {name: b, agent: {command: [no-such-program, x]}}]\nevaluate: {command: {command: [no-such-judge]}}\n")
	if missing := d.Programs(); len(missing) != 5 || missing.Err() == nil {
		t.Errorf("got %s", printed(missing))
	}
	if len(d.Warnings) != 5 {
		t.Errorf("check warns of\n%s", printed(d.Warnings))
	}
	if d := loaded(t, "l.yaml", "loop: l\nagent: {command: [sh, -c, cat]}\n"); len(d.Programs()) > 0 {
		t.Errorf("sh is missing: %s", printed(d.Programs()))
	}
}

func TestProgramThatMayNotBeExecuted(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"l.yaml": "loop: l\nagent: {command: [./x.sh]}\n", "x.sh": "#!/bin/sh\n"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	d := opened(t, filepath.Join(dir, "l.yaml"), Options{Env: onlyPath})
	got := printed(d.Programs())
	for _, want := range []string{`the file "./x.sh" may not be executed`, "hint: make it executable: chmod +x ./x.sh"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func TestSweepThatCannotBeCounted(t *testing.T) {
	values := strings.TrimSuffix(strings.Repeat("3, ", 60), ", ")
	sweep := ""
	for _, path := range []string{"terminate.max_iterations", "terminate.no_improvement.patience", "guards.absolute_max_iterations",
		"guards.degradation.window", "guards.stagnation.window", "guards.circuit_breaker.threshold", "agent.max_output_tokens"} {
		sweep += path + ": [" + values + "], "
	}
	_, faults := LoadFS(fstest.MapFS{
		"s.yaml": {Data: []byte("suite: s\ntasks: [{input: x}]\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml, sweep: {" + sweep + "}}]\n")},
		"l.yaml": {Data: []byte("loop: l\nagent: {model: m}\nprompt: p\n")},
	}, "s.yaml", Options{Env: onlyPath})
	if got, want := printed(faults), "this sweep has more than 1,000,000,000,000 combinations"; !strings.Contains(got, want) {
		t.Errorf("got %.300s\nwant %s", got, want)
	}
}
