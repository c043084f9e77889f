package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/overview"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
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
	skipRace(t)
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

func TestPrintableLeavesNothingThatATerminalObeys(t *testing.T) {
	cases := map[string]string{
		"plain text, 文字 🚀": "plain text, 文字 🚀",
		"two\n::error::x":  `two\n::error::x`,
		"\x1b[31mred":      `\x1b[31mred`,
		"\a\r\u202e\u200b": `\x07\r\u202e\u200b`,
		"bad \xff":         `bad \xff`,
	}
	for text, want := range cases {
		if got := page.Visible(text); got != want {
			t.Errorf("page.Visible(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestFreshFoldersAreSafeNamesAndDiffer(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.FixedZone("", 3600))
	first, second := results.Fresh("../a b/ü", now), results.Fresh("../a b/ü", now)
	if first == second {
		t.Errorf("two folders of the same second are both %s", first)
	}
	if want := filepath.Join("results", "---a-b---20260102-140405-"); !strings.HasPrefix(first, want) {
		t.Errorf("got %s, want %sXXXX", first, want)
	}
	if long := filepath.Base(results.Fresh(strings.Repeat("x", 500), now)); len(long) > 100 {
		t.Errorf("a folder name of %d characters", len(long))
	}
}

func TestSettingsKeepWhatStandsBehindTheFirstEqualsSign(t *testing.T) {
	var got []spec.Setting
	c := &cobra.Command{}
	setFlag(c, &got, "set")
	err := c.ParseFlags([]string{"--set", "a.b=1", "--set", "evaluate.checks.x.expr=output == 'a=b, c'"})
	want := []spec.Setting{{Path: "a.b", Value: "1"}, {Path: "evaluate.checks.x.expr", Value: "output == 'a=b, c'"}}
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %v, %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
	for _, wrong := range []string{"a.b", "=1", "", "c="} {
		if err := c.ParseFlags([]string{"--set", wrong}); err == nil {
			t.Errorf("--set %q was taken", wrong)
		}
	}
}

func TestOnlyAClosedPipeIsForgiven(t *testing.T) {
	if err := unlessClosed(errors.Join(errors.New("writing"), syscall.EPIPE)); err != nil {
		t.Errorf("a reader that has seen enough is an error: %v", err)
	}
	if unlessClosed(syscall.ENOSPC) == nil {
		t.Error("a full disk is forgiven")
	}
}

// finishedRun is a run for which half a dollar was paid, and as much saved.
// A run that is delivered is in flight no more, though it is not safe yet.
func TestRunsThatAreDeliveredAreNotInFlight(t *testing.T) {
	view := &overview.Progress{Now: time.Now, Total: 3}
	tally := &overview.Tally{View: view}
	items := func(yield func(plan.Item, error) bool) {
		_ = yield(plan.Item{ID: "a"}, nil) && yield(plan.Item{ID: "b"}, nil)
	}
	run := func(_ context.Context, item plan.Item) *record.Run {
		tally.Started(item)
		return &record.Run{Outcome: record.Outcome{Status: record.Completed}}
	}
	delivered := 0
	deliver := func(_ context.Context, _ plan.Item, r *record.Run) {
		delivered++
		if flying, saving := view.InFlight(); flying != 0 || saving != delivered {
			t.Errorf("%d delivered: %d in flight, %d being saved", delivered, flying, saving)
		}
	}
	if err := (draining{engine.Pool{Workers: 1}, nil, func(*record.Run) { tally.Executed() }}).Execute(t.Context(), items, run, deliver); err != nil || delivered != 2 {
		t.Errorf("%d delivered, %v", delivered, err)
	}
	if !tally.Any.Load() {
		t.Error("nothing ran")
	}
}
