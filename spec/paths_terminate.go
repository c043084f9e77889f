package spec

import "github.com/agentbench/agentbench/spec/source"

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

// below returns the value n of a condition with the value at path[i:]. Of a condition that only the pattern presets, the
// fields that the path does not name keep their preset.
func (w *setter) below(kind string, n *source.Node, path []string, i int) *source.Node {
	if n == nil && kind == string(w.presetKind) {
		n = w.preset
	}
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
