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
