package spec

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/spec/source"
)

// copiedFiles are a suite that names files of every kind; home/ is its folder, and data/ a root of it.
var copiedFiles = map[string]string{
	"home/suite.yaml": `suite: s
roots: {data: {default: ../data}}
tasks: {files: ["data:/in/*.jsonl"], id: string(row.id), input: row.q, images: 'has(row.images) ? row.images : []'}
prices: prices.yaml
models:
  m: {provider: openai, base_url: "http://me:sk-secret-in-address@localhost:1/v1", headers: {X-Key: sk-secret-of-a-header, X-Env: shown}, api_key_env: KEY}
configurations:
  - {name: a, loop: loops/a.yaml, sweep: {max_iterations: [1, 2]}}
  - {name: b, loop: loops/a.yaml, set: {agent.temperature: 0.5}}
scorers:
  - {name: shaped, type: json_schema, schema_file: shape.json}
  - {name: right, type: exact}
`,
	"home/prices.yaml":      "as_of: 2026-11-01\nprices: {m: {input: 1, output: 2}}\n",
	"home/loops/a.yaml":     "loop: a\nagent: {model: m, delegates: [{name: d, loop: sub/d.yaml}]}\nprompt: p\nevaluate: {command: {command: [sh, judge.sh]}}\nterminate: {max_iterations: 3}\n",
	"home/loops/sub/d.yaml": "# sk-secret-of-a-loop\nloop: d\nagent: {model: m}\nprompt: p\n",
	"home/loops/judge.sh":   "echo 1\n",
	"home/shape.json":       `{"type": "object"}`,
	"home/other.yaml":       "nobody: names it\n",
	"data/in/tasks.jsonl":   `{"id": "t", "q": "what?", "images": ["one.png"]}` + "\n" + `{"id": "u", "q": "sk-secret-of-a-task"}` + "\n",
	"data/in/one.png":       png,
}

// clean takes out what begins like a secret.
func clean(text []byte) []byte {
	for _, word := range strings.FieldsFunc(string(text), func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz-", r) }) {
		if strings.HasPrefix(word, "sk-secret") {
			text = bytes.ReplaceAll(text, []byte(word), []byte("[redacted]"))
		}
	}
	return text
}

// copyOf loads the suite in a folder, with a setting, and copies it.
func copyOf(t *testing.T, files map[string]string) (*Document, *Copy) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	d := opened(t, filepath.Join(dir, "home", "suite.yaml"), Options{Set: []Setting{{Path: "agent.top_p", Value: "0.9"}}})
	c, err := d.Copy(d.Tasks(), clean)
	must(t, err)
	return d, c
}

// again loads a copy.
func again(t *testing.T, c *Copy) *Document {
	t.Helper()
	files := fstest.MapFS{}
	for _, all := range []map[string][]byte{c.Files, c.Data} {
		for name, text := range all {
			files[name] = &fstest.MapFile{Data: text}
		}
	}
	d, faults := LoadFS(files, c.Document, Options{Recorded: &c.Recorded, Set: c.Set})
	must(t, faults.Err())
	return d
}

// contentsOf is what a document says of its configurations, scorers and tasks.
func contentsOf(t *testing.T, d *Document) (lines []string) {
	t.Helper()
	for _, c := range d.Suite.Resolved {
		lines = append(lines, fmt.Sprint(c.Name, c.Hash, c.Aliases, c.Params, c.Loop.Contents() != ""))
	}
	for i := range d.Suite.Scorers {
		lines = append(lines, fmt.Sprint(d.Suite.Scorers[i].Name, d.Suite.Scorers[i].Type))
	}
	for task, err := range d.Tasks() {
		must(t, err)
		line := fmt.Sprint(task.ID, task.Target, task.Vars, task.Cluster, task.Group, task.Folder)
		if text, _ := task.Input.(string); len(text) < 100 {
			line += string(clean([]byte(text)))
		}
		for _, image := range task.Images {
			data, _, err := image.Content()
			line += fmt.Sprint(image.Name(), string(data), err)
		}
		lines = append(lines, line)
	}
	return lines
}

// A copy says what the suite said, with all files that it names, and without secrets.
func TestACopyIsTheSuiteWithoutSecrets(t *testing.T) {
	for name, change := range map[string]func(files map[string]string){
		"as it is": func(map[string]string) {},
		"large data": func(files map[string]string) {
			files["data/in/more.jsonl"] = `{"id": "v", "q": "` + strings.Repeat("x", 2<<20) + `"}`
		},
		"anchors": func(files map[string]string) {
			files["home/suite.yaml"] = strings.Replace(files["home/suite.yaml"], "X-Key: sk-secret-of-a-header", "X-Key: &k sk-secret-of-a-header, X-Other: *k", 1)
		},
		"folders": func(files map[string]string) {
			files["data/x/task.yaml"] = "input: sk-secret-of-a-task\ntarget: y\n"
			files["home/suite.yaml"] = strings.Replace(files["home/suite.yaml"], `{files: ["data:/in/*.jsonl"], id: string(row.id), input: row.q, images: 'has(row.images) ? row.images : []'}`, `{folders: "data:/*"}`, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for name, text := range copiedFiles {
				files[name] = text
			}
			change(files)
			was, c := copyOf(t, files)
			if got, want := contentsOf(t, again(t, c)), contentsOf(t, was); !reflect.DeepEqual(got, want) {
				t.Errorf("\n got %q\nwant %q", got, want)
			}
			if c.Files["other.yaml"] != nil || c.Files["loops/judge.sh"] != nil || c.Data["loops/judge.sh"] != nil {
				t.Error("files are copied that make no document")
			}
			if packed := c.Data[TasksCopy]; (packed != nil) != (name == "large data" || name == "folders") {
				t.Errorf("the tasks are packed: %v", packed != nil)
			} else if packed != nil {
				unpacked, err := gzip.NewReader(bytes.NewReader(packed))
				must(t, err)
				if c.Data[TasksCopy], err = io.ReadAll(unpacked); err != nil {
					t.Fatal(err)
				}
			}
			for _, all := range []map[string][]byte{c.Files, c.Data} {
				for name, text := range all {
					if bytes.Contains(text, []byte("sk-secret")) {
						t.Errorf("%s holds a secret: %.300s", name, text)
					}
				}
			}
			if !bytes.Contains(c.Files["suite.yaml"], []byte("KEY")) {
				t.Error("the name of a variable is no secret")
			}
		})
	}
}

// YAML escapes can write every character, and JSON holds most of them as they are.
func TestJSONOfAnyCharactersIsYAML(t *testing.T) {
	var all strings.Builder
	for r := range rune(0x11000) {
		if r < 0x300 || r > 0x1ffe && r < 0x3100 || r > 0xd7f0 && r < 0xd800 || r > 0xdfff && r < 0xe010 || r > 0xfe00 {
			all.WriteRune(r)
		}
	}
	text, err := json.Marshal(map[string]string{"\u0085k\ufeff": all.String()})
	must(t, err)
	tree, faults := source.Parse(source.NewFile("s", JSONAsYAML(text)))
	must(t, faults.Err())
	if got := tree.Plain(); !reflect.DeepEqual(got, source.ObjectOf("\u0085k\ufeff", all.String())) {
		t.Errorf("the text is another one: %.200q", fmt.Sprint(got))
	}
}
