//go:build linux

package command

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A million tasks are read, drawn from and run in 200 MB, the report of all of them left aside.
func TestAMillionTasks(t *testing.T) {
	nightly(t)
	const most = 200_000_000
	dir := manyRuns(t, 1_000_000)
	packTasks(t, dir)
	suite, err := os.ReadFile(filepath.Join(dir, "suite.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tasks := range map[string]string{
		"plain": "tasks.jsonl", "packed": "{files: [tasks.jsonl.gz], shuffle: true}", "shuffled": "{files: [tasks.jsonl], shuffle: true}",
		"sampled": "{files: [tasks.jsonl], sample: {by: size(task.input), share: 0.5}}", "chosen": "{files: [tasks.jsonl], where: task.id.endsWith(\"7\"), limit: 1000}",
	} {
		write(t, dir, name+".yaml", strings.Replace(string(suite), "tasks: tasks.jsonl", "tasks: "+tasks, 1))
		for _, args := range [][]string{{"check", name + ".yaml"}, {"plan", name + ".yaml"}, {"run", name + ".yaml", "--limit", "1000", "-q", "--out", name}} {
			if held, _ := peak(t, dir, args...); held > most {
				t.Errorf("agentbench %q held %d MB", args, held/1_000_000)
			}
		}
	}
}

func packTasks(t *testing.T, dir string) {
	t.Helper()
	from, err := os.Open(filepath.Join(dir, "tasks.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(dir, "tasks.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	w := gzip.NewWriter(to)
	if _, err := io.Copy(w, from); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
