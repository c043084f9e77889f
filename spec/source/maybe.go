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
