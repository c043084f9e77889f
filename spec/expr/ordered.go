package expr

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

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
			return newMapLiteral(step, optional[i.ID()]), nil
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
		if e.Kind() != ast.MapKind {
			return
		}
		var flags []bool
		any := false
		for _, entry := range e.AsMap().Entries() {
			flags = append(flags, entry.AsMapEntry().IsOptional())
			any = any || entry.AsMapEntry().IsOptional()
		}
		if any {
			found[e.ID()] = flags
		}
	}))
	return found
}

// mapLiteral evaluates {"key": value, ...} to an object.
type mapLiteral struct {
	interpreter.InterpretableConstructor
	parts    []interpreter.InterpretableV2 // key, value, key, value ...
	optional []bool                        // by entry; nil for none
}

func newMapLiteral(step interpreter.InterpretableConstructor, optional []bool) interpreter.InterpretableV2 {
	m := &mapLiteral{InterpretableConstructor: step, parts: step.InitVals(), optional: optional}
	for _, part := range m.parts {
		if _, ok := part.(interpreter.InterpretableConst); !ok {
			return m
		}
	}
	if len(m.parts) > 0 && optional == nil {
		return interpreter.NewConstValue(step.ID(), m.Eval(interpreter.EmptyActivation()))
	}
	return m
}

// Eval implements [interpreter.Interpretable].
func (m *mapLiteral) Eval(vars interpreter.Activation) ref.Val {
	return m.Exec(interpreter.AsFrame(vars))
}

// Exec implements [interpreter.InterpretableV2].
func (m *mapLiteral) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	out := NewObject(len(m.parts) / 2)
	out.inCEL = true
	for i := 0; i < len(m.parts); i += 2 {
		key, value := m.parts[i].Exec(frame), m.parts[i+1].Exec(frame)
		if types.IsError(key) {
			return key
		}
		if types.IsError(value) {
			return value
		}
		if m.optional != nil && m.optional[i/2] {
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
