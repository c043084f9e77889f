package spec

import (
	"errors"
	"sync"

	"github.com/agentbench/agentbench/spec/source"
)

// warnOfRun tells what stands in the way of a run only: programs that are missing here, and may be there where the
// suite will run.
func (l *loader) warnOfRun() {
	for _, f := range l.doc.Programs() {
		f.Warning = true
		l.add(f)
	}
}

// loader reads one document.
type loader struct {
	opt     Options
	texts   map[string][]byte // that take the place of files
	doc     *Document
	roots   roots
	loops   map[string]*loopFile // by the name that messages show
	flags   []setting            // of --set
	scripts map[string]string    // hashes of programs' files, "" for what is none
	decoder source.Decoder
	// decoders are for loops that are made of this document's later on; nil: there are none yet.
	decoders *sync.Pool
	effort   effort
	broken   map[*source.File]bool // whose text had faults
	open     []string              // loop files that are being loaded, to find delegates that form a cycle
	faults   source.Faults
	errors   int // found so far, those found again included
	seen     map[source.Fault]bool
}

// add keeps each fault once: the configurations of a sweep share most of theirs, and of warnings that differ only in
// their numbers one is enough.
func (l *loader) add(faults ...source.Fault) {
	for _, f := range faults {
		same := f
		if f.Warning && f.Hint != "" {
			same.What = ""
		}
		if !l.seen[same] {
			l.seen[same] = true
			l.faults = append(l.faults, f)
		}
		if !f.Warning {
			l.errors++
		}
	}
}

func (l *loader) fault(n *source.Node, hint, format string, args ...any) {
	l.add(n.Fault(hint, format, args...))
}

func (l *loader) warn(n *source.Node, hint, format string, args ...any) {
	f := n.Fault(hint, format, args...)
	f.Warning = true
	l.add(f)
}

// fileFault reports a path that cannot be read where it is named.
func (l *loader) fileFault(n *source.Node, err error) {
	var known *fileError
	if errors.As(err, &known) {
		l.fault(n, known.hint, "%s", known.what)
		return
	}
	l.fault(n, "", "%v", err)
}

// document decides whether the text is a suite, a loop or a mapping.
func (l *loader) document(name string, text []byte) {
	tree := l.parse(name, text)
	switch {
	case tree == nil:
	case tree.Get("suite") != nil && tree.Get("loop") != nil:
		l.fault(tree, "keep one suite or one loop a file", "this file is both a suite and a loop")
	case tree.Get("import") != nil:
		l.importing(tree)
	case tree.Get("suite") != nil:
		l.suite(tree)
	case tree.Get("loop") != nil:
		l.loopDocument(name, tree)
	default:
		l.fault(tree, "start the file with loop: NAME, suite: NAME or import: NAME", "this is neither a loop nor a suite nor a mapping")
	}
}

func (l *loader) parse(name string, text []byte) *source.Node {
	file := source.NewFile(name, text)
	l.doc.Files = append(l.doc.Files, file)
	tree, faults := source.Parse(file)
	l.add(faults...)
	l.broken[file] = faults.Err() != nil
	return tree
}

// loopDocument loads a loop for itself; the models of a suite are not known then.
func (l *loader) loopDocument(name string, tree *source.Node) {
	file := &loopFile{name: name, folder: l.doc.folder, tree: tree}
	l.loops[name] = file
	l.doc.Loop = l.instance(file, l.flags)
}

// loopFile is a loop file that was read.
type loopFile struct {
	name   string
	folder folder
	tree   *source.Node // as written; nil if it is no YAML
	made   bool         // plain was made
	plain  *Loop        // without parameters, for delegates
}

// loopFile reads the loop that n names, once.
func (l *loader) loopFile(n *source.Node, from folder) *loopFile {
	at, err := l.roots.resolve(from, n.Text)
	if err == nil {
		at.path, err = at.folder.within(at.path)
	}
	if err != nil {
		l.fileFault(n, err)
		return nil
	}
	name := at.folder.name(at.path)
	if known, ok := l.loops[name]; ok {
		return known
	}
	text, known := l.texts[name]
	if !known {
		if text, err = at.folder.read(at.path, maxSpecBytes); err != nil {
			l.fileFault(n, err)
			return nil
		}
	}
	file := &loopFile{name: name, folder: at.folder.sub(at.path), tree: l.parse(name, text)}
	if file.tree != nil && file.tree.Get("loop") == nil {
		l.fault(file.tree, "start the file with loop: NAME", "this is no loop")
		file.tree = nil
	}
	l.loops[name] = file
	return file
}
