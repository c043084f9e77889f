package expr

import (
	"errors"
	"fmt"
	"reflect"

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
	return &iterator{n: len(o.keys), at: func(i int) ref.Val { return types.String(o.keys[i]) }}
}

// listValue is a List as CEL sees it.
type listValue struct{ items List }

func (l *listValue) ConvertToNative(reflect.Type) (any, error) { return nil, errNotNative }
func (l *listValue) Type() ref.Type                            { return types.ListType }
func (l *listValue) Value() any                                { return l.items }
func (l *listValue) Size() ref.Val                             { return types.Int(l.items.Len()) }
func (l *listValue) IsZeroValue() bool                         { return l.items.Len() == 0 }

func (l *listValue) ConvertToType(t ref.Type) ref.Val { return convert(l, types.ListType, t) }

func (l *listValue) at(i int) ref.Val { return adapter{}.NativeToValue(l.items.At(i)) }

func (l *listValue) Get(index ref.Val) ref.Val {
	i, err := types.IndexOrError(index)
	if err != nil {
		return types.WrapErr(err)
	}
	if i < 0 || i >= l.items.Len() {
		return types.NewErr("index %d of a list with %d elements", i, l.items.Len())
	}
	return l.at(i)
}

func (l *listValue) Contains(elem ref.Val) ref.Val {
	for i := range l.items.Len() {
		if types.Equal(elem, l.at(i)) == types.True {
			return types.True
		}
	}
	return types.False
}

func (l *listValue) Equal(other ref.Val) ref.Val {
	theirs, ok := other.(traits.Lister)
	if !ok || theirs.Size() != l.Size() {
		return types.False
	}
	for i := range l.items.Len() {
		if equal := types.Equal(l.at(i), theirs.Get(types.Int(i))); equal != types.True {
			return equal
		}
	}
	return types.True
}

// Add leaves the joining to cel-go's lists, which join without copying.
func (l *listValue) Add(other ref.Val) ref.Val {
	items, ok := l.items.(slice)
	if !ok {
		items = make(slice, l.items.Len())
		for i := range items {
			items[i] = l.items.At(i)
		}
	}
	return types.NewDynamicList(adapter{}, []any(items)).Add(other)
}

func (l *listValue) Fold(f traits.Folder) {
	for i := range l.items.Len() {
		if !f.FoldEntry(types.Int(i), l.items.At(i)) {
			return
		}
	}
}

func (l *listValue) Iterator() traits.Iterator {
	return &iterator{n: l.items.Len(), at: l.at}
}

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

// iterator walks n values; it is handed to cel-go, which asks nothing of it but HasNext and Next.
type iterator struct {
	n, i int
	at   func(int) ref.Val
}

func (it *iterator) HasNext() ref.Val { return types.Bool(it.i < it.n) }

func (it *iterator) Next() ref.Val {
	it.i++
	return it.at(it.i - 1)
}

func (it *iterator) ConvertToNative(reflect.Type) (any, error) { return nil, errNotNative }
func (it *iterator) ConvertToType(t ref.Type) ref.Val          { return convert(it, types.IteratorType, t) }
func (it *iterator) Equal(ref.Val) ref.Val                     { return types.False }
func (it *iterator) Type() ref.Type                            { return types.IteratorType }
func (it *iterator) Value() any                                { return fmt.Sprint(it.i) }
