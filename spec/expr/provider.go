package expr

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

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
	if t.kind != structKind {
		return nil
	}
	if known, ok := p.structs[t.name]; ok {
		if !sameFields(known.Type.fields, t.fields) {
			return fmt.Errorf("struct %s is declared with different fields", t.name)
		}
		return nil
	}
	s := &structType{Type: t, fields: make(map[string]*types.FieldType, len(t.fields))}
	p.structs[t.name] = s
	for _, f := range t.fields {
		s.fields[f.Name] = &types.FieldType{Type: f.Type.cel(), IsSet: fieldIsSet(f.Name), GetFrom: fieldGetter(f.Name)}
		if err := p.add(f.Type); err != nil {
			return err
		}
	}
	return nil
}

func sameFields(a, b []Var) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Type.String() != b[i].Type.String() {
			return false
		}
	}
	return true
}

func fieldIsSet(name string) func(any) bool {
	return func(target any) bool {
		record, ok := target.(Fields)
		return ok && record.Field(name) != nil
	}
}

func fieldGetter(name string) func(any) (any, error) {
	missing := fmt.Errorf("there is no %s: the record before it is null", name)
	return func(target any) (any, error) {
		record, ok := target.(Fields)
		if !ok {
			return nil, missing
		}
		return record.Field(name), nil
	}
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
