package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// Options are what a load depends on besides the files.
type Options struct {
	// Env gives environment variables; nil: the process's.
	Env func(string) string
	// Set is set in every configuration, after its own set and sweep.
	Set []Setting
	// Recorded says that the files are a copy, of a document whose runs were recorded; nil: they are not.
	Recorded *Recorded
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

	// ProgramFiles are the hashes of the files that programs are given, as loops and scorers name them. Copies have none of these files.
	ProgramFiles map[string]string

	folder  folder
	roots   roots
	read    *filesRead
	set     []Setting
	getenv  func(string) string
	taskSet *taskSet
	// load loads the document again, with texts in the place of files; nil where it is not on disk.
	load func(texts map[string][]byte) (*Document, source.Faults)
}

// Dir is where the document stands on disk: what a suite's scorers start runs there. Empty for one that is embedded.
func (d *Document) Dir() string { return d.folder.disk }

// Load reads a suite, a loop or a mapping with all files that it names. The document is nil exactly if one of the faults is no
// warning. Task files are looked for, but not read: see [Document.CountTasks].
func Load(path string, opt Options) (*Document, source.Faults) {
	if path != "-" {
		return loadDisk(path, opt, nil)
	}
	text, err := io.ReadAll(io.LimitReader(opt.Stdin, maxSpecBytes+1))
	if err != nil {
		return nil, faultOfFile("-", err)
	}
	return load(folder{disk: "."}, "-", text, opt, nil)
}

// loadDisk loads a document in which texts take the place of files, by the names that messages show.
func loadDisk(path string, opt Options, texts map[string][]byte) (*Document, source.Faults) {
	at := folder{shown: filepath.ToSlash(filepath.Dir(path)), disk: filepath.Dir(path)}
	name := filepath.ToSlash(filepath.Clean(path))
	text, known := texts[name]
	if !known {
		var err error
		if text, err = readTrusted(path); err != nil {
			return nil, faultOfFile(path, at.explain(filepath.Base(path), err))
		}
	}
	d, faults := load(at, name, text, opt, texts)
	if d != nil {
		d.load = func(texts map[string][]byte) (*Document, source.Faults) { return loadDisk(path, opt, texts) }
	}
	return d, faults
}

// LoadFS is Load for files that are embedded. Roots are relative to the working directory.
func LoadFS(fsys fs.FS, file string, opt Options) (*Document, source.Faults) {
	whole := folder{fsys: fsys}
	text, err := whole.content(file, maxSpecBytes)
	if err != nil {
		return nil, faultOfFile(file, err)
	}
	return load(whole.sub(path.Clean(file)), file, text, opt, nil)
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

// faultOfFile is a fault that has no place in a text.
func faultOfFile(name string, err error) source.Faults {
	if known, ok := errors.AsType[*fileError](err); ok {
		return source.Faults{{What: known.what, Hint: known.hint}}
	}
	return source.Faults{{File: source.NewFile(name, nil), What: err.Error()}}
}

func load(at folder, name string, text []byte, opt Options, texts map[string][]byte) (*Document, source.Faults) {
	if opt.Env == nil {
		opt.Env = os.Getenv
	}
	at.read = &filesRead{}
	l := newLoader(&Document{folder: at, read: at.read, set: opt.Set, getenv: opt.Env, taskSet: &taskSet{}})
	l.opt, l.texts, l.roots = opt, texts, roots{base: at, getenv: opt.Env, copies: opt.Recorded != nil}
	if opt.Recorded != nil {
		maps.Copy(l.scripts, opt.Recorded.ProgramFiles)
	}
	for _, s := range opt.Set {
		set, faults := s.Assign("--set")
		l.add(faults...)
		if set.Value != nil {
			l.flags = append(l.flags, set)
		}
	}
	l.document(name, text)
	l.doc.roots, l.doc.ProgramFiles = l.roots, l.scripts
	if l.errors == 0 && opt.Recorded == nil {
		for _, f := range l.doc.Programs() { // what is missing here may be there where the suite will run
			l.add(f.AsWarning())
		}
	}
	l.faults.Sort()
	l.doc.Warnings = slices.DeleteFunc(slices.Clone(l.faults), func(f source.Fault) bool { return !f.Warning })
	if l.faults.Err() != nil {
		return nil, l.faults
	}
	return l.doc, l.faults
}

// loader reads one document.
type loader struct {
	opt     Options
	texts   map[string][]byte // that take the place of files
	doc     *Document
	roots   roots
	loops   map[string]*loopFile // by the name that messages show
	flags   []Assignment         // of --set
	scripts map[string]string    // hashes of programs' files, "" for what is none
	decoder source.Decoder
	effort  effort
	broken  map[*source.File]bool // whose text had faults
	open    []string              // loop files that are being loaded, to find delegates that form a cycle
	faults  source.Faults
	errors  int // found so far, those found again included
	unread  int // of these, values that could not be read
	seen    map[source.Fault]bool
}

// language is where keys in the wrong place are looked for.
var language = []source.Part{{Name: "terminate of a loop", Of: conditionKeys{}}, {Name: "a loop", Of: Loop{}}, {Name: "the suite", Of: Suite{}}}

func newLoader(doc *Document) *loader {
	return &loader{doc: doc, decoder: source.Decoder{Language: language}, loops: map[string]*loopFile{}, scripts: map[string]string{},
		seen: map[source.Fault]bool{}, broken: map[*source.File]bool{}}
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
		if !f.Warning && !f.Read {
			l.unread++
		}
	}
}

func (l *loader) fault(n *source.Node, hint, format string, args ...any) {
	if l.opt.Recorded != nil && strings.Contains(n.Text, redacted) {
		return // the value was right
	}
	l.add(n.Fault(hint, format, args...))
}

func (l *loader) warn(n *source.Node, hint, format string, args ...any) {
	l.add(n.Fault(hint, format, args...).AsWarning())
}

// fileFault reports a path that cannot be read where it is named.
func (l *loader) fileFault(n *source.Node, err error) {
	if placed, ok := faultOf(n, err).(source.Fault); ok {
		l.add(placed)
		return
	}
	l.fault(n, "", "%v", err)
}

// named finds the file that n names; ok says that it may be read.
func (l *loader) named(n *source.Node, from folder) (at place, ok bool) {
	at, err := l.roots.resolve(from, n.Text)
	if err == nil {
		at.path, err = at.folder.within(at.path)
	}
	if err != nil {
		l.fileFault(n, err)
	}
	return at, err == nil
}

// read reads the YAML file that n names: nil where there is something wrong.
func (l *loader) read(n *source.Node, at place) *source.Node {
	name := at.folder.name(at.path)
	text, known := l.texts[name]
	if !known {
		var err error
		if text, err = at.folder.content(at.path, maxSpecBytes); err != nil {
			l.fileFault(n, err)
			return nil
		}
		at.folder.read.isSpec(at)
	}
	return l.parse(name, text)
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
		file := &loopFile{name: name, folder: l.doc.folder, tree: tree}
		l.loops[name] = file
		l.doc.Loop = l.instance(file, l.flags) // the models of a suite are not known
	default:
		hint := "start the file with loop: NAME, suite: NAME or import: NAME"
		for _, entry := range tree.Entries {
			if key := source.Closest(entry.Key, []string{"suite", "loop", "import"}); key != "" {
				hint = fmt.Sprintf("did you mean %q?", key+": "+entry.Value.Text)
				break
			}
		}
		l.fault(tree, hint, "this is neither a loop nor a suite nor a mapping")
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
	at, ok := l.named(n, from)
	if !ok {
		return nil
	}
	name := at.folder.name(at.path)
	if known, ok := l.loops[name]; ok {
		return known
	}
	tree := l.read(n, at)
	if tree != nil && tree.Get("suite") != nil {
		l.fault(n, "name a file that starts with loop: NAME", "%s is a suite, not a loop", name)
		tree = nil
	} else if tree != nil && tree.Get("loop") == nil {
		l.fault(tree, "start the file with loop: NAME", "this file is not a loop")
		tree = nil
	}
	file := &loopFile{name: name, folder: at.folder.sub(at.path), tree: tree}
	l.loops[name] = file
	return file
}

// instance makes a loop out of its file with parameters set; nil if something is wrong with it. What is absent is
// judged only where all that is written was understood.
func (l *loader) instance(file *loopFile, settings []Assignment) *Loop {
	if file.tree == nil {
		return nil
	}
	before, unread := l.errors, l.unread
	tree := l.withSettings(file.tree, settings)
	loop := &Loop{Folder: file.folder.disk}
	loop.origin = &origin{file: file, settings: settings, roots: l.roots, loops: l.loops, scripts: l.scripts}
	l.add(l.decoder.Whole(tree, loop)...)
	understood := l.unread == unread && !l.broken[file.tree.File]
	loop.Tree = tree
	loop.applyPresets()
	l.delegates(loop, file)
	loop.contents = l.contents(loop, file)
	leaves := loop.Values()
	if understood {
		loop.Param = paramOf(leaves)
		l.checkLoop(loop)
	}
	l.checkNames(loop)
	l.compileLoop(loop)
	if l.errors > before || !understood {
		return nil
	}
	loop.hash = loop.hashOf(leaves)
	return loop
}

// withSettings applies the presets of the role, which paths can address, and the settings. A setting of the role
// itself comes first.
func (l *loader) withSettings(tree *source.Node, settings []Assignment) *source.Node {
	for _, s := range settings {
		if s.Path == "preset" {
			tree = withEntry(tree, "preset", s.Value)
		}
	}
	written := tree
	add := func(fault *source.Fault) {
		// A value that the file has wrong is no second mistake where a setting looks into it.
		if fault != nil && !(strings.Contains(fault.What, noMapping) && source.Decode(written, &Loop{}).Err() != nil) {
			l.add(*fault)
		}
	}
	tree, fault := withTotal(withRole(tree))
	for _, s := range settings {
		add(fault)
		if fault = nil; s.Path != "preset" {
			tree, fault = s.with(tree)
		}
	}
	add(fault)
	return tree
}

const noMapping = "is not a mapping, so it has no"

const maxDelegateDepth = 5

// delegates loads the loops that the agents of a loop may hand tasks to.
func (l *loader) delegates(loop *Loop, file *loopFile) {
	if slices.Contains(l.open, file.name) {
		return // reported where the cycle closes
	}
	l.open = append(l.open, file.name)
	defer func() { l.open = l.open[:len(l.open)-1] }()
	for _, d := range loop.delegates() {
		if d.Loop != "" && d.Node != nil {
			l.delegate(d, file)
		}
	}
}

func (l *loader) delegate(d *Delegate, file *loopFile) {
	at := d.Node.Get("loop")
	named := l.loopFile(at, file.folder)
	switch {
	case named == nil:
	case slices.Contains(l.open, named.name):
		cycle := append(slices.Clone(l.open[slices.Index(l.open, named.name):]), named.name)
		l.fault(at, "a delegate must not lead back to the loop that it serves", "delegates form a cycle: %s", strings.Join(cycle, " -> "))
	case len(l.open) > maxDelegateDepth:
		l.fault(at, "let the loops further up hand the tasks out", "delegates are nested deeper than %d: %s", maxDelegateDepth, strings.Join(append(slices.Clone(l.open), named.name), " -> "))
	default: // made once: parameters are set in the loop of the configuration only
		if !named.made {
			named.made = true
			named.plain = l.instance(named, nil)
		}
		d.Resolved = named.plain
	}
}

// agents are the agents that the loop declares: its own and the overrides of phases and strategies.
func (l *Loop) agents() []*Agent {
	agents := []*Agent{l.Agent}
	for i := range l.Phases {
		agents = append(agents, l.Phases[i].Agent)
	}
	for i := range l.Strategies {
		agents = append(agents, l.Strategies[i].Agent)
	}
	return slices.DeleteFunc(agents, func(a *Agent) bool { return a == nil })
}

// delegates are all delegates that the loop declares.
func (l *Loop) delegates() (all []*Delegate) {
	for _, agent := range l.agents() {
		for i := range agent.Delegates {
			all = append(all, &agent.Delegates[i])
		}
	}
	return all
}

// Delegated are the loops to which the loop's agents hand tasks, by their files as they are written.
func (l *Loop) Delegated() map[string]*Loop {
	served := map[string]*Loop{}
	for _, d := range l.delegates() {
		if d.Resolved != nil {
			served[d.Loop] = d.Resolved
		}
	}
	return served
}

// tools are all tools that the loop declares, those of its phases included.
func (l *Loop) tools() (all []*Tool) {
	for _, list := range l.toolLists() {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// toolLists are the lists of tools that the loop declares.
func (l *Loop) toolLists() [][]Tool {
	var lists [][]Tool
	for _, agent := range l.agents() {
		lists = append(lists, agent.Tools)
	}
	for i := range l.Phases {
		if tools := l.Phases[i].Tools; tools != nil {
			lists = append(lists, *tools)
		}
	}
	return lists
}
