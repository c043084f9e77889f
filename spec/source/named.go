package source

import (
	"reflect"
	"strings"
)

// Maybe is a value that may be switched off: `threshold: 0.9` or `threshold: off`.
// The zero Maybe is one that nobody wrote. Limits in a field's tags apply to the value.
type Maybe[T any] struct {
	Value T
	Set   bool // a value or off was written
	Off   bool // off was written; Value is zero
}

func (Maybe[T]) inner() reflect.Type { return reflect.TypeFor[T]() }

// maybe fills the fields of a Maybe.
func (d *Decoder) maybe(n *Node, v reflect.Value, r rules) {
	v.FieldByName("Set").SetBool(true)
	value, off := v.FieldByName("Value"), v.FieldByName("Off")
	switch {
	case n.Kind == String && n.Text == "off":
		off.SetBool(true)
		value.SetZero()
	case meansOff(n) && value.Kind() != reflect.Bool:
		d.Fault(n, "write off", "want %s, got %s", wanted(v.Type(), r), n.describe())
	default:
		off.SetBool(false)
		d.value(n, value, r.orOff())
	}
}

// meansOff knows the words of those who forgot which one it is.
func meansOff(n *Node) bool {
	switch strings.ToLower(n.Text) {
	case "false", "off", "no", "none", "never":
		return n.Kind == Bool || n.Kind == String
	}
	return false
}

// Named is a mapping from names to values of one type, in the order of the file.
type Named[T any] []Pair[T]

// Pair is a name with its value.
type Pair[T any] struct {
	Key    string
	Value  T
	KeyPos Pos
	Node   *Node // of the value
}

// Get returns the value of a name.
func (named Named[T]) Get(key string) (value T, ok bool) {
	for i := range named {
		if named[i].Key == key {
			return named[i].Value, true
		}
	}
	return value, false
}

// Keys are the names in order.
func (named Named[T]) Keys() []string {
	keys := make([]string, len(named))
	for i := range named {
		keys[i] = named[i].Key
	}
	return keys
}

// DecodeNode makes Named a NodeDecoder.
func (named *Named[T]) DecodeNode(n *Node, d *Decoder) {
	if n.Kind != Map {
		d.Fault(n, "write name: value", "want a mapping, got %s", n.describe())
		return
	}
	*named = make(Named[T], len(n.Entries))
	for i, entry := range n.Entries {
		pair := &(*named)[i]
		pair.Key, pair.KeyPos, pair.Node = entry.Key, entry.KeyPos, entry.Value
		d.Decode(entry.Value, &pair.Value)
	}
}

// JSONSchema makes Named a SchemaWriter.
func (named *Named[T]) JSONSchema(g *Generator) map[string]any {
	var value T
	return map[string]any{"type": "object", "additionalProperties": g.Of(&value)}
}
