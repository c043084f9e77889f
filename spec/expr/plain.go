package expr

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

var errTooManyValues = errors.New("the result holds too many values")

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
		return p.optional(v, t)
	case traits.Lister:
		return p.list(v, parameter(t, 0))
	case traits.Mapper:
		return p.emptyMap(v)
	}
	return p.rare(value)
}

func (p *plainer) rare(value ref.Val) (any, error) {
	switch v := value.(type) {
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
		if items, ok := own.items.(slice); ok {
			return []any(items), nil
		}
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
	for _, inner := range t.Parameters() {
		if holdsRecords(inner) {
			return true
		}
	}
	return false
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

func (p *plainer) optional(v *types.Optional, t *cel.Type) (any, error) {
	if !v.HasValue() {
		return nil, nil
	}
	return p.plain(v.GetValue(), parameter(t, 0))
}

// emptyMap is the result of a transformMap that inserted nothing; every other map is an object.
func (p *plainer) emptyMap(v traits.Mapper) (any, error) {
	if v.Size() != types.IntZero {
		return nil, errors.New("the result is a map without an order")
	}
	return NewObject(0), nil
}
