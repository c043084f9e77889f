package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

// steering is what a terminal obeys or hides, in JSON and double quotes of YAML:
// colours, a title, a bell, a return, NUL, text from right to left, no width; and
// lines that runners of CI obey.
const steering = `\u001b[31mred\u001b]0;title\u0007\r\u0000\u202eabc\u200b\u009b2J\u2028end` +
	`\n::error::a\n \t ::error::b\r::error::c\n\u001b[1m::error::d\n\u00a0::error::e ##[error]f ##vso[task.complete]g ##teamcity[message h]`

// orders are lines that a runner of CI obeys, and texts within them.
var orders = regexp.MustCompile(`(?m)(?:^|\r)[\pZ\s]*::|##[A-Za-z]*\[`)

// annotation is a line that is ours.
var annotation = regexp.MustCompile(`(?m)^::(error|warning|notice) title=[^:\n]*::`)

// evilSuite writes a suite whose names, replies and errors try to steer the
// terminal.
func evilSuite(t *testing.T, address string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"suite.yaml": `suite: "s EVIL"
tasks: [{id: "t EVIL", input: "i EVIL", target: "EVIL"}]
models: {"m EVIL": {provider: openai, name: "n EVIL", base_url: "` + address + `", price: free, retries: 0}}
configurations: [{name: "c EVIL", loop: a.yaml}, {name: "d EVIL", loop: b.yaml}, {name: "e EVIL", loop: c.yaml}]
scorers: [{name: "x EVIL", type: exact}, {name: "y EVIL", type: command, command: [sh, score.sh]}]
baseline: "c EVIL"
min_coverage: 0
thresholds: ['configurations["c EVIL"].success > 2.0', 'diff.scores["x EVIL"].verdict == "better"']
`,
		"a.yaml": `loop: "l EVIL"
agent: {model: "m EVIL"}
prompt: "p EVIL {{ feedback }}"
evaluate: {confidence: "0.5", feedback: output, checks: [{name: "k EVIL", expr: "output == ''", feedback: "f EVIL"}]}
phases: [{name: "ph EVIL", max_iterations: 2}]
`,
		"b.yaml":   "loop: b\nagent: {command: [sh, tell.sh, 'a EVIL']}\nterminate: {max_iterations: 1}\n",
		"c.yaml":   "loop: c\nagent: {model: \"m EVIL\", system: \"fail EVIL\"}\nprompt: p\nterminate: {max_iterations: 1}\n",
		"tell.sh":  "printf '\\033[31m\\007\\r\\000' >&2; printf '\\033[31m\\007\\r\\000'; exit 3\n",
		"score.sh": `printf '%s' '{"score": 0.5, "explanation": "EVIL"}'`,
	} {
		write(t, dir, name, strings.ReplaceAll(text, "EVIL", steering))
	}
	write(t, dir, "labels.csv", strings.ReplaceAll("configuration,task,trial,label\n\"c EVIL\",\"t EVIL\",1,yes\n", "EVIL", unquoted(steering)))
	return dir
}

// steeringServer repeats what is said to it, and fails where that is asked for.
func steeringServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("fail")) {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprintf(w, `{"error":{"message":"%s"}}`, steering)
			return
		}
		fmt.Fprintf(w, `{"choices":[{"message":{"content":"%s"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, steering)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// F71, F73, P18: whatever names, replies and errors hold, the program writes
// nothing that a terminal obeys.
func TestF71_NothingSteersTheTerminal(t *testing.T) {
	t.Chdir(evilSuite(t, steeringServer(t)))
	expectPlain(t, "check", "suite.yaml")
	expectPlain(t, "plan", "suite.yaml")
	expectPlain(t, "run", "suite.yaml", "--out", "r")
	expectPlain(t, "run", "suite.yaml", "--out", "r", "--events", "-")
	expectPlain(t, "run", "suite.yaml", "--out", "r", "--set", "terminate.max_iterations=3") // which is refused
	expectPlain(t, "show", "r")
	ids := 0
	for r, err := range record.ReadRuns("r") {
		if err != nil {
			t.Fatal(err)
		}
		ids++
		for _, form := range []string{"--full", "--json", "--events"} {
			expectPlain(t, "show", "r", r.ID, form)
		}
	}
	if ids < 3 {
		t.Errorf("%d runs", ids)
	}
	for _, form := range page.Formats {
		expectPlain(t, "report", "r", "--format", form)
		expectPlain(t, "diff", "r", "--format", form)
	}
	expectPlain(t, "baseline", "set", "evil", "r")
	expectPlain(t, "baseline", "list")
	expectPlain(t, "diff", "--baseline", "evil", "r", "--threshold", `diff.scores.all(s, diff.scores[s].change > 0.0)`)
	expectPlain(t, "report", "r", "--baseline", "evil")
	expectPlain(t, "cache", "list", "cache")
	expectPlain(t, "cache", "list", "cache", "--entries")
	expectPlain(t, "repair", "r")
	for _, form := range page.Formats {
		expectPlain(t, "replay", "r", "--configuration", "c "+unquoted(steering), "--set", "terminate.max_iterations=1", "--format", form)
		expectPlain(t, "tune", "r", "--configuration", "c "+unquoted(steering), "--parameter", "terminate.max_iterations=1", "--format", form)
		expectPlain(t, "calibrate", "suite.yaml", "--scorer", "y "+unquoted(steering), "--results", "r", "--labels", "labels.csv", "--format", form)
	}
}

// unquoted is a text that stands in double quotes.
func unquoted(text string) (plain string) {
	_ = json.Unmarshal([]byte(`"`+text+`"`), &plain)
	return plain
}

func expectPlain(t *testing.T, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := func(name string) string {
		return map[string]string{"OPENAI_API_KEY": "none", "PATH": os.Getenv("PATH")}[name]
	}
	code := run(context.Background(), args, env, strings.NewReader(""), &out, &errs)
	if code == exit.WrongUsage {
		t.Fatalf("agentbench %q: %s", args, errs.String())
	}
	for name, text := range map[string]string{"stdout": out.String(), "stderr": errs.String()} {
		text = strings.ReplaceAll(text, "\r\n", "\n") // ends lines of CSV
		if slices.Contains(args, "github") {
			text = annotation.ReplaceAllString(text, "")
		}
		if at := orders.FindStringIndex(text); at != nil {
			t.Errorf("agentbench %q: %s holds an order to CI: %q", args, name, text[max(0, at[0]-80):min(len(text), at[1]+20)])
		}
		if at := strings.IndexFunc(text, func(char rune) bool { return char != '\n' && char != '\t' && !unicode.IsPrint(char) }); at >= 0 {
			t.Errorf("agentbench %q: %s holds %q behind %q", args, name, text[at:min(len(text), at+4)], text[max(0, at-80):at])
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
