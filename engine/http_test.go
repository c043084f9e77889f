package engine

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
)

// An endpoint that is declared as an agent is asked with its headers, and replay
// knows what it would have been sent.
func TestEndpointsAreAgents(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer secret-word" || !strings.Contains(string(given), `"prompt":"go`) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, `{"output": "done", "usage": {"calls": 1, "input_tokens": 5, "output_tokens": 2, "cost_usd": 0.5}}`)
	}))
	defer server.Close()
	files := fstest.MapFS{
		"s.yaml": {Data: []byte("suite: s\ntasks: [{id: t, input: x}]\nconfigurations:\n- {name: recorded, loop: l.yaml}\n- {name: tighter, loop: l.yaml, set: {terminate.max_iterations: 2}}\n- {name: other, loop: l.yaml, set: {prompt: go on}}\n")},
		"l.yaml": {Data: []byte("loop: l\nagent:\n  http: " + server.URL + "\n  headers: {Authorization: {env: KEY, prefix: 'Bearer '}}\nprompt: go\nterminate: {max_iterations: 3}\n")},
	}
	doc, faults := spec.LoadFS(files, "s.yaml", spec.Options{})
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"KEY": "secret-word"}[name] }
	loops, err := Loops(doc, doc.Suite.Resolved, BuildOptions{Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	task := &spec.Task{ID: "t", Input: "x"}
	recorded := loops[0].Run(t.Context(), "r", task, 1, nil)
	if recorded.Outcome.Reason != record.ReasonMaxIterations || string(recorded.Output()) != `"done"` || recorded.Usage.Calls != 3 || recorded.Usage.Cost != 3*record.USD/2 {
		t.Fatalf("%+v used %+v", recorded.Outcome, recorded.Usage)
	}
	if call := recorded.Iterations[0].Calls[0]; call.Role != record.RoleHTTP || call.Request == "" {
		t.Errorf("the call is %+v", call)
	}
	for i, want := range map[int]replay.Label{1: replay.PointExact, 2: replay.NeedsCalls} {
		r := Replay(doc.Suite.Resolved[0].Loop, doc.Suite.Resolved[i].Loop)
		if result := r.Run(t.Context(), recorded, task); result.Label() != want {
			t.Errorf("%s: %s (%s)", doc.Suite.Resolved[i].Name, result.Label(), result.Why)
		}
	}
}
