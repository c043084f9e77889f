package command

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
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
	if !regexp.MustCompile(`cache: 3 hits, 6 misses, 6 stored\nspent \$0.60; uncached cost of the runs \$0.90*\n`).MatchString(first) {
		t.Errorf("the first session says\n%s", first)
	}
	_, second := typed(t, 0, key, "run", dir, "--out", filepath.Join(dir, "r2"))
	if n := calls.Load(); n != 6 || !strings.Contains(second, "cache: 9 hits, 0 misses, 0 stored") {
		t.Errorf("%d calls; the second session says\n%s", n, second)
	}
	table, told := typed(t, 0, nil, "report", filepath.Join(dir, "r2"))
	if want := "cache: 9 hits, 0 misses; 0 requests sent\nspent $0.00; uncached cost of the runs $0.90\n"; told != want || strings.Contains(table, " hits, ") {
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
		reports[i], _ = typed(t, 0, nil, "run", dir, "--all", "--out", out, "--cache", "only", "--cache-dir", kept)
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

// What is computed here is computed from the files as they lie on the disk, with
// arithmetic of its own: nothing that reads or sums up in the product has a part.

// rawRun is of a line of records.jsonl what is added up here.
type rawRun struct {
	Run, Configuration, Task string
	Outcome                  struct{ Status string }
	Usage                    struct {
		Calls        int   `json:"calls"`
		InputTokens  int   `json:"input_tokens"`
		OutputTokens int   `json:"output_tokens"`
		Cost         int64 `json:"cost_pusd"`
	}
	Elapsed int64 `json:"elapsed_ns"`

	score float64
}

// rawRuns are the runs that count, in some folders, with their scores.
func rawRuns(t *testing.T, dirs ...string) []rawRun {
	t.Helper()
	byID := map[string]rawRun{}
	for _, dir := range dirs {
		for _, line := range rawLines(t, dir, "records.jsonl") {
			var r rawRun
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			byID[r.Run] = r // of several tries the last one stands
		}
	}
	for _, dir := range dirs {
		for _, line := range rawLines(t, dir, "scores.jsonl") {
			var s struct {
				Run    string
				Scores []struct {
					Iteration int
					Value     float64
				}
			}
			if err := json.Unmarshal(line, &s); err != nil {
				t.Fatal(err)
			}
			for _, score := range s.Scores {
				if r := byID[s.Run]; score.Iteration == 0 {
					r.score = score.Value
					byID[s.Run] = r
				}
			}
		}
	}
	maps.DeleteFunc(byID, func(_ string, r rawRun) bool {
		return r.Outcome.Status != "completed" && r.Outcome.Status != "failed"
	})
	return slices.Collect(maps.Values(byID))
}

func rawLines(t *testing.T, dir, name string) (lines [][]byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(bytes.NewReader(text))
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		lines = append(lines, bytes.Clone(in.Bytes()))
	}
	return lines
}

// totals is what a report says of a configuration.
type totals struct {
	Name   string
	Runs   int
	Tasks  int
	Calls  int                     `json:"total_calls"`
	Tokens int                     `json:"total_tokens"`
	Cost   struct{ Total float64 } `json:"cost_usd"`
	Scores []struct {
		Mean      float64
		Successes int
	}
}

func reported(t *testing.T, dir string) map[string]totals {
	t.Helper()
	text, _ := typed(t, 0, nil, "report", dir, "--format", "json")
	var r struct{ Configurations []totals }
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	of := map[string]totals{}
	for _, c := range r.Configurations {
		of[c.Name] = c
	}
	return of
}

// The whole, the merged shards, and what is added up from the lines that the
// shards left behind say the same.
func TestMergedShardsAddUpToWhatTheirLinesSay(t *testing.T) {
	dir := dealtSuite(t)
	suite := filepath.Join(dir, "suite.yaml")
	at := func(name ...any) string { return filepath.Join(dir, fmt.Sprint(name...)) }
	typed(t, 1, nil, "run", suite, "-q", "--all", "--out", at("whole"))
	var shards []string
	for i := range 3 {
		shards = append(shards, at("shard", i+1))
		typed(t, 0, nil, "run", suite, "-q", "--out", shards[i], "--shard", fmt.Sprintf("%d/3", i+1))
	}
	typed(t, 1, nil, append([]string{"merge", "-q", "--out", at("merged")}, shards...)...)
	sums := map[string]*totals{}
	scores := map[string]map[string][]float64{} // by configuration and task
	for _, r := range rawRuns(t, shards...) {
		if sums[r.Configuration] == nil {
			sums[r.Configuration], scores[r.Configuration] = &totals{}, map[string][]float64{}
		}
		of := sums[r.Configuration]
		of.Runs, of.Calls, of.Tokens = of.Runs+1, of.Calls+r.Usage.Calls, of.Tokens+r.Usage.InputTokens+r.Usage.OutputTokens
		of.Cost.Total += float64(r.Usage.Cost) / 1e12
		scores[r.Configuration][r.Task] = append(scores[r.Configuration][r.Task], r.score)
	}
	if len(sums) != 2 || sums["once"].Runs == 0 {
		t.Fatalf("%d configurations", len(sums))
	}
	for _, folder := range []string{"whole", "merged"} {
		for name, got := range reported(t, at(folder)) {
			want := sums[name]
			mean, successes := 0.0, 0
			for _, trials := range scores[name] {
				for _, score := range trials {
					mean += score / float64(len(trials)) / float64(len(scores[name]))
					successes += int(score)
				}
			}
			if got.Runs != want.Runs || got.Tasks != len(scores[name]) || got.Calls != want.Calls || got.Tokens != want.Tokens ||
				math.Abs(got.Cost.Total-want.Cost.Total) > 1e-12 || math.Abs(got.Scores[0].Mean-mean) > 1e-9 || got.Scores[0].Successes != successes {
				t.Errorf("%s, %s: %+v; the lines say %+v, a mean of %v and %d successes", folder, name, got, want, mean, successes)
			}
		}
	}
}

// The tasks in the order of the SHA-256 of their ids, cut into parts that differ by one at most.
func TestShardsAreDividedAsTheManualSays(t *testing.T) {
	t.Parallel()
	dir := dealtSuite(t)
	suite := filepath.Join(dir, "suite.yaml")
	ids := make([]string, 11)
	for n := range ids {
		ids[n] = fmt.Sprint("t", n)
	}
	inOrder := func(a, b string) int {
		x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
		return bytes.Compare(x[:], y[:])
	}
	slices.SortFunc(ids, inOrder)
	var dealt []string
	for i, of := range tasksOfShards(t, suite, 4) {
		slices.SortFunc(of, inOrder)
		if len(of) < 2 || len(of) > 3 {
			t.Errorf("shard %d of 4 has %d of 11 tasks", i+1, len(of))
		}
		dealt = append(dealt, of...)
	}
	if !slices.Equal(dealt, ids) {
		t.Errorf("dealt %v, by hash %v", dealt, ids)
	}
}

// tasksOfShards are the tasks that each shard has run.
func tasksOfShards(t *testing.T, suite string, of int) (shards [][]string) {
	t.Helper()
	for i := range of {
		dir := filepath.Join(t.TempDir(), "r")
		typed(t, 0, nil, "run", suite, "-q", "--out", dir, "--shard", fmt.Sprintf("%d/%d", i+1, of))
		tasks := map[string]bool{}
		for _, line := range rawLines(t, dir, "records.jsonl") {
			var r rawRun
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			tasks[r.Task] = true
		}
		shards = append(shards, slices.Collect(maps.Keys(tasks)))
	}
	return shards
}

// The power of `plan --from` is Miller's formula on the scores as they lie there:
// the variance of a task's difference is that of the true ones, and that of its
// trials by their number; (1.95996 + 0.84162)² of it over the square of a
// difference is how many tasks show it.
func TestPlanFromRecordsIsMillersFormula(t *testing.T) {
	skipRace(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "r")
	typed(t, 0, nil, "run", "quickstart", "-q", "--out", dir)
	trials := map[string]map[string][]float64{}
	for _, r := range rawRuns(t, dir) {
		if trials[r.Configuration] == nil {
			trials[r.Configuration] = map[string][]float64{}
		}
		trials[r.Configuration][r.Task] = append(trials[r.Configuration][r.Task], r.score)
	}
	var between, within float64
	for _, other := range []string{"default", "thorough"} {
		var differences []float64
		ownWithin := 0.0
		for task, before := range trials["single-pass"] {
			after := trials[other][task]
			differences = append(differences, meanByHand(after)-meanByHand(before))
			ownWithin += (varianceByHand(before) + varianceByHand(after)) / 120
		}
		between += max(0, varianceByHand(differences)-ownWithin/3) / 2
		within += ownWithin / 2
	}
	const z = 1.959963985 + 0.841621234
	variance := between + within/4
	for _, want := range []string{
		fmt.Sprintf("120 tasks × 4 trials can show a difference of right of %.3f by", z*math.Sqrt(variance/120)),
		fmt.Sprintf("to show a difference of 0.1 takes %.0f tasks of 4 trials, or 120 tasks of %.0f trials",
			math.Ceil(z*z*variance/0.01), math.Ceil(within/(120*0.01/(z*z)-between))),
	} {
		if text, _ := typed(t, 0, map[string]string{"COLUMNS": "300"}, "plan", "quickstart", "--from", dir, "--detect", "10%", "--trials", "4"); !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

func meanByHand(values []float64) (mean float64) {
	for _, x := range values {
		mean += x / float64(len(values))
	}
	return mean
}

func varianceByHand(values []float64) (variance float64) {
	mean := meanByHand(values)
	for _, x := range values {
		variance += (x - mean) * (x - mean) / float64(len(values)-1)
	}
	return variance
}
