package source

import (
	"regexp"
	"strconv"
	"strings"
)

// layout is how the entries of a mapping are written that have lines of their own.
type layout struct {
	newline string
	step    int  // spaces between a key and those below it
	open    bool // mappings have lines for their entries rather than braces
}

// entry is a key, whose column is given, with its value.
func (l layout) entry(key string, value *Node, col int) string {
	text := keyText(key) + ":"
	switch {
	case value.Kind == List && len(value.Items) > 0:
		for _, item := range value.Items {
			text += l.newline + spaces(col+l.step-1) + "- " + flowText(item)
		}
	case value.Kind == Map && len(value.Entries) > 0 && l.open:
		for _, e := range value.Entries {
			text += l.newline + spaces(col+l.step-1) + l.entry(e.Key, e.Value, col+l.step)
		}
	default:
		text += " " + flowText(value)
	}
	return text
}

const usualStep = 2

// stepOf is by how much the mappings and lists in a mapping are indented.
func stepOf(n *Node, col int) int {
	for _, e := range n.Entries {
		if e.Value.form == block && e.Value.origin == own && e.Value.Pos.Col > col {
			return e.Value.Pos.Col - col
		}
	}
	return usualStep
}

// prefersBlocks says that the mappings in a mapping have lines for their entries, all of them.
func prefersBlocks(n *Node) bool {
	blocks := false
	for _, e := range n.Entries {
		if e.Value.Kind != Map {
			continue
		}
		if e.Value.form == flow {
			return false
		}
		blocks = true
	}
	return blocks
}

// itemText is an item of a list: a mapping of one key needs no braces, unless the others have some.
func itemText(item *Node, neighbour form) string {
	if item.Kind == Map && len(item.Entries) == 1 && neighbour != flow {
		return keyText(item.Entries[0].Key) + ": " + flowText(item.Entries[0].Value)
	}
	return flowText(item)
}

// flowText is a value on one line, good for any place.
func flowText(n *Node) string {
	switch n.Kind {
	case Map:
		return "{" + flowEntries(n.Entries) + "}"
	case List:
		texts := make([]string, len(n.Items))
		for i := range n.Items {
			texts[i] = flowText(n.Items[i])
		}
		return "[" + strings.Join(texts, ", ") + "]"
	case String:
		return stringText(n.Text)
	case Null:
		return "null"
	}
	return n.Text
}

func flowEntries(entries []Entry) string {
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = keyText(e.Key) + ": " + flowText(e.Value)
	}
	return strings.Join(texts, ", ")
}

func keyText(key string) string { return stringText(key) }

// plainText is what may stand without quotes anywhere, if it is no number and the like.
var plainText = regexp.MustCompile(`^[\pL_][\pL\pN_./%+-]*( [\pL\pN_./%+-]+)*$|^[0-9.]+(ns|us|ms|s|m|h)([0-9.]+(ns|us|ms|s|m|h))*$`)

// stringText is a text, in quotes where it needs them.
func stringText(s string) string {
	if !plainText.MatchString(s) {
		return quoted(s, double)
	}
	if n, faults := Parse(NewFile("", []byte("- "+s))); faults != nil || n.Items[0].Kind != String || n.Items[0].form != plain {
		return quoted(s, double)
	}
	return s
}

// quoted is a text in quotes: in single ones, if these were asked for and can hold it.
func quoted(s string, quotes form) string {
	if quotes == single && !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return strconv.Quote(s)
}
