package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// TestImportDocument runs the examples of docs/import.md.
func TestImportDocument(t *testing.T) {
	text := readDoc(t, "import.md")
	t.Chdir(t.TempDir())
	commands := 0
	for _, b := range blocks(text) {
		switch b.language {
		case "jsonl":
			if err := os.WriteFile("log.jsonl", []byte(strings.Join(b.lines, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
		case "yaml":
			writeNamed(t, b.lines)
		case "console":
			commands += runAll(t, b.lines)
		}
	}
	if commands < 4 {
		t.Errorf("found %d commands", commands)
	}
	if _, faults := spec.Load("chat.yaml", spec.Options{}); len(faults) > 0 {
		t.Error(faults)
	}
}

// TestImportNamesEveryKey holds docs/import.md against the schema of mappings.
func TestImportNamesEveryKey(t *testing.T) {
	text := readDoc(t, "import.md")
	written, err := spec.SchemaImport()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(written, &schema); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range []string{"Import", "Zip", "ImportedIterations", "ImportedUsage", "RecordedUnder"} {
		found = properties(schema.Defs[name], found)
	}
	if len(found) < 30 {
		t.Fatalf("only %d keys: %v", len(found), found)
	}
	for key := range found {
		if !named(text, key) && !strings.Contains(text, "\n"+key+": ") {
			t.Errorf("docs/import.md does not name the key %q", key)
		}
	}
}

// interrupting is a log that ends its reader's context after some rows.
type interrupting struct {
	rows   int
	cancel context.CancelFunc
}

func (i *interrupting) Read(b []byte) (int, error) {
	if i.rows--; i.rows == 0 {
		i.cancel()
	}
	return copy(b, fmt.Sprintf("{\"a\": %d}\n", i.rows)), nil
}

// An import that is interrupted keeps what it has read, and says so.
func TestAnInterruptedImportIsStopped(t *testing.T) {
	dir := t.TempDir()
	mapping, results := filepath.Join(dir, "m.yaml"), filepath.Join(dir, "r")
	if err := os.WriteFile(mapping, []byte("import: m\niterations: {of: '[row.a]', output: it}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	code := run(ctx, []string{"import", mapping, "-", "--out", results}, func(string) string { return "" }, &interrupting{3, cancel}, &out, &errs)
	m, err := record.ReadManifest(results)
	if err != nil || code != exit.Stopped || m.Status != record.StateStopped || m.Totals.Runs() < 1 || out.Len() > 0 {
		t.Errorf("exit code %d, %s, %+v, %v: %s", code, m.Status, m.Totals, err, errs.String())
	}
	if want := fmt.Sprintf("agentbench: interrupted after %s\n", page.Plural(m.Totals.Runs(), "run", "runs")); !strings.Contains(errs.String(), want) {
		t.Errorf("it says %q, want %q", errs.String(), want)
	}
	runs := 0
	for _, err := range record.ReadRuns(results) {
		if runs++; err != nil {
			t.Fatal(err)
		}
	}
	if runs != m.Totals.Runs() {
		t.Errorf("%d runs are there, %d counted", runs, m.Totals.Runs())
	}
}
