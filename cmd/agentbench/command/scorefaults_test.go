package command

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

// scoringFault is a scorer that cannot judge, and why.
type scoringFault struct{ name, scorer, why string }

// scoringFaults are those that bad input makes; at is a server of judges and endpoints.
func scoringFaults(at string) []scoringFault {
	command := func(script string) string {
		return `type: command, timeout: 3s, command: [sh, -c, "` + script + `"]`
	}
	return []scoringFault{
		{"not-a-number", `type: cel, expr: "0.0 / double(size(output) - size(output))"`, "scorer not-a-number gave NaN, which is not between 0 and 1"},
		{"infinite", `type: cel, expr: "1.0 / double(size(output) - size(output))"`, "scorer infinite gave +Inf, which is not between 0 and 1"},
		{"too-much", `type: cel, expr: "7.0"`, "scorer too-much gave 7, which is not between 0 and 1"},
		{"out-of-range", `type: cel, expr: "7.0", range: [1, 5]`, "scorer out-of-range gave 7, which is not between 1 and 5"},
		{"wrong-type", `type: cel, expr: "double(task.metadata.none)"`, `there is no key "none"`},
		{"long", `type: regex, value: "string(task.vars.long)", pattern: x`, "the value has 2000000 bytes; at most 1048576 are searched"},
		{"no-target", `type: exact, target: "null"`, "the target is missing"},
		{"hangs", command("sleep 300 & wait"), `the program "sh" took longer than 3s and was killed`},
		{"crashes", command("echo broken >&2; exit 3"), `the program "sh" failed: exit status 3: broken`},
		{"garbage", command("echo fine"), "reading the answer: it is not JSON"},
		{"silent", command("true"), "reading the answer: it is not JSON"},
		{"program-nan", command("echo NaN"), "reading the answer: it is not JSON"},
		{"program-too-much", command("echo 7"), "scorer program-too-much gave 7, which is not between 0 and 1"},
		{"floods", command("yes | head -c 300000"), `the program "sh" wrote 300000 bytes; 262144 are allowed`},
		{"not-there", "type: http, url: '" + at + "/404'", "the endpoint: HTTP 404"},
		{"prose-endpoint", "type: http, url: '" + at + "/prose'", "reading the answer: it is not JSON"},
		{"prose", "type: judge, model: prose, rubric: good", "bad_response: the judge's answer cannot be read: it is not JSON"},
		{"out-of-scale", "type: judge, model: seven, rubric: good", "its score 7 is not between 0 and 1, and that twice"},
		{"no-key", "type: judge, model: refuses, rubric: good", "auth: "},
		{"half-a-panel", "type: judge, models: [prose, seven, fine], rubric: good", "2 of 3 votes failed: bad_response"},
		{"part", "type: all_of, scorers: [garbage, right]", "garbage: reading the answer: it is not JSON"},
	}
}

// judging answers judges and endpoints in every way that is no score.
func judging(t *testing.T) (address string) {
	said := map[string]string{"prose": "Good work!", "seven": `{"score": 7}`, "fine": `{"score": 1}`}
	mux := http.NewServeMux()
	mux.HandleFunc("/prose", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, said["prose"]) })
	for name, text := range said {
		mux.HandleFunc("/"+name+"/v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, text)
		})
	}
	mux.HandleFunc("/refuses/v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func scoringSuite(t *testing.T, address string, faults []scoringFault) (folder string) {
	t.Helper()
	folder = t.TempDir()
	suite := "suite: scoring\ntasks: [{id: a, input: x, target: x, vars: {long: " + strings.Repeat("y", 2_000_000) + "}, metadata: {level: 1}}]\n" +
		"configurations: [{name: default, loop: l.yaml}]\nmodels:\n  echo: {provider: script, responses: [x]}\n"
	for _, name := range []string{"prose", "seven", "fine", "refuses"} {
		suite += fmt.Sprintf("  %s: {provider: openai, base_url: '%s/%[1]s/v1', price: free, stream: false}\n", name, address)
	}
	suite += "scorers:\n- {name: right, type: exact}\n"
	for _, f := range faults {
		suite += "- {name: " + f.name + ", " + f.scorer + "}\n"
	}
	for name, text := range map[string]string{"suite.yaml": suite, "l.yaml": "loop: l\nagent: {model: echo}\nprompt: x\nmax_iterations: 1\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestF80_WhatCannotBeJudgedIsUnscored runs a suite whose every scorer but one cannot judge, each for another reason: the
// run ends, no such score is a number, all are counted with their reason, and the one that can judge is not hindered.
func TestF80_WhatCannotBeJudgedIsUnscored(t *testing.T) {
	at := judging(t)
	faults := scoringFaults(at)
	folder := scoringSuite(t, at, faults)
	run := exec.Command("agentbench", "run", "suite.yaml", "-q", "--out", "r")
	run.Dir, run.Env = folder, append(os.Environ(), "OPENAI_API_KEY=none")
	table, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, table)
	}
	made := map[string]record.Score{}
	for score, err := range record.ReadScores(filepath.Join(folder, "r")) {
		if err != nil {
			t.Fatal(err)
		}
		made[score.Name] = score
	}
	if right := made["right"]; right.Value != 1 || right.Unscored != "" {
		t.Errorf("the scorer that can judge: %+v", right)
	}
	told := strings.Join(strings.Fields(string(table)), " ")
	for _, f := range faults {
		if score := made[f.name]; !strings.Contains(score.Unscored, f.why) || score.Value != 0 || score.Answer != "" {
			t.Errorf("%s: %+v, want %s", f.name, score, f.why)
		}
		if !regexp.MustCompile(regexp.QuoteMeta(f.name) + ` could not judge 1 of 1 runs?, which (is|are) in no score: \S`).MatchString(told) {
			t.Errorf("%s is not counted in\n%s", f.name, table)
		}
	}
}
