package command

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

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
		case strings.HasPrefix(key, "Evaluate."), strings.HasPrefix(key, "Command."):
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
		command("baseline", "set", name, results(name), "--dir", results("baselines"), "--allow-incomplete")
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
