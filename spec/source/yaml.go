package source

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// converter builds our tree out of yaml.v3's.
type converter struct {
	file   *File
	faults Faults
}

func (c *converter) node(y *yaml.Node) *Node {
	shared := y.Kind == yaml.AliasNode || y.Anchor != ""
	for y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	n := &Node{File: c.file, Pos: c.pos(y), form: formOf(y), shared: shared}
	switch y.Kind {
	case yaml.MappingNode:
		n.Kind = Map
		c.mapping(n, y)
	case yaml.SequenceNode:
		n.Kind = List
		n.Items = make([]*Node, len(y.Content))
		for i, item := range y.Content {
			n.Items[i] = c.node(item)
		}
	default:
		n.Kind, n.Text = kindOf(y.Tag), y.Value
	}
	c.checkTag(n, y)
	return n
}

// pos is where the value itself starts: yaml.v3 points at the tag or anchor before it.
func (c *converter) pos(y *yaml.Node) Pos {
	p := Pos{max(y.Line, 1), max(y.Column, 1)}
	if y.Anchor == "" && y.Style&yaml.TaggedStyle == 0 {
		return p
	}
	at := c.file.at(p)
	if at.skipProperties(); at.atEnd() {
		return p
	}
	return at.pos()
}

func formOf(y *yaml.Node) form {
	switch {
	case y.Style&yaml.SingleQuotedStyle != 0:
		return single
	case y.Style&yaml.DoubleQuotedStyle != 0:
		return double
	case y.Style&yaml.LiteralStyle != 0:
		return literal
	case y.Style&yaml.FoldedStyle != 0:
		return folded
	case y.Style&yaml.FlowStyle != 0:
		return flow
	case y.Kind != yaml.ScalarNode:
		return block
	case y.Tag == "!!timestamp":
		return date
	}
	return plain
}

func kindOf(tag string) Kind {
	switch tag {
	case "!!null":
		return Null
	case "!!bool":
		return Bool
	case "!!int":
		return Int
	case "!!float":
		return Float
	}
	return String
}

// checkTag allows the tags of JSON's types, as far as they agree with the value.
func (c *converter) checkTag(n *Node, y *yaml.Node) {
	if y.Style&yaml.TaggedStyle == 0 {
		return
	}
	known := map[Kind]string{Bool: "!!bool", Int: "!!int", Float: "!!float", String: "!!str", List: "!!seq", Map: "!!map", Null: "!!null"}[n.Kind]
	switch {
	case y.Tag != known && strings.HasPrefix(y.Tag, "!!"):
		c.faults.add(n.Fault("delete the tag", "unknown tag %s", y.Tag))
	case y.Tag != known:
		c.faults.add(n.Fault("put text that starts with ! in quotes", "unknown tag %s", y.Tag))
	case !tagHolds(n):
		c.faults.add(n.Fault("delete the tag", "%s is no %s", quote(n.Text), y.Tag))
	}
}

func tagHolds(n *Node) bool {
	switch n.Kind {
	case Null:
		return n.Text == "" || n.Text == "~" || n.Text == "null"
	case Bool:
		return n.Text == "true" || n.Text == "false"
	case Int:
		return plainDigits(n.Text)
	case Float:
		return decimalFloat.MatchString(n.Text)
	}
	return true
}

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
		c.faults.add(k.Fault("", "duplicate key %s; first at line %d", quote(k.Text), (*known.entries)[i].KeyPos.Line))
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
			c.faults.add(source.Fault("write <<: *name, where &name comes before a mapping", "want a mapping or a list of mappings after <<, got %s", source.describe()))
			continue
		}
		for _, e := range source.Entries {
			if known.index(e.Key) < 0 {
				e.Value.shared = true
				known.add(e)
			}
		}
	}
}
