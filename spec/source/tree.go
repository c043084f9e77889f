package source

import (
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Kind is what a value is, as it is written: 1 is an Int, 1.0 a Float, "1" and off are Strings.
type Kind uint8

const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	List
	Map
)

// Node is a value of the tree. Aliases and merges are expanded: every node has one parent and may be changed.
// Text is the scalar as written (10, 0x10, True) or, for a String, its content.
type Node struct {
	Kind    Kind
	Text    string
	Items   []*Node // of a List
	Entries []Entry // of a Map, in the order of the file
	File    *File   // nil for what Go code made out of nothing
	Pos     Pos

	form   form
	origin origin
	bad    bool // Parse has a fault about it, so Decode says nothing
}

// origin tells what stands in its own place from what stands in several.
type origin uint8

const (
	own      origin = iota
	anchored        // the value of an anchor: aliases may repeat it
	foreign         // of an alias: its text stands elsewhere
	merged          // of a merge: its key stands elsewhere, too
)

// Entry is a key of a mapping with its value.
type Entry struct {
	Key    string
	KeyPos Pos
	Value  *Node
}

func (e Entry) file() *File { return e.Value.File }

// form is how a value is written, which decides where the runes of its text stand.
type form uint8

const (
	made    form = iota // by Go code: it has a place, but no text there
	plain               // abc
	date                // 2026-01-31, which other YAML readers take for a date
	single              // 'abc'
	double              // "abc"
	literal             // |
	folded              // >
	block               // indented list or mapping
	flow                // [ ] or { }
)

// New makes a node out of a plain value (nil, bool, int, int64, float64, string, []any, *Object).
// It stands where at stands, so that faults point at what set it; at may be nil.
func New(at *Node, value any) *Node {
	n := &Node{}
	if at != nil {
		n.File, n.Pos = at.File, at.Pos
	}
	switch v := value.(type) {
	case nil:
	case bool:
		n.Kind, n.Text = Bool, strconv.FormatBool(v)
	case int:
		n.Kind, n.Text = Int, strconv.Itoa(v)
	case int64:
		n.Kind, n.Text = Int, strconv.FormatInt(v, 10)
	case float64:
		n.Kind, n.Text = Float, formatFloat(v)
	case string:
		n.Kind, n.Text = String, v
	case []any:
		n.Kind = List
		for _, item := range v {
			n.Items = append(n.Items, New(at, item))
		}
	case *Object:
		n.Kind = Map
		for i, key := range v.Keys {
			n.Set(key, New(at, v.Values[i]))
		}
	default:
		panic("source.New: not a plain value")
	}
	return n
}

func formatFloat(v float64) string {
	switch {
	case math.IsNaN(v):
		return ".nan"
	case math.IsInf(v, 0):
		return map[bool]string{true: ".inf", false: "-.inf"}[v > 0]
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if plainDigits(text) {
		text += ".0"
	}
	return text
}

// Get returns the value of a key, nil when n is nil, no mapping, or has no such key.
func (n *Node) Get(key string) *Node {
	if i := n.index(key); i >= 0 {
		return n.Entries[i].Value
	}
	return nil
}

func (n *Node) index(key string) int {
	if n == nil {
		return -1
	}
	return slices.IndexFunc(n.Entries, func(e Entry) bool { return e.Key == key })
}

// Len is the number of items or keys.
func (n *Node) Len() int {
	if n == nil {
		return 0
	}
	return len(n.Items) + len(n.Entries)
}

// Set replaces the value of a key or appends the key, which then stands where its value stands.
func (n *Node) Set(key string, value *Node) {
	entry := Entry{Key: key, KeyPos: value.Pos, Value: value}
	if i := n.index(key); i >= 0 {
		n.Entries[i] = entry
		return
	}
	n.Entries = append(n.Entries, entry)
}

// Delete removes a key if it is there.
func (n *Node) Delete(key string) {
	n.Entries = slices.DeleteFunc(n.Entries, func(e Entry) bool { return e.Key == key })
}

// Append adds an item to a list.
func (n *Node) Append(item *Node) { n.Items = append(n.Items, item) }

// Clone copies the whole tree below n; changes to the copy leave n alone.
func (n *Node) Clone() *Node {
	if n == nil {
		return nil
	}
	c := *n
	c.Items, c.Entries = slices.Clone(n.Items), slices.Clone(n.Entries)
	for i, item := range c.Items {
		c.Items[i] = item.Clone()
	}
	for i, entry := range c.Entries {
		c.Entries[i].Value = entry.Value.Clone()
	}
	return &c
}

func runes(s string) int { return utf8.RuneCountInString(s) }
