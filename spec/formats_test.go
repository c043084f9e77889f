package spec

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// gzipped is a text as gzip packs it, in one part after the other.
func gzipped(parts ...string) string {
	var b bytes.Buffer
	for _, part := range parts {
		w := gzip.NewWriter(&b)
		w.Write([]byte(part))
		w.Close()
	}
	return b.String()
}

func TestFilesOfAFolder(t *testing.T) {
	files := []string{
		"cases/b.txt", "second\n", "cases/a.md", "first", "cases/c.jsonl", "{\"id\": \"third\", \"input\": 3}\n",
		"cases/.hidden", "no", "cases/deeper/d.txt", "no", "cases/log", "\ufefffourth", "cases/z.txt.gz", gzipped("fifth"),
	}
	for tasks, want := range map[string]string{
		"cases/":                   "a=first b=second\n third=3 log=fourth z=fifth",
		"{files: [cases/]}":        "a=first b=second\n third=3 log=fourth z=fifth",
		`"cases/*.txt"`:            "b=second\n",
		"cases/a.md":               "a=first",
		"{files: [cases/deeper/]}": "d=no",
		`{files: ["**/*.txt"]}`:    "b=second\n d=no",
		`{files: [cases/deeper/, cases/a.md], id: string(row.path + "|" + row.name + "|" + row.stem), input: row.text}`: "cases/deeper/d.txt|d.txt|d=no cases/a.md|a.md|a=first",
	} {
		d := suiteWithTasks(t, tasks, files...)
		if got := tasksInShort(t, d); got != want {
			t.Errorf("%s: got %q, want %q", tasks, got, want)
		}
		if n, faults := d.CountTasks(); len(faults) > 0 || n != len(strings.Fields(want)) {
			t.Errorf("%s: %d tasks, %v", tasks, n, faults)
		}
	}
}

func TestPackedFiles(t *testing.T) {
	for name, text := range map[string]string{
		"t.jsonl": "{\"id\": \"one\", \"input\": \"a\"}\n{\"id\": 2, \"input\": \"b\"}\n",
		"t.csv":   "id,input\none,a\n2,b\n",
		"t.json":  `[{"id": "one", "input": "a"}, {"id": 2, "input": "b"}]`,
		"t.yaml":  "- {id: one, input: a}\n- {id: 2, input: b}\n",
		"T.YML":   "- {id: one, input: a}\n- {id: 2, input: b}\n",
	} {
		for _, packed := range []string{gzipped(text), gzipped(text[:9], text[9:])} {
			d := suiteWithTasks(t, name+".gz", name+".gz", packed)
			if got := tasksInShort(t, d); got != "one=a 2=b" {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

// What stands before the damage is read; the damage is a fault that names the file.
func TestDamagedPackedFiles(t *testing.T) {
	whole := gzipped(strings.Repeat("{\"input\": 1}\n", 10))
	wrongSum := []byte(whole)
	wrongSum[len(wrongSum)-5] ^= 1
	for what, c := range map[string]struct {
		text string
		n    int
	}{
		"it ends too early":                        {whole[:len(whole)-4], 10},
		"it is not what gzip writes":               {"{\"input\": 1}\n", 0},
		"it is damaged, its checksum is another":   {string(wrongSum), 10},
		"t.jsonl.gz cannot be unpacked: it ends t": {"", 0},
	} {
		n, faults := suiteWithTasks(t, "t.jsonl.gz", "t.jsonl.gz", c.text).CountTasks()
		if n != c.n || len(faults) != 1 || !strings.Contains(faults[0].What, what) || faults[0].File.Name != "s.yaml" {
			t.Errorf("%s: %d tasks, %v", what, n, faults)
		}
	}
}

func TestFilesThatUnpackToTooMuch(t *testing.T) {
	zeros := strings.Repeat(" ", 1<<20)
	parts := make([]string, maxUnpackedBytes>>20+1)
	for i := range parts {
		parts[i] = zeros
	}
	d := suiteWithTasks(t, "t.json.gz", "t.json.gz", gzipped(parts...))
	if _, faults := d.CountTasks(); len(faults) != 1 || !strings.Contains(faults[0].What, "unpacks to more than") {
		t.Errorf("%v", faults)
	}
}

// C.23: what a packed file costs to read is bounded by its size, in bytes and in rows.
func TestPackedFilesUnpackToSoManyTimesTheirSize(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		file, part string
		parts      int
	}{
		"blank lines":         {"t.jsonl.gz", strings.Repeat("\n", mib), 80},
		"lines of spaces":     {"t.jsonl.gz", strings.Repeat(" \t\r\n", mib/4), 80},
		"very many rows":      {"t.jsonl.gz", strings.Repeat("{\"input\": 1}\n", mib), 2},
		"very many rows, csv": {"t.csv.gz", "input\n" + strings.Repeat("input\n", mib), 2},
	} {
		parts := make([]string, c.parts)
		for i := range parts {
			parts[i] = c.part
		}
		_, faults := suiteWithTasks(t, c.file, c.file, gzipped(strings.Join(parts, ""))).CountTasks()
		if last := len(faults) - 1; last < 0 || !strings.HasPrefix(faults[last].What, c.file+" unpacks to more than 100 times its size") {
			t.Errorf("%s: %d faults, the last %v", name, len(faults), faults[max(0, last):])
		}
	}
	rows := strings.Repeat("{\"input\": \"what is it, and why is it that and nothing else?\"}\n", mib/4)
	if n, faults := suiteWithTasks(t, "t.jsonl.gz", "t.jsonl.gz", gzipped(rows)).CountTasks(); n != mib/4 || faults != nil {
		t.Errorf("the same line again and again: %d tasks, %v", n, faults)
	}
}

// Blank lines are passed over at once, and counted.
func TestRowsBehindBlankLinesKeepTheirNumbers(t *testing.T) {
	blank := strings.Repeat("\n \t\r\n", 20_000) // longer than what is read at once
	text := "\ufeff\n" + blank + "{\"input\": 1}\n" + blank + "{\"input\": 2\n" + blank + "  "
	n, faults := suiteWithTasks(t, "t.jsonl", "t.jsonl", text).CountTasks()
	if n != 1 || len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), "t.jsonl:80003:") {
		t.Errorf("%d tasks, %v", n, faults)
	}
}

// Blank lines between the rows take no row away.
func TestBlankLinesBetweenRowsTakeNoneAway(t *testing.T) {
	text := "{\"input\": 1}\n\n{\"input\": 2}\r\n \t\r\n\n{\"input\": 3}"
	for file, text := range map[string]string{"t.jsonl": text, "t.jsonl.gz": gzipped(text)} {
		if n, faults := suiteWithTasks(t, file, file, text).CountTasks(); n != 3 || len(faults) != 0 {
			t.Errorf("%s: %d tasks, %v", file, n, faults)
		}
	}
}

// A line is looked at once, however little of it comes at a time: a packed file comes in pieces of 32 KiB.
func TestABlankLineWithoutAnEndIsReadOnce(t *testing.T) {
	text := "{\"input\": 1}\n" + strings.Repeat(" ", 60<<20)
	d := suiteWithTasks(t, "t.jsonl.gz", "t.jsonl.gz", gzipped(text))
	start := time.Now()
	if n, faults := d.CountTasks(); n != 1 || len(faults) != 0 {
		t.Errorf("%d tasks, %v", n, faults)
	}
	if took := time.Since(start); took > 10*time.Second { // 30 s and more, where each piece has all before it looked at again
		t.Errorf("it took %v", took)
	}
}

func TestFoldersThatCannotBeRead(t *testing.T) {
	for tasks, want := range map[string]string{
		"none/":     "there is no folder none",
		"cases":     "cases is a folder or a device, not a file",
		"hidden/":   "the folder hidden holds no files",
		"../cases/": `"../cases/" leads out of the folder that it is relative to`,
	} {
		_, faults := LoadFS(fstest.MapFS{"cases/a.txt": {}, "hidden/.keep": {}, "l.yaml": {Data: []byte("loop: l\nagent: {model: m}\nprompt: p\n")},
			"s.yaml": {Data: []byte("suite: s\ntasks: " + tasks + "\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml}]\n")},
		}, "s.yaml", Options{Env: onlyPath})
		if len(faults) != 1 || faults[0].What != want {
			t.Errorf("%s: %v", tasks, faults)
		}
	}
}

// A file of bytes that are no text is a fault, not a task.
func TestTextIsUTF8(t *testing.T) {
	n, faults := suiteWithTasks(t, "cases/", "cases/a.txt", "fine", "cases/b.bin", "a\nb\xff").CountTasks()
	if n != 1 || len(faults) != 1 || faults[0].Error() != "cases/b.bin:2:2: the byte 0xFF is not UTF-8" {
		t.Errorf("%d tasks, %v", n, faults)
	}
}

func TestDataFilesOfAFolder(t *testing.T) {
	files, err := suiteWithTasks(t, "{files: [cases/, more.jsonl.gz]}", "cases/a.txt", "x", "cases/b.txt", "y", "more.jsonl.gz", gzipped(`{"input": 1}`)).DataFiles()
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if got := fmt.Sprint(names, err); got != "[cases/a.txt cases/b.txt more.jsonl.gz] <nil>" {
		t.Error(got)
	}
}
