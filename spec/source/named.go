package source

import (
	"reflect"
	"strings"
)

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

// definitionName is the Go name of a type without the package path of a type parameter: Named[x/y.Root] is NamedRoot.
func definitionName(t reflect.Type) string {
	name, parameter, _ := strings.Cut(strings.TrimSuffix(t.Name(), "]"), "[")
	item, list := strings.CutPrefix(parameter, "[]")
	item = strings.ReplaceAll(item[strings.LastIndexByte(item, '.')+1:], "interface {}", "Any")
	if list {
		item += "List"
	}
	return name + item
}
