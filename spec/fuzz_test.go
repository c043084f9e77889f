package spec

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzLoad: loading never panics, tells a fault whenever it gives no document, and every fault can be printed.
func FuzzLoad(f *testing.F) {
	for _, text := range dense {
		f.Add(text)
	}
	for _, file := range exampleFiles(f) {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(string(text))
		}
	}
	for _, archive := range []string{"loops", "parameters", "tasks", "keys"} {
		ar, err := txtar.ParseFile("../testdata/spec/" + archive + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range ar.Files {
			f.Add(string(file.Data))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		files := fstest.MapFS{"suite.yaml": {Data: []byte(text)}, "l.yaml": {Data: []byte(benchLoop)}, "t.jsonl": {Data: []byte(`{"input": "x"}`)}}
		opt := Options{Env: func(string) string { return "" }, Set: []Setting{{"terminate.confidence.threshold", "0.5"}}}
		d, faults := LoadFS(files, "suite.yaml", opt)
		if (d == nil) != (faults.Err() != nil) {
			t.Fatalf("document %v, faults %v", d != nil, faults)
		}
		printed(faults)
		if d == nil {
			return
		}
		d.Unsupported()
		if _, faults := d.CountTasks(); len(faults) > 0 {
			printed(faults)
		}
	})
}

// FuzzRows: reading data never panics.
func FuzzRows(f *testing.F) {
	for _, text := range []string{`{"input": 1}`, "[1]\n", "id,input\n1,2\n", "- {input: 1}\n", "{\"id\": \"\xff\"}", "\n\n", "id\n\"", "null"} {
		for kind := range taskFormats {
			f.Add(kind, text)
		}
	}
	f.Fuzz(func(t *testing.T, kind int, text string) {
		name := "t" + taskFormats[uint(kind)%uint(len(taskFormats))]
		d := suiteWithTasks(t, name, name, text)
		n, faults := d.CountTasks()
		if n == 0 && len(faults) == 0 {
			t.Error("no tasks, and nobody says so")
		}
		printed(faults)
	})
}
