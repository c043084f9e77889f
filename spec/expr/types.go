package expr

import (
	"strings"

	"github.com/google/cel-go/cel"
)

type kind int

const (
	anyKind kind = iota
	boolKind
	intKind
	doubleKind
	stringKind
	durationKind
	listKind
	mapKind
	structKind
)

// Type is the static type of a variable or field. The zero Type is Any.
type Type struct {
	kind     kind
	nullable bool
	elem     *Type  // of List and Map
	name     string // of Struct
	fields   []Var  // of Struct
}

// The scalar types, and Any: a value whose type is known only when it is there.
var (
	Any      = Type{kind: anyKind}
	Bool     = Type{kind: boolKind}
	Int      = Type{kind: intKind}
	Double   = Type{kind: doubleKind}
	String   = Type{kind: stringKind}
	Duration = Type{kind: durationKind}
)

// Var is a named variable of an environment, or a field of a struct.
type Var struct {
	Name string
	Type Type
}

// Nullable is t or null. Structs are always nullable; for lists and maps it is Any.
func Nullable(t Type) Type {
	switch t.kind {
	case structKind, anyKind:
		return t
	case listKind, mapKind:
		return Any
	}
	t.nullable = true
	return t
}

// ListOf is a list with elements of one type.
func ListOf(elem Type) Type { return Type{kind: listKind, elem: &elem} }

// MapOf is a map from strings to values of one type.
func MapOf(value Type) Type { return Type{kind: mapKind, elem: &value} }

// Struct is a record whose fields are checked when an expression is compiled. The name shows in messages; within one
// environment it stands for one set of fields.
func Struct(name string, fields ...Var) Type {
	return Type{kind: structKind, name: name, fields: fields}
}

// String describes the type as messages do.
func (t Type) String() string {
	s := map[kind]string{anyKind: "any", boolKind: "bool", intKind: "int", doubleKind: "double",
		stringKind: "string", durationKind: "duration", structKind: t.name}[t.kind]
	switch t.kind {
	case listKind:
		s = "list(" + t.elem.String() + ")"
	case mapKind:
		s = "map(" + t.elem.String() + ")"
	}
	if t.nullable {
		s += " or null"
	}
	return strings.TrimSpace(s)
}

func (t Type) cel() *cel.Type {
	c := t.bareCEL()
	if t.nullable {
		return cel.NullableType(c)
	}
	return c
}

func (t Type) bareCEL() *cel.Type {
	switch t.kind {
	case boolKind:
		return cel.BoolType
	case intKind:
		return cel.IntType
	case doubleKind:
		return cel.DoubleType
	case stringKind:
		return cel.StringType
	case durationKind:
		return cel.DurationType
	case listKind:
		return cel.ListType(t.elem.cel())
	case mapKind:
		return cel.MapType(cel.StringType, t.elem.cel())
	case structKind:
		return cel.ObjectType(t.name)
	}
	return cel.DynType
}
