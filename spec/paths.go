package spec

import (
	"maps"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

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
	loop := again.instance(l.origin.file, settings)
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
