package source

import (
	"reflect"
	"time"
)

// NodeDecoder is a type that reads itself, such as "off | number" or "text | list". It sees no Null; faults go to d.
type NodeDecoder interface {
	DecodeNode(n *Node, d *Decoder)
}

// Decoder fills Go values from nodes and gathers all that is wrong.
type Decoder struct {
	faults Faults
	shapes map[reflect.Type]*shape
}

// Decode fills what into points to and returns every fault, sorted. Fields whose key is absent keep their value.
//
// Struct tags: `yaml:"name"` (fields without it are left alone), `yaml:",inline"` on an embedded struct,
// `yaml:",here"` on a *Node field that receives the struct's own node; `need:"required"`; `min:"0"`, `max:"1"`
// (inclusive) and `above:"0"` (exclusive) for numbers and durations; `enum:"a|b"` and `hint:"..."` of a
// word that is none of these; `minlen:"1"` for text, lists and mappings; `doc:"..."`. On lists, limits of numbers and enum apply to the items.
//
// Types: string, bool, int, int64, float64, time.Duration (never negative), any (as Plain gives it), *Node, structs,
// pointers, slices, map[string]T, Maybe[T], and every NodeDecoder.
func Decode(n *Node, into any) Faults { return (&Decoder{}).Whole(n, into) }

// Whole is the function Decode by a Decoder that is used again: it knows the types that it has met.
func (d *Decoder) Whole(n *Node, into any) Faults {
	d.Decode(n, into)
	faults := d.faults
	d.faults = nil
	faults.Sort()
	return faults
}

// Decode fills what into points to, as part of a larger value.
func (d *Decoder) Decode(n *Node, into any) {
	d.value(n, reflect.ValueOf(into).Elem(), rules{})
}

// DecodeTagged is Decode with the tags that a field of that type would have, such as `min:"0" max:"1"`.
func (d *Decoder) DecodeTagged(n *Node, into any, tag reflect.StructTag) {
	v := reflect.ValueOf(into).Elem()
	d.value(n, v, rulesOf(tag))
}

// Fault reports a fault at n; hint may be "".
func (d *Decoder) Fault(n *Node, hint, format string, args ...any) {
	d.Add(n.Fault(hint, format, args...))
}

// Warn reports at n what is doubtful.
func (d *Decoder) Warn(n *Node, hint, format string, args ...any) {
	warning := n.Fault(hint, format, args...)
	warning.Warning = true
	d.Add(warning)
}

// Add reports a fault made elsewhere, such as one inside an expression.
func (d *Decoder) Add(f Fault) {
	d.faults.add(f)
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	nodeType     = reflect.TypeFor[*Node]()
	hookType     = reflect.TypeFor[NodeDecoder]()
)

// value fills v, which can be set, from n.
func (d *Decoder) value(n *Node, v reflect.Value, r rules) {
	t := v.Type()
	switch {
	case n.bad:
	case t == nodeType:
		v.Set(reflect.ValueOf(n))
	case t.Kind() == reflect.Interface:
		d.plain(n, v)
	case n.Kind == Null:
		d.Fault(n, "give a value or delete the key", "want %s, got %s", wanted(t, r), n.describe())
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		d.value(n, v.Elem(), r)
	case d.shape(t).hook:
		v.Addr().Interface().(NodeDecoder).DecodeNode(n, d)
	case d.shape(t).maybe != nil:
		d.maybe(n, v, r)
	default:
		d.typed(n, v, r)
	}
}

// typed fills what has the same type in YAML and in Go.
func (d *Decoder) typed(n *Node, v reflect.Value, r rules) {
	switch kind := v.Kind(); {
	case v.Type() == durationType:
		d.duration(n, v, r)
	case kind == reflect.String:
		d.text(n, v, r)
	case kind == reflect.Bool:
		d.boolean(n, v, r)
	case kind == reflect.Int || kind == reflect.Int64:
		d.whole(n, v, r)
	case kind == reflect.Float64:
		d.float(n, v, r)
	case kind == reflect.Slice:
		d.list(n, v, r)
	case kind == reflect.Map:
		d.dictionary(n, v, r)
	case kind == reflect.Struct:
		d.structure(n, v, r)
	default:
		panic("source: no way to decode into " + v.Type().String())
	}
}
