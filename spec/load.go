package spec

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bmatcuk/doublestar/v4"

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
	// Contents are those of the programs of recorded loops, by the files of the loops, as [Loop.Contents] gave them.
	Contents map[string]string
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
	drawn  *atomic.Pointer[drawn] // what was drawn last; who reads tasks keeps what was drawn when it began
	// load loads the document again, with texts in the place of files; nil where it is not on disk.
	load  func(texts map[string][]byte) (*Document, source.Faults)
	texts map[string][]byte
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
	l := newLoader(&Document{folder: at, getenv: opt.Env, drawn: &atomic.Pointer[drawn]{}})
	l.opt, l.texts, l.roots = opt, texts, roots{base: at, getenv: opt.Env}
	for _, s := range opt.Set {
		set, faults := s.Assign("--set")
		l.add(faults...)
		if set.Value != nil {
			l.flags = append(l.flags, set)
		}
	}
	l.document(name, text)
	l.doc.roots = l.roots
	if l.errors == 0 {
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
	// for loops that are made of this document's later on
	decoders *sync.Pool
	names    *atomic.Pointer[paramNames]
	effort   effort
	broken   map[*source.File]bool // whose text had faults
	open     []string              // loop files that are being loaded, to find delegates that form a cycle
	faults   source.Faults
	errors   int // found so far, those found again included
	seen     map[source.Fault]bool
}

func newLoader(doc *Document) *loader {
	return &loader{doc: doc, loops: map[string]*loopFile{}, scripts: map[string]string{}, seen: map[source.Fault]bool{},
		broken: map[*source.File]bool{}, decoders: &sync.Pool{New: func() any { return &source.Decoder{} }}, names: &atomic.Pointer[paramNames]{}}
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
		if text, err = at.folder.read(at.path, maxSpecBytes); err != nil {
			l.fileFault(n, err)
			return nil
		}
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
	// contents are those of the programs of a recorded loop: its files may have changed since.
	contents string
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
	file := &loopFile{name: name, folder: at.folder.sub(at.path), tree: tree, contents: l.opt.Contents[name]}
	l.loops[name] = file
	return file
}

// folder is a place that files are read from and that no path leaves: not with "..", not with a symbolic link.
type folder struct {
	shown string // what its files' names start with in messages
	disk  string // where it is on disk; "" for one that is embedded
	fsys  fs.FS  // of one that is embedded
	root  bool   // declared under roots
}

// What may be read at once. Rows of .jsonl and .csv files are streamed and have no limit together.
const (
	maxSpecBytes = 16 << 20
	maxDataBytes = 1 << 30
	// maxUnpackedBytes is for what is packed and read whole.
	maxUnpackedBytes = 256 << 20
	// A packed file may unpack to maxUnpackedTimes its size, and maxUnpackedFree more: logs and data sets unpack to 5 to 30
	// times theirs, and the same line again and again to 1,000.
	maxUnpackedTimes = 100
	maxUnpackedFree  = 64 << 20
	rowBytes         = 64 // what a row counts as at least
)

// fileError is a path that cannot be read, in words for people.
type fileError struct{ what, hint string }

func (e *fileError) Error() string { return e.what }

// name is how messages call a file of the folder.
func (f folder) name(file string) string {
	if f.root {
		return f.shown + file
	}
	return filepath.ToSlash(filepath.Join(f.shown, file))
}

// within refuses a path that leads out of the folder by its text alone.
func (f folder) within(file string) (string, error) {
	clean := path.Clean(filepath.ToSlash(file))
	switch {
	case path.IsAbs(clean), filepath.IsAbs(file), clean == "..", strings.HasPrefix(clean, "../"):
		return "", f.escape(file)
	case !fs.ValidPath(clean):
		return "", &fileError{what: fmt.Sprintf("invalid path %q", file)}
	}
	return clean, nil
}

func (f folder) escape(file string) error {
	return &fileError{fmt.Sprintf("%q leads out of the folder that it is relative to", file),
		"declare the other folder: roots: {data: {default: ../data}}, and write data:/" + path.Base(filepath.ToSlash(file))}
}

// open opens a regular file of at most limit bytes (0: of any size).
func (f folder) open(file string, limit int64) (fs.File, error) {
	clean, err := f.within(file)
	if err != nil {
		return nil, err
	}
	var opened fs.File
	err = f.walk(func(fsys fs.FS) (err error) { // opening a named pipe would wait for a writer, so that it looks first
		info, err := fs.Stat(fsys, clean)
		switch {
		case err != nil:
		case !info.Mode().IsRegular():
			err = errNotRegular
		default:
			opened, err = fsys.Open(clean)
		}
		return err
	})
	if err != nil {
		return nil, f.explain(clean, err)
	}
	if info, err := opened.Stat(); err == nil && limit > 0 && info.Size() > limit {
		opened.Close()
		return nil, &fileError{what: fmt.Sprintf("%s has %d bytes, at most %d are allowed", f.name(clean), info.Size(), limit)}
	}
	return opened, nil
}

var errNotRegular = errors.New("no regular file")

// explain says what is wrong with a file.
func (f folder) explain(file string, err error) error {
	switch {
	case errors.Is(err, errNotRegular):
		return &fileError{what: fmt.Sprintf("%s is a folder or a device, not a file", f.name(file)), hint: f.folderHint(file)}
	case errors.Is(err, fs.ErrNotExist):
		return &fileError{fmt.Sprintf("file not found: %s", f.name(file)), f.nearFile(file)}
	case strings.Contains(err.Error(), "escapes from parent"): // the os package has no exported error for it
		return f.escape(file)
	}
	if inside, ok := errors.AsType[*fs.PathError](err); ok {
		err = inside.Err
	}
	return &fileError{what: fmt.Sprintf("%s cannot be read: %v", f.name(file), err)}
}

// nearFile suggests a file of the same folder.
func (f folder) nearFile(file string) string {
	var names []string
	_ = f.walk(func(fsys fs.FS) error {
		entries, err := fs.ReadDir(fsys, path.Dir(file))
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return err
	})
	if slices.Contains(names, path.Base(file)) {
		return "it is a link to a file that does not exist"
	}
	if near := cmp.Or(source.Closest(path.Base(file), names), sameStart(path.Base(file), names)); near != "" {
		return fmt.Sprintf("did you mean %q?", path.Join(path.Dir(file), near))
	}
	elsewhere := false
	_ = f.walk(func(fsys fs.FS) error {
		_, err := fs.Stat(fsys, path.Base(file))
		elsewhere = err == nil
		return err
	})
	if elsewhere {
		return fmt.Sprintf("did you mean %q?", path.Base(file))
	}
	if strings.HasPrefix(file, "~") {
		return "~ is not replaced: write the path from the folder of the file that names it"
	}
	ending := path.Ext(file)
	if ending == ".yaml" || ending == ".yml" {
		ending = ".loop" + ending // any of the others may be meant
	}
	others := slices.DeleteFunc(names, func(name string) bool { return ending == "" || !strings.HasSuffix(name, ending) })
	if len(others) == 0 || len(others) > fewNames {
		return ""
	}
	return "the folder has " + strings.Join(others, ", ")
}

// sameStart is the only name that starts and ends as a file does, up to its first and from its last dot: summary.loop.yaml
// for summary.yaml.
func sameStart(file string, names []string) string {
	stem, _, _ := strings.Cut(file, ".")
	similar := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		start, _, _ := strings.Cut(name, ".")
		return stem == "" || start != stem || path.Ext(name) != path.Ext(file)
	})
	if len(similar) != 1 {
		return ""
	}
	return similar[0]
}

// walk hands out the folder as a file system.
func (f folder) walk(do func(fs.FS) error) error {
	if f.fsys != nil {
		return do(f.fsys)
	}
	root, err := os.OpenRoot(f.disk)
	if err != nil {
		return err
	}
	defer root.Close()
	return do(root.FS())
}

// read reads a whole file.
func (f folder) read(file string, limit int64) ([]byte, error) {
	opened, err := f.open(file, limit)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	if err != nil {
		return nil, f.explain(file, err)
	}
	return text, nil
}

// glob gives the files that a pattern means, sorted; a path without a pattern means itself, and one that ends in / the
// files of a folder.
func (f folder) glob(pattern string) ([]string, error) {
	clean, err := f.within(pattern)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(pattern, "/") {
		return f.list(clean)
	}
	if !strings.ContainsAny(clean, `*?[{\`) {
		return []string{clean}, nil
	}
	var files []string
	err = f.walk(func(fsys fs.FS) error {
		if _, err := fs.Stat(fsys, clean); err == nil {
			files = []string{clean}
			return nil
		}
		// Links that lead back to a folder above would be followed round and round.
		files, err = doublestar.Glob(fsys, clean, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
		files = slices.DeleteFunc(files, func(file string) bool {
			info, err := fs.Stat(fsys, file)
			return err == nil && info.IsDir() // a link to one
		})
		return err
	})
	switch {
	case errors.Is(err, doublestar.ErrBadPattern):
		return nil, &fileError{what: fmt.Sprintf("invalid file pattern %q", pattern)}
	case err != nil:
		return nil, f.explain(clean, err)
	case len(files) == 0:
		return nil, &fileError{what: fmt.Sprintf("no file matches %s", f.name(clean))}
	}
	slices.Sort(files)
	return files, nil
}

// list gives the files of a folder, sorted, without those that are hidden and those of the folders in it.
func (f folder) list(dir string) ([]string, error) {
	var files []string
	err := f.walk(func(fsys fs.FS) error {
		entries, err := fs.ReadDir(fsys, dir)
		for _, entry := range entries {
			file := path.Join(dir, entry.Name())
			if strings.HasPrefix(entry.Name(), ".") {
				continue
			}
			if info, err := fs.Stat(fsys, file); err != nil || !info.IsDir() {
				files = append(files, file)
			}
		}
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &fileError{what: fmt.Sprintf("folder not found: %s", f.name(dir))}
	case err != nil:
		return nil, f.explain(dir, err)
	case len(files) == 0:
		return nil, &fileError{what: fmt.Sprintf("the folder %s holds no files", f.name(dir))}
	}
	return files, nil
}

// folderHint says how the files of a folder are named.
func (f folder) folderHint(file string) (hint string) {
	_ = f.walk(func(fsys fs.FS) error { // a hint only
		if info, err := fs.Stat(fsys, file); err == nil && info.IsDir() {
			hint = fmt.Sprintf("%q names all files in it", file+"/")
		}
		return nil
	})
	return hint
}

// sub is the folder of a file: what that file names is relative to it and stays below it.
func (f folder) sub(file string) folder {
	dir := path.Dir(file)
	if dir == "." {
		return f
	}
	below := folder{shown: f.name(dir), root: f.root}
	if f.root {
		below.shown += "/"
	}
	if f.fsys == nil {
		below.disk = filepath.Join(f.disk, filepath.FromSlash(dir))
		return below
	}
	sub, err := fs.Sub(f.fsys, dir)
	if err != nil {
		panic(err) // the file was opened below dir
	}
	below.fsys = sub
	return below
}

// instance makes a loop out of its file with parameters set; nil if something is wrong with it. What is absent is
// judged only where all that is written was understood.
func (l *loader) instance(file *loopFile, settings []Assignment) *Loop {
	if file.tree == nil {
		return nil
	}
	before := l.errors
	tree := l.withSettings(file.tree, settings)
	loop := &Loop{Folder: file.folder.disk}
	loop.origin = &origin{file: file, settings: settings, roots: l.roots, loops: l.loops, scripts: l.scripts, decoders: l.decoders, names: l.names}
	l.add(l.decoder.Whole(tree, loop)...)
	understood := l.errors == before && !l.broken[file.tree.File]
	loop.Tree = tree
	loop.applyPresets()
	l.delegates(loop, file)
	loop.contents = cmp.Or(file.contents, l.contents(loop, file))
	leaves := loop.Values()
	if understood {
		loop.Param = l.paramOf(leaves)
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
