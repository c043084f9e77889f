package reports

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// JSONSchema describes the JSON of reports, and DiffJSONSchema that of
// comparisons, in JSON Schema (draft 2020-12). They are made from the types that
// are written. Further fields may come without a new number of the schema.
func JSONSchema() ([]byte, error) { return schemaOf(Schema, reflect.TypeFor[wholeReport]()) }

// DiffJSONSchema is the schema of comparisons.
func DiffJSONSchema() ([]byte, error) { return schemaOf(DiffSchema, reflect.TypeFor[Comparison]()) }

// SchemaOf is the schema of the JSON of another page, made from its type.
func SchemaOf[T any](name string) ([]byte, error) { return schemaOf(name, reflect.TypeFor[T]()) }

// wholeReport is what writeJSON writes.
type wholeReport struct {
	*Report
	Tasks []Task `json:"tasks"`
}

// closedLists are the types of a closed list of words.
var closedLists = map[reflect.Type][]any{
	reflect.TypeFor[record.State]():       {record.StateRunning, record.StateComplete, record.StateStopped, record.StateFailed},
	reflect.TypeFor[page.State]():         {page.Passed, page.Failed, page.Errored},
	reflect.TypeFor[compare.Verdict]():    {compare.Better, compare.Worse, compare.Same, compare.CannotTell},
	reflect.TypeFor[compare.Correction](): {compare.NoCorrection, compare.Holm, compare.BenjaminiHochberg},
}

func schemaOf(name string, of reflect.Type) ([]byte, error) {
	s := schemas{definitions: map[string]any{}}
	schema := s.object(of)
	maps.Copy(schema, map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": s.definitions,
		"title": name,
	})
	schema["properties"].(map[string]any)["schema"] = map[string]any{"const": name}
	return json.MarshalIndent(schema, "", "  ")
}

// schemas writes the schemas of Go types; structs become definitions.
type schemas struct{ definitions map[string]any }

func (s *schemas) of(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[page.Value]():
		return map[string]any{"type": []string{"number", "null"}}
	case reflect.TypeFor[page.Range]():
		end := s.of(reflect.TypeFor[page.Value]())
		return map[string]any{"type": []string{"array", "null"}, "items": end, "minItems": 2, "maxItems": 2}
	case reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	case reflect.TypeFor[Verdict]():
		t = reflect.TypeFor[writtenVerdict]()
	}
	if list := closedLists[t]; list != nil {
		return map[string]any{"enum": list}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Struct:
		if s.definitions[t.Name()] == nil {
			s.definitions[t.Name()] = true // it may hold itself
			s.definitions[t.Name()] = s.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + t.Name()}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.String:
		return map[string]any{"type": "string"}
	}
	return map[string]any{"type": "integer"}
}

// object is the schema of a struct. What is not left out when it is empty is
// required.
func (s *schemas) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || field.Anonymous || name == "-" {
			continue
		}
		omitted := strings.Contains(options, "omit")
		properties[name] = s.of(field.Type)
		if field.Type.Kind() == reflect.Pointer && !omitted {
			properties[name] = map[string]any{"anyOf": []any{properties[name], map[string]any{"type": "null"}}}
		}
		if !omitted {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}
