package imports_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
	"github.com/agentbench/agentbench/suites"
)

// recognizing are the mappings that recognize a text.
func recognizing(t *testing.T, name string, text []byte) (names []string) {
	t.Helper()
	head, err := imports.NewHead(name, text[:min(len(text), imports.HeadSize)], bytes.NewReader(text))
	must(t, err)
	for _, m := range suites.MappingNames() {
		if head.Recognized(mapping(t, m)) != "" {
			names = append(names, m)
		}
	}
	return names
}

// TestEveryFormatIsRecognized: by its mapping alone, whatever its name.
func TestEveryFormatIsRecognized(t *testing.T) {
	seen := map[string]bool{}
	for file, want := range map[string]string{
		"testdata/anthropic.jsonl": "anthropic", "testdata/chat.jsonl": "openai-chat", "testdata/responses.jsonl": "openai-responses",
		"testdata/inspect.json": "inspect", "testdata/mini.traj.json": "mini-swe-agent", "testdata/mini-v1.traj.json": "mini-swe-agent",
		"testdata/tau2.json": "tau2", "testdata/atif/v1.4.json": "atif", "testdata/atif/v1.7.jsonl": "atif",
		"testdata/otel.json": "otel", "testdata/langfuse.jsonl": "langfuse", "testdata/codex.jsonl": "codex", "testdata/codex-0.171.0.jsonl": "codex", "testdata/qwen-code-0.15.10.jsonl": "qwen-code",
		"testdata/claude-code.jsonl": "claude-code", "testdata/qwen-code.jsonl": "qwen-code",
		recordingtest.File(t, "intercode/ic_sql_multiturn_gpt-4_10_turns.json"): "intercode",
		recordingtest.File(t, "taubench/gpt-4o-airline.json"):                   "tau-bench",
		recordingtest.File(t, "tau2/claude-sonnet-4-5_airline.json"):            "tau2",
	} {
		text, err := os.ReadFile(file)
		must(t, err)
		if got := recognizing(t, "log", text); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v", file, got)
		}
		seen[want] = true
	}
	for _, m := range suites.MappingNames() {
		if !seen[m] {
			t.Errorf("no file of %s", m)
		}
	}
	for _, other := range []string{"{", "[]", "nope", `{"a": 1}`, `[1, "a", null]`, `{"messages": 3}`, "a,b\n1,2\n", `{"schema_version": 3}`} {
		if got := recognizing(t, "log", []byte(other)); len(got) > 0 {
			t.Errorf("%q: %v", other, got)
		}
	}
}

func TestWhatIsNoLog(t *testing.T) {
	for text, want := range map[string]string{"": "empty", " \n": "empty", "\x7fELF\x00\x01": "binary"} {
		if _, err := imports.NewHead("log", []byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestAFileIsRecognizedByItsBeginning: also where its first document is cut off there, anywhere.
func TestAFileIsRecognizedByItsBeginning(t *testing.T) {
	steps := strings.Repeat(`{"step_id": 1, "source": "agent", "message": "\"}]", "extra": {"a": [1, 2, {}]}},`, 10_000)
	for cut := range 90 { // as long as a step
		long := []byte(`{"notes": "` + strings.Repeat("x", cut) + `", "schema_version": "ATIF-v1.7", "steps": [` + steps)
		if got := recognizing(t, "log", long); len(got) != 1 || got[0] != "atif" {
			t.Fatalf("%d: %v", cut, got)
		}
	}
}

func TestZipFilesAreRecognized(t *testing.T) {
	inspect := zipped(t, "log", member{"samples/1.json", []byte(`{}`), 8}, member{"header.json", []byte(`{"version": 2, "eval": {"task": "t", "model": "m"}}`), 8})
	others := zipped(t, "log", member{"readme.txt", []byte("x"), 8}, member{"a.json", []byte(`{"schema_version": "ATIF-v1.4", "steps": []}`), 8})
	for file, want := range map[string]string{inspect: "inspect", others: "atif"} {
		f, err := os.Open(file)
		must(t, err)
		defer f.Close()
		head, err := imports.NewHead(filepath.Base(file), []byte("PK\x03\x04"), f)
		must(t, err)
		if words := head.Recognized(mapping(t, want)); words == "" {
			t.Errorf("%s is not recognized", want)
		}
	}
}

// TestMappingsOnLogsOfOthers: whatever a mapping is given, it reports what it cannot read.
func TestMappingsOnLogsOfOthers(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json*")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, name := range suites.MappingNames() {
		m := mapping(t, name)
		for _, file := range files {
			text, err := os.ReadFile(file)
			must(t, err)
			for _, text := range [][]byte{text, text[:len(text)/2], bytes.ReplaceAll(text, []byte(`"role"`), []byte(`"x"`)), bytes.ReplaceAll(text, []byte(`"content":`), []byte(`"content":7,"c":`))} {
				im := imports.New(m)
				runs := 0
				for _, err := range im.Read(file, bytes.NewReader(text)) {
					var problem *imports.Problem
					switch {
					case err == nil:
						runs++
					case !errors.As(err, &problem):
						t.Errorf("%s of %s: %T", name, file, err)
					}
				}
				if n := len(im.Configurations()); (n > 0) != (runs > 0) {
					t.Errorf("%s of %s: %d runs, %d configurations", name, file, runs, n)
				}
			}
		}
	}
}
