// Package source reads YAML with positions. Parse turns a text into a tree in which every value knows its place, Decode
// decodes a tree strictly into Go structs, and Schema describes the same structs as a JSON Schema.
//
// Every fault is reported at once, each with its source line, a caret and a hint. It is the only importer of yaml.v3, whose own decoding silently turns 1.5 into 1, 010 into 8,
// drops null items and ignores a second document.
//
// The stages, in order: File, Parse (characters, syntax, limits, tree), Decode or Schema, Faults.
//
// It is no stable API.
package source

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
	shared bool // the value of an anchor, an alias or a merge, which may stand in several places
	bad    bool // Parse has a fault about it, so Decode says nothing
}

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

// Object is a mapping as a plain value: keys in the order of the file.
type Object struct {
	Keys   []string
	Values []any // as many as keys
}

// ObjectOf is an object of keys and values in turn.
func ObjectOf(pairs ...any) *Object {
	o := &Object{}
	for i := 0; i < len(pairs); i += 2 {
		o.Set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// Set adds a key, which the object has not, with its value.
func (o *Object) Set(key string, value any) {
	o.Keys, o.Values = append(o.Keys, key), append(o.Values, value)
}

// Get returns the value of a key.
func (o *Object) Get(key string) (value any, ok bool) {
	if at := slices.Index(o.Keys, key); at >= 0 {
		return o.Values[at], true
	}
	return nil, false
}

// MarshalJSON keeps the order of the keys.
func (o *Object) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for i, key := range o.Keys {
		name, err := json.Marshal(key)
		value, wrong := json.Marshal(o.Values[i])
		if err = cmp.Or(err, wrong); err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, name...), ':'), value...)
	}
	return append(text, '}'), nil
}

// Plain returns n as nil, bool, int64, float64, string, []any or *Object. What is no plain decimal number
// (010, 0x10, .nan) or does not fit stays the text that it is; Decode into an any field refuses it.
func (n *Node) Plain() any {
	switch n.Kind {
	case Null:
		return nil
	case Bool:
		return strings.EqualFold(n.Text, "true")
	case List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = item.Plain()
		}
		return list
	case Map:
		o := &Object{Keys: make([]string, len(n.Entries)), Values: make([]any, len(n.Entries))}
		for i, entry := range n.Entries {
			o.Keys[i], o.Values[i] = entry.Key, entry.Value.Plain()
		}
		return o
	}
	return n.number()
}

// number falls back to the text, which is also right for a String. Digits alone are a Float only beyond 64 bits,
// where a float64 would silently lose the last of them.
func (n *Node) number() any {
	if x, ok := n.wholeNumber(); ok {
		return x
	}
	if x, ok := n.decimal(); ok && n.Kind == Float && !plainDigits(n.Text) {
		return x
	}
	return n.Text
}

// wholeNumber reads an Int in plain decimal digits that fits.
func (n *Node) wholeNumber() (int64, bool) {
	if n.Kind != Int || !plainDigits(n.Text) {
		return 0, false
	}
	x, err := strconv.ParseInt(n.Text, 10, 64)
	return x, err == nil
}

// plainDigits refuses 010, which is 8 to some readers and 10 to others, as well as 0x10 and 1_000.
func plainDigits(s string) bool {
	s = strings.TrimLeft(s[:min(1, len(s))], "+-") + s[min(1, len(s)):]
	if s == "" || len(s) > 1 && s[0] == '0' {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}

var decimalFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// decimal reads an Int or Float in decimal notation that is finite.
func (n *Node) decimal() (float64, bool) {
	if x, ok := n.wholeNumber(); ok {
		return float64(x), true
	}
	if n.Kind != Float || !decimalFloat.MatchString(n.Text) {
		return 0, false
	}
	x, err := strconv.ParseFloat(n.Text, 64)
	return x, err == nil && !math.IsInf(x, 0)
}

// Relocate makes a node and all below it part of another file, at the same positions.
func (n *Node) Relocate(file *File) {
	n.File = file
	for _, item := range n.Items {
		item.Relocate(file)
	}
	for _, entry := range n.Entries {
		entry.Value.Relocate(file)
	}
}
