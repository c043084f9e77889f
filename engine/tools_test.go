//go:build unix

package engine

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/record"
)

// oneTool is a run of an agent that has one tool, t, and calls it with the given
// arguments, one call after the other; then it says done.
func oneTool(t *testing.T, o BuildOptions, declared string, arguments ...string) *record.Run {
	t.Helper()
	declared, loop, _ := strings.Cut(declared, "\n<")
	var replies strings.Builder
	for _, a := range arguments {
		fmt.Fprintf(&replies, "{tool_calls: [{name: t, arguments: %s}]}, ", a)
	}
	files := fstest.MapFS{
		"s.yaml": {Data: []byte("suite: s\ntasks: [{id: t, input: x, vars: {rate: 2}}]\nconfigurations: [{name: c, loop: l.yaml}]\n" +
			"models: {m: {provider: script, price: free, responses: [" + replies.String() + "done]}}\n")},
		"l.yaml": {Data: []byte("loop: l\nagent:\n  model: m\n  max_steps: 20\n  tools:\n  - " + strings.ReplaceAll(declared, "\n", "\n    ") + "\nprompt: go\nterminate: {max_iterations: 1}\n" + loop)},
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	doc, loops := builtWith(t, files, o)
	return loops[0].Run(t.Context(), "r", onlyTask(t, doc), 1, nil)
}

// given tells what each call of a run gave: a result, or an error.
func given(run *record.Run) (told []string) {
	for i := range run.Iterations {
		for _, c := range run.Iterations[i].ToolCalls {
			what := string(c.Result)
			if c.Error != nil {
				what = strings.TrimSpace(what + " " + c.Error.Error())
			}
			told = append(told, what)
		}
	}
	return told
}

const anyArguments = "{name: t, parameters: {type: object}, "

// S4.9: tools of each kind, as they are declared: what they give is told, and so
// is what they fail of, and the run goes on.
func TestS4_9_ToolsAsDeclared(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer word" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"posted": `+string(body)+`}`)
	}))
	defer server.Close()
	getenv := func(name string) string {
		return map[string]string{"PATH": os.Getenv("PATH"), "KEY": "word", "OTHER_KEY": "sk-CANARY"}[name]
	}
	for name, c := range map[string]struct{ declared, arguments, want string }{
		"a program":               {anyArguments + "command: [sh, -c, 'cat; echo; echo \"$KEY$OTHER_KEY\"'], env: [KEY]}", "{a: 1}", `"{\"a\":1}\n\nword"`},
		"a program that fails":    {anyArguments + "command: [sh, -c, 'echo no >&2; exit 2']}", "{}", `tool: the tool failed: exit status 2: no`},
		"a program that hangs":    {anyArguments + "command: [sh, -c, 'sleep 60'], timeout: 200ms}", "{}", `tool: timed out after 200ms`},
		"a program that is late":  {anyArguments + "command: [sh, -c, 'test -e there || { touch there; exit 1; }; echo twice'], retries: 1}", "{}", `"twice"`},
		"a program that is none":  {anyArguments + "command: [./no-such]}", "{}", `tool: the tool was not found; a path is relative to the folder of the file that names it`},
		"an endpoint":             {anyArguments + "http: '" + server.URL + "', headers: {Authorization: {env: KEY, prefix: 'Bearer '}}}", "{a: 1}", `{"posted": {"a":1}}`},
		"an endpoint without key": {anyArguments + "http: '" + server.URL + "'}", "{a: 1}", `tool: HTTP 401`},
		"an expression":           {anyArguments + "cel: 'args.a * task.vars.rate + double(call)'}", "{a: 4}", `8`},
		"wrong arguments":         {"{name: t, parameters: {type: object, required: [a]}, cel: '1'}", "{b: 1}", `bad_call: the arguments of t are wrong: missing property 'a'`},
	} {
		t.Run(name, func(t *testing.T) {
			run := oneTool(t, BuildOptions{Getenv: getenv}, c.declared, c.arguments)
			if told := given(run); len(told) != 1 || told[0] != c.want {
				t.Errorf("got %q, want %q", told, c.want)
			}
			if run.Outcome.Status != record.Completed || string(run.Output()) != `"done"` {
				t.Errorf("the run ended with %s, %+v", run.Output(), run.Outcome)
			}
		})
	}
}

// S2.4: any tool may be one that ends the run, by its declaration or by what it
// says.
func TestS2_4_ToolsThatEndTheRun(t *testing.T) {
	for want, declared := range map[string]string{
		`tool_ended "over"`: anyArguments + "command: [sh, -c, 'echo over'], breaks_loop: true}",
		`capability [1]`:    anyArguments + `command: [sh, -c, 'echo "{\"end\": \"capability\", \"output\": [1]}"']}`,
		`question_asked 2`:  anyArguments + `cel: '{"end": dyn("question_asked"), "output": dyn(2)}'}`,
	} {
		run := oneTool(t, BuildOptions{}, declared, "{}", "{}")
		if got := fmt.Sprintf("%s %s", run.Outcome.Reason, run.Output()); got != want || len(given(run)) != 1 {
			t.Errorf("got %s, want %s: %+v", got, want, run.Outcome)
		}
	}
}

// A pure tool is asked once for the same arguments: in a run, and with a cache in
// later sessions.
func TestPureToolsAreAskedOnce(t *testing.T) {
	count := t.TempDir() + "/count"
	declared := anyArguments + "command: [sh, -c, 'echo x >> " + count + "; cat'], pure: true}"
	dir := t.TempDir()
	for session := range 2 {
		run := oneTool(t, BuildOptions{Cache: cache.Open(dir, cache.Options{})}, declared, "{a: 1, b: 2}", "{b: 2, a: 1}", "{a: 2}")
		told := given(run)
		calls := run.Iterations[0].ToolCalls
		if len(told) != 3 || told[0] != `{"a":1,"b":2}` || told[1] != told[0] || told[2] != `{"a":2}` {
			t.Fatalf("got %q", told)
		}
		if calls[0].Cached != (session == 1) || !calls[1].Cached || calls[2].Cached != (session == 1) || calls[0].Duration != calls[1].Duration || calls[0].Duration <= 0 {
			t.Errorf("session %d: %+v", session, calls)
		}
	}
	asked, err := os.ReadFile(count)
	if err != nil || strings.Count(string(asked), "x") != 2 {
		t.Errorf("it was asked %q, %v", asked, err)
	}
}

// What a pure tool answered is not the answer of one that is sent or handed
// something else. Another key is nothing else.
func TestPureToolsThatAreHandedSomethingElse(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Tenant"))
	}))
	defer server.Close()
	dir := t.TempDir()
	program := anyArguments + "command: [sh, -c, 'echo \"$MODE\"'], env: [MODE, A_KEY], pure: true}"
	endpoint := func(tenant string) string {
		return anyArguments + "http: '" + server.URL + "', pure: true, headers: {X-Tenant: " + tenant + "}}"
	}
	for i, c := range []struct {
		declared, mode, key, want string
		cached                    bool
	}{
		{program, "a", "1", `"a"`, false}, {program, "b", "1", `"b"`, false}, {program, "a", "2", `"a"`, true},
		{endpoint("a"), "", "", `"a"`, false}, {endpoint("b"), "", "", `"b"`, false}, {endpoint("a"), "", "2", `"a"`, true},
		{endpoint("{env: MODE}"), "c", "", `"c"`, false}, {endpoint("{env: MODE}"), "d", "", `"d"`, false},
	} {
		getenv := func(name string) string {
			return map[string]string{"PATH": os.Getenv("PATH"), "MODE": c.mode, "A_KEY": c.key}[name]
		}
		run := oneTool(t, BuildOptions{Getenv: getenv, Cache: cache.Open(dir, cache.Options{})}, c.declared, "{}")
		if told := given(run); len(told) != 1 || told[0] != c.want || run.Iterations[0].ToolCalls[0].Cached != c.cached {
			t.Errorf("%d: got %q, want %s: %+v", i, told, c.want, run.Iterations[0].ToolCalls)
		}
	}
}

// F31, S2.6: a tool that fails in the same way again and again opens the circuit,
// and one success closes it.
func TestF31_S2_6_AToolThatFailsOpensTheCircuit(t *testing.T) {
	declared := anyArguments + "cel: 'args.fails ? {\"error\": \"no\"} : {\"error\": \"\"}'}"
	for fails, want := range map[string]record.Reason{"111": record.ReasonCircuitBreaker, "110111": record.ReasonCircuitBreaker, "11011": record.ReasonMaxIterations} {
		arguments := make([]string, len(fails))
		for i, c := range fails {
			arguments[i] = fmt.Sprintf("{fails: %v}", c == '1')
		}
		run := oneTool(t, BuildOptions{}, declared+"\n<guards: {circuit_breaker: {threshold: 3}}", append(arguments, "{fails: false}")...)
		if told := given(run); run.Outcome.Reason != want || want == record.ReasonCircuitBreaker && len(told) != len(fails) {
			t.Errorf("%s: %s after %q", fails, run.Outcome.Reason, told)
		}
	}
}
