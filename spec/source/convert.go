package source

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// converter builds our tree out of yaml.v3's.
type converter struct {
	file   *File
	faults Faults
}

func (c *converter) node(y *yaml.Node) *Node {
	from := originOf(y)
	for y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	n := &Node{File: c.file, Pos: c.pos(y), form: formOf(y), origin: from}
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

func originOf(y *yaml.Node) origin {
	switch {
	case y.Kind == yaml.AliasNode:
		return foreign
	case y.Anchor != "":
		return anchored
	}
	return own
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

// tagHint tells who wrote a text that starts with ! from who meant a tag.
func tagHint(tag string) string {
	if strings.HasPrefix(tag, "!!") {
		return "delete the tag"
	}
	return "put text that starts with ! in quotes"
}

// checkTag allows the tags of JSON's types, as far as they agree with the value.
func (c *converter) checkTag(n *Node, y *yaml.Node) {
	if y.Style&yaml.TaggedStyle == 0 {
		return
	}
	known := map[Kind]string{Bool: "!!bool", Int: "!!int", Float: "!!float", String: "!!str", List: "!!seq", Map: "!!map", Null: "!!null"}[n.Kind]
	if y.Tag != known {
		c.faults.add(n.Fault(tagHint(y.Tag), "unknown tag %s", y.Tag))
	} else if !tagHolds(n) {
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
