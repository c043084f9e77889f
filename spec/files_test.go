package spec

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/expect"
)

// folderWith writes a suite whose tasks are in the file tasks, and what the case adds.
func folderWith(t *testing.T, tasks string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "suite")
	files["suite.yaml"] = "suite: s\ntasks: " + tasks + "\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml}]\n"
	files["l.yaml"] = "loop: l\nagent: {model: m}\nprompt: p\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

var must = expect.NoError

// opened loads a file of the disk that has no fault.
func opened(t interface {
	Helper()
	Fatal(...any)
}, file string, opt Options) *Document {
	t.Helper()
	d, faults := Load(file, opt)
	must(t, faults.Err())
	return d
}

// FAULTS F57: a pattern does not follow links to folders, of which ten that lead back have very many paths.
func TestPatternsDoNotGoRoundInCircles(t *testing.T) {
	dir := folderWith(t, "'**/*.jsonl'", map[string]string{"data/t.jsonl": `{"id": "a", "input": "x"}` + "\n"})
	for i := range 10 {
		must(t, os.Symlink(".", filepath.Join(dir, "data", fmt.Sprint("back", i))))
	}
	must(t, os.Symlink("t.jsonl", filepath.Join(dir, "data", "u.txt")))
	must(t, os.Symlink(".", filepath.Join(dir, "data", "folder.jsonl")))
	d, faults := Load(filepath.Join(dir, "suite.yaml"), Options{})
	must(t, faults.Err())
	if n, faults := d.CountTasks(); n != 1 || faults.Err() != nil {
		t.Errorf("%d tasks, %v", n, faults)
	}
}

// FAULTS F57: what a path may lead to.
func TestFilesThatAreNotRead(t *testing.T) {
	cases := []struct {
		name, tasks string
		prepare     func(dir string) error
		want        string
	}{
		{"link out", "t.jsonl", func(dir string) error { return os.Symlink("../secret.jsonl", filepath.Join(dir, "t.jsonl")) }, `"t.jsonl" leads out of the folder`},
		{"absolute link", "t.jsonl", func(dir string) error {
			return os.Symlink(filepath.Join(dir, "real.jsonl"), filepath.Join(dir, "t.jsonl"))
		}, `"t.jsonl" leads out of the folder`},
		{"folder that links out", "sub/secret.jsonl", func(dir string) error { return os.Symlink("..", filepath.Join(dir, "sub")) }, "leads out of the folder"},
		{"pattern through a link", "sub/*.jsonl", func(dir string) error { return os.Symlink("..", filepath.Join(dir, "sub")) }, "no file matches"},
		{"loop of links", "t.jsonl", func(dir string) error { return os.Symlink("t.jsonl", filepath.Join(dir, "t.jsonl")) }, "t.jsonl"},
		{"named pipe", "t.jsonl", func(dir string) error { return exec.Command("mkfifo", filepath.Join(dir, "t.jsonl")).Run() }, "is a folder or a device, not a file"},
		{"folder", "t.jsonl", func(dir string) error { return os.Mkdir(filepath.Join(dir, "t.jsonl"), 0o755) }, "is a folder or a device, not a file"},
		{"no permission", "t.jsonl", func(dir string) error { return os.WriteFile(filepath.Join(dir, "t.jsonl"), nil, 0) }, "cannot be read: permission denied"},
		{"link inside", "t.jsonl", func(dir string) error { return os.Symlink("real.jsonl", filepath.Join(dir, "t.jsonl")) }, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "no permission" && (os.Getuid() == 0 || runtime.GOOS == "windows") {
				t.Skip("everything is permitted here")
			}
			dir := folderWith(t, c.tasks, map[string]string{"real.jsonl": `{"input": "x"}`})
			must(t, os.WriteFile(filepath.Join(dir, "../secret.jsonl"), []byte(`{"input": "secret"}`), 0o644))
			must(t, c.prepare(dir))
			_, faults := Load(filepath.Join(dir, "suite.yaml"), Options{})
			switch got := printed(faults); {
			case c.want == "" && got != "":
				t.Errorf("refused: %s", got)
			case !strings.Contains(got, c.want):
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheFileItself(t *testing.T) {
	dir := folderWith(t, "[{input: x}]", map[string]string{"big.yaml": "loop: l\n#" + strings.Repeat("x", maxSpecBytes)})
	must(t, exec.Command("mkfifo", filepath.Join(dir, "pipe.yaml")).Run())
	must(t, os.Symlink("suite/suite.yaml", filepath.Join(dir, "../link.yaml")))
	for name, want := range map[string]string{
		"suite.yaml":         "",
		"siute.yaml":         `file not found`,
		"pipe.yaml":          "is a folder or a device, not a file",
		".":                  "is a folder or a device, not a file",
		"big.yaml":           "at most 16777216 are allowed",
		"../link.yaml":       "file not found", // what it names is relative to where it stands
		"suite.yaml/no.yaml": "cannot be read: not a directory",
	} {
		_, faults := Load(filepath.Join(dir, name), Options{})
		if got := printed(faults); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestRoots(t *testing.T) {
	dir := folderWith(t, `{files: ["data:/rows/*.json"], input: row.q, id: file + ":" + string(line)}`+"\nroots: {data: {env: DATA, default: ../elsewhere}}", map[string]string{
		"../elsewhere/rows/a.json": `[{"q": "default"}]`, "../named/rows/b.json": `[{"q": "named"}, {"q": "again"}]`})
	path := filepath.Join(dir, "suite.yaml")
	for env, want := range map[string]string{"": "data:/rows/a.json:1=default", filepath.Join(dir, "../named"): "data:/rows/b.json:1=named data:/rows/b.json:2=again"} {
		d := opened(t, path, Options{Env: func(name string) string { return map[string]string{"DATA": env}[name] }})
		expect.Equal(t, env, tasksInShort(t, d), want)
	}
}

// What a loop names is relative to the loop, not to the suite.
func TestPathsAreRelativeToTheirFile(t *testing.T) {
	dir := folderWith(t, "[{input: x}]", map[string]string{
		"loops/a/l.yaml":       "loop: l\nagent: {model: m, delegates: [{name: d, loop: below/d.yaml}]}\nprompt: p\n",
		"loops/a/below/d.yaml": "loop: d\nagent: {command: [./agent.sh]}\n", "loops/a/below/agent.sh": "#!/bin/sh\n"})
	must(t, os.Chmod(filepath.Join(dir, "loops/a/below/agent.sh"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "suite.yaml"), []byte("suite: s\ntasks: [{input: x}]\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: loops/a/l.yaml}]\n"), 0o644))
	d, faults := Load(filepath.Join(dir, "suite.yaml"), Options{})
	if faults.Err() != nil || len(d.Programs()) > 0 {
		t.Fatal(printed(faults))
	}
	loops := d.Loops()
	if len(loops) != 2 || loops[1].Folder != filepath.Join(dir, "loops/a/below") {
		t.Errorf("the delegate's folder is %q", loops[1].Folder)
	}
}

func TestStdin(t *testing.T) {
	d, faults := Load("-", Options{Stdin: strings.NewReader("loop: l\nagent: {model: m}\nprompt: p\n")})
	if d == nil || d.Loop.Name != "l" {
		t.Error(faults)
	}
}

// F57: files of 10 GB are refused without being read.
func TestF57_HugeFiles(t *testing.T) {
	for name, want := range map[string]string{
		"t.json":  "t.json has 10737418240 bytes, at most 1073741824 are allowed",
		"t.yaml":  "t.yaml has 10737418240 bytes, at most 1073741824 are allowed",
		"t.jsonl": "t.jsonl has 10737418240 bytes, at most 1073741824 are allowed",
		"t.csv":   "t.csv has 10737418240 bytes, at most 1073741824 are allowed",
		"l.yaml":  "l.yaml has 10737418240 bytes, at most 16777216 are allowed",
	} {
		t.Run(name, func(t *testing.T) {
			tasks := name
			if name == "l.yaml" {
				tasks = "[{input: x}]"
			}
			dir := folderWith(t, tasks, map[string]string{name: ""})
			must(t, os.Truncate(filepath.Join(dir, name), 10<<30)) // no block of it is on disk
			d, faults := Load(filepath.Join(dir, "suite.yaml"), Options{})
			if d != nil {
				_, faults = d.CountTasks()
			}
			if got := printed(faults); len(faults) != 1 || !strings.Contains(got, want) {
				t.Errorf("got %.300s, want %s", got, want)
			}
		})
	}
}

// F57: files that lead to files end somewhere.
func TestF57_DelegatesOfDelegates(t *testing.T) {
	files := fstest.MapFS{}
	for i := range maxDelegateDepth + 3 {
		next := fmt.Sprintf(", delegates: [{name: d, loop: l%d.yaml}]", i+1)
		if i == maxDelegateDepth+2 {
			next = ""
		}
		files[fmt.Sprintf("l%d.yaml", i)] = &fstest.MapFile{Data: []byte("loop: l\nagent: {model: m" + next + "}\nprompt: p\n")}
	}
	_, faults := LoadFS(files, "l0.yaml", Options{Env: onlyPath})
	if len(faults) != 1 || faults[0].What != "delegates are nested deeper than 5: l0.yaml -> l1.yaml -> l2.yaml -> l3.yaml -> l4.yaml -> l5.yaml -> l6.yaml" {
		t.Errorf("from the top: %v", faults)
	}
	if _, faults = LoadFS(files, "l2.yaml", Options{Env: onlyPath}); faults.Err() != nil {
		t.Errorf("from further down: %v", faults)
	}
}
