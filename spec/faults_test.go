package spec

import (
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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
	if err != nil {
		t.Fatal(err)
	}
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
		if err := os.WriteFile(archive, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
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
	faults.Print(&b)
	return b.String()
}

// loadText loads one loop or suite without other files.
func loadText(text string) (*Document, source.Faults) {
	return LoadFS(fstest.MapFS{"loop.yaml": {Data: []byte(text)}}, "loop.yaml", Options{Env: onlyPath})
}

// FAULTS F51, F52: too much of anything is one clear line.
func TestBombs(t *testing.T) {
	keys := func(n int, key func(int) string) string {
		var b strings.Builder
		b.WriteString("loop: l\n")
		for i := range n {
			b.WriteString(key(i) + ": 1\n")
		}
		return b.String()
	}
	cases := []struct{ name, text, want string }{
		{"many keys", keys(100_000, func(i int) string { return "k" + strconv.Itoa(i) }), "a mapping of 100001 keys, at most 4096 are allowed"},
		{"one key often", keys(10_000, func(int) string { return "k" }), "a mapping of 10001 keys, at most 4096 are allowed"},
		{"deep", "loop: " + strings.Repeat("[", 20_000), "nested deeper than 64 levels"},
		{"long", "loop: l # " + strings.Repeat("x", maxSpecBytes), "loop.yaml has 16777226 bytes, at most 16777216 are allowed"},
	}
	for _, c := range cases {
		_, faults := loadText(c.text)
		if len(faults) != 1 || faults[0].What != c.want {
			t.Errorf("%s: got %.200v, want %s", c.name, faults, c.want)
		}
	}
}
