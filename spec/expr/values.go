package expr

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// errNotNative is for Go types that CEL values are asked to become; nothing of ours asks.
var errNotNative = errors.New("the value has no Go form")

// recordType is the run-time type of every record; which one it is the compiler has checked.
var recordType = types.NewObjectType("record", traits.FieldTesterType|traits.IndexerType)

// objectValue is an Object as CEL sees it: a map that visits its keys in order.
type objectValue Object

func (o *objectValue) object() *Object { return (*Object)(o) }

func (o *objectValue) ConvertToNative(reflect.Type) (any, error) { return nil, errNotNative }
func (o *objectValue) Type() ref.Type                            { return types.MapType }
func (o *objectValue) Value() any                                { return o.object() }
func (o *objectValue) Size() ref.Val                             { return types.Int(len(o.keys)) }
func (o *objectValue) IsZeroValue() bool                         { return len(o.keys) == 0 }

func (o *objectValue) ConvertToType(t ref.Type) ref.Val { return convert(o, types.MapType, t) }

func (o *objectValue) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	i := o.object().find(string(name))
	if i < 0 {
		return nil, false
	}
	return adapter{}.NativeToValue(o.values[i]), true
}

func (o *objectValue) Get(key ref.Val) ref.Val {
	if value, ok := o.Find(key); ok {
		return value
	}
	return types.NewErr("no such key: %v", key)
}

func (o *objectValue) Contains(key ref.Val) ref.Val {
	_, ok := o.Find(key)
	return types.Bool(ok)
}

func (o *objectValue) Equal(other ref.Val) ref.Val {
	m, ok := other.(traits.Mapper)
	if !ok || m.Size() != o.Size() {
		return types.False
	}
	for i, key := range o.keys {
		theirs, ok := m.Find(types.String(key))
		if !ok {
			return types.False
		}
		if equal := types.Equal(adapter{}.NativeToValue(o.values[i]), theirs); equal != types.True {
			return equal
		}
	}
	return types.True
}

func (o *objectValue) Fold(f traits.Folder) {
	for i, key := range o.keys {
		if !f.FoldEntry(key, o.values[i]) {
			return
		}
	}
}

func (o *objectValue) Iterator() traits.Iterator {
	return types.NewStringList(adapter{}, o.keys).Iterator()
}

// listValue is a plain list as CEL sees it.
type listValue struct {
	traits.Lister
	items []any
}

func (l *listValue) IsZeroValue() bool { return len(l.items) == 0 }

// recordValue is a record that is used as a whole: the element of a comprehension, or an operand of ==.
type recordValue struct{ record Fields }

func (r *recordValue) ConvertToNative(reflect.Type) (any, error) { return nil, errNotNative }
func (r *recordValue) Type() ref.Type                            { return recordType }
func (r *recordValue) Value() any                                { return r.record }

func (r *recordValue) ConvertToType(t ref.Type) ref.Val { return convert(r, recordType, t) }

func (r *recordValue) Get(name ref.Val) ref.Val {
	field, ok := name.(types.String)
	if !ok {
		return types.NewErr("a record has no field %v", name)
	}
	return adapter{}.NativeToValue(r.record.Field(string(field)))
}

func (r *recordValue) IsSet(name ref.Val) ref.Val {
	field, ok := name.(types.String)
	return types.Bool(ok && r.record.Field(string(field)) != nil)
}

// Equal is an error between two records: which fields should count is for the expression to say.
func (r *recordValue) Equal(other ref.Val) ref.Val {
	if _, ok := other.(*recordValue); !ok {
		return types.False
	}
	return types.NewErr("records are not compared whole: compare their fields")
}

func convert(v ref.Val, own *types.Type, to ref.Type) ref.Val {
	switch to {
	case own:
		return v
	case types.TypeType:
		return own
	}
	return types.NewErr("%s cannot become %s", own, to.TypeName())
}

// indexFrom is the number of keys from which an Object keeps a map beside its slice: below it a scan is faster.
const indexFrom = 9

// Object is a JSON-like object that keeps its keys in the order in which they were set. The zero Object is empty.
// Once it is shared it must not be changed.
type Object struct {
	keys   []string
	values []any
	index  map[string]int
	inCEL  bool // the values are CEL's own: made by an expression and not seen by anybody else
}

// NewObject returns an empty Object with room for n keys.
func NewObject(n int) *Object {
	return &Object{keys: make([]string, 0, n), values: make([]any, 0, n)}
}

// Len is the number of keys; 0 for nil.
func (o *Object) Len() int {
	if o == nil {
		return 0
	}
	return len(o.keys)
}

// Keys are the keys in order; the caller must not change them.
func (o *Object) Keys() []string {
	if o == nil {
		return nil
	}
	return o.keys
}

// At is the i-th key and its value.
func (o *Object) At(i int) (string, any) { return o.keys[i], o.values[i] }

// Get is the value of a key and whether there is one.
func (o *Object) Get(key string) (any, bool) {
	i := o.find(key)
	if i < 0 {
		return nil, false
	}
	return o.values[i], true
}

// Set adds the key at the end, or replaces its value where it stands.
func (o *Object) Set(key string, value any) {
	if i := o.find(key); i >= 0 {
		o.values[i] = value
		return
	}
	o.keys = append(o.keys, key)
	o.values = append(o.values, value)
	switch n := len(o.keys); {
	case n > indexFrom:
		o.index[key] = n - 1
	case n == indexFrom:
		o.index = make(map[string]int, 2*n)
		for i, key := range o.keys {
			o.index[key] = i
		}
	}
}

func (o *Object) find(key string) int {
	if o == nil {
		return -1
	}
	if o.index != nil {
		if i, ok := o.index[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range o.keys {
		if k == key {
			return i
		}
	}
	return -1
}

// Equal reports whether two plain values are the same: numbers by value whatever their type, lists in order, objects
// whatever the order of their keys.
func Equal(a, b any) bool {
	if x, ok := asNumber(a); ok {
		y, ok := asNumber(b)
		return ok && x == y
	}
	switch x := a.(type) {
	case *Object:
		y, ok := b.(*Object)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for i, key := range x.Keys() {
			if other, ok := y.Get(key); !ok || !Equal(x.values[i], other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, Equal)
	}
	switch b.(type) {
	case *Object, []any:
		return false
	}
	return a == b
}

func asNumber(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	}
	return 0, false
}

// Maps is a plain value with a map for each object, as libraries that know no
// order of keys want it.
func Maps(value any) any {
	switch v := value.(type) {
	case *Object:
		object := make(map[string]any, v.Len())
		for i := range v.Len() {
			key, item := v.At(i)
			object[key] = Maps(item)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = Maps(v[i])
		}
		return list
	}
	return value
}

// plainer turns CEL values into plain ones. The static type tells which record a record is.
type plainer struct {
	structs map[string]*structType
	left    int // how many values may still come
}

func (p *plainer) plain(value ref.Val, t *cel.Type) (any, error) {
	if p.left--; p.left < 0 {
		return nil, errTooManyValues
	}
	switch v := value.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Double:
		return float64(v), nil
	case types.String:
		return string(v), nil
	case types.Duration:
		return v.Duration, nil
	case *objectValue:
		return p.object(v, parameter(t, 1))
	case *recordValue:
		return p.record(v, t)
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return p.plain(v.GetValue(), parameter(t, 0))
	case traits.Lister:
		return p.list(v, parameter(t, 0))
	case traits.Mapper: // of a transformMap that inserted nothing; every other map is an object
		if v.Size() != types.IntZero {
			return nil, errors.New("the result is a map without an order")
		}
		return NewObject(0), nil
	case types.Uint:
		return int64(v), nil
	case types.Bytes:
		return string(v), nil
	case types.Timestamp:
		return v.Format(time.RFC3339Nano), nil
	case ref.Type:
		return v.TypeName(), nil
	case *types.Err:
		return nil, v
	}
	return nil, fmt.Errorf("the result is of type %s", value.Type().TypeName())
}

// parameter is the i-th parameter of a container's type, dyn where there is none.
func parameter(t *cel.Type, i int) *cel.Type {
	if ps := t.Parameters(); i < len(ps) {
		return ps[i]
	}
	return cel.DynType
}

// object copies only what an expression made or what holds records.
func (p *plainer) object(v *objectValue, elem *cel.Type) (any, error) {
	if !v.inCEL && !holdsRecords(elem) {
		return v.object(), nil
	}
	out := NewObject(len(v.keys))
	for i, key := range v.keys {
		value, err := p.plain(adapter{}.NativeToValue(v.values[i]), elem)
		if err != nil {
			return nil, err
		}
		out.Set(key, value)
	}
	return out, nil
}

func (p *plainer) list(v traits.Lister, elem *cel.Type) (any, error) {
	if own, ok := v.(*listValue); ok && !holdsRecords(elem) {
		return own.items, nil
	}
	out := []any{}
	for it := v.Iterator(); it.HasNext() == types.True; {
		value, err := p.plain(it.Next(), elem)
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, nil
}

func holdsRecords(t *cel.Type) bool {
	if t.Kind() == types.StructKind {
		return true
	}
	return slices.ContainsFunc(t.Parameters(), holdsRecords)
}

func (p *plainer) record(v *recordValue, t *cel.Type) (any, error) {
	s, ok := p.structs[t.TypeName()]
	if !ok {
		return nil, errors.New("a record cannot be a result as a whole: use its fields")
	}
	out := NewObject(len(s.Type.fields))
	for _, f := range s.Type.fields {
		value, err := p.plain(adapter{}.NativeToValue(v.record.Field(f.Name)), f.Type.cel())
		if err != nil {
			return nil, err
		}
		out.Set(f.Name, value)
	}
	return out, nil
}

// wordFaults refuses a comparison of a field that holds one of a few words with any other word: it would be false, or
// true, for ever.
func wordFaults(tree *ast.AST, words map[string][]string) []Fault {
	if len(words) == 0 {
		return nil
	}
	var faults []Fault
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
			return
		}
		switch args := e.AsCall().Args(); e.AsCall().FunctionName() {
		case operators.Equals, operators.NotEquals:
			faults = append(faults, wordFault(tree, words, args[0], args[1])...)
			faults = append(faults, wordFault(tree, words, args[1], args[0])...)
		case operators.In:
			if args[1].Kind() == ast.ListKind {
				for _, element := range args[1].AsList().Elements() {
					faults = append(faults, wordFault(tree, words, args[0], element)...)
				}
			}
		}
	}))
	return faults
}

func wordFault(tree *ast.AST, words map[string][]string, field, with ast.Expr) []Fault {
	text, literal := literalText(with)
	if field.Kind() != ast.SelectKind || !literal {
		return nil
	}
	name := field.AsSelect().FieldName()
	known := words[name]
	if known == nil || slices.Contains(known, text) {
		return nil
	}
	return []Fault{faultAt(tree, with.ID(), fmt.Sprintf("%s is never %q", name, text), "it is one of: "+strings.Join(known, ", "))}
}
