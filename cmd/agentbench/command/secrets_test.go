package command

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// The canaries: a key, the password of an address, the value of a header.
const (
	canaryKey      = "sk-CANARY-0a9b8c7d6e5f+4a3b2c1d"
	canaryPassword = "CANARY-of-the-url"
	canaryHeader   = "CANARY-of-the-header"
)

var canaries = []string{canaryKey, canaryPassword, canaryHeader}

// told is what a server, a model or a program may say of them.
func told() string {
	var b strings.Builder
	for _, secret := range canaries {
		fmt.Fprintf(&b, "it is %s, %s, %s, %s, %s, Bearer %s; ", secret, url.QueryEscape(secret), hex.EncodeToString([]byte(secret)),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte("me:"+secret)), secret)
	}
	return b.String()
}

// leaks says where a text holds a canary, or half of one, in whatever form.
func leaks(text []byte) string {
	for _, secret := range canaries {
		forms := []string{secret, url.QueryEscape(secret), hex.EncodeToString([]byte(secret))}
		for before := range 3 { // as it may stand within a longer text
			encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), secret...))
			forms = append(forms, encoded[(8*before+5)/6:8*(before+len(secret))/6])
		}
		for _, form := range forms {
			if at := bytes.Index(text, []byte(form[:max(12, (len(form)+1)/2)])); at >= 0 {
				return fmt.Sprintf("…%s…", text[max(0, at-60):min(len(text), at+60)])
			}
		}
	}
	return ""
}

// gossip lets a server repeat what it was sent, in headers and errors.
func gossip(server http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.Header().Set("Location", "http://me:"+canaryPassword+"@elsewhere/"+url.PathEscape(canaryKey))
		server.ServeHTTP(&gossipWriter{ResponseWriter: w}, r)
	})
}

type gossipWriter struct {
	http.ResponseWriter
	status int
}

func (w *gossipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *gossipWriter) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *gossipWriter) Write(p []byte) (int, error) {
	said := bytes.ReplaceAll(p, []byte(`"message":"`), []byte(`"message":"`+told()))
	if bytes.HasPrefix(p, []byte("<")) {
		said = append([]byte("<p>"+told()), p...)
	}
	if !bytes.Contains(p, []byte(`"error"`)) && !bytes.HasPrefix(p, []byte("<")) {
		said = p
	}
	if _, err := w.ResponseWriter.Write(said); err != nil {
		return 0, err
	}
	return len(p), nil
}

// gossipSuite writes a suite whose models and programs tell all they can.
func gossipSuite(t *testing.T, address string, stream bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"suite.yaml": fmt.Sprintf(`suite: canary
tasks: [{id: a, input: a, target: b}]
models:
  m: {provider: openai, base_url: %q, api_key_env: BIRD_KEY, headers: {X-Api-Key: %q}, price: free, stream: %v, retries: 0, timeout: 400ms, first_byte_timeout: 200ms, idle_timeout: 200ms}
configurations: [{name: model, loop: model.loop.yaml}, {name: program, loop: program.loop.yaml}, {name: broken, loop: broken.loop.yaml}]
scorers: [{name: same, type: exact}]
thresholds: ['configurations["model"].scores["same"].mean > 2.0']
`, strings.Replace(address, "http://", "http://me:"+canaryPassword+"@", 1)+"/v1", canaryHeader, stream),
		"model.loop.yaml": `loop: model
agent: {model: m}
prompt: "Say {{ task.input }} {{ feedback }}"
evaluate: {confidence: "0.5", feedback: "'not ' + output", checks: [{name: long, expr: "size(output) > 100000", feedback: "'longer than ' + output"}]}
terminate: {max_iterations: 2}
`,
		"program.loop.yaml": "loop: program\nagent: {command: [sh, tell.sh, fine]}\nterminate: {max_iterations: 1}\n",
		"broken.loop.yaml":  "loop: broken\nagent: {command: [sh, tell.sh, badly, '" + canaryKey + "']}\nterminate: {max_iterations: 1}\n",
		"tell.sh":           "echo '" + told() + "' >&2; printf 'a\\377b'; echo '" + told() + "'; env; [ \"$1\" = fine ]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// written is every byte that a command left: on stdout, on stderr and in files.
type written map[string][]byte

// command runs the program, and keeps what it prints.
func (w written) command(args ...string) (code int) {
	var out, errs bytes.Buffer
	env := func(name string) string {
		return map[string]string{"BIRD_KEY": canaryKey, "PATH": os.Getenv("PATH"), "HOME": canaryKey}[name]
	}
	code = run(context.Background(), args, env, strings.NewReader(""), &out, &errs)
	w["stdout of "+strings.Join(args, " ")], w["stderr of "+strings.Join(args, " ")] = out.Bytes(), errs.Bytes()
	return code
}

func (w written) folder(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		w[path+" (its name)"] = []byte(path)
		w[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// clean fails the test if anything holds a canary, and gives how much was hidden.
func (w written) clean(t *testing.T) (hidden int) {
	t.Helper()
	for name, text := range w {
		if leak := leaks(text); leak != "" {
			t.Errorf("%s holds a secret: %s", name, leak)
		}
		hidden += bytes.Count(text, []byte("[redacted]"))
	}
	return hidden
}

// oddServers are servers whose answers are none that a protocol knows.
var oddServers = map[string]http.HandlerFunc{
	"a page":               func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>log in</html>") },
	"a page with status":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502); fmt.Fprint(w, "<html>busy</html>") },
	"a redirect":           func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTemporaryRedirect) },
	"status 200, an error": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"error":{"message":"broken"}}`) },
	"a long error": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
		fmt.Fprintf(w, `{"error":{"message":"%0200000d"}}`, 1)
	},
	"a stream that fails": func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "event: error\ndata: {\"error\":{\"message\":\"broken\"}}\n\n")
	},
	"a body that is cut": func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"error":{"message":"half`))
		panic(http.ErrAbortHandler)
	},
	"no account, no answer": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(402) },
}

// F70, P17: whatever fault a server shows, and whatever it, the model and the
// programs tell, no secret is in a byte that is written.
func TestF70_NoSecretIsWrittenWhateverHappens(t *testing.T) {
	servers := map[string]http.Handler{}
	for name, server := range oddServers {
		servers[name] = server
	}
	for _, fault := range []string{
		"at=1000:empty", "429", "429:retry-after=1", "500", "529", "reset", "slow:by=10ms", "slow", "stall", "cut", "half-json", "wrong-type", "refusal", "empty",
		"400", "401", "402", "404", "413",
	} {
		faults, err := mockserver.ParseFaults(fault)
		if err != nil {
			t.Fatal(err)
		}
		servers[fault] = mockserver.New(mockserver.Options{
			Faults: faults, Rules: []mockserver.Rule{{Replies: spec.Replies{{Text: told(), Thinking: told()}}}},
		})
	}
	for i, name := range slices.Sorted(maps.Keys(servers)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectClean(t, servers[name], i%2 == 0, i%6 < 2)
		})
	}
}

// expectClean runs a suite against a server and looks at what is left; when
// thorough, with all that the program can do with results.
func expectClean(t *testing.T, server http.Handler, stream, thorough bool) {
	t.Helper()
	listening := httptest.NewServer(gossip(server))
	defer listening.Close()
	dir := gossipSuite(t, listening.URL, stream)
	suite, results, left := filepath.Join(dir, "suite.yaml"), filepath.Join(dir, "out", "r"), written{}
	if code := left.command("run", suite, "--out", results, "--events", filepath.Join(dir, "out", "events")); code == exit.WrongUsage || code == exit.WrongSpec {
		t.Fatalf("exit code %d: %s", code, left)
	}
	for i, args := range [][]string{
		{"show", results, "model/a/1", "--json"}, {"show", results, "model/a/1", "--full"}, {"run", suite, "--out", results},
		{"check", suite}, {"plan", suite}, {"report", results, "--format", "json"}, {"report", results, "--format", "markdown"},
		{"show", results}, {"show", results, "model/a/1", "--events"},
		{"show", results, "broken/a/1", "--full"}, {"show", results, "program/a/1", "--json"},
		{"cache", "list", "--cache-dir", filepath.Join(dir, "out", "cache")},
		{"run", suite, "--out", results, "--set", "terminate.max_iterations=3"},
		{"run", filepath.Join(dir, canaryKey)}, {"show", results, canaryKey},
	} {
		if i < 3 || thorough {
			left.command(args...)
		}
	}
	left.folder(t, filepath.Join(dir, "out"))
	if left.clean(t) == 0 {
		t.Errorf("nothing was hidden: nobody told a secret")
	}
	expectRecords(t, results)
}

// expectRecords says that the results can be read, all runs and scores.
func expectRecords(t *testing.T, dir string) {
	t.Helper()
	runs := 0
	for r, err := range record.ReadRuns(dir) {
		if err != nil {
			t.Error(err)
			continue
		}
		runs++
		if r.Configuration == "program" && r.Outcome.Counts() && !bytes.HasPrefix(r.Iterations[0].OutputB64, []byte("a\xffb")) {
			t.Errorf("what the program wrote was lost: %q", r.Iterations[0].OutputB64)
		}
	}
	if runs == 0 {
		t.Error("no run is recorded")
	}
}

// F8, F70: a panic is an error of the program, and tells no secret either.
func TestF70_APanicTellsNoSecret(t *testing.T) {
	var out, errs bytes.Buffer
	env := func(name string) string {
		if name == "COLUMNS" {
			panic("the terminal is " + told())
		}
		return map[string]string{"OPENAI_API_KEY": canaryKey}[name]
	}
	code := run(context.Background(), []string{"plan", "quickstart"}, env, strings.NewReader(""), &out, &errs)
	if text := errs.String(); code != exit.NotMeasured || !strings.HasPrefix(text, "agentbench: panic: the terminal is ") || strings.Contains(text, canaryKey) {
		t.Errorf("exit code %d: %s", code, text)
	}
}

// A suite that cannot be loaded is shown without its secrets, too.
func TestF70_LinesOfFaultsTellNoSecret(t *testing.T) {
	suite := fmt.Sprintf("suite: s\ntasks: [{id: a, input: a}]\nmodels: {m: {provider: openai, base_url: %q, price: fre, headers: {Authorization: %q}}}\nconfigurations: []\n",
		"http://me:"+canaryPassword+"@host/v1", "Bearer "+canaryHeader)
	for name, text := range map[string]string{
		"short lines": suite, "a long line": strings.Replace(suite, "fre", "fre, name: "+strings.Repeat("x", 2000), 1),
		"no YAML": strings.Replace(suite, "}}}", "}", 1),
	} {
		var out bytes.Buffer
		code := run(context.Background(), []string{"check", "-"}, func(string) string { return "" }, strings.NewReader(text), &out, &out)
		if code != exit.WrongSpec || !strings.Contains(out.String(), "[redacted]") || leaks(out.Bytes()) != "" {
			t.Errorf("%s: exit code %d: %s", name, code, out.String())
		}
	}
}

// outside are the keys of the language that hold an address or the words of a
// program, each with a place where it is written with secrets. ADDRESS is one with a
// password and a signature, WORDS are arguments with keys.
var outside = map[string]string{
	"Model.base_url":   `  m: {provider: openai, base_url: "ADDRESS", api_key_env: BIRD_KEY, price: free, retries: 0}`,
	"Scorer.url":       `- {name: by-url, type: http, url: "ADDRESS"}`,
	"Scorer.command":   `- {name: by-program, type: command, command: [WORDS]}`,
	"Agent.http":       `agent: {http: "ADDRESS"}`,
	"Agent.a2a":        `agent: {a2a: "ADDRESS"}`,
	"Agent.command":    `agent: {command: [WORDS]}`,
	"Tool.http":        `  - {name: by-http, description: d, parameters: {type: object}, http: "ADDRESS"}`,
	"Tool.command":     `  - {name: by-program, description: d, parameters: {type: object}, command: [WORDS]}`,
	"MCP.url":          `  - {mcp: {url: "ADDRESS"}}`,
	"MCP.command":      `  - {mcp: {command: [WORDS]}}`,
	"Delegate.a2a":     `  - {name: helper, description: d, a2a: "ADDRESS"}`,
	"Command.command":  `evaluate: {command: {command: [WORDS]}, confidence: "0.5"}`,
	"Evaluate.command": `evaluate: {command: [WORDS], confidence: "0.5"}`,
	"Setup.command":    `workspace: {setup: {command: [WORDS]}}`,
}

// reachingOut says by its name or by what its documentation says that a key holds an
// address or a program.
var reachingOut = regexp.MustCompile(`(?i)^(.*url|.*address|.*endpoint|uri|host|proxy|http|a2a|.*command|argv)$|\b(address|endpoint|server that speaks|compatible server|program that|a program and its arguments)\b`)

// eachKey gives every key of a type and of all that it holds, with its field.
func eachKey(t reflect.Type, seen map[reflect.Type]bool, see func(owner string, field reflect.StructField)) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		eachKey(t.Elem(), seen, see)
	case reflect.Struct:
		if seen[t] || t == reflect.TypeFor[source.Node]() {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			field := t.Field(i)
			if field.IsExported() {
				see(t.Name(), field)
				eachKey(field.Type, seen, see)
			}
		}
	}
}

// keysOutside are the keys of the language that hold an address or a program.
func keysOutside() (keys []string) {
	seen := map[reflect.Type]bool{}
	for _, root := range []reflect.Type{reflect.TypeFor[spec.Suite](), reflect.TypeFor[spec.Loop]()} {
		eachKey(root, seen, func(owner string, field reflect.StructField) {
			key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			kind := field.Type
			if kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			holds := kind.Kind() == reflect.String || kind == reflect.TypeFor[[]string]() || kind == reflect.TypeFor[spec.Command]()
			if key != "" && key != "-" && holds && (reachingOut.MatchString(key) || reachingOut.MatchString(field.Tag.Get("doc"))) {
				keys = append(keys, owner+"."+key)
			}
		})
	}
	slices.Sort(keys)
	return keys
}

// nameOf is the configuration that has a key.
func nameOf(key string) string { return strings.ToLower(strings.ReplaceAll(key, ".", "-")) }

// reaching is a text with the secrets of a key, which begin with its name backwards: what is
// known of one key hides nothing of another.
func reaching(text, key, address string) string {
	text = strings.ReplaceAll(text, "ADDRESS", strings.Replace(address, "http://", "http://me:OWN-CANARY-password@", 1)+"/x?sv=1&sig=OWN%2FCANARY-signature%3D")
	text = strings.ReplaceAll(text, "WORDS", `sh, tell.sh, --api-key, OWN-CANARY-of-a-flag, "--token=OWN.CANARY-of-a-word", -H, "Authorization: Bearer OWN_CANARY-of-a-header", "http://me:OWN-of-CANARY@127.0.0.1/", --connection-string, "Server=x;Password=OWN.of.CANARY;Database=y", "-ume:OWN_of_CANARY", "http://127.0.0.1/cb#access_token=OWN+of+CANARY"`)
	backwards := []byte(nameOf(key)) // not a name of a configuration, which half a secret would hide
	slices.Reverse(backwards)
	return strings.ReplaceAll(text, "OWN", string(backwards))
}

// repeating answers every request with what is no answer and repeats what it was sent.
func repeating(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, password, _ := r.BasicAuth()
	fmt.Fprintf(w, `{"error":{"message":"%s?%s of %s, %s, %d bytes"}}`, r.URL.Path, r.URL.RawQuery, password, r.URL.Query().Get("sig"), len(body))
}

// F70, P17: whatever key an address or a program stands under, its secrets are
// written nowhere. A key that is new to the language has to be written here, too.
func TestF70_NoAddressOfTheLanguageIsForgotten(t *testing.T) {
	skipRace(t)
	if got, want := keysOutside(), slices.Sorted(maps.Keys(outside)); !slices.Equal(got, want) {
		t.Fatalf("the language has the keys\n%q, and tried are\n%q", got, want)
	}
	server := httptest.NewServer(http.HandlerFunc(repeating))
	defer server.Close()
	dir, lines := t.TempDir(), map[string]string{}
	for key, line := range outside {
		lines[key] = reaching(line, key, server.URL)
	}
	files := map[string]string{
		"tell.sh":    "echo \"$@\" >&2; echo \"$@\"\n",
		"suite.yaml": "suite: s\ntasks: [{id: a, input: a, target: b}]\nmodels:\n" + lines["Model.base_url"] + "\nscorers:\n" + lines["Scorer.url"] + "\n" + lines["Scorer.command"] + "\nmin_coverage: 0\nconfigurations:\n",
	}
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		line, name := lines[key], nameOf(key)
		loop := "loop: " + name + "\nterminate: {max_iterations: 1}\n"
		switch {
		case strings.HasPrefix(key, "Agent."):
			loop += line + "\nprompt: p\n"
			if key == "Agent.command" {
				loop = strings.Replace(loop, "prompt: p\n", "", 1)
			}
		case strings.HasPrefix(key, "Tool."), strings.HasPrefix(key, "MCP."):
			loop += "prompt: p\nagent:\n  model: m\n  tools:\n" + line + "\n"
		case strings.HasPrefix(key, "Delegate."):
			loop += "prompt: p\nagent:\n  model: m\n  delegates:\n" + line + "\n"
		case strings.HasPrefix(key, "Evaluate."), strings.HasPrefix(key, "Command."), strings.HasPrefix(key, "Setup."):
			loop += "agent: {command: [cat]}\n" + line + "\n"
		default:
			loop += "prompt: p\nagent: {model: m}\n"
		}
		files[name+".yaml"] = loop
		files["suite.yaml"] += "- {name: " + name + ", loop: " + name + ".yaml}\n"
	}
	for name, text := range files {
		write(t, dir, name, text)
	}
	expectNoCanary(t, dir)
	expectNoCanaryInFaults(t, dir, files, lines)
}

func expectNoCanary(t *testing.T, dir string) {
	t.Helper()
	suite, left := filepath.Join(dir, "suite.yaml"), written{}
	results := func(name string) string { return filepath.Join(dir, "out", name) }
	command := func(args ...string) {
		if code := left.command(args...); code == exit.WrongUsage || code == exit.WrongSpec {
			t.Errorf("%q: exit code %d: %s", args, code, left["stderr of "+strings.Join(args, " ")])
		}
	}
	for key := range outside { // each alone: one that fails may end the suite
		name := nameOf(key)
		command("run", suite, "--configuration", name, "--out", results(name), "--events", "-")
		command("show", results(name), name+"/a/1", "--full")
		command("show", results(name), name+"/a/1", "--json")
		command("show", results(name), name+"/a/1", "--events")
		command("report", results(name), "--format", "json")
		command("baseline", "set", name, results(name), "--baselines", results("baselines"), "--allow-incomplete")
	}
	command("check", suite)
	command("check", "--tune", suite)
	command("plan", suite)
	command("diff", results("agent-http"), results("agent-command"), "--format", "json")
	command("replay", results("agent-command"))
	command("score", results("agent-command"), suite)
	left.command("run", suite, "--configuration", "agent-command", "--out", results("agent-command"), "--set", "terminate.max_iterations=2") // refused: another spec
	left.folder(t, filepath.Join(dir, "out"))
	hidden := 0
	for name, text := range left {
		if at := bytes.Index(text, []byte("CANARY")); at >= 0 {
			t.Errorf("%s holds a secret: …%s…", name, text[max(0, at-100):min(len(text), at+60)])
		}
		hidden += bytes.Count(text, []byte(secret.Replacement))
	}
	if hidden < len(outside) {
		t.Errorf("only %d secrets were hidden", hidden)
	}
}

// expectNoCanaryInFaults has check show each of the lines.
func expectNoCanaryInFaults(t *testing.T, dir string, files, lines map[string]string) {
	t.Helper()
	for key, line := range lines {
		for name, text := range files {
			if !strings.Contains(text, line) {
				continue
			}
			at := strings.LastIndex(line, "}")
			write(t, dir, name, strings.Replace(text, line, line[:at]+", nonsense: 1"+line[at:], 1))
			left := written{}
			code := left.command("check", filepath.Join(dir, "suite.yaml"))
			said := left["stderr of check "+filepath.Join(dir, "suite.yaml")]
			if code != exit.WrongSpec || !bytes.Contains(said, []byte("nonsense")) || bytes.Contains(said, []byte("CANARY")) {
				t.Errorf("%s: exit code %d: %s", key, code, said)
			}
			write(t, dir, name, text)
		}
	}
}

// A scripted agent in three phases. It plans until its plan is ready, which takes
// a task two or three iterations; executes until it is done, which takes three
// to five; and refines until it is cut. What it is sent tells the iteration only
// while it plans: steps of the execution repeat a request, and what refines is
// sent the last output of each phase before.
const (
	phasedLoop = `loop: phased
agent: {model: m, max_output_tokens: 20}
phases:
  - {name: planning, max_iterations: 4, prompt: "{{ task.input }} plan {{ iteration }}", until: output.startsWith("ready")}
  - {name: execution, max_iterations: 6, prompt: "{{ task.input }} execute after {{ outputs.planning }}; last {{ output }}", until: output.endsWith("done")}
  - {name: refinement, max_iterations: 3, prompt: "{{ task.input }} refine {{ outputs.planning }} {{ outputs.execution }}"}
guards: {absolute_max_iterations: 20}
`
	phasedSuite = `suite: phased
tasks: [{id: t0, input: t0}, {id: t1, input: t1}, {id: t2, input: t2}, {id: t3, input: t3}, {id: t4, input: t4}]
trials: 2
models: {m: {provider: openai, base_url: "URL", api_key_env: PAID_KEY, price: {input: 1, output: 1}}}
configurations:
  - name: phases
    loop: phased.loop.yaml
    sweep: {phases.planning.max_iterations: [1, 2, 3, 4], phases.execution.max_iterations: [1, 2, 3, 4, 5, 6], phases.refinement.max_iterations: [1, 2, 3]}
`
)

// scripted is what the agent answers.
func scripted(prompt string) string {
	var task, n int
	if _, err := fmt.Sscanf(prompt, "t%d plan %d", &task, &n); err == nil {
		if n >= 1+task%2 {
			return fmt.Sprint("ready", n)
		}
		return fmt.Sprint("idea", n)
	}
	if _, err := fmt.Sscanf(prompt, "t%d execute", &task); err == nil {
		_, last, _ := strings.Cut(prompt, "last ")
		if strings.Count(last, "+") >= task%3 {
			return last + "+done"
		}
		if len(last) > 8 { // stuck: it is sent the same again
			return last[:8]
		}
		return last + "+"
	}
	return "text"
}

// distinct walks through all runs of the sweep by hand, and counts the requests
// that differ in task, trial, text or the number of equal ones before them in
// the run, and all requests.
func distinct(tasks, trials, planning, execution, refinement int) (different, all int) {
	seen := map[string]bool{}
	for run := range tasks * trials * planning * execution * refinement {
		p, e, f := run%planning+1, run/planning%execution+1, run/planning/execution%refinement+1
		task, trial := run/planning/execution/refinement%tasks, run/planning/execution/refinement/tasks
		sent := map[string]int{}
		ask := func(prompt string) string {
			seen[fmt.Sprint(task, trial, prompt, sent[prompt])] = true
			sent[prompt]++
			all++
			return scripted(prompt)
		}
		plan, last := "", ""
		for i := range p {
			plan = ask(fmt.Sprintf("t%d plan %d", task, i))
			if strings.HasPrefix(plan, "ready") {
				break
			}
		}
		last = plan
		for range e {
			last = ask(fmt.Sprintf("t%d execute after %s; last %s", task, plan, last))
			if strings.HasSuffix(last, "done") {
				break
			}
		}
		for range f {
			ask(fmt.Sprintf("t%d refine %s %s", task, plan, last))
		}
	}
	return len(seen), all
}

// playing is a server that answers by the script and counts.
func playing(t *testing.T) (url string, calls func() int) {
	t.Helper()
	var mu sync.Mutex
	made := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Messages []struct{ Content string } }
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &request); err != nil || len(request.Messages) != 1 {
			http.Error(w, "what?", http.StatusBadRequest)
			return
		}
		mu.Lock()
		made++
		mu.Unlock()
		text, _ := json.Marshal(scripted(request.Messages[0].Content))
		fmt.Fprintf(w, `{"choices":[{"message":{"content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":10}}`, text)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() int {
		mu.Lock()
		defer mu.Unlock()
		return made
	}
}

// Of a sweep of planning x execution x refinement limits (4 x 6 x 3) as many calls
// are made as there are different requests, with one run after the other and with
// many at once, whether or not answers are stored; and no more than the plan says.
func TestSharedPrefixesAreCalledOnce(t *testing.T) {
	different, all := distinct(5, 2, 4, 6, 3)
	if different*4 > all {
		t.Fatalf("%d of %d requests differ: the sweep shares too little to tell", different, all)
	}
	for _, flags := range [][]string{{"--concurrency", "1"}, {"--concurrency", "16"}, {"--concurrency", "16", "--cache", "read"}, {"--concurrency", "16", "--cache", "write"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			if len(flags) != 2 || flags[1] == "1" {
				skipRace(t) // of these one is enough, with many runs at once
			}
			url, calls := playing(t)
			dir := t.TempDir()
			for name, text := range map[string]string{"suite.yaml": strings.Replace(phasedSuite, "URL", url, 1), "phased.loop.yaml": phasedLoop} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			env := map[string]string{"PAID_KEY": "sk-1"}
			_, said := typed(t, 0, env, append([]string{"run", dir, "--out", filepath.Join(dir, "r")}, flags...)...)
			if calls() != different {
				t.Errorf("%d calls were made, %d requests of %d differ", calls(), different, all)
			}
			if want := fmt.Sprintf("cache: %d hits, %d misses", all-different, different); !strings.Contains(said, want) {
				t.Errorf("run says\n%s\nwant %s", said, want)
			}
		})
	}
}
