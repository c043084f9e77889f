package expr

import (
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Fields is a record at run time: what a variable of a struct type holds. Field gives a plain value, Fields or a
// [List]; nil for null. A record that is not there is nil itself, never a nil pointer in Fields.
type Fields interface{ Field(name string) any }

// List is a list that is read where it lies. Its elements are plain values or Fields.
type List interface {
	Len() int
	At(i int) any
}

// adapter makes CEL values of plain ones. It is the only place that knows both sides.
type adapter struct{}

// NativeToValue implements [types.Adapter].
func (a adapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case ref.Val:
		return v
	case nil:
		return types.NullValue
	case float64:
		return types.Double(v)
	case string:
		return types.String(v)
	case bool:
		return types.Bool(v)
	case int64:
		return types.Int(v)
	case int:
		return types.Int(v)
	case time.Duration:
		return types.Duration{Duration: v}
	case *float64:
		if v == nil {
			return types.NullValue
		}
		return types.Double(*v)
	case *Object:
		if v == nil {
			return types.NullValue
		}
		return (*objectValue)(v)
	case []any:
		return &listValue{items: slice(v)}
	case []string:
		return types.NewStringList(a, v)
	case List:
		return &listValue{items: v}
	case Fields:
		return &recordValue{record: v}
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

// slice is the plain list as a List.
type slice []any

func (s slice) Len() int     { return len(s) }
func (s slice) At(i int) any { return s[i] }
