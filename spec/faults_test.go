package spec

import (
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/spec/source"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the faults that are found into testdata/spec")

// TestFaults loads the cases of testdata/spec: NAME/suite.yaml (or loop.yaml) with the files beside it and those at
// the top of the archive. NAME/want is what check prints. NAME/flags holds lines for --set, NAME/env variables. A
// name that ends in .quoted holds a Go string.
func TestFaults(t *testing.T) {
	archives, err := filepath.Glob("../testdata/spec/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no cases", err)
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txtar"), func(t *testing.T) { testArchive(t, archive) })
	}
}

func testArchive(t *testing.T, archive string) {
	ar, err := txtar.ParseFile(archive)
	must(t, err)
	for i, file := range ar.Files {
		name, wants := strings.CutSuffix(file.Name, "/want")
		if !wants {
			continue
		}
		t.Run(name, func(t *testing.T) {
			got := printed(check(caseFiles(t, ar, name)))
			if *update {
				ar.Files[i].Data = []byte(got)
			} else if got != string(file.Data) {
				t.Errorf("got:\n%s\nwant:\n%s", got, file.Data)
			}
		})
	}
	if *update {
		must(t, os.WriteFile(archive, txtar.Format(ar), 0o644))
	}
}

// caseFiles are the files of one case and those that all cases share.
func caseFiles(t *testing.T, ar *txtar.Archive, name string) fstest.MapFS {
	files := fstest.MapFS{}
	for _, file := range ar.Files {
		dir, base := path.Split(file.Name)
		if dir != "" && !strings.HasPrefix(file.Name, name+"/") {
			continue
		}
		if dir != "" {
			base = strings.TrimPrefix(file.Name, name+"/")
		}
		data := file.Data
		if unquoted, ok := strings.CutSuffix(base, ".quoted"); ok {
			text, err := strconv.Unquote(strings.TrimSpace(string(data)))
			if err != nil {
				t.Fatalf("%s: %v", file.Name, err)
			}
			base, data = unquoted, []byte(text)
		}
		files[base] = &fstest.MapFile{Data: data}
	}
	return files
}

// check is everything that the command of that name looks at, and the answers of script models.
func check(files fstest.MapFS) source.Faults {
	main := "suite.yaml"
	if _, err := fs.Stat(files, main); err != nil {
		main = "loop.yaml"
	}
	env := keyValues(files, "env")
	opt := Options{Env: func(name string) string {
		for _, pair := range env {
			if pair[0] == name {
				return pair[1]
			}
		}
		return onlyPath(name)
	}}
	for _, pair := range keyValues(files, "flags") {
		opt.Set = append(opt.Set, Setting{Path: pair[0], Value: pair[1]})
	}
	d, faults := LoadFS(files, main, opt)
	if d == nil || d.Suite == nil {
		return faults
	}
	_, more := d.CountTasks()
	faults = append(faults, more...)
	for _, model := range d.Suite.Models {
		if model.Value.Provider == "script" {
			if _, err := d.Answers(model.Key); err != nil {
				faults = append(faults, faultsIn(err)...)
			}
		}
	}
	return faults
}

func keyValues(files fstest.MapFS, name string) (pairs [][2]string) {
	file, ok := files[name]
	if !ok {
		return nil
	}
	for line := range strings.Lines(string(file.Data)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		pairs = append(pairs, [2]string{key, value})
	}
	return pairs
}

func printed(faults source.Faults) string {
	var b strings.Builder
	faults.Print(&b, nil)
	return b.String()
}

// loadText loads one loop or suite without other files.
func loadText(text string) (*Document, source.Faults) {
	return LoadFS(fstest.MapFS{"loop.yaml": {Data: []byte(text)}}, "loop.yaml", Options{Env: onlyPath})
}

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
		must(f, err)
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
