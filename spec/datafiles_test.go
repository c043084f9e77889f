package spec

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestDataFilesAreThoseOfTasksAndAnswers(t *testing.T) {
	base := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("s/suite.yaml", `suite: s
roots: {data: {default: ../data}}
tasks: {files: ["data:/*.jsonl"], id: string(row.id), input: row.id}
models: {m: {provider: script, responses: answers.json}}
configurations: [{name: one, loop: a.loop.yaml}]
`)
	write("s/a.loop.yaml", "loop: a\nagent: {model: m}\nprompt: hi\nterminate: {max_iterations: 1}\n")
	write("s/answers.json", `["yes"]`)
	write("data/b.jsonl", `{"id": "b"}`)
	write("data/a.jsonl", `{"id": "a"}`)
	look := func() []DataFile {
		t.Helper()
		document, faults := Load(filepath.Join(base, "s/suite.yaml"), Options{Env: func(string) string { return "" }})
		if document == nil {
			t.Fatal(faults)
		}
		files, err := document.DataFiles()
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	before := look()
	var names []string
	for _, f := range before {
		names = append(names, f.Name)
	}
	if want := []string{"data:/a.jsonl", "data:/b.jsonl", "answers.json"}; !reflect.DeepEqual(names, want) {
		t.Fatalf("files %v", names)
	}
	write("data/b.jsonl", `{"id": "c"}`)
	after := look()
	if after[0] != before[0] || after[1] == before[1] || after[2] != before[2] {
		t.Errorf("%v became %v", before, after)
	}
}
