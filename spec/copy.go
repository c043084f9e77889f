package spec

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Copy is what a document was made of: the YAML, data sets and images that it read, by their paths below one folder, in
// which [LoadFS] loads it again.
type Copy struct {
	Document string            // the file that was loaded
	Files    map[string][]byte // what makes the document, which is copied whatever its size
	Data     map[string][]byte // data sets, recorded answers and images
	Recorded
}

// Recorded is what is known of a document beside its copy.
type Recorded struct {
	// ProgramFiles are the hashes of the files that programs are given, as [Document.ProgramFiles] has them.
	ProgramFiles map[string]string
	// Set is what [Options.Set] set.
	Set []Setting
}

const (
	// mostCopied is how large a data file may be, and mostData how large all of them together, to be copied as they are.
	mostCopied, mostData = 1 << 20, 16 << 20
	// rootCopies has the files below roots, in a folder for each.
	rootCopies = "_roots"
	// TasksCopy has the tasks in a copy whose data sets are too large, or are folders.
	TasksCopy = "tasks.jsonl.gz"
	// redacted stands in a copy where a secret was.
	redacted = "[redacted]"
)

// filesRead are the files that a document was made of, by their paths in a copy. It is safe for concurrent use.
type filesRead struct {
	mu    sync.Mutex
	data  map[string]place
	specs map[string]place
}

func (r *filesRead) note(f folder, file string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if name := path.Join(f.copied, file); r.specs[name].path == "" {
		if r.data == nil {
			r.data = map[string]place{}
		}
		r.data[name] = place{f, file}
	}
}

// isSpec says of a file that it was read as a part of the language, which is copied whatever its size.
func (r *filesRead) isSpec(at place) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.specs == nil {
		r.specs = map[string]place{}
	}
	name := path.Join(at.folder.copied, path.Clean(at.path))
	r.specs[name] = at
	delete(r.data, name)
}

// Copy reads the files of the document once more. Clean takes secrets out of a text. Tasks are those that may run: they are
// copied in place of data sets that are too large.
func (d *Document) Copy(tasks iter.Seq2[*Task, error], clean func([]byte) []byte) (*Copy, error) {
	d.tasks() // reads the data sets and the images
	main := d.Files[0]
	c := &Copy{Document: path.Base(main.Name), Files: map[string][]byte{}, Data: map[string][]byte{}, Recorded: Recorded{ProgramFiles: map[string]string{}, Set: d.set}}
	if main.Name == "-" {
		c.Document = "suite.yaml"
	}
	c.Files[c.Document] = cleanYAML(main.Name, []byte(main.Text()), clean)
	for file, sum := range d.ProgramFiles {
		if sum != "" {
			c.ProgramFiles[file] = sum
		}
	}
	for name, at := range d.read.specs {
		text, err := at.folder.content(at.path, maxSpecBytes)
		if err != nil {
			return nil, err
		}
		c.Files[name] = cleanYAML(name, text, clean)
	}
	left := mostData
	for _, name := range slices.Sorted(maps.Keys(d.read.data)) {
		at := d.read.data[name]
		text, err := at.folder.content(at.path, int64(min(left, mostCopied)))
		if err != nil || len(text) == 0 && left <= 0 {
			continue // it is too large
		}
		if text, ok := cleanData(name, text, clean); ok {
			c.Data[name] = text
			left -= len(text)
		}
	}
	if !d.hasTasks(c) {
		text, err := packTasks(tasks, clean)
		if err != nil {
			return nil, fmt.Errorf("copying the tasks: %w", err)
		}
		c.Data[TasksCopy] = text
	}
	return c, nil
}

// hasTasks reports whether a copy has the files of all tasks.
func (d *Document) hasTasks(c *Copy) bool {
	if d.Suite == nil {
		return true
	}
	for _, reference := range d.Suite.Tasks.Files {
		at, files, err := d.roots.files(d.folder, reference)
		if err != nil || slices.ContainsFunc(files, func(file string) bool { return c.Data[path.Join(at.folder.copied, file)] == nil }) {
			return false
		}
	}
	return len(d.Suite.Tasks.Folders) == 0
}

// cleanYAML is a file without secrets. One that has some is written as JSON, which stays valid without them and is YAML.
func cleanYAML(name string, text []byte, clean func([]byte) []byte) []byte {
	if bytes.Equal(clean(text), text) {
		return text
	}
	tree, faults := source.Parse(source.NewFile(name, text))
	if faults.Err() != nil {
		return clean(text)
	}
	plain, err := json.MarshalIndent(tree.Plain(), "", "  ")
	if err != nil {
		return clean(text)
	}
	return clean(JSONAsYAML(plain))
}

// JSONAsYAML escapes what JSON allows within texts, and YAML does not, or takes for the end of a line.
func JSONAsYAML(text []byte) []byte {
	escaped := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if r >= 0x7f && r <= 0x9f || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
			continue
		}
		escaped = utf8.AppendRune(escaped, r)
	}
	return escaped
}

// cleanData is a data file without secrets; false: secrets cannot be taken out of it.
func cleanData(name string, text []byte, clean func([]byte) []byte) ([]byte, bool) {
	switch unpacked, packed := unpackedName(name); {
	case packed, path.Ext(unpacked) == ".parquet":
		return nil, false
	case slices.Contains([]string{".yaml", ".yml"}, path.Ext(name)):
		return cleanYAML(name, text, clean), true
	case kindOfImage(text) != "":
		return text, bytes.Equal(clean(text), text)
	}
	return clean(text), true
}

// packTasks writes a task a line.
func packTasks(tasks iter.Seq2[*Task, error], clean func([]byte) []byte) ([]byte, error) {
	var packed bytes.Buffer
	to := gzip.NewWriter(&packed)
	for task, err := range tasks {
		if err != nil {
			return nil, err
		}
		line, err := expr.AppendJSON(nil, task.copied())
		if err == nil {
			_, err = to.Write(append(clean(line), '\n'))
		}
		if err != nil {
			return nil, err
		}
	}
	err := to.Close()
	return packed.Bytes(), err
}

// copied is the task as a line of a copy has it: an object that has only the keys that say something.
func (t *Task) copied() *expr.Object {
	line := expr.NewObject(9)
	set := func(key string, value any) {
		if value != nil && value != "" {
			line.Set(key, value)
		}
	}
	line.Set("id", t.ID)
	set("input", t.Input)
	set("target", t.Target)
	set("vars", t.Vars)
	set("metadata", t.Metadata)
	set("folder", t.Folder)
	set("cluster", t.Cluster)
	set("group", t.Group)
	var images []any
	for _, image := range t.Images {
		images = append(images, []any{image.reference, path.Join(image.folder.copied, image.path)})
	}
	if images != nil {
		line.Set("images", images)
	}
	return line
}

// copiedTasks are those of a copy that has no data sets; there is false where it has them.
func (d *Document) copiedTasks() (tasks []*Task, there bool, err error) {
	file := newDataFile(d.folder, TasksCopy)
	if _, err := fs.Stat(d.folder.fsys, TasksCopy); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	for r, err := range file.lines() {
		if err != nil {
			return nil, true, err
		}
		task, err := d.copiedTask(r)
		if err != nil {
			return nil, true, err
		}
		tasks = append(tasks, task)
	}
	return tasks, true, nil
}

func (d *Document) copiedTask(r row) (*Task, error) {
	line, ok := r.value.(*expr.Object)
	if !ok {
		return nil, r.fault("", "want a task, an object")
	}
	value := func(key string) any {
		value, _ := line.Get(key)
		return value
	}
	text := func(key string) string {
		text, _ := value(key).(string)
		return text
	}
	task := &Task{ID: text("id"), Input: value("input"), Target: value("target"), Vars: value("vars"), Metadata: value("metadata"),
		Folder: text("folder"), Cluster: text("cluster"), Group: text("group")}
	images, _ := value("images").([]any)
	for _, image := range images {
		names, _ := image.([]any)
		if len(names) != 2 {
			return nil, r.fault("", "want an image, a list of its name and its path")
		}
		name, _ := names[0].(string)
		at, _ := names[1].(string)
		task.Images = append(task.Images, &Image{reference: name, folder: d.folder, path: strings.TrimPrefix(at, "/")})
	}
	return task, nil
}

// WithoutKey is the first model that a scorer asks whose secrets were taken out of the copy, "" without one.
func (s *Suite) WithoutKey(scorer *Scorer) string {
	var secret func(n *source.Node) bool
	secret = func(n *source.Node) bool {
		return strings.Contains(n.Text, redacted) || slices.ContainsFunc(n.Items, secret) ||
			slices.ContainsFunc(n.Entries, func(e source.Entry) bool { return secret(e.Value) })
	}
	for _, n := range scorer.modelNodes() {
		if model, ok := s.Models.Get(n.Text); ok && secret(model.Node) {
			return n.Text
		}
	}
	return ""
}
