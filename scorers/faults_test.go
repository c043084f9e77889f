package scorers

import (
	"testing"

	"github.com/agentbench/agentbench/spec"
)

func TestFaults(t *testing.T) {
	for _, c := range []struct{ scorer, want string }{
		{`type: regex, pattern: '(a'`, "suite.yaml:1:26: error parsing regexp: missing closing ): `(a`"},
		{`type: regex, pattern: '((a{0,100}){0,100}){0,100}'`, "suite.yaml:1:26: error parsing regexp: invalid repeat count: `{0,100}`"},
		{`type: regex, pattern: '(?=a)'`, "suite.yaml:1:26: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{`type: exact, extract: '['`, "suite.yaml:1:26: error parsing regexp: missing closing ]: `[`"},
		{`type: exact, extract: {regex: 'a**'}`, "suite.yaml:1:26: error parsing regexp: invalid nested repetition operator: `**`"},
		{`type: exact, value: output.a, extract: {expr: output.b}`, "suite.yaml:1:26: value and extract.expr are both expressions for the answer: write one of them"},
		{`type: exact, value: outptu`, `suite.yaml:1:33: unknown name "outptu"`},
		{`type: exact, extract: {expr: outptu}`, `suite.yaml:1:42: unknown name "outptu"`},
		{`type: cel, expr: best.cofidence`, `suite.yaml:1:35: unknown field "cofidence"`},
		{`type: cel`, "suite.yaml:1:3: a scorer of type cel needs expr"},
		{`type: one_of, options: [a, [b]]`, "suite.yaml:1:27: options are texts, numbers or booleans"},
		{`type: json_schema, schema: {type: objekt}`, "suite.yaml:1:32: the schema is wrong: at /type: value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'"},
		{`type: json_schema, schema: {pattern: "(?=a)"}`, "suite.yaml:1:32: the schema is wrong: at /pattern: '(?=a)' is not valid regex: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{`type: json_schema, schema: {$ref: "https://example.com/s.json"}`, "suite.yaml:1:32: the schema is wrong: it refers to https://example.com/s.json, but only the schema itself is read"},
		{`type: json_schema, schema: {$ref: "file:///etc/hostname"}`, "suite.yaml:1:32: the schema is wrong: it refers to file:///etc/hostname, but only the schema itself is read"},
		{`type: json_schema, schema: {$ref: "other.json"}`, "suite.yaml:1:32: the schema is wrong: it refers to other.json, but only the schema itself is read"},
		{`type: json_schema, schema: {$ref: "#/$defs/x"}`, ""},
	} {
		s, faults := New(decoded(t, "- {name: s, "+c.scorer+"}"), Options{})
		if got := faults.Error(); got != c.want && c.want != "" || s != nil || faults.Err() == nil {
			t.Errorf("%s:\n got %s\nwant %s", c.scorer, got, c.want)
		}
	}
}

// A scorer that Go code made has no place in a file, and its faults are told all the same.
func TestFaultsWithoutAFile(t *testing.T) {
	_, faults := New([]spec.Scorer{{Name: "s", Type: "exakt"}, {Type: "exact", Value: &spec.Expr{Text: "nope"}}}, Options{})
	if got, want := faults.Error(), "unknown type of scorer \"exakt\"\nunknown name \"nope\""; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
