package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
)

// counted is an OpenAI-compatible server that numbers its answers.
func counted(t *testing.T) (url string, calls *atomic.Int64, stop func()) {
	t.Helper()
	calls = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, `{"choices":[{"message":{"content":"answer %d"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":10}}`, calls.Add(1))
	}))
	t.Cleanup(server.Close)
	return server.URL, calls, server.Close
}

// paidSuite writes a suite of two configurations that send the same first
// prompts: 3 tasks, 1 and 2 iterations.
func paidSuite(t *testing.T, url string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"suite.yaml": `suite: paid
tasks: [{id: a, input: a}, {id: b, input: b}, {id: c, input: c}]
models: {m: {provider: openai, base_url: "` + url + `", api_key_env: PAID_KEY, price: {input: 5000, output: 5000}}}
configurations: [{name: one, loop: one.loop.yaml}, {name: two, loop: two.loop.yaml}]
`,
		"one.loop.yaml": "loop: one\nagent: {model: m}\nprompt: 'Say {{ task.input }}'\nterminate: {max_iterations: 1}\n",
		"two.loop.yaml": "loop: two\nagent: {model: m}\nprompt: 'Say {{ task.input }}'\nterminate: {max_iterations: 2}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// typed runs the program and gives what it prints; want is its exit code.
func typed(t *testing.T, want int, env map[string]string, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(context.Background(), args, func(name string) string { return env[name] }, strings.NewReader(""), &out, &errs)
	if code != want {
		t.Fatalf("agentbench %v: exit code %d, want %d\n%s", args, code, want, errs.String())
	}
	return out.String(), errs.String()
}

// recordsIn are the records of a folder by run, without what two equal runs may
// differ in.
func recordsIn(t *testing.T, dir string) map[string]record.Run {
	t.Helper()
	runs := map[string]record.Run{}
	for r, err := range record.ReadRuns(dir) {
		if err != nil {
			t.Fatal(err)
		}
		r.Volatile = record.Volatile{}
		runs[r.ID] = *r
	}
	return runs
}

// Six runs ask nine questions; configurations share the three that are equal,
// a second session pays nothing, and both say so.
func TestPaidCallsAreMadeOnce(t *testing.T) {
	url, calls, _ := counted(t)
	dir, key := paidSuite(t, url), map[string]string{"PAID_KEY": "sk-1"}
	_, first := typed(t, 0, key, "run", dir, "--out", filepath.Join(dir, "r1"))
	if n := calls.Load(); n != 6 {
		t.Errorf("the first session made %d calls, want 6", n)
	}
	if !regexp.MustCompile(`cache: 3 hits, 6 misses, 6 stored; cost as if nothing were cached \$0.90*, paid \$0.60*\n`).MatchString(first) {
		t.Errorf("the first session says\n%s", first)
	}
	_, second := typed(t, 0, key, "run", dir, "--out", filepath.Join(dir, "r2"))
	if n := calls.Load(); n != 6 || !strings.Contains(second, "cache: 9 hits, 0 misses, 0 stored") {
		t.Errorf("%d calls; the second session says\n%s", n, second)
	}
	table, told := typed(t, 0, nil, "report", filepath.Join(dir, "r2"))
	if want := "cache: 9 hits, 0 misses; cost as if nothing were cached $0.90, paid $0\n"; told != want || strings.Contains(table, " hits, ") {
		t.Errorf("the report says %q on stderr, want %q", told, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "cache")); err != nil {
		t.Errorf("the cache is not beside the results: %v", err)
	}
	typed(t, 0, key, "run", dir, "--out", filepath.Join(dir, "r3"), "--cache", "off")
	if n := calls.Load(); n != 15 {
		t.Errorf("without the cache %d calls were made, want 9", n-6)
	}
}

// P20, F82: with the cache only, two sessions need neither a server nor a key,
// and give the same bytes; what is missing is a fault with a hint.
func TestF82_OnlyTheCache(t *testing.T) {
	url, calls, stop := counted(t)
	dir, key := paidSuite(t, url), map[string]string{"PAID_KEY": "sk-1"}
	kept := filepath.Join(dir, "kept")
	typed(t, 0, key, "run", dir, "--out", filepath.Join(dir, "r0"), "--cache-dir", kept)
	stop()
	made := calls.Load()
	var reports [2]string
	var results [2]map[string]record.Run
	for i := range reports {
		out := filepath.Join(dir, fmt.Sprint("offline", i))
		reports[i], _ = typed(t, 0, nil, "run", dir, "--out", out, "--cache", "only", "--cache-dir", kept)
		results[i] = recordsIn(t, out)
	}
	if reports[0] != reports[1] {
		t.Errorf("the reports differ:\n%s\n%s", reports[0], reports[1])
	}
	if !reflect.DeepEqual(results[0], results[1]) || len(results[0]) != 6 {
		t.Errorf("the records differ:\n%+v\n%+v", results[0], results[1])
	}
	if calls.Load() != made {
		t.Error("a call was made")
	}
	_, said := typed(t, exit.NotMeasured, nil, "run", dir, "--out", filepath.Join(dir, "empty"), "--cache", "only", "--cache-dir", filepath.Join(dir, "none"))
	if !strings.Contains(said, "the cache has no answer of model m to this request of task") || !strings.Contains(said, "--cache on") {
		t.Errorf("said %s", said)
	}
}

// F4: a cache that cannot be written is one warning, and the suite runs.
func TestF4_ACacheThatCannotBeWritten(t *testing.T) {
	url, calls, _ := counted(t)
	dir := paidSuite(t, url)
	_, said := typed(t, 0, map[string]string{"PAID_KEY": "sk-1"}, "run", dir, "--out", filepath.Join(dir, "r"),
		"--cache-dir", filepath.Join(dir, "suite.yaml", "cache"))
	if strings.Count(said, "warning: ") != 1 || calls.Load() != 6 {
		t.Errorf("%d calls, said\n%s", calls.Load(), said)
	}
}
