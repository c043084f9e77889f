package command

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What report, diff, replay and tune print as JSON is what schema says of it.
func TestJSONKeepsToItsSchema(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	printed(t, "run", "application", "-q", "--out", dir)
	for kind, args := range map[string][]string{
		"report": {"report", dir, "--format", "json"},
		"diff":   {"diff", dir + ":one-try", dir + ":two-tries", "--format", "json"},
		"replay": {"replay", dir, "--format", "json"},
		"tune":   {"tune", dir, "--configuration", "two-tries", "-p", "terminate.max_iterations=1,2", "--choose", "at_least:0.5", "--format", "json"},
	} {
		schema, err := jsonschema.UnmarshalJSON(strings.NewReader(printed(t, "schema", kind)))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("schema.json", schema); err != nil {
			t.Fatal(err)
		}
		compiled, err := compiler.Compile("schema.json")
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(printed(t, args...)))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// printed is what a command writes to stdout.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), args, func(string) string { return "" }, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("agentbench %q: exit code %d: %s", args, code, errs.String())
	}
	return out.String()
}
