package spec

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/expect"
)

const (
	png  = "\x89PNG\r\n\x1a\n0123"
	jpeg = "\xff\xd8\xff\xe0 0123456"
	webp = "RIFF\x00\x00\x00\x00WEBPVP8 "
)

// imagesInShort are the tasks with what their images are.
func imagesInShort(t *testing.T, d *Document) string {
	t.Helper()
	var parts []string
	for task, err := range d.Tasks() {
		must(t, err)
		said := task.ID
		for _, image := range task.Images {
			data, kind, err := image.Content()
			must(t, err)
			sum, same, err := image.Sum()
			if hash := sha256.Sum256(data); err != nil || sum != hex.EncodeToString(hash[:]) || same != kind {
				t.Errorf("%s: sum %s, %s, %v", image.Name(), sum, same, err)
			}
			said += " " + image.Name() + "=" + kind
		}
		parts = append(parts, said)
	}
	return strings.Join(parts, "; ")
}

// Images are found wherever data sets name them, and are what their content says.
func TestImagesOfTasks(t *testing.T) {
	url := "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString([]byte(jpeg))
	pictures := []string{"a.png", png, "deep/a.png", jpeg, "deep/er/b.jpg", webp, "deep/c.gif", "GIF89a0123456"}
	for name, c := range map[string]struct{ tasks, file, text, want string }{
		"inline":   {"[{id: a, input: x, images: [a.png, deep/a.png, '" + url + "']}, {id: b, input: x}]", "t", "", "a a.png=image/png deep/a.png=image/jpeg data:image/jpeg;base64=image/jpeg; b"},
		"jsonl":    {"deep/t.jsonl", "deep/t.jsonl", `{"id": "a", "input": "x", "images": ["a.png", "er/b.jpg"]}`, "a a.png=image/jpeg er/b.jpg=image/webp"},
		"yaml":     {"deep/t.yaml", "deep/t.yaml", `[{id: a, input: x, images: [c.gif]}]`, "a c.gif=image/gif"},
		"csv":      {"t.csv", "t.csv", "id,input,images\na,x,a.png | deep/c.gif\nb,x,\n", "a a.png=image/png deep/c.gif=image/gif; b"},
		"mapped":   {"{files: [deep/t.jsonl], id: string(row.n), input: row.n, images: row.of}", "deep/t.jsonl", "{\"n\": \"a\", \"of\": \"a.png\"}\n{\"n\": \"b\", \"of\": null}", "a a.png=image/jpeg; b"},
		"shuffled": {"{files: [deep/t.jsonl], shuffle: true}", "deep/t.jsonl", `{"id": "a", "input": "x", "images": ["a.png"]}`, "a a.png=image/jpeg"},
		"sampled":  {"{list: [{id: a, input: x, images: [a.png]}], sample: {n: 1}, shuffle: true}", "t", "", "a a.png=image/png"},
	} {
		d := suiteWithTasks(t, c.tasks, append(pictures, c.file, c.text)...)
		if _, faults := d.CountTasks(); len(faults) > 0 {
			t.Errorf("%s: %v", name, faults)
		}
		expect.Equal(t, name, imagesInShort(t, d), c.want)
	}
}

// A file of a root, also of one that is called data; one that is too large; and where programs find it.
func TestImagesBelowRoots(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("pictures/a.png", png)
	write("pictures/large.png", png+strings.Repeat("x", maxImageBytes))
	write("suite/l.yaml", "loop: l\nagent: {model: m}\nprompt: p\n")
	write("suite/s.yaml", "suite: s\nroots: {data: {default: ../pictures}}\ntasks: [{input: x, images: [data:/a.png]}, {input: y, images: [data:/large.png]}]\n"+
		"models: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml}]\n")
	d := opened(t, filepath.Join(dir, "suite/s.yaml"), Options{})
	if _, faults := d.CountTasks(); len(faults) != 1 || !strings.Contains(faults[0].Error(), "large.png has 20000012 bytes, at most 20000000 are allowed") {
		t.Errorf("got %v", faults)
	}
	for task := range d.Tasks() {
		image := task.Images[0]
		if got, want := image.Address(), filepath.Join(dir, "pictures", strings.TrimPrefix(image.Name(), "data:/")); got != want {
			t.Errorf("%s is at %s, want %s", image.Name(), got, want)
		}
	}
}
