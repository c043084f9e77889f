package command

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/record"
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

// F70, P17: whatever fault a server shows, and whatever it, the model and the
// programs tell, no secret is in a byte that is written.
func TestF70_NoSecretIsWrittenWhateverHappens(t *testing.T) {
	for i, kind := range mockserver.Kinds() {
		name := kind.Name
		switch name {
		case "transient": // each of the others in turn
			continue
		case "slow":
			name = "slow:by=10ms"
		case "trickle":
			name = "trickle:by=10ms"
		case "huge", "huge-error", "gzip-bomb", "huge-header":
			name += ":size=200KB"
		}
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			rated, err := mockserver.ParseRated(name)
			if err != nil {
				t.Fatal(err)
			}
			expectClean(t, mockserver.New(mockserver.Options{
				Faults: []mockserver.Rated{rated},
				Rules:  []mockserver.Rule{{Replies: []mockserver.Reply{{Text: told(), Thinking: told()}}}},
			}), i%2 == 0, i%6 < 2)
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
