package source

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
)

// SchemaWriter is a NodeDecoder that says in JSON Schema what it takes.
type SchemaWriter interface {
	JSONSchema(g *Generator) map[string]any
}

// Schema describes in JSON Schema (draft 2020-12) what Decode takes for values of these types; of several, any one.
// It is made from the same types and tags, so what the schema forbids, Decode forbids too. Decode forbids more:
// what JSON Schema cannot say, such as a duration's limits or the notation of numbers.
func Schema(types ...any) map[string]any {
	g := &Generator{definitions: map[string]any{}, names: map[reflect.Type]string{}}
	schema := map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema"}
	roots := make([]any, len(types))
	for i, value := range types {
		roots[i] = g.Of(value)
	}
	if len(roots) == 1 {
		schema["$ref"] = roots[0].(map[string]any)["$ref"]
	} else {
		schema["anyOf"] = roots
	}
	schema["$defs"] = g.definitions
	return schema
}

// Generator writes the schemas of Go types. Structs and SchemaWriters become definitions under their Go name.
type Generator struct {
	definitions map[string]any
	names       map[reflect.Type]string
}

// Of is the schema of value's type.
func (g *Generator) Of(value any) map[string]any {
	t := reflect.TypeOf(value)
	return g.schema(t, rules{enum: wordsOf(t)})
}

// Tagged is Of with the tags that a field of that type would have.
func (g *Generator) Tagged(value any, tag reflect.StructTag) map[string]any {
	return g.schema(reflect.TypeOf(value), rulesOf("", reflect.TypeOf(value), tag))
}

// Struct is the schema of a struct in place, by its tags even if it is a SchemaWriter.
func (g *Generator) Struct(value any) map[string]any { return g.structure(reflect.TypeOf(value)) }

func (g *Generator) schema(t reflect.Type, r rules) map[string]any {
	if t.Kind() == reflect.Pointer && t != nodeType {
		return g.schema(t.Elem(), r)
	}
	if t == nodeType || t.Kind() == reflect.Interface {
		return map[string]any{}
	}
	shape := shapeOf(t)
	switch {
	case shape.maybe != nil:
		return map[string]any{"anyOf": []any{g.schema(shape.maybe, r), map[string]any{"const": "off"}}}
	case shape.hook || t.Kind() == reflect.Struct:
		return g.reference(t)
	}
	return g.typed(t, r)
}

// reference defines a type when it is first met, which lets types contain themselves.
func (g *Generator) reference(t reflect.Type) map[string]any {
	name, known := g.names[t]
	if !known {
		name = g.freeName(definitionName(t))
		g.names[t] = name
		g.definitions[name] = nil
		switch writer, writes := reflect.New(t).Interface().(SchemaWriter); {
		case writes:
			g.definitions[name] = writer.JSONSchema(g)
		case shapeOf(t).hook:
			g.definitions[name] = map[string]any{}
		default:
			g.definitions[name] = g.structure(t)
		}
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// structure is the schema of a struct with its short forms.
func (g *Generator) structure(t reflect.Type) map[string]any {
	s := &shape{}
	s.addFields(t, nil)
	var forms []any
	for _, f := range s.shorts {
		switch {
		case f.rules.short == "text" && f.typ.Kind() == reflect.Slice:
			forms = append(forms, g.schema(f.typ.Elem(), rules{minLen: f.rules.minLen}))
		case f.rules.short == "text" || f.rules.short == "list":
			forms = append(forms, g.schema(f.typ, f.rules))
		default:
			forms = append(forms, map[string]any{"const": f.rules.short})
		}
	}
	switch {
	case forms == nil:
		return g.object(t)
	case len(s.fields) > 0:
		forms = append(forms, g.object(t))
	}
	return map[string]any{"anyOf": forms}
}

// freeName keeps types of one name in several packages apart.
func (g *Generator) freeName(name string) string {
	name = cmp.Or(name, "unnamed")
	free := name
	for i := 2; ; i++ {
		if _, taken := g.definitions[free]; !taken {
			return free
		}
		free = fmt.Sprint(name, i)
	}
}

// object is the schema of a struct.
func (g *Generator) object(t reflect.Type) map[string]any {
	s := &shape{}
	s.addFields(t, nil)
	properties, required := map[string]any{}, []any{}
	for _, f := range s.fields {
		property := g.schema(f.typ, f.rules)
		if f.rules.doc != "" {
			property["description"] = f.rules.doc
		}
		properties[f.name] = property
		if f.rules.required {
			required = append(required, f.name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

func (g *Generator) typed(t reflect.Type, r rules) map[string]any {
	if t == durationType {
		return map[string]any{"type": "string", "pattern": durationPattern}
	}
	switch t.Kind() {
	case reflect.String:
		schema := map[string]any{"type": "string"}
		if r.enum != nil {
			schema["enum"] = r.enum
		}
		return withLeast(schema, "minLength", r.minLen)
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return r.numberSchema("integer")
	case reflect.Float64:
		return r.numberSchema("number")
	case reflect.Slice:
		item := g.schema(t.Elem(), r.ofItems())
		list := withLeast(map[string]any{"type": "array", "items": item}, "minItems", r.minLen)
		if r.single {
			return map[string]any{"anyOf": []any{item, list}}
		}
		return list
	case reflect.Map:
		return withLeast(map[string]any{"type": "object", "additionalProperties": g.schema(t.Elem(), r.ofItems())}, "minProperties", r.minLen)
	}
	panic("source: no schema for " + t.String())
}

func (r rules) numberSchema(kind string) map[string]any {
	schema := map[string]any{"type": kind}
	for keyword, bound := range map[string]*bound{"minimum": r.min, "maximum": r.max, "exclusiveMinimum": r.above} {
		if bound != nil {
			schema[keyword] = bound.value
		}
	}
	return schema
}

func withLeast(schema map[string]any, keyword string, least int) map[string]any {
	if least > 0 {
		schema[keyword] = least
	}
	return schema
}

// definitionName is the Go name of a type without the package path of a type parameter: Named[x/y.Root] is NamedRoot.
func definitionName(t reflect.Type) string {
	name, parameter, _ := strings.Cut(strings.TrimSuffix(t.Name(), "]"), "[")
	item, list := strings.CutPrefix(parameter, "[]")
	item = strings.ReplaceAll(item[strings.LastIndexByte(item, '.')+1:], "interface {}", "Any")
	if list {
		item += "List"
	}
	return name + item
}
