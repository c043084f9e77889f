package expr

import (
	"reflect"
	"strings"
	"testing"
)

// What is wrong with a value is told by its place, and at one place what tells
// more before a type that another alternative wanted.
func TestViolations(t *testing.T) {
	s, err := CompileSchema([]byte(`{"type": "object", "required": ["z"], "additionalProperties": false, "properties": {
		"a": {"items": {"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 2}]}}, "b": {"type": "boolean"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		`{"z": 1, "y": 2, "b": 0}`: {": additional properties 'y', 'z' not allowed", "/b: got number, want boolean"},
		`{"a": [1, "x"]}`:          {": missing property 'z'", "/a/1: minLength: got 1, want 2", "/a/1: got string, want integer"},
		`[]`:                       {": got array, want object"},
	} {
		value, err := ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for range 20 { // validation visits keys at random
			var got []string
			found, err := s.Violations(value)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range found {
				got = append(got, v.Where()+": "+v.What)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %q, want %q", text, got, want)
			}
		}
	}
	value, _ := ParseJSON([]byte(`{}`))
	anything, err := CompileSchema([]byte(`true`))
	if err != nil {
		t.Fatal(err)
	}
	if found, err := anything.Violations(value); err != nil || found != nil {
		t.Errorf("a schema that allows everything: %v, %v", found, err)
	}
}

// Nothing outside of the schema is read, and what is wrong with it stands where it
// is.
func TestWhatIsNoSchema(t *testing.T) {
	for text, want := range map[string]string{
		`{"type": "objekt"}`:               "at /type: value must be one of",
		`{"$ref": "file:///etc/hostname"}`: "it refers to file:///etc/hostname, and only what stands in the schema itself is read",
		`{"$ref": "other.json"}`:           "it refers to other.json, and only",
		`{"type": `:                        "it is no JSON: ",
		`{"$ref": "#/$defs/x"}`:            "",
	} {
		s, err := CompileSchema([]byte(text))
		if s != nil || err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), base) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// C.22: the regular expressions of a schema are bounded one by one and together, wherever they stand; a schema that has
// none is not held up by another validation.
func TestRegularExpressionsOfSchemasAreBounded(t *testing.T) {
	const heavy = "(.*?,){200}"
	long := `"` + strings.Repeat("a", 1_000_000) + `"`
	many := "[" + strings.Repeat(`"`+strings.Repeat("a", 10_000)+`",`, 100) + `"a"]`
	for _, c := range []struct{ schema, value, want string }{
		{`{"pattern": "` + heavy + `"}`, long, "1002 instructions x 1000000 bytes"},
		{`{"patternProperties": {"` + heavy + `": {}}}`, `{` + long + `: 1}`, "1002 instructions x 1000000 bytes"},
		{`{"propertyNames": {"pattern": "` + heavy + `"}}`, `{` + long + `: 1}`, "1002 instructions x 1000000 bytes"},
		{`{"items": {"pattern": "` + heavy + `"}}`, many, "search for more than 50000000 steps"},
		{`{"items": {"pattern": "^a+$"}}`, many, ""},
		{`{"anyOf": [{"pattern": "` + heavy + `"}, {"type": "string"}]}`, `"a"`, ""},
	} {
		s, err := CompileSchema([]byte(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		value, err := ParseJSON([]byte(c.value))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // what one validation took is not taken from the next
			found, err := s.Violations(value)
			if len(found) > 0 || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, %v; want %q", c.schema, found, err, c.want)
			}
		}
	}
	if _, err := CompileSchema([]byte(`{"pattern": "(?:a{1000}b){1000}"}`)); err == nil || !strings.Contains(err.Error(), "/pattern") {
		t.Errorf("a huge expression: %v", err)
	}
	if s, err := CompileSchema([]byte(`{"type": "object", "$id": "x", "properties": {"a": {"minLength": 1}}}`)); err != nil || s.searches.some.Load() {
		t.Errorf("a schema without expressions: %v", err)
	}
}
