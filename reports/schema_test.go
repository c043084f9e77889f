package reports_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// schemaOf compiles a schema. It is closed: a field that it does not name is an
// error, so that the schema cannot fall behind.
func schemaOf(t *testing.T, write func() ([]byte, error)) *jsonschema.Schema {
	t.Helper()
	text, err := write()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	closeObjects(document)
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func closeObjects(node any) {
	switch node := node.(type) {
	case map[string]any:
		if node["type"] == "object" {
			node["additionalProperties"] = false
		}
		for _, child := range node {
			closeObjects(child)
		}
	case []any:
		for _, child := range node {
			closeObjects(child)
		}
	}
}

func validate(t *testing.T, schema *jsonschema.Schema, name, text string) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

func TestReportsKeepToTheirSchema(t *testing.T) {
	schema := schemaOf(t, reports.JSONSchema)
	all := map[string]*reports.Report{
		"coach": judged(coach(24).simulated("default")), "nothing": (&fixture{manifest: record.Manifest{Status: record.StateStopped}}).collect(), "hostile": infested("\x1b[31m\xff"),
	}
	for name, f := range edges() {
		all[name] = f.collect()
	}
	for name, r := range all {
		validate(t, schema, name, written(t, r, page.Options{Format: "json"}))
	}
}

func TestComparisonsKeepToTheirSchema(t *testing.T) {
	schema := schemaOf(t, reports.DiffJSONSchema)
	c := worse(t)
	c.Thresholds = judged(coach(1)).Thresholds
	c.Spec = append(c.Spec, reports.SpecDifference{Path: "a", Base: "1"})
	validate(t, schema, "coach", written(t, c, page.Options{Format: "json"}))
	small, other := small(3), small(3)
	other.scores = nil
	validate(t, schema, "without scores", written(t, gatedDiff(t, small.collect(), other.collect(), reports.DiffOptions{}), page.Options{Format: "json"}))
}

// What is required is there, and has its type.
func TestSchemasRefuse(t *testing.T) {
	schema := schemaOf(t, reports.JSONSchema)
	text := written(t, small(2).collect(), page.Options{Format: "json"})
	for name, change := range map[string]func(map[string]any){
		"another schema":   func(r map[string]any) { r["schema"] = "agentbench/report/2" },
		"no tasks":         func(r map[string]any) { delete(r, "tasks") },
		"an unknown state": func(r map[string]any) { r["status"] = "fine" },
		"a count in words": func(r map[string]any) { r["task_count"] = "two" },
		"no list":          func(r map[string]any) { r["configurations"] = nil },
	} {
		var report map[string]any
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			t.Fatal(err)
		}
		change(report)
		if schema.Validate(report) == nil {
			t.Errorf("%s is fine", name)
		}
	}
}
