package spec

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec/source"
)

// setting is a parameter and the value that it gets, both with their places.
type setting struct {
	path  string
	at    source.Pos // of the path
	value *source.Node
}

// commandLine are the settings of --set.
func (l *loader) commandLine() []setting {
	var settings []setting
	for _, s := range l.opt.Set {
		if setting, ok := l.fromFlag(s); ok {
			settings = append(settings, setting)
		}
	}
	return settings
}

// fromFlag parses the value in a text that is as long as the flag, so that its places are those of the flag.
func (l *loader) fromFlag(s Setting) (setting, bool) {
	shown := source.NewFile("--set", []byte(s.Path+"="+s.Value))
	if strings.TrimSpace(s.Value) == "" {
		l.add(source.Fault{File: shown, Pos: source.Pos{Line: 1, Col: 1}, What: "no value for " + s.Path, Hint: "write " + s.Path + "=VALUE"})
		return setting{}, false
	}
	tree, faults := source.Parse(source.NewFile("--set", []byte(strings.Repeat(" ", len([]rune(s.Path))+1)+s.Value)))
	for _, f := range faults {
		f.File = shown
		l.add(f)
	}
	if tree == nil {
		return setting{}, false
	}
	relocate(tree, shown)
	return setting{path: s.Path, at: source.Pos{Line: 1, Col: 1}, value: tree}, true
}

func relocate(n *source.Node, file *source.File) {
	n.File = file
	for _, item := range n.Items {
		relocate(item, file)
	}
	for _, entry := range n.Entries {
		relocate(entry.Value, file)
	}
}

// setter puts one value into the tree of a loop.
type setter struct {
	setting
	fault *source.Fault
}

// with returns a copy of the tree that has the value at its path; what the path does not touch is shared.
func (s setting) with(tree *source.Node) (*source.Node, *source.Fault) {
	w := &setter{setting: s}
	path := segments(s.path)
	if path[0] == "max_iterations" {
		path = append([]string{"terminate"}, path...)
		w.path = "terminate." + w.path
		w.at.Col -= len("terminate.")
	}
	if path[0] != "terminate" {
		return w.into(tree, path, 0), w.fault
	}
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
	f := w.value.Fault(hint, format, args...)
	f.Pos, f.Len = w.segmentPos(i), len([]rune(segments(w.path)[i]))
	w.fault = &f
}

// segmentPos is where segment i of the path stands.
func (w *setter) segmentPos(i int) source.Pos {
	before := strings.Join(segments(w.path)[:i], ".")
	at := w.at
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
		return source.New(w.value, &source.Object{})
	}
	c := *n
	c.Entries = append(make([]source.Entry, 0, len(n.Entries)+1), n.Entries...)
	return &c
}

// replace sets a key of a copied mapping; segment i of the path is the key. A key that was there keeps its place.
func (w *setter) replace(n *source.Node, key string, i int, value *source.Node) {
	for j := range n.Entries {
		if n.Entries[j].Key == key {
			n.Entries[j].Value = value
			return
		}
	}
	n.Entries = append(n.Entries, source.Entry{Key: key, KeyPos: w.segmentPos(i), Value: value})
}

// into returns n with the value at path[i:].
func (w *setter) into(n *source.Node, path []string, i int) *source.Node {
	switch {
	case i == len(path):
		return w.value
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
	if name := item.Get("name"); name != nil {
		return name.Text
	}
	return numbered(list, i+1)
}

func itemNames(n *source.Node) []string {
	var names []string
	for _, item := range n.Items {
		if name := item.Get("name"); name != nil {
			names = append(names, name.Text)
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
		w.refuse(i, "", "%s is no mapping, so it has no %q", at, path[i])
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
		return w.value
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
		w.refuse(i, nearKind(path[i]), "no condition is named %q", path[i])
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
		w.refuse(i, didYouMean(path[i], conditionNames(n)), "no condition is named %q", path[i])
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

// below returns the value n of a condition with the value at path[i:].
func (w *setter) below(kind string, n *source.Node, path []string, i int) *source.Node {
	switch {
	case i == len(path):
		return w.value
	case kind == string(KindAny) || kind == string(KindAll):
		if n == nil || n.Kind != source.List {
			n = source.New(w.value, []any{})
		}
		return w.condition(n, path, i)
	case kind == string(KindMaxIterations) || kind == string(KindWhen):
		w.refuse(i, "", "%s has no %q", kind, path[i])
		return w.value
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
	names, kinds := make([]string, len(n.Items)), map[string]int{}
	for i, item := range n.Items {
		kind := kindOf(item)
		kinds[kind]++
		names[i] = numbered(kind, kinds[kind])
		if name := item.Get("name"); name != nil {
			names[i] = name.Text
		}
	}
	return names
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
