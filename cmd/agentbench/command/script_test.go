package command

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/external"
)

// programs are what tests and scripts start: the test binary, under these names.
var programs = map[string]func(){
	"agentbench": func() { os.Exit(Main()) }, "mcp-example": mcpExample, "filings-mcp": serveFilings,
	"bc": calculate, "reseal": reseal, "flip": flip, "measured": measured, "screen": screen, "caller": callerMain, "telltale": telltale,
}

// run is the program within a test.
func run(ctx context.Context, args []string, env func(string) string, stdin io.Reader, stdout, stderr io.Writer, places ...Place) int {
	return newProgram(env, stdin, stdout, stderr, places).command(ctx, args)
}

// telltale serves chat completions and repeats the key that it is called with: in a header, in an event that is an error, and behind
// the answer that it announced. It writes its address to a file.
func telltale() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = os.WriteFile(os.Args[1], []byte("http://"+l.Addr().String()+"/v1\n"), 0o644)
	}
	if err != nil {
		panic(err)
	}
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		const answer = `{"choices":[{"message":{"content":"fine"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`
		if asked, _ := io.ReadAll(r.Body); bytes.Contains(asked, []byte(`"stream":true`)) {
			fmt.Fprintf(w, "data: {\"error\":{\"message\":\"%s is not valid\"}}\n\n", key)
			return
		}
		to, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(to, "HTTP/1.1 200 OK\r\nX-Key: %s\r\nContent-Length: %d\r\n\r\n%s##[error]%s", key, len(answer), answer, key)
	}))
}

func TestMain(m *testing.M) {
	exitAtOnce()
	if len(os.Args) > 1 && os.Args[1] == "forward" { // as a sandbox starts us
		os.Exit(Main())
	}
	testscript.Main(m, programs)
}

// reseal makes the digest of a manifest that a script has changed.
func reseal() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	digits := text[bytes.LastIndex(text, []byte(`"sha256:`))+len(`"sha256:`):][:2*sha256.Size]
	copy(digits, bytes.Repeat([]byte("0"), len(digits)))
	sum := sha256.Sum256(text)
	hex.Encode(digits, sum[:])
	if err := os.WriteFile(os.Args[1], text, 0o644); err != nil {
		panic(err)
	}
}

// flip flips a bit of a file: flip FILE BYTE, where -1 is the last byte.
func flip() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	at, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	text[(at+len(text))%len(text)] ^= 1
	if err := os.WriteFile(os.Args[1], text, 0o644); err != nil {
		panic(err)
	}
}

// skipLong leaves a test to the part test of .ci/run: it takes long, or does one
// thing at a time, or the race detector would distort it.
func skipLong(t *testing.T) {
	t.Helper()
	if testing.Short() || raceEnabled {
		t.Skip("a long test; it runs without -short and the race detector")
	}
}

// skipRace leaves a test to the part test of .ci/run: it does one thing at a time, or
// what others do at once, so that the race detector would find nothing.
func skipRace(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("it has nothing for the race detector")
	}
}

const scripts = "../../../testdata/script"

// concurrent are the scripts of short tests, which the race detector watches: each
// does several things at once, and together they reach every part that does.
var concurrent = strings.Fields(`
	S0_4_phases S1_11_S2_8_budget_of_a_run S2_7_S4_7_conversations S4_5_tools_through_mcp S4_8_mock_responses
	agents_that_fail application budget cache check dead_server events fuse in_use interrupt mock other_model
	pairwise programs_and_keys rate_limits resume resume_delegates roadmap score sequential shard summaries tools
	tune_default`)

// TestScripts runs what users type: testdata/script, a behaviour a file.
func TestScripts(t *testing.T) {
	params := testscript.Params{
		Dir:                 scripts,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("COLUMNS", "100")
			e.Setenv("CI", "")
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "hidden":
				return (&external.Confinement{}).Exposed() == "", nil
			case "bubblewrap":
				return exec.Command("bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true").Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
	}
	if testing.Short() {
		params.Dir = ""
		for _, name := range concurrent {
			params.Files = append(params.Files, filepath.Join(scripts, name+".txtar"))
		}
	}
	testscript.Run(t, params)
}

func TestNamesAreListedOnce(t *testing.T) {
	if got := exit.Some([]string{"right", "right", "cost_usd", "right"}); got != "right, cost_usd" {
		t.Errorf("%q", got)
	}
	if got := exit.Some(strings.Split("a b c d e f g h i j a", " ")); got != "a, b, c, d, e, f, g, h and 2 more" {
		t.Errorf("%q", got)
	}
}

// Programs of BenchmarkPrograms: so many at a time, each with so many calls to the server and as many through the proxy.
const callers, callsOfCaller, callTakes = 64, 20, time.Second

// callerMain is a program of BenchmarkPrograms. The first call of each way connects, and is left out.
func callerMain() {
	n, _ := strconv.Atoi(os.Args[1])
	body := fmt.Sprintf(`{"model":"m","stream":true,"messages":[{"role":"user","content":%q}]}`, strings.Repeat(fmt.Sprintf("%d words ", n), 41_000/9))
	ways := map[string][2]string{"direct": {os.Getenv("DIRECT_URL"), "none"}, "proxy": {os.Getenv("OPENAI_BASE_URL"), os.Getenv("OPENAI_API_KEY")}}
	time.Sleep(time.Duration(n) * callTakes / callers) // programs do not call at the same moment
	late := map[string][]float64{}
	for i := range callsOfCaller {
		for way, at := range ways {
			request, err := http.NewRequest("POST", at[0]+"/chat/completions", strings.NewReader(body))
			if err != nil {
				panic(err)
			}
			request.Header.Set("Authorization", "Bearer "+at[1])
			began := time.Now()
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				panic(err)
			}
			_, err = io.Copy(io.Discard, response.Body)
			if took := time.Since(began) - callTakes; i > 0 {
				late[way] = append(late[way], float64(took.Microseconds())/1000)
			}
			if response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
				panic(fmt.Sprint(response.Status, err))
			}
		}
	}
	text, _ := json.Marshal(late) // numbers
	if err := os.WriteFile(filepath.Join(os.Getenv("LATE"), fmt.Sprintf("late-%d.json", n)), text, 0o644); err != nil {
		panic(err)
	}
}
