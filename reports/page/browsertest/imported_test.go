package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The logs of other tools become runs whose conversations are shown and compared as all others.
func TestImportedRunsSideBySide(t *testing.T) {
	const transcript = `{"messages": [{"role": "user", "content": "When was it?"}, {"role": "assistant", "content": "Let me look.", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "lookup", "arguments": "{\"year\": %d}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "found"}, {"role": "assistant", "content": "In %d."}]}` + "\n"
	log, results := filepath.Join(t.TempDir(), "chats.jsonl"), filepath.Join(t.TempDir(), "imported")
	if err := os.WriteFile(log, []byte(fmt.Sprintf(transcript, 1990, 1990)+fmt.Sprintf(transcript, 1991, 1991)), 0o600); err != nil {
		t.Fatal(err)
	}
	agentbench(t, "import", "openai-chat", log, "--out", results)
	b := open(t, write(t, results), "#q=")
	b.wait(summary + `.startsWith("2 of 2 runs")`)
	b.run(`const [one, other] = [...document.querySelectorAll(".rows td a")].map((a) => a.getAttribute("href")); location.hash = one + "&with=" + other.slice(5)`)
	b.wait(compared + `.includes("first difference")`)
	if text := b.text(`document.querySelector(".compare .first").innerText`); !strings.Contains(text, "calls") || !strings.Contains(text, "1990") || !strings.Contains(text, "1991") {
		t.Errorf("the first difference is %s", text)
	}
	b.click(`document.querySelector(".compare .heads a")`)
	b.wait(runText + `.includes("Let me look.")`)
	if text := b.text(runText); !strings.Contains(text, "lookup") || !strings.Contains(text, "gave\nfound") {
		t.Errorf("the run is %s", text)
	}
}

// Runs of logs of other tools have on the page all that show prints of their parts: thinking, calls, outputs, votes.
func TestRunsOfManyFormats(t *testing.T) {
	logs := filepath.Join("..", "..", "..", "engine", "imports", "testdata")
	bare := func(text string) string { return strings.Join(strings.Fields(text), "") }
	for format, of := range map[string]struct {
		log   string
		parts string // kinds that some run has
	}{
		"anthropic": {"anthropic.jsonl", "thinking calls gave output"}, "claude-code": {"claude-code.jsonl", "calls gave"}, "codex": {"codex.jsonl", "thinking calls gave output"},
		"inspect": {"inspect.json", "thinking calls gave output score"}, "langfuse": {"langfuse.jsonl", "calls gave output score"}, "mini-swe-agent": {"mini.traj.json", "calls gave output"},
		"openai-responses": {"responses.jsonl", "thinking calls gave output"}, "otel": {"otel.json", "calls gave output score"}, "qwen-code": {"qwen-code.jsonl", "calls gave output"},
		"tau2": {"tau2.json", "calls gave output score"}, "atif": {"atif/v1.4.json", "calls gave output"},
	} {
		results := filepath.Join(t.TempDir(), format)
		agentbench(t, "import", format, filepath.Join(logs, of.log), "--out", results)
		b := open(t, write(t, results), "#q=")
		b.wait(rowsShown + ` > 0`)
		parts := ""
		for _, id := range strings.Split(b.text(`[...document.querySelectorAll(".rows td a")].map((a) => a.title).join("\n")`), "\n") {
			b.run(fmt.Sprintf("location.hash = '#run=' + encodeURIComponent(%q)", id))
			b.wait(fmt.Sprintf(`(%s) === %q && document.querySelector(".run article.ending")`, opened, "Run "+id))
			shown := bare(b.text(`document.querySelector(".run").innerText`))
			parts += b.text(`[...document.querySelectorAll(".run h3")].map((it) => it.innerText).join(" ")`) + " "
			lines := 0
			for line := range strings.Lines(printedBy(t, "show", results, id, "--full")) {
				if said, isPart := strings.CutPrefix(line, "  "); isPart && !strings.HasPrefix(said, "used ") { // the head says it
					if said = bare(said[min(len(said), 12):]); !strings.Contains(shown, said) { // behind the name of the part
						t.Errorf("%s: the page of %s does not have %s", format, id, said)
					}
					lines++
				}
			}
			if lines < 5 {
				t.Errorf("%s: show prints %d lines of %s", format, lines, id)
			}
		}
		for _, part := range strings.Fields(of.parts) {
			if !strings.Contains(" "+parts, " "+part+" ") {
				t.Errorf("%s: no run has %s: %s", format, part, parts)
			}
		}
	}
}
