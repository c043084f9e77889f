package jsonschema

import (
	"reflect"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/spec/expr"
)

// What is wrong with a value is told by its place, and at one place what tells
// more before a type that another alternative wanted.
func TestViolations(t *testing.T) {
	s, err := Compile([]byte(`{"type": "object", "required": ["z"], "additionalProperties": false, "properties": {
		"a": {"items": {"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 2}]}}, "b": {"type": "boolean"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		`{"z": 1, "y": 2, "b": 0}`: {": additional properties 'y', 'z' not allowed", "/b: got number, want boolean"},
		`{"a": [1, "x"]}`:          {": missing property 'z'", "/a/1: minLength: got 1, want 2", "/a/1: got string, want integer"},
		`[]`:                       {": got array, want object"},
	} {
		value, err := expr.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for range 20 { // validation visits keys at random
			var got []string
			for _, v := range s.Violations(value) {
				got = append(got, v.Where()+": "+v.What)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %q, want %q", text, got, want)
			}
		}
	}
	value, _ := expr.ParseJSON([]byte(`{}`))
	if anything, err := Compile([]byte(`true`)); err != nil || anything.Violations(value) != nil {
		t.Errorf("a schema that allows everything: %v", err)
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
		s, err := Compile([]byte(text))
		if s != nil || err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), base) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
