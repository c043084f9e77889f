package command

import (
	"os"
	"strings"
	"testing"
)

// TestMetricsDocument runs the examples of docs/metrics.md.
func TestMetricsDocument(t *testing.T) {
	text := readDoc(t, "metrics.md")
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
}
