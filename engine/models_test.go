package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

const answer = `{"choices":[{"message":{"content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`

// flaky is a server that fails at first, and tells how often it was asked.
func flaky(t *testing.T, failures int64) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) <= failures {
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// run makes one run of one call at the server.
func run(t *testing.T, address, options string, budget *pace.Budget) *record.Run {
	t.Helper()
	return runWith(t, address, options, BuildOptions{Budget: budget})
}

func runWith(t *testing.T, address, options string, o BuildOptions) *record.Run {
	t.Helper()
	files := fstest.MapFS{
		"s.yaml": {Data: []byte("suite: s\ntasks: [{id: t, input: x}]\nmodels: {m: {provider: openai, base_url: \"" + address + "\", price: free" + options + "}}\nconfigurations: [{name: c, loop: l.yaml}]\n")},
		"l.yaml": {Data: []byte("loop: l\nagent: {model: m}\nprompt: p\nterminate: {max_iterations: 1}\n")},
	}
	doc, faults := spec.LoadFS(files, "s.yaml", spec.Options{})
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	o.Getenv = func(string) string { return "" }
	loops, err := Loops(doc, doc.Suite.Resolved, o)
	if err != nil {
		t.Fatal(err)
	}
	return loops[0].Run(context.Background(), "r", &spec.Task{ID: "t"}, 1, nil)
}

// Every attempt is a call that the suite pays for; the configuration costs what
// it would have cost without the faults.
func TestEveryAttemptCountsInTheSuitesBudget(t *testing.T) {
	address, asked := flaky(t, 2)
	budget := pace.OfSuite(spec.SuiteBudget{})
	r := run(t, address, "", budget)
	if asked.Load() != 3 || budget.Spent().Calls != 3 || budget.Reserved().Calls != 0 {
		t.Errorf("%d attempts, spent %+v", asked.Load(), budget.Spent())
	}
	if r.Outcome.Status != record.Completed || r.Usage.Calls != 1 || r.Volatile.Attempts != 3 || r.Volatile.Paid.Calls != 3 {
		t.Errorf("%+v, usage %+v, volatile %+v", r.Outcome, r.Usage, r.Volatile)
	}
}

// P7: where the budget has room for two calls there is no third attempt.
func TestF40_RetriesKeepToTheBudget(t *testing.T) {
	address, asked := flaky(t, 10)
	budget := pace.OfSuite(spec.SuiteBudget{Calls: 2})
	r := run(t, address, "", budget)
	if asked.Load() != 2 || budget.Spent().Calls != 2 || r.Outcome.Reason != record.ReasonSuiteBudget {
		t.Errorf("%d attempts, spent %+v, %+v", asked.Load(), budget.Spent(), r.Outcome)
	}
}

// F15: a prompt that is too long is the loop's doing: it is asked once, and the
// run counts as failed.
func TestF15_TooLongAPromptIsTheLoopsFailure(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"message":"maximum context length is 8 tokens","code":"context_length_exceeded"}}`)
	}))
	defer server.Close()
	r := run(t, server.URL, "", pace.OfSuite(spec.SuiteBudget{}))
	o := r.Outcome
	if asked.Load() != 1 || o.Status != record.Failed || !o.Counts() || o.Error == nil || o.Error.Class != record.ContextLength {
		t.Errorf("asked %d times, %+v, error %v", asked.Load(), o, o.Error)
	}
}

func TestDeclaredRetries(t *testing.T) {
	for options, want := range map[string]int64{"": 4, ", retries: 0": 1, ", retries: 5": 6} {
		address, asked := flaky(t, 10)
		r := run(t, address, options, pace.OfSuite(spec.SuiteBudget{}))
		if asked.Load() != want || r.Outcome.Status != record.Faulted || r.Volatile.Attempts != int(want) {
			t.Errorf("%q: %d attempts, want %d; %+v", options, asked.Load(), want, r.Outcome)
		}
	}
}

// Who tells of the progress knows the gate through which the calls go.
func TestGatesCanBeWatched(t *testing.T) {
	arrived, answered := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-answered
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	var gates []*pace.Gate
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o := BuildOptions{Budget: pace.OfSuite(spec.SuiteBudget{}), Gate: func(g *pace.Gate) { gates = append(gates, g) }}
		runWith(t, server.URL, "", o)
	}()
	<-arrived
	if len(gates) != 1 || gates[0].Status().InFlight != 1 {
		t.Errorf("%d gates", len(gates))
	}
	close(answered)
	<-ended
	if status := gates[0].Status(); status.InFlight != 0 {
		t.Errorf("%+v", status)
	}
}
