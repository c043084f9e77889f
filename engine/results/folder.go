// Package results opens result folders for replay: the loops under which runs
// were recorded, and the runs with their tasks and scores.
//
// The stages of the data, in order: Open reads the manifest, whose resolved spec
// becomes a suite again; Tasks come from the suite that the
// user names, from the folder, or from the manifest; Read reads runs
// as records or, where no text is needed, as signals (read.go), and what they
// were worth. What cannot be used is counted in Notes, never
// silently left out.
//
// It is no stable API.
package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Folder is a result folder whose runs can be replayed.
type Folder struct {
	Path     string
	Manifest record.Manifest
	// Document is the suite as it was recorded, with the recorded loops for its
	// configurations. It holds nothing that could be run.
	Document *spec.Document
	// Announced are the paths of parameters that the agents of imported runs were
	// told.
	Announced []string
	// Imported means that the runs come from the log of another tool.
	Imported bool

	recorded *Resolved
	tasks    *spec.Document // whose tasks the runs are of; nil: they are unknown
}

// Options are what the folder does not say.
type Options struct {
	// Suite has the tasks; nil: those in the folder, if they are there.
	Suite *spec.Document
}

// Open opens a result folder. The error says what is missing or cannot be read;
// it is an fs.ErrNotExist where there is no manifest.
func Open(dir string, o Options) (*Folder, error) {
	m, err := record.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	return OpenManifest(dir, m, o)
}

// OpenManifest is Open where the manifest is read already.
func OpenManifest(dir string, m record.Manifest, o Options) (*Folder, error) {
	r, err := ReadResolved(&m)
	if err != nil {
		return nil, err
	}
	document, err := r.document(dir, &m)
	if err != nil {
		return nil, err
	}
	f := &Folder{Path: dir, Manifest: m, Document: document, recorded: r, tasks: o.Suite}
	if r.Import != nil {
		f.Imported = true
		if announced := r.Import.Get("announced"); announced != nil {
			if err := decode(announced, &f.Announced); err != nil {
				return nil, err
			}
		}
	}
	if f.tasks == nil && r.tasks(dir) != nil {
		f.tasks = document
	}
	return f, nil
}

// Loop is the loop of a configuration, by its name or an alias; nil without one.
func (f *Folder) Loop(configuration string) *spec.Loop {
	head, ok := f.Manifest.Configuration(configuration)
	if !ok {
		return nil
	}
	return f.Document.Suite.Configuration(head.Name).Loop
}

// Whole is the suite as it was recorded, of which the scorers can ask others as
// they could when the runs were made. The error says what of it is not in the
// folder.
func (f *Folder) Whole(env func(string) string) (*spec.Document, error) {
	return f.recorded.whole(f.Path, &f.Manifest, env)
}

// Scoring is the suite as it was recorded with these scorers alone, and its resolved spec. The error is a source.Faults where
// a scorer is wrong.
func (f *Folder) Scoring(scorers ...*source.Object) (*spec.Document, *Resolved, error) {
	text, err := json.Marshal(scorers)
	if err != nil {
		return nil, nil, fmt.Errorf("writing the scorers: %w", err)
	}
	alone := *f.recorded
	alone.Suite = slices.DeleteFunc(slices.Clone(alone.Suite), func(f Field) bool { return slices.Contains(optional, f.Key) })
	alone.Suite.Set("scorers", text)
	suite, at, err := alone.replayed(f.Path, &f.Manifest)
	if err != nil {
		return nil, nil, err
	}
	d, faults, err := at.load(suite, func(string) string { return "" })
	if err == nil && d == nil {
		err = faults
	}
	return d, &Resolved{Suite: Object{{"scorers", text}}}, err
}

// Declares reports whether the recorded suite has this scorer, as it is written.
func (f *Folder) Declares(scorer *source.Object) bool {
	text, err := json.Marshal(scorer)
	var declared []json.RawMessage
	if err != nil || json.Unmarshal(f.recorded.Suite.Get("scorers"), &declared) != nil {
		return false
	}
	return slices.ContainsFunc(declared, func(d json.RawMessage) bool { return bytes.Equal(d, text) })
}

// Tasks are those that are at hand; see KnowsTasks.
func (f *Folder) Tasks() iter.Seq2[*spec.Task, error] { return f.tasks.Tasks() }

// KnowsTasks reports whether the tasks are at hand. Without them requests are compared
// as they are declared, and expressions that read the task cannot be evaluated.
func (f *Folder) KnowsTasks() bool { return f.tasks != nil }

// OtherData are the names of the files of a suite whose bytes are no longer those
// that the runs were made of.
func (f *Folder) OtherData(suite *spec.Document) ([]string, error) {
	return f.others(suite.DataFiles())
}

// OtherTasks are the names of the files of a suite's tasks whose bytes are not
// those that the runs were made of.
func (f *Folder) OtherTasks(suite *spec.Document) ([]string, error) {
	return f.others(suite.TaskFiles())
}

// others are the files that were not there, or had other bytes.
func (f *Folder) others(now []spec.DataFile, err error) (other []string, _ error) {
	if err != nil {
		return nil, fmt.Errorf("hashing the data: %w", err)
	}
	for _, file := range now {
		if !slices.Contains(f.Manifest.Data, record.DataFile(file)) {
			other = append(other, file.Name)
		}
	}
	return other, nil
}

// files are texts by the name of their file; all other files are those beneath.
type files struct {
	texts    map[string][]byte
	beneath  fs.FS
	contents map[string]string // of the programs of loops, by their files
}

// Open implements [fs.FS].
func (f files) Open(name string) (fs.File, error) {
	if text, ok := f.texts[name]; ok {
		return &file{Reader: bytes.NewReader(asYAML(text)), name: name}, nil
	}
	return f.beneath.Open(name)
}

// asYAML is a text of JSON as YAML reads it: some characters that JSON allows within texts are none of YAML's, or end a line.
func asYAML(text []byte) []byte {
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

// file is an open text.
type file struct {
	*bytes.Reader
	name string
}

func (f *file) Stat() (fs.FileInfo, error) { return f, nil }
func (f *file) Close() error               { return nil }

func (f *file) Name() string       { return f.name }
func (f *file) Mode() fs.FileMode  { return 0o444 }
func (f *file) ModTime() time.Time { return time.Time{} }
func (f *file) IsDir() bool        { return false }
func (f *file) Sys() any           { return nil }
