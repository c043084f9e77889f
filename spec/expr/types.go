package expr

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// Type is the static type of a variable or field. The zero Type is Any.
type Type struct {
	known  *cel.Type // nil: Any
	elem   *Type     // of List and Map
	fields []Var     // of Struct
}

// The scalar types, and Any: a value whose type is known only when it is there.
var (
	Any      = Type{}
	Bool     = Type{known: cel.BoolType}
	Int      = Type{known: cel.IntType}
	Double   = Type{known: cel.DoubleType}
	String   = Type{known: cel.StringType}
	Duration = Type{known: cel.DurationType}
)

// Var is a named variable of an environment, or a field of a struct.
type Var struct {
	Name string
	Type Type
}

// Nullable is t or null. Structs are always nullable; for lists and maps it is Any.
func Nullable(t Type) Type {
	switch {
	case t.elem != nil:
		return Any
	case t.known == nil || t.isStruct():
		return t
	}
	return Type{known: cel.NullableType(t.known)}
}

// ListOf is a list with elements of one type.
func ListOf(elem Type) Type { return Type{known: cel.ListType(elem.cel()), elem: &elem} }

// MapOf is a map from strings to values of one type.
func MapOf(value Type) Type {
	return Type{known: cel.MapType(cel.StringType, value.cel()), elem: &value}
}

// Struct is a record whose fields are checked when an expression is compiled. The name shows in messages; all structs of
// that name in one environment have the same fields.
func Struct(name string, fields ...Var) Type {
	return Type{known: cel.ObjectType(name), fields: fields}
}

func (t Type) isStruct() bool { return t.cel().Kind() == types.StructKind }

// String describes the type as messages do.
func (t Type) String() string {
	return wrapper.ReplaceAllString(cel.FormatCELType(t.cel()), "$1 or null")
}

func (t Type) cel() *cel.Type {
	if t.known == nil {
		return cel.DynType
	}
	return t.known
}

// provider tells cel-go about the struct types of an environment, so that a wrong field is found at compile time.
type provider struct {
	types.Provider
	structs map[string]*structType
}

type structType struct {
	Type
	fields map[string]*types.FieldType
}

// withStructs adds the struct types found in the variables to whatever types the environment has so far.
func withStructs(vars []Var) cel.EnvOption {
	return func(e *cel.Env) (*cel.Env, error) {
		p := &provider{Provider: e.CELTypeProvider(), structs: map[string]*structType{}}
		for _, v := range vars {
			if err := p.add(v.Type); err != nil {
				return nil, fmt.Errorf("declaring variable %s: %w", v.Name, err)
			}
		}
		return cel.CustomTypeProvider(p)(e)
	}
}

func (p *provider) add(t Type) error {
	if t.elem != nil {
		return p.add(*t.elem)
	}
	if !t.isStruct() {
		return nil
	}
	name := t.known.TypeName()
	if known, ok := p.structs[name]; ok {
		same := func(a, b Var) bool { return a.Name == b.Name && a.Type.String() == b.Type.String() }
		if !slices.EqualFunc(known.Type.fields, t.fields, same) {
			return fmt.Errorf("struct %s is declared with different fields", name)
		}
		return nil
	}
	s := &structType{Type: t, fields: make(map[string]*types.FieldType, len(t.fields))}
	p.structs[name] = s
	for _, f := range t.fields {
		missing := fmt.Errorf("%s is not available: the record before it is null", f.Name)
		s.fields[f.Name] = &types.FieldType{Type: f.Type.cel(),
			IsSet: func(target any) bool {
				record, ok := target.(Fields)
				return ok && record.Field(f.Name) != nil
			},
			GetFrom: func(target any) (any, error) {
				if record, ok := target.(Fields); ok {
					return record.Field(f.Name), nil
				}
				return nil, missing
			}}
		if err := p.add(f.Type); err != nil {
			return err
		}
	}
	return nil
}

// FindStructType implements [types.Provider].
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := p.structs[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements [types.Provider].
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	s, ok := p.structs[name]
	if !ok {
		return p.Provider.FindStructFieldNames(name)
	}
	names := make([]string, 0, len(s.Type.fields))
	for _, f := range s.Type.fields {
		names = append(names, f.Name)
	}
	return names, true
}

// FindStructFieldType implements [types.Provider].
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if s, ok := p.structs[name]; ok {
		f, ok := s.fields[field]
		return f, ok
	}
	return p.Provider.FindStructFieldType(name, field)
}

// Fields is a record at run time: what a variable of a struct type holds. Field gives a plain value, Fields or a
// list of these; nil for null. A record that is not there is nil itself, never a nil pointer in Fields.
type Fields interface{ Field(name string) any }

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
		return &listValue{types.NewDynamicList(a, v), v}
	case []string:
		return types.NewStringList(a, v)
	case Fields:
		return &recordValue{record: v}
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

// mapInsertFunction is what transformMap and transformMapEntry call in every round.
const mapInsertFunction = "cel.@mapInsert"

// ordered replaces the two places where cel-go makes maps, literals and transformMap, by ones that keep the order of
// the keys. Go's maps would make the order of a comprehension random and a decision irreproducible.
func ordered(tree *ast.AST) interpreter.InterpretableDecoratorV2 {
	optional := optionalEntries(tree)
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		switch step := i.(type) {
		case interpreter.InterpretableConstructor:
			if step.Type() != types.MapType {
				return i, nil
			}
			return &mapLiteral{step, step.InitVals(), optional[i.ID()]}, nil
		case interpreter.InterpretableCall:
			if step.Function() == mapInsertFunction {
				return &mapInsert{step}, nil
			}
		}
		return i, nil
	}
}

// optionalEntries tells which entries of which map literals are written {?key: optional}.
func optionalEntries(tree *ast.AST) map[int64][]bool {
	found := map[int64][]bool{}
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.MapKind {
			for _, entry := range e.AsMap().Entries() {
				found[e.ID()] = append(found[e.ID()], entry.AsMapEntry().IsOptional())
			}
		}
	}))
	return found
}

// mapLiteral evaluates {"key": value, ...} to an object.
type mapLiteral struct {
	interpreter.InterpretableConstructor
	parts    []interpreter.InterpretableV2 // key, value, key, value ...
	optional []bool                        // by entry
}

// Eval implements [interpreter.Interpretable].
func (m *mapLiteral) Eval(vars interpreter.Activation) ref.Val {
	return m.Exec(interpreter.AsFrame(vars))
}

// Exec implements [interpreter.InterpretableV2].
func (m *mapLiteral) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	out := &Object{inCEL: true}
	for i := 0; i < len(m.parts); i += 2 {
		key, value := m.parts[i].Exec(frame), m.parts[i+1].Exec(frame)
		if types.IsError(key) {
			return key
		}
		if types.IsError(value) {
			return value
		}
		if m.optional[i/2] {
			opt, ok := value.(*types.Optional)
			if !ok {
				return types.NewErrWithNodeID(m.ID(), "the value of an optional entry is no optional")
			}
			if !opt.HasValue() {
				continue
			}
			value = opt.GetValue()
		}
		if bad := put(out, key, value); bad != nil {
			return types.LabelErrNode(m.ID(), bad)
		}
	}
	return (*objectValue)(out)
}

// put adds an entry; the result is an error or nil.
func put(o *Object, key, value ref.Val) ref.Val {
	name, ok := key.(types.String)
	if !ok {
		return types.NewErr("the key of a map is of type %s, not a string", key.Type().TypeName())
	}
	if o.find(string(name)) >= 0 {
		return types.NewErr("the key %q appears twice in a map", string(name))
	}
	o.Set(string(name), value)
	return nil
}

// mapInsert is a step of transformMap and transformMapEntry. cel-go hands in an empty map of its own first; from then
// on the accumulator is our object, which nobody but the comprehension sees until it ends, so it is changed in place.
type mapInsert struct{ interpreter.InterpretableCall }

// Eval implements [interpreter.Interpretable].
func (m *mapInsert) Eval(vars interpreter.Activation) ref.Val {
	return m.Exec(interpreter.AsFrame(vars))
}

// Exec implements [interpreter.InterpretableV2].
func (m *mapInsert) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := make([]ref.Val, 0, 3)
	for _, arg := range m.Args() {
		value := arg.Exec(frame)
		if types.IsError(value) {
			return value
		}
		args = append(args, value)
	}
	target, ok := args[0].(*objectValue)
	if !ok {
		target = &objectValue{inCEL: true}
	}
	if bad := insert(target.object(), args[1:]); bad != nil {
		return types.LabelErrNode(m.ID(), bad)
	}
	return target
}

// insert takes a key and a value, or one map of entries.
func insert(target *Object, args []ref.Val) ref.Val {
	if len(args) == 2 {
		return put(target, args[0], args[1])
	}
	entries, ok := args[0].(traits.Mapper)
	if !ok {
		return types.NewErr("an entry of a map is of type %s", args[0].Type().TypeName())
	}
	for it := entries.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		value, _ := entries.Find(key)
		if bad := put(target, key, value); bad != nil {
			return bad
		}
	}
	return nil
}
