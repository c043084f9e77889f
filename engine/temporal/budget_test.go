package temporal

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model/mockserver"
)

// A budget ends a suite when it is spent to the last call, whichever worker has borrowed it.
func TestABudgetOfTwoWorkers(t *testing.T) {
	files := scaleSuite(80, "{provider: simulate, quality: {start: 0.6, limit: 0.9, rate: 0.5, spread: 0.2}}", 6)
	files["suite.yaml"] += "budget: {calls: 50}\n"
	s := newSite(t, false, files)
	s.startWorker(0)
	s.startWorker(1)
	out, err := s.elsewhere("there").CombinedOutput()
	if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != 4 || !strings.Contains(string(out), "the suite's budget is spent after 50 of 80 runs") {
		t.Errorf("%v: %s", err, out)
	}
	if l := s.ledger("there"); l.Paid.Calls != 50 || l.Doubt.Calls != 0 {
		t.Errorf("%d calls are paid and %d in doubt, want 50 and 0", l.Paid.Calls, l.Doubt.Calls)
	}
}

// A budget that ends a suite while workers are killed is not exceeded by a single call at the
// model's server: what a killed worker had borrowed counts as spent, whether it called or not.
func TestABudgetThatEndsWhileWorkersAreKilled(t *testing.T) {
	onDemand(t)
	const budget = 120
	var asked atomic.Int64
	mock := mockserver.New(mockserver.Options{
		Rules: []mockserver.Rule{mockserver.Texts(`{"quality": 0.7}`)}, Latency: 60 * time.Millisecond,
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		mock.ServeHTTP(w, r)
	}))
	defer server.Close()
	files := scaleSuite(200, "{provider: openai, name: mock, base_url: "+server.URL+"/v1, price: free}", 12)
	files["suite.yaml"] += fmt.Sprintf("budget: {calls: %d}\n", budget)
	s := newSite(t, false, files)
	for n := range 3 {
		s.startWorker(n, "--concurrency", "4")
	}
	c := s.elsewhere("there", "--attempts", "1000")
	var said safe
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for n, done := range []int{20, 40} {
		await(t, "some runs are done", func() bool { return s.done("there") >= done })
		_ = s.workers[n].Process.Kill()
		_ = s.workers[n].Wait()
	}
	s.startWorker(0, "--concurrency", "4")
	if failed, _ := errors.AsType[*exec.ExitError](c.Wait()); failed == nil || failed.ExitCode() != 4 || !said.has("the suite's budget is spent") {
		t.Errorf("%v: %s", failed, said.String())
	}
	l := s.ledger("there")
	paid, doubt := l.Paid.Calls, l.Doubt.Calls
	if asked.Load() > budget || paid+doubt > budget || paid+doubt < asked.Load() || paid > asked.Load() || doubt == 0 {
		t.Errorf("%d calls at the server; %d are paid and %d in doubt, of a budget of %d", asked.Load(), paid, doubt, budget)
	}
	t.Logf("%d calls at the server; %d are paid and %d in doubt, of a budget of %d", asked.Load(), paid, doubt, budget)
}

// A coordinator that is lost with the server and its data leaves a budget that counts as spent,
// until repair releases it: then the same command makes the rest.
func TestRepairReleasesWhatALostServerHeld(t *testing.T) {
	const runs = 24
	files := scaleSuite(runs, "{provider: simulate, sleep: true, latency: {median: 200ms}, quality: {start: 0.6, limit: 0.9, rate: 0.5, spread: 0.2}}", 2)
	files["suite.yaml"] += "budget: {calls: 100}\n"
	s := newSite(t, false, files)
	s.startWorker(0)
	c := s.elsewhere("there")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "some runs are done", func() bool { return s.done("there") >= 4 })
	_ = c.Process.Kill()
	_ = c.Wait()
	s.kill()
	s.start() // in memory: it knows nothing
	out, err := s.elsewhere("there").CombinedOutput()
	if failed, _ := errors.AsType[*exec.ExitError](err); failed == nil || !strings.Contains(string(out), "all that was left of the budget counts as spent; agentbench repair --release") {
		t.Errorf("%v: %s", err, out)
	}
	s.must(s.command("repair", "there", "--release"))
	s.must(s.elsewhere("there"))
	if n := len(s.records("there", timeless)); n != runs {
		t.Errorf("%d of %d runs are there", n, runs)
	}
}
