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

// setter puts one value into the tree of a loop.
type setter struct {
	setting
	fault *source.Fault
	// preset is the condition of the pattern, where none of its kind is written.
	preset     *source.Node
	presetKind Kind
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
	w.presetKind, w.preset = presetNode(tree, s.value)
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
