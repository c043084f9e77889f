package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/spec"
)

// TestLanguageNamesEveryKey holds docs/language.md, with docs/scorers.md, against the schemas.
func TestLanguageNamesEveryKey(t *testing.T) {
	text := readDoc(t, "language.md") + readDoc(t, "scorers.md")
	for _, schema := range []func() ([]byte, error){spec.SchemaSuite, spec.SchemaLoop} {
		var tree any
		written, err := schema()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &tree); err != nil {
			t.Fatal(err)
		}
		for key := range properties(tree, map[string]bool{}) {
			if !named(text, key) {
				t.Errorf("docs/language.md does not name the key %q", key)
			}
		}
	}
}

// properties collects the names of all properties in a schema.
func properties(node any, found map[string]bool) map[string]bool {
	switch n := node.(type) {
	case map[string]any:
		if declared, ok := n["properties"].(map[string]any); ok {
			for key := range declared {
				found[key] = true
			}
		}
		for _, child := range n {
			properties(child, found)
		}
	case []any:
		for _, child := range n {
			properties(child, found)
		}
	}
	return found
}

// TestResultsNamesEveryField holds docs/results.md, with docs/events.md and, for
// what is compared, docs/compare.md, against what a suite leaves behind: its
// records, events, scores and report.
func TestResultsNamesEveryField(t *testing.T) {
	text := readDoc(t, "results.md") + readDoc(t, "events.md") + readDoc(t, "compare.md")
	dir := filepath.Join(t.TempDir(), "r")
	var events, report, errs bytes.Buffer
	do := func(out *bytes.Buffer, args ...string) {
		if code := run(context.Background(), args, func(string) string { return "" }, strings.NewReader(""), out, &errs); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
		}
	}
	do(&events, "run", "roadmap", "-q", "--out", dir, "--events", "-")
	do(&report, "report", dir, "--format", "json")
	for _, file := range []string{"records.jsonl", "scores.jsonl"} {
		lines, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		events.Write(lines)
	}
	written, err := json.Marshal(recordingtest.Conversation())
	if err != nil {
		t.Fatal(err)
	}
	events.Write(written)
	for decoder := json.NewDecoder(&events); decoder.More(); {
		checkKeys(t, text, decoder)
	}
	checkKeys(t, text, json.NewDecoder(&report))
}

func checkKeys(t *testing.T, text string, decoder *json.Decoder) {
	t.Helper()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	for key := range keys(value, map[string]bool{}) {
		if !named(text, strings.TrimSuffix(key, "_interval")) { // X_interval stands for all of them
			t.Errorf("docs/results.md does not name the field %q", key)
		}
	}
}

// keys collects the keys of all objects.
func keys(node any, found map[string]bool) map[string]bool {
	switch n := node.(type) {
	case map[string]any:
		for key, child := range n {
			found[key] = true
			keys(child, found)
		}
	case []any:
		for _, child := range n {
			keys(child, found)
		}
	}
	return found
}

// named says whether a text has a word in code: `word`, or as part of it.
func named(text, word string) bool {
	inside := false
	for _, part := range strings.Split(text, "`") {
		if inside {
			for _, w := range strings.FieldsFunc(part, func(r rune) bool { return !wordRune(r) }) {
				if w == word {
					return true
				}
			}
		}
		inside = !inside
	}
	return false
}

func wordRune(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func readDoc(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestProvidersDocument imports prices as docs/providers.md does, and loads its models.
func TestProvidersDocument(t *testing.T) {
	text := readDoc(t, "providers.md")
	t.Chdir(t.TempDir())
	table := `{"gpt-4o": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1e-05}}`
	if err := os.WriteFile("model_prices_and_context_window.json", []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, b := range blocks(text) {
		switch b.language {
		case "console":
			commands += runAll(t, b.lines)
		case "yaml":
			suite := "suite: s\ntasks: [{input: x}]\nconfigurations: [{name: a, loop: l.yaml}]\n" + strings.Join(b.lines, "\n")
			for name, content := range map[string]string{"l.yaml": "loop: l\nagent: {model: small}\nprompt: p\n", "s.yaml": suite} {
				if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			commands += runAll(t, []string{"$ agentbench check s.yaml", "s.yaml: suite s is fine: 1 task, 1 configuration, 1 trial, 0 scorers, 1 run"})
		}
	}
	if commands != 2 {
		t.Errorf("found %d commands", commands)
	}
}

var (
	link    = regexp.MustCompile(`\[[^\]\n]*\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
)

// anchors are the headings of a page as GitHub links to them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, b := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, b[1])
		found[name] = true
	}
	return found
}

// Links of the documents lead somewhere, and docs/README.md leads to every document.
func TestLinksOfTheDocuments(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	pages, err := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	others, err := filepath.Glob(filepath.Join(top, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, page := range append(pages, others...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			links++
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			content, err := os.ReadFile(file)
			if info, statErr := os.Stat(file); statErr == nil && info.IsDir() {
				continue
			}
			if err != nil || anchor != "" && !anchors(string(content))[anchor] {
				t.Errorf("%s links to %s, which is not there", filepath.Base(page), found[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("found %d links", links)
	}
	index := readDoc(t, "README.md")
	for _, page := range pages {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md does not lead to %s", name)
		}
	}
}
