package source

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/expect"
	"github.com/agentbench/agentbench/engine/propertytest"
)

func compiled(t *testing.T, schema map[string]any) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(schema)
	expect.NoError(t, err)
	resource, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	expect.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	expect.NoError(t, compiler.AddResource("schema.json", resource))
	return compiler.MustCompile("schema.json")
}

// jsonOf is what an editor sees of a tree.
func jsonOf(n *Node) any {
	switch n.Kind {
	case List:
		list := []any{}
		for _, item := range n.Items {
			list = append(list, jsonOf(item))
		}
		return list
	case Map:
		object := map[string]any{}
		for _, entry := range n.Entries {
			object[entry.Key] = jsonOf(entry.Value)
		}
		return object
	}
	return n.Plain()
}

// What the schema forbids, Decode forbids too.
func TestSchemaForbidsNothingThatDecodeTakes(t *testing.T) {
	schema := compiled(t, Schema(sample{}))
	keys := []string{"name", "reply", "max_iterations", "seed", "threshold", "price", "strict", "timeout", "wait", "phase", "tags", "limits",
		"phases", "env", "vars", "raw", "patience", "after", "command", "weights", "note", "inner", "other"}
	scalars := []string{"a", "json", "text", "''", "'5'", "0", "1", "2", "-1", "100", "101", "1.5", "1.0", "0.5", "1e3", "010", ".nan", "true", "false", "yes", "off", "~", "30s", "1h5m", "1.5m", "0s", "2026-01-31"}
	refused := 0
	propertytest.Check(t, func(t *rapid.T) {
		text := "{name: x, " + strings.Join(rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom(keys[1:]).Draw(t, "key") + ": " + drawValue(t, keys, scalars, 3)
		}), 1, 4, func(s string) string { return s[:strings.Index(s, ":")] }).Draw(t, "entries"), ", ") + "}"
		n, faults := Parse(NewFile("f", []byte(text)))
		if faults != nil {
			t.Skip(faults)
		}
		var s sample
		faults = Decode(n, &s)
		if err := schema.Validate(jsonOf(n)); err != nil {
			refused++
			if faults.Err() == nil {
				t.Fatalf("%s\ntaken, but the schema says: %v", text, err)
			}
		}
	})
	if refused == 0 {
		t.Error("the schema refused nothing")
	}
}

func drawValue(t *rapid.T, keys, scalars []string, depth int) string {
	shape := rapid.IntRange(0, 5).Draw(t, "shape")
	if depth == 0 || shape < 3 {
		return rapid.SampledFrom(scalars).Draw(t, "scalar")
	}
	value := rapid.Custom(func(t *rapid.T) string { return drawValue(t, keys, scalars, depth-1) })
	if shape == 3 {
		return "[" + strings.Join(rapid.SliceOfN(value, 0, 3).Draw(t, "items"), ", ") + "]"
	}
	var entries []string
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 3, rapid.ID[string]).Draw(t, "keys") {
		entries = append(entries, key+": "+value.Draw(t, "value"))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

// The tables of bad values hold for the schema as far as JSON Schema can say it.
func TestSchemaForbidsMostOfWhatDecodeForbids(t *testing.T) {
	schema := compiled(t, Schema(sample{}))
	beyond := map[string]string{"max_iterations: 1.0": "an integer to JSON",
		"note: 2026-01-31": "text to JSON", "timeout: 0s": "a limit of a duration", "seed: 9223372036854775808": "any integer to JSON",
		"seed: 99999999999999999999": "any integer to JSON"}
	for _, c := range badValues {
		n, faults := Parse(NewFile("f", []byte(c.text+"\nname: a\n")))
		if faults != nil || beyond[c.text] != "" || strings.HasPrefix(c.text, "vars:") {
			continue
		}
		if schema.Validate(jsonOf(n)) == nil {
			t.Errorf("the schema takes %q", c.text)
		}
	}
}

func TestSchemaOfEveryTag(t *testing.T) {
	text, err := json.MarshalIndent(Schema(struct {
		Name   string             `yaml:"name" need:"required" minlen:"1" doc:"what it is called"`
		Kind   []string           `yaml:"kind" enum:"a|b"`
		Share  Maybe[float64]     `yaml:"share" min:"0" max:"1"`
		Prices map[string]float64 `yaml:"prices" above:"0"`
		Next   *phase             `yaml:"next" doc:"what comes then"`
	}{}), "", " ")
	expect.NoError(t, err)
	var got struct {
		Schema string                    `json:"$schema"`
		Ref    string                    `json:"$ref"`
		Defs   map[string]map[string]any `json:"$defs"`
	}
	expect.NoError(t, json.Unmarshal(text, &got))
	root := got.Defs[strings.TrimPrefix(got.Ref, "#/$defs/")]
	want := `{"additionalProperties":false,"properties":{` +
		`"kind":{"items":{"enum":["a","b"],"type":"string"},"type":"array"},` +
		`"name":{"description":"what it is called","minLength":1,"type":"string"},` +
		`"next":{"$ref":"#/$defs/phase","description":"what comes then"},` +
		`"prices":{"additionalProperties":{"exclusiveMinimum":0,"type":"number"},"type":"object"},` +
		`"share":{"anyOf":[{"maximum":1,"minimum":0,"type":"number"},{"const":"off"}]}},` +
		`"required":["name"],"type":"object"}`
	if line, _ := json.Marshal(root); string(line) != want {
		t.Errorf("got  %s\nwant %s", line, want)
	}
	if inner := fmt.Sprint(got.Defs["phase"]["properties"]); !strings.Contains(inner, "$ref:#/$defs/phase") {
		t.Errorf("a type that holds itself: %s", inner)
	}
}

func TestSchemaOfSeveralTypesTakesAnyOfThem(t *testing.T) {
	type suite struct {
		Suite string `yaml:"suite" need:"required"`
	}
	type loop struct {
		Loop string `yaml:"loop" need:"required"`
	}
	schema := compiled(t, Schema(suite{}, loop{}))
	for key, want := range map[string]bool{"suite": true, "loop": true, "other": false} {
		expect.Equal(t, key, schema.Validate(map[string]any{key: "x"}) == nil, want)
	}
}

func TestDefinitionsOfOneNameStayApart(t *testing.T) {
	type phase struct {
		Other int `yaml:"other"`
	}
	g := &Generator{definitions: map[string]any{}, names: map[reflect.Type]string{}}
	first, second := g.Of(phase{}), g.Of(sample{}.Phases)
	if fmt.Sprint(first, second) != "map[$ref:#/$defs/phase] map[items:map[$ref:#/$defs/phase2] type:array]" {
		t.Error(first, second)
	}
}

// either is a number or a struct of its own fields.
type either struct {
	Number float64 `short:"text" max:"1"`
	Share  float64 `yaml:"share" min:"0"`
	Reason string  `yaml:"reason" need:"required"`
}

func TestUnionsDescribeThemselves(t *testing.T) {
	schema := compiled(t, Schema(either{}))
	for text, want := range map[string]bool{
		"1": true, "2": false, "{reason: x}": true, "{share: 2}": false, "{share: -1, reason: x}": false, "{reason: x, other: 1}": false, "[]": false,
	} {
		n := parsed(t, text)
		var e either
		if schema.Validate(jsonOf(n)) == nil != want || Decode(n, &e).Err() == nil != want {
			t.Errorf("%s: schema %v, faults %v", text, schema.Validate(jsonOf(n)), Decode(n, &e))
		}
	}
}

func TestSchemaOfNamed(t *testing.T) {
	schema := compiled(t, Schema(struct {
		Limits Named[int] `yaml:"limits"`
	}{}))
	for text, want := range map[string]bool{"{limits: {a: 1}}": true, "{limits: {a: x}}": false, "{limits: [1]}": false} {
		expect.Equal(t, text, schema.Validate(jsonOf(parsed(t, text))) == nil, want)
	}
}
