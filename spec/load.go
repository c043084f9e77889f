package spec

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/agentbench/agentbench/spec/source"
)

// Options are what a load depends on besides the files.
type Options struct {
	// Env gives environment variables; nil: the process's.
	Env func(string) string
	// Set is set in every configuration, after its own set and sweep.
	Set []Setting
	// Recorded says that the suite is that of recorded runs: which values its parameters of tune take is told when they
	// are tried.
	Recorded bool
	// Stdin is read for the path "-"; what it names is relative to the working directory.
	Stdin io.Reader
}

// Setting is a parameter from the command line: a path, and its value as YAML.
type Setting struct{ Path, Value string }

// Document is a file that was loaded, with all files that it names. Exactly one of Suite, Loop and Import is set.
type Document struct {
	Suite  *Suite
	Loop   *Loop
	Import *Import
	// Files are the YAML files that were read, the first one first.
	Files []*source.File
	// Warnings are what is doubtful.
	Warnings source.Faults

	folder folder
	roots  roots
	getenv func(string) string
	drawn  *lastDrawn
	// load loads the document again, with texts in the place of files; nil where it is not on disk.
	load  func(texts map[string][]byte) (*Document, source.Faults)
	texts map[string][]byte
}

// Dir is where the document stands on disk: what a suite's scorers start runs there. Empty for one that is embedded.
func (d *Document) Dir() string { return d.folder.disk }

// Load reads a suite, a loop or a mapping with all files that it names. The document is nil exactly if one of the faults is no
// warning. Task files are looked for, but not read: see [Document.CountTasks].
func Load(path string, opt Options) (*Document, source.Faults) {
	if path == "-" {
		return loadStdin(opt)
	}
	return loadDisk(path, opt, nil)
}

// loadDisk loads a document in which texts take the place of files, by the names that messages show.
func loadDisk(path string, opt Options, texts map[string][]byte) (*Document, source.Faults) {
	at := folder{shown: filepath.ToSlash(filepath.Dir(path)), disk: filepath.Dir(path)}
	name := filepath.ToSlash(filepath.Clean(path))
	text, known := texts[name]
	if !known {
		var err error
		if text, err = readTrusted(path); err != nil {
			return nil, at.unreadable(path, err)
		}
	}
	d, faults := load(at, name, text, opt, texts)
	if d != nil {
		d.texts = texts
		d.load = func(texts map[string][]byte) (*Document, source.Faults) { return loadDisk(path, opt, texts) }
	}
	return d, faults
}

// LoadFS is Load for files that are embedded. Roots are relative to the working directory.
func LoadFS(fsys fs.FS, file string, opt Options) (*Document, source.Faults) {
	whole := folder{fsys: fsys}
	text, err := whole.read(file, maxSpecBytes)
	if err != nil {
		return nil, faultOfFile(file, err)
	}
	return load(whole.sub(path.Clean(file)), file, text, opt, nil)
}

func loadStdin(opt Options) (*Document, source.Faults) {
	text, err := io.ReadAll(io.LimitReader(opt.Stdin, maxSpecBytes+1))
	if err != nil {
		return nil, faultOfFile("-", err)
	}
	return load(folder{disk: "."}, "-", text, opt, nil)
}

// readTrusted reads the file that the user names on the command line, wherever it is.
func readTrusted(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxSpecBytes+1))
}

func (f folder) unreadable(path string, err error) source.Faults {
	return faultOfFile(path, f.explain(filepath.Base(path), err))
}

// faultOfFile is a fault that has no place in a text.
func faultOfFile(name string, err error) source.Faults {
	fault := source.Fault{File: source.NewFile(name, nil), What: err.Error()}
	var known *fileError
	if errors.As(err, &known) {
		fault.File, fault.What, fault.Hint = nil, known.what, known.hint
	}
	return source.Faults{fault}
}

func load(at folder, name string, text []byte, opt Options, texts map[string][]byte) (*Document, source.Faults) {
	if opt.Env == nil {
		opt.Env = os.Getenv
	}
	l := &loader{opt: opt, texts: texts, doc: &Document{folder: at, getenv: opt.Env, drawn: &lastDrawn{}}, loops: map[string]*loopFile{}, scripts: map[string]string{},
		seen: map[source.Fault]bool{}, broken: map[*source.File]bool{}}
	l.roots = roots{base: at, getenv: opt.Env}
	l.flags = l.commandLine()
	l.document(name, text)
	l.doc.roots = l.roots
	if l.errors == 0 {
		l.warnOfRun()
	}
	l.faults.Sort()
	l.doc.Warnings = slices.DeleteFunc(slices.Clone(l.faults), func(f source.Fault) bool { return !f.Warning })
	if l.faults.Err() != nil {
		return nil, l.faults
	}
	return l.doc, l.faults
}
