package spec

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// setter puts one value into the tree of a loop.
type setter struct {
	Assignment
	fault *source.Fault
	// preset is the condition of the pattern, where none of its kind is written.
	preset     *source.Node
	presetKind Kind
}

// with returns a copy of the tree that has the value at its path; what the path does not touch is shared.
func (s Assignment) with(tree *source.Node) (*source.Node, *source.Fault) {
	w := &setter{Assignment: s}
	path := segments(s.Path)
	if path[0] == "max_iterations" {
		path = append([]string{"terminate"}, path...)
		w.Path = "terminate." + w.Path
		w.At.Col -= len("terminate.")
	}
	if path[0] != "terminate" {
		return w.into(tree, path, 0), w.fault
	}
	w.presetKind, w.preset = presetNode(tree, s.Value)
	tree = w.shallow(tree)
	w.replace(tree, "terminate", 0, w.terminate(tree.Get("terminate"), path))
	return tree, w.fault
}

func segments(path string) []string { return strings.Split(path, ".") }

// refuse reports that segment i of the path leads nowhere.
func (w *setter) refuse(i int, hint, format string, args ...any) {
	if w.fault != nil {
		return
	}
	f := w.Value.Fault(hint, format, args...)
	f.Pos, f.Len = w.segmentPos(i), len([]rune(segments(w.Path)[i]))
	w.fault = &f
}

// segmentPos is where segment i of the path stands.
func (w *setter) segmentPos(i int) source.Pos {
	before := strings.Join(segments(w.Path)[:i], ".")
	at := w.At
	at.Col += len([]rune(before))
	if i > 0 {
		at.Col++
	}
	at.Col = max(at.Col, 1)
	return at
}

// shallow copies a mapping so that its entries can be replaced.
func (w *setter) shallow(n *source.Node) *source.Node {
	if n == nil || n.Kind != source.Map {
		return source.New(w.Value, &source.Object{})
	}
	c := *n
	c.Entries = append(make([]source.Entry, 0, len(n.Entries)+1), n.Entries...)
	return &c
}

// replace sets a key of a copied mapping; segment i of the path is the key. A key that was there keeps its place, unless
// its value is of another file now, where that place is something else.
func (w *setter) replace(n *source.Node, key string, i int, value *source.Node) {
	for j := range n.Entries {
		entry := &n.Entries[j]
		if entry.Key != key {
			continue
		}
		if entry.Value.File != value.File {
			entry.KeyPos = w.segmentPos(i)
		}
		entry.Value = value
		return
	}
	n.Entries = append(n.Entries, source.Entry{Key: key, KeyPos: w.segmentPos(i), Value: value})
}

// into returns n with the value at path[i:].
func (w *setter) into(n *source.Node, path []string, i int) *source.Node {
	switch {
	case i == len(path):
		return w.Value
	case n != nil && n.Kind == source.List && shortForms[strings.Join(path[:i], ".")] == "":
		return w.intoList(n, path, i)
	case n == nil || n.Kind == source.Map || isOff(n):
		return w.intoMap(n, path, i)
	}
	return w.intoScalar(n, path, i)
}

func (w *setter) intoMap(n *source.Node, path []string, i int) *source.Node {
	if n.Get(path[i]) == nil && i+1 < len(path) && n.Get("name") != nil && n.Get("name").Text == path[i] {
		i++ // the only item of a list that is written without it
	}
	if n.Get(path[i]) == nil && i+1 < len(path) && slices.Contains(namedLists, path[i]) {
		w.refuse(i+1, "", "the loop has no %s, so nothing there is named %q", strings.Join(path[:i+1], "."), path[i+1])
		return n
	}
	c := w.shallow(n)
	w.replace(c, path[i], i, w.into(n.Get(path[i]), path, i+1))
	return c
}

// namedLists are the keys whose values are lists of named items: a path cannot make an item.
var namedLists = []string{"phases", "strategies", "checks", "tools", "delegates"}

// intoList finds an item by its name, which may hold dots.
func (w *setter) intoList(n *source.Node, path []string, i int) *source.Node {
	c := *n
	c.Items = append([]*source.Node(nil), n.Items...)
	for end := i + 1; end <= len(path); end++ {
		name := strings.Join(path[i:end], ".")
		for j, item := range c.Items {
			if item.Kind == source.Map && itemName(item, j, path[i-1]) == name {
				c.Items[j] = w.into(item, path, end)
				return &c
			}
		}
	}
	w.refuse(i, didYouMean(path[i], itemNames(n)), "nothing in %s is named %q", strings.Join(path[:i], "."), path[i])
	return n
}

// itemName is the name of an item; guards have one without being given one.
func itemName(item *source.Node, i int, list string) string {
	if name := givenName(item); name != "" {
		return name
	}
	return numbered(list, i+1)
}

// givenName is the name that an item says, or what it is where that is built in.
func givenName(item *source.Node) string {
	for _, key := range []string{"name", "builtin"} {
		if name := item.Get(key); name != nil {
			return name.Text
		}
	}
	return ""
}

func itemNames(n *source.Node) []string {
	var names []string
	for _, item := range n.Items {
		if name := givenName(item); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// shortForms are the paths whose mapping may be written as the value of one of its keys.
var shortForms = map[string]string{"evaluate.command": "command"}

// intoScalar makes a mapping out of a short form.
func (w *setter) intoScalar(n *source.Node, path []string, i int) *source.Node {
	at := strings.Join(path[:i], ".")
	short, ok := shortForms[at]
	if !ok {
		w.refuse(i, "", "%s "+noMapping+" %q", at, path[i])
		return n
	}
	return w.intoMap(long(short, n), path, i)
}

// long is the mapping that a short form stands for.
func long(key string, n *source.Node) *source.Node {
	mapping := source.New(n, &source.Object{})
	mapping.Set(key, n)
	return mapping
}

// terminate returns the terminate tree n with the value at path[1:]. A name is that of an entry of the map, or of the
// list under any; terminate.any.X is terminate.X.
func (w *setter) terminate(n *source.Node, path []string) *source.Node {
	i := 1
	if len(path) > 2 && path[1] == "any" {
		i = 2
	}
	if len(path) == 1 {
		return w.Value
	}
	c := w.shallow(n)
	list := n.Get("any")
	inList := list != nil && list.Kind == source.List && (find(list, path[i]) >= 0 || n.Get(path[i]) == nil)
	switch {
	case inList:
		w.replace(c, "any", i, w.condition(list, path, i))
	case n.Get(path[i]) != nil || isKind(path[i]):
		w.replace(c, path[i], i, w.below(path[i], n.Get(path[i]), path, i+1))
	default:
		w.refuse(i, nearKind(path[i]), "unknown condition %q", path[i])
	}
	return c
}

// condition returns the list of conditions n with the value at path[i:]; path[i] names an item.
func (w *setter) condition(n *source.Node, path []string, i int) *source.Node {
	c := *n
	c.Items = append([]*source.Node(nil), n.Items...)
	j := find(n, path[i])
	switch {
	case j >= 0:
		c.Items[j] = w.item(n.Items[j], path, i+1)
	case isKind(path[i]):
		item := w.shallow(nil)
		w.replace(item, path[i], i, w.below(path[i], nil, path, i+1))
		c.Items = append(c.Items, item)
	default:
		w.refuse(i, didYouMean(path[i], conditionNames(n)), "unknown condition %q", path[i])
	}
	return &c
}

// item returns an item of a list of conditions with the value at path[i:]. The kind may be named in the path or not.
func (w *setter) item(n *source.Node, path []string, i int) *source.Node {
	kind := kindOf(n)
	if kind == "" {
		return n // decoding says what is wrong with it
	}
	if i < len(path) && path[i] == kind && find(n.Get(kind), kind) < 0 {
		i++
	}
	c := w.shallow(n)
	w.replace(c, kind, i-1, w.below(kind, n.Get(kind), path, i))
	return c
}

// below returns the value n of a condition with the value at path[i:]. Of a condition that only the pattern presets, the
// fields that the path does not name keep their preset.
func (w *setter) below(kind string, n *source.Node, path []string, i int) *source.Node {
	if n == nil && kind == string(w.presetKind) {
		n = w.preset
	}
	switch {
	case i == len(path):
		return w.Value
	case kind == string(KindAny) || kind == string(KindAll):
		if n == nil || n.Kind != source.List {
			n = source.New(w.Value, []any{})
		}
		return w.condition(n, path, i)
	case kind == string(KindMaxIterations) || kind == string(KindWhen):
		w.refuse(i, "", "%s has no %q", kind, path[i])
		return w.Value
	case kind == string(KindTimeout) && n != nil && n.Kind != source.Map && !isOff(n):
		return w.intoMap(long("after", n), path, i)
	}
	return w.into(n, path, i)
}

// kindOf is the kind of condition that an item holds, "" if none.
func kindOf(item *source.Node) string {
	for _, entry := range item.Entries {
		if isKind(entry.Key) {
			return entry.Key
		}
	}
	return ""
}

// conditionNames are the names in a list of conditions, as nameConditions gives them.
func conditionNames(n *source.Node) []string {
	if n == nil {
		return nil
	}
	kinds, given := make([]string, len(n.Items)), make([]string, len(n.Items))
	for i, item := range n.Items {
		kinds[i] = kindOf(item)
		if name := item.Get("name"); name != nil {
			given[i] = name.Text
		}
	}
	return fullNames(kinds, given)
}

// find is the index of the condition of that name in a list, -1 without one.
func find(n *source.Node, name string) int {
	for i, known := range conditionNames(n) {
		if known == name {
			return i
		}
	}
	return -1
}

// Edited is a file in which values were changed.
type Edited struct {
	File *source.File // as it was read
	Text []byte       // as it is to be
}

// EditError says why a file is not changed.
type EditError struct{ What, Hint string }

func (e *EditError) Error() string { return e.What }

// Edit gives the texts of the files of a suite in which a configuration has parameters of other values; of one that is given twice the last holds. A parameter is
// changed where its value stands: in the configuration's set, else in its loop file, unless this would change another
// configuration; then it is added to the set. Comments and layout stay. The files are loaded again as they would be: the
// error is a source.Faults or an *EditError where they would not mean exactly what is wanted. No file: nothing would change.
func (d *Document) Edit(configuration string, params ...Assignment) ([]Edited, error) {
	e, err := d.editor(configuration, params)
	if err != nil || len(e.params) == 0 {
		return nil, err
	}
	edited, err := e.try(func(a Assignment) bool { return e.set(a) != "" })
	if err == nil {
		return edited, nil
	}
	if inSet, again := e.try(func(Assignment) bool { return true }); again == nil {
		return inSet, nil
	}
	return nil, err
}

// EditLoop gives the text of a loop file in which parameters have other values. Comments
// and layout stay. The file is loaded again as it would be, as Edit does. No file: nothing
// would change.
func (d *Document) EditLoop(params ...Assignment) ([]Edited, error) {
	if d.load == nil {
		return nil, errNotOnDisk
	}
	loop, faults := d.Loop.With(params...)
	switch {
	case loop == nil:
		return nil, faults
	case loop.Hash() == d.Loop.Hash():
		return nil, nil
	}
	e := editor{Document: d, resolved: &Resolved{Loop: d.Loop}, wanted: loop.Hash()}
	edited, err := e.loopText(e.needed(params))
	if err != nil {
		return nil, err
	}
	again, faults := d.load(map[string][]byte{edited.File.Name: edited.Text})
	switch {
	case again == nil:
		return nil, faults
	case again.Loop.Hash() != e.wanted:
		return nil, &EditError{"the change would not make the loop what it is to be", "change the file by hand"}
	}
	return []Edited{*edited}, nil
}

var errNotOnDisk = &EditError{"this suite is not on disk", "agentbench init DIR writes one of those that ship into a folder"}

// Editable says why the values of a configuration cannot be changed in files; nil where they can.
func (d *Document) Editable(configuration string) error {
	_, err := d.editor(configuration, nil)
	return err
}

// editor changes the files of one configuration.
type editor struct {
	*Document
	name     string // of the configuration
	resolved *Resolved
	at       int // of the configuration in its list
	params   []Assignment
	wanted   string // the hash of the loop as it is to be
}

func (d *Document) editor(configuration string, params []Assignment) (*editor, error) {
	if d.load == nil {
		return nil, errNotOnDisk
	}
	e := &editor{Document: d, name: configuration, resolved: d.Suite.Configuration(configuration)}
	if e.resolved == nil {
		return nil, &EditError{fmt.Sprintf("the suite has no configuration %q", configuration), didYouMean(configuration, d.Suite.names())}
	}
	e.at = slices.IndexFunc(d.Suite.Configurations, func(c Configuration) bool {
		return c.Name == configuration && c.Node.Get("sweep") == nil
	})
	if e.at < 0 {
		return nil, &EditError{configuration + " is one of a sweep, so it has no values of its own in the suite", "write it as a configuration"}
	}
	loop, faults := e.resolved.Loop.With(params...)
	if loop == nil {
		return nil, faults
	}
	e.wanted = loop.Hash()
	e.params = e.needed(params)
	return e, nil
}

// needed are the parameters without which the loop would not be the wanted one, the last of each path.
func (e *editor) needed(params []Assignment) []Assignment {
	for i := 0; i < len(params); i++ {
		without := slices.Delete(slices.Clone(params), i, i+1)
		if loop, _ := e.resolved.Loop.With(without...); loop != nil && loop.Hash() == e.wanted {
			params, i = without, -1
		}
	}
	return params
}

// set is the key under which the configuration sets a parameter, "" if it does not.
func (e *editor) set(a Assignment) string {
	written := e.Suite.Configurations[e.at].Node.Get("set")
	if written == nil {
		return ""
	}
	for _, entry := range written.Entries {
		if FullPath(entry.Key) == FullPath(a.Path) {
			return entry.Key
		}
	}
	return ""
}

// try changes the files, some parameters in the suite, the others in the loop, and sees whether that is what is wanted.
func (e *editor) try(inSet func(Assignment) bool) ([]Edited, error) {
	var set, loop []Assignment
	for _, a := range e.params {
		if inSet(a) {
			set = append(set, a)
		} else {
			loop = append(loop, a)
		}
	}
	var edited []Edited
	if len(loop) > 0 {
		text, err := e.loopText(loop)
		if err != nil {
			return nil, err
		}
		edited = append(edited, *text)
	}
	if len(set) > 0 {
		text, err := e.suiteText(set)
		if err != nil {
			return nil, err
		}
		edited = append(edited, *text)
	}
	return edited, e.means(edited)
}

// loopText is the text of the loop file with parameters of other values.
func (e *editor) loopText(params []Assignment) (*Edited, error) {
	file := e.resolved.Loop.origin.file
	tree := file.tree
	for _, a := range params {
		changed, fault := written(tree, a)
		if fault != nil {
			return nil, source.Faults{*fault}
		}
		tree = changed
	}
	return rewritten(file.tree, tree)
}

func rewritten(was, now *source.Node) (*Edited, error) {
	text, fault := source.Rewrite(was, now)
	if fault != nil {
		return nil, source.Faults{*fault}
	}
	return &Edited{was.File, text}, nil
}

// written sets a parameter in the tree of a loop file, where a person would write it.
func written(tree *source.Node, a Assignment) (*source.Node, *source.Fault) {
	if FullPath(a.Path) == "terminate.max_iterations" && tree.Get("max_iterations") != nil {
		return withEntry(tree, "max_iterations", a.Value), nil
	}
	changed, fault := a.with(tree)
	if fault == nil {
		return changed, nil
	}
	return a.with(withRole(tree)) // of a phase that only the role presets
}

// suiteText is the text of the suite whose configuration sets parameters.
func (e *editor) suiteText(params []Assignment) (*Edited, error) {
	tree := e.Suite.Tree.Clone()
	configuration := tree.Get("configurations").Items[e.at]
	set := configuration.Get("set")
	if set == nil {
		set = source.New(configuration, &source.Object{})
		configuration.Set("set", set)
	}
	for _, a := range params {
		key := e.set(a)
		key = cmp.Or(key, a.Path)
		set.Set(key, a.Value)
	}
	return rewritten(e.Suite.Tree, tree)
}

// means loads the suite as it would be: the configuration is to be the wanted one, and all others what they are.
func (e *editor) means(edited []Edited) error {
	texts := maps.Clone(e.texts)
	if texts == nil {
		texts = map[string][]byte{}
	}
	for _, file := range edited {
		texts[file.File.Name] = file.Text
	}
	again, faults := e.load(texts)
	if again == nil {
		return faults
	}
	for i := range e.Suite.Resolved {
		was := &e.Suite.Resolved[i]
		for _, name := range append([]string{was.Name}, was.Aliases...) {
			wanted := was.Hash
			if name == e.name {
				wanted = e.wanted
			}
			if now := again.Suite.Configuration(name); now == nil || now.Hash != wanted {
				return &EditError{fmt.Sprintf("the change would not make %s what it is to be", name), "change the files by hand"}
			}
		}
	}
	return nil
}

// ReplaceFiles puts new texts in the place of files. All are written beside what they
// replace, with its mode, before the first takes its place; a symbolic link stays one. A
// file that has changed since it was read is an error, and then nothing is replaced.
func ReplaceFiles(files []Edited) (err error) {
	type replacement struct{ temporary, path string }
	var all []replacement
	defer func() {
		for _, r := range all {
			if gone := os.Remove(r.temporary); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}()
	for _, f := range files {
		path, err := filepath.EvalSymlinks(filepath.FromSlash(f.File.Name))
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		now, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if string(now) != f.File.Text() {
			return fmt.Errorf("%s has changed in the meantime", f.File.Name)
		}
		temporary, err := os.CreateTemp(filepath.Dir(path), ".agentbench-*")
		if err != nil {
			return err
		}
		all = append(all, replacement{temporary.Name(), path})
		_, err = temporary.Write(f.Text)
		if err = errors.Join(err, temporary.Chmod(info.Mode().Perm()), temporary.Sync(), temporary.Close()); err != nil {
			return err
		}
	}
	for _, r := range all {
		if err := os.Rename(r.temporary, r.path); err != nil {
			return err
		}
	}
	return nil
}

// dimension is a parameter of a sweep with its values.
type dimension []Assignment

// manyCombinations is where counting ends: a count that nobody could run need not be exact.
const manyCombinations = int64(1_000_000_000_000)

func combinations(sweep []dimension) int64 {
	n := int64(1)
	for _, d := range sweep {
		n = min(n*int64(len(d)), manyCombinations)
	}
	return n
}

// Thousands is a whole number, of whatever type, in groups of three digits.
func Thousands(n any) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// spread makes every combination, the last parameter changing fastest.
func (l *loader) spread(file *loopFile, name string, base []Assignment, sweep []dimension) []Resolved {
	var all []Resolved
	names, taken := l.sweepNames(file, base, sweep), map[string]bool{}
	chosen := make([]int, len(sweep))
	for range combinations(sweep) {
		settings := append([]Assignment(nil), base...)
		values := make([]string, len(sweep))
		for i, d := range sweep {
			settings = append(settings, d[chosen[i]])
			values[i] = names[i] + "=" + d[chosen[i]].Text()
		}
		variant := VariantName(name, strings.Join(values, ","), func(name string) bool { return taken[name] })
		taken[variant] = true
		all = append(all, l.resolved(file, variant, settings)...)
		for i := len(chosen) - 1; i >= 0; i-- {
			if chosen[i]++; chosen[i] < len(sweep[i]) {
				break
			}
			chosen[i] = 0
		}
	}
	return all
}

// VariantName names a configuration after another one and its parameters: plain@max_iterations=2,threshold=0.9. What shells
// interpret becomes _ or is left out, so that the name needs no quotes; a name that is taken gets a number.
func VariantName(base, params string, taken func(string) bool) string {
	plain := func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./=:,@%+", r):
			return r
		case strings.ContainsRune("\"'{}[]", r): // of lists and mappings
			return -1
		}
		return '_'
	}
	name := base + "@" + strings.Map(plain, params)
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s@%s+%d", base, strings.Map(plain, params), n)
	}
	return name
}

// sweepNames are the shortest suffixes of the paths of a sweep that mean no other parameter of the loop.
func (l *loader) sweepNames(file *loopFile, base []Assignment, sweep []dimension) []string {
	first := slices.Clone(base)
	paths := make([]string, len(sweep))
	for i, d := range sweep {
		first = append(first, d[0])
		paths[i] = d[0].Path
	}
	loop := &Loop{}
	if l.decoder.Whole(l.withSettings(file.tree, first), loop).Err() == nil {
		loop.applyPresets()
		return loop.ShortNames(paths...)
	}
	return (&Loop{}).ShortNames(paths...)
}

// Assignment is a parameter and the value that it gets, both with their places, for faults to point at.
type Assignment struct {
	Path  string
	At    source.Pos // of the path, in the file of the value
	Value *source.Node
}

// Text is the value as it is written in the name of a configuration.
func (a Assignment) Text() string {
	if a.Value.Kind != source.List && a.Value.Kind != source.Map {
		return a.Value.Text
	}
	text, err := expr.AppendJSON(nil, valueOf(a.Value.Plain()))
	if err != nil {
		return "?" // it is refused when it is decoded
	}
	return string(text)
}

// With is the loop with more parameters set, as `set` in a suite sets them: after those that are set already. It is
// nil exactly if one of the faults is no warning. Loops that differ in parameters alone share what was compiled.
func (l *Loop) With(assignments ...Assignment) (*Loop, source.Faults) {
	settings := append(l.origin.settings[:len(l.origin.settings):len(l.origin.settings)], assignments...)
	again := newLoader(&Document{folder: l.origin.file.folder})
	again.roots, again.scripts, again.loops = l.origin.roots, maps.Clone(l.origin.scripts), maps.Clone(l.origin.loops)
	decoder := l.origin.decoders.Get().(*source.Decoder)
	defer l.origin.decoders.Put(decoder)
	again.decoder, again.decoders, again.names = *decoder, l.origin.decoders, l.origin.names
	loop := again.instance(l.origin.file, settings)
	*decoder = again.decoder
	again.faults.Sort()
	return loop, again.faults
}

// origin is what a loop was made of.
type origin struct {
	file     *loopFile
	settings []Assignment
	roots    roots
	loops    map[string]*loopFile
	scripts  map[string]string
	decoders *sync.Pool // of *source.Decoder, which know the types that they have met
	names    *atomic.Pointer[paramNames]
}

// Assign reads a setting of the command line, of the flag of that name: its value is YAML. It parses the value in a text
// that is as long as the flag, so that its places are those of the flag. The value is nil where it is not YAML.
func (s Setting) Assign(flag string) (Assignment, source.Faults) {
	shown := source.NewFile(flag, []byte(s.Path+"="+s.Value))
	if strings.TrimSpace(s.Value) == "" {
		return Assignment{}, source.Faults{{File: shown, Pos: source.Pos{Line: 1, Col: 1}, What: "no value for " + s.Path, Hint: "write " + s.Path + "=VALUE"}}
	}
	tree, faults := source.Parse(source.NewFile(flag, []byte(strings.Repeat(" ", len([]rune(s.Path))+1)+s.Value)))
	for i := range faults {
		faults[i].File = shown
	}
	if tree == nil {
		return Assignment{}, faults
	}
	tree.Relocate(shown)
	return Assignment{Path: s.Path, At: source.Pos{Line: 1, Col: 1}, Value: tree}, faults
}
