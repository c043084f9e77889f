package source

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// keys finds what stands twice; the few keys of a usual mapping need no map.
type keys struct {
	entries *[]Entry
	byName  map[string]int
}

const fewKeys = 16

func (k *keys) index(name string) int {
	if len(*k.entries) > fewKeys && k.byName == nil {
		k.byName = make(map[string]int, 2*len(*k.entries))
		for i, e := range *k.entries {
			k.byName[e.Key] = i
		}
	}
	if k.byName != nil {
		if i, found := k.byName[name]; found {
			return i
		}
		return -1
	}
	for i, e := range *k.entries {
		if e.Key == name {
			return i
		}
	}
	return -1
}

func (k *keys) add(e Entry) {
	if k.byName != nil {
		k.byName[e.Key] = len(*k.entries)
	}
	*k.entries = append(*k.entries, e)
}

// mapping fills n with the keys of y. Keys that n has itself win over merged ones, earlier merges over later ones.
func (c *converter) mapping(n *Node, y *yaml.Node) {
	n.Entries = make([]Entry, 0, len(y.Content)/2)
	known := keys{entries: &n.Entries}
	var merged []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		if y.Content[i].Tag == "!!merge" {
			merged = append(merged, y.Content[i+1])
			continue
		}
		if !c.entry(&known, y.Content[i], y.Content[i+1]) {
			n.bad = true
		}
	}
	for _, value := range merged {
		c.merge(&known, value)
	}
}

// entry adds a key and its value; it is false for a key that makes the whole mapping meaningless.
func (c *converter) entry(known *keys, key, value *yaml.Node) bool {
	k := c.node(key)
	if k.Kind != String || k.form == date {
		c.faults.add(c.keyFault(k))
		return k.Kind != Map && k.Kind != List
	}
	if i := known.index(k.Text); i >= 0 {
		c.faults.add(k.Fault("", "key %s stands twice; first at line %d", quote(k.Text), (*known.entries)[i].KeyPos.Line))
		return true
	}
	known.add(Entry{Key: k.Text, KeyPos: k.Pos, Value: c.node(value)})
	return true
}

// keyFault refuses a key that is not text.
func (c *converter) keyFault(key *Node) Fault {
	hint := fmt.Sprintf(`put it in quotes: "%s"`, key.Text)
	switch {
	case key.Kind == Map && key.form == flow:
		hint = "put text that starts with {{ in quotes"
	case key.Kind == Map || key.Kind == List || key.Text == "":
		hint = "a key is a word before a colon"
	}
	return key.Fault(hint, "want a key, got %s", key.describe())
}

// merge takes over what "<<" names: a mapping or a list of mappings.
func (c *converter) merge(known *keys, y *yaml.Node) {
	n := c.node(y)
	sources := []*Node{n}
	if n.Kind == List {
		sources = n.Items
	}
	for _, source := range sources {
		if source.Kind != Map {
			c.faults.add(source.Fault("write <<: *name, where &name stands before a mapping", "want a mapping or a list of mappings after <<, got %s", source.describe()))
			continue
		}
		for _, e := range source.Entries {
			if known.index(e.Key) < 0 {
				e.Value.origin = merged
				known.add(e)
			}
		}
	}
}
