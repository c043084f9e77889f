package spec

import (
	"os"
	"slices"
	"strings"
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
		if _, faults := d.CountTasks(); len(faults) > 0 {
			printed(faults)
		}
	})
}

// FuzzRows: reading data never panics, packed or not, and in any order the tasks are the same.
func FuzzRows(f *testing.F) {
	var kinds []string
	for _, format := range slices.Concat(taskFormats, textFormats) {
		kinds = append(kinds, format, format+".gz")
	}
	for _, text := range []string{`{"input": 1}`, "[1]\n", "id,input\n1,2\n", "- {input: 1}\n", "{\"id\": \"\xff\"}", "\n\n", "id\n\"", "null",
		"{\"input\": 1}\r\n\n{\"input\": 2}", "\ufeffid,input\n\n1,\"a\nb\"\r\n2,c", gzipped("{}")} {
		for kind := range kinds {
			f.Add(kind, text, true)
			f.Add(kind, text, false)
		}
	}
	f.Fuzz(func(t *testing.T, kind int, text string, whole bool) {
		name := "t" + kinds[uint(kind)%uint(len(kinds))]
		if whole && strings.HasSuffix(name, ".gz") {
			text = gzipped(text)
		}
		d := suiteWithTasks(t, name, name, text)
		n, faults := d.CountTasks()
		if n == 0 && len(faults) == 0 {
			t.Error("no tasks, and nobody says so")
		}
		printed(faults)
		if len(faults) > 0 {
			return
		}
		shuffled := ids(t, suiteWithTasks(t, "{files: ["+name+"], shuffle: 1}", name, text))
		if got, want := slices.Sorted(slices.Values(shuffled)), slices.Sorted(slices.Values(ids(t, d))); !slices.Equal(got, want) {
			t.Errorf("%q, shuffled %q", want, got)
		}
	})
}
