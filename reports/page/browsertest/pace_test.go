package browsertest

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentbench/agentbench/engine/model/mockserver"
)

// paced is a suite whose model a server answers.
const paced = `suite: paced
tasks: {list: [{id: a, input: a}, {id: b, input: b}, {id: c, input: c}, {id: d, input: d}, {id: e, input: e}, {id: f, input: f}], targets: optional}
models: {m: {provider: openai, name: mock, base_url: "%s/v1", api_key_env: NO_SUCH_KEY}}
configurations: [{name: plain, loop: once.loop.yaml}]
scorers: [{name: right, type: cel, expr: 'output == task.input'}]
`

const once = `loop: once
agent: {model: m}
prompt: "{{ task.input }}"
terminate: {max_iterations: 1}
`

// limited is a server that answers two calls at once, refuses the third one for eight seconds
// when refuse is called, and answers the others when answer is called.
func limited(t *testing.T) (address string, refuse, answer func()) {
	t.Helper()
	faults, err := mockserver.ParseFaults("at=3:429:retry-after=8")
	if err != nil {
		t.Fatal(err)
	}
	mock, calls := mockserver.New(mockserver.Options{Faults: faults}), atomic.Int32{}
	refused, answered := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := calls.Add(1); {
		case n == 3:
			<-refused
		case n > 3:
			<-answered
		}
		mock.ServeHTTP(w, r)
	}))
	refuse, answer = sync.OnceFunc(func() { close(refused) }), sync.OnceFunc(func() { close(answered) })
	t.Cleanup(server.Close)
	t.Cleanup(answer)
	t.Cleanup(refuse)
	return server.URL, refuse, answer
}

// A server refuses calls for some seconds: view tells how long none is made and how many wait, the
// runs that are done are there meanwhile, and the others come.
func TestViewTellsOfARateLimit(t *testing.T) {
	server, refuse, answer := limited(t)
	dir := t.TempDir()
	results := filepath.Join(dir, "results")
	err := errors.Join(os.WriteFile(filepath.Join(dir, "suite.yaml"), fmt.Appendf(nil, paced, server), 0o600), os.WriteFile(filepath.Join(dir, "once.loop.yaml"), []byte(once), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), os.Args[0], "run", filepath.Join(dir, "suite.yaml"), "--out", results, "--cache", "off", "--concurrency", "3")
	run.Env = append(os.Environ(), asCommand+"=1", "NO_SUCH_KEY=k")
	told, err := run.StderrPipe()
	if err == nil {
		err = run.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(told)
	for lines.Scan() && !strings.Contains(lines.Text(), "2 of 6 runs") { // the folder is there, and two runs are done
	}
	b := enter(t, viewed(t, results), "1/", "#q=")
	b.wait(`document.querySelector(".live").innerText.startsWith("running · 2 of 6 runs · 3 in flight · ")`)
	b.wait(summary + `.startsWith("2 of 2 runs")`)
	refuse()
	b.wait(`/^running · 2 of 6 runs · 3 in flight · backing off \d(\.\d)?s · /.test(document.querySelector(".live").innerText)`)
	answer()
	b.wait(`/^running · 4 of 6 runs · 2 in flight · 1 waiting for rate limit · backing off \d(\.\d)?s · /.test(document.querySelector(".live").innerText)`)
	b.wait(`/^([456]) of \1 runs/.test(` + summary + `)`) // the limit ends by itself
	for lines.Scan() {                                    // until it ends
	}
	if err := run.Wait(); err != nil {
		t.Fatalf("the run ends with %v", err)
	}
	b.wait(summary + `.startsWith("6 of 6 runs") && document.querySelector(".live").innerText === ""`)
}
