package command

import (
	"cmp"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/record"
)

// sessionsForFaults is how often a run is tried at most: the default of --attempts.
const sessionsForFaults = 3

// TestF10_F21_EveryFifthAnswerIsAFault runs a suite at a server whose every
// fifth answer is a fault, each kind in turn that may pass: all runs end scored,
// within the attempts that they have. AGENTBENCH_FAULTS=2000 makes that many runs.
func TestF10_F21_EveryFifthAnswerIsAFault(t *testing.T) {
	runs, err := strconv.Atoi(cmp.Or(os.Getenv("AGENTBENCH_FAULTS"), "150"))
	if err != nil {
		t.Fatal(err)
	}
	schedule, err := mockserver.ParseSchedule("ok*4," + strings.Join(passing(), ",ok*4,") + ",repeat")
	if err != nil {
		t.Fatal(err)
	}
	mock := mockserver.New(mockserver.Options{Rules: []mockserver.Rule{mockserver.Texts("a reply of several chunks")}, Schedule: schedule})
	server := httptest.NewServer(mock)
	defer server.Close()
	folder := faultySuite(t, server.URL, runs/2)
	sessions := 0
	for scored := 0; scored < runs; scored = scoredIn(t, filepath.Join(folder, "r")) {
		if sessions++; sessions > sessionsForFaults {
			t.Fatalf("%d of %d runs are scored after %d sessions", scored, runs, sessionsForFaults)
		}
		runFaulty(t, folder)
	}
	told := mock.Stats(0)
	if shown := faultsIn(&told); shown < runs/5 || shown != told.Requests/5 || len(told.Faults) != len(passing()) {
		t.Errorf("%d faults in %d requests", shown, told.Requests)
	}
	t.Logf("%d runs scored in %d sessions: %d requests, %d faults of %d kinds", runs, sessions, told.Requests, faultsIn(&told), len(told.Faults))
}

// passing are the kinds of faults that another attempt may survive.
func passing() (kinds []string) {
	for _, kind := range mockserver.Kinds() {
		switch kind.Class {
		case record.RateLimit, record.Server, record.Network, record.CallTimeout, record.Incomplete, record.BadResponse:
			if !slices.Contains(kind.Options, "size") { // those come again as large
				kinds = append(kinds, kind.Name)
			}
		}
	}
	return kinds
}

// faultySuite asks a server for whole answers and for streams.
func faultySuite(t *testing.T, address string, tasks int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	var rows strings.Builder
	for n := range tasks {
		fmt.Fprintf(&rows, "{\"id\": \"t%d\", \"input\": \"task %d\", \"target\": \"a reply of several chunks\"}\n", n, n)
	}
	loop := "loop: %s\nagent: {model: %[1]s}\nprompt: '{{ task.input }}'\nterminate: {max_iterations: 1}\n"
	model := fmt.Sprintf("{provider: openai, base_url: %s/v1, price: free, first_byte_timeout: 1s, idle_timeout: 500ms, stream: ", address)
	for name, text := range map[string]string{
		"tasks.jsonl": rows.String(), "whole.yaml": fmt.Sprintf(loop, "whole"), "stream.yaml": fmt.Sprintf(loop, "stream"),
		"suite.yaml": "suite: faults\ntasks: tasks.jsonl\nmodels: {whole: " + model + "false}, stream: " + model + "true}}\n" +
			"configurations: [{name: whole, loop: whole.yaml}, {name: stream, loop: stream.yaml}]\nscorers: [{name: right, type: exact}]\nconcurrency: 32\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// runFaulty makes one session. Runs that had faults are no reason to fail.
func runFaulty(t *testing.T, folder string) {
	t.Helper()
	child := exec.Command("agentbench", "run", "suite.yaml", "-q", "--cache", "off", "--out", "r")
	child.Dir, child.Env = folder, append(os.Environ(), "OPENAI_API_KEY=none")
	out, err := child.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !(errors.As(err, &failed) && failed.ExitCode() == exit.NotMeasured) {
		t.Fatalf("%v: %s", err, out)
	}
}

// scoredIn counts the runs of a folder that completed with the right answer.
func scoredIn(t *testing.T, folder string) (scored int) {
	t.Helper()
	right := map[string]bool{}
	for score, err := range record.ReadScores(folder) {
		if err != nil {
			t.Fatal(err)
		}
		right[score.Run] = score.Unscored == "" && score.Value == 1
	}
	for run, err := range record.ReadRuns(folder) {
		if err != nil {
			t.Fatal(err)
		}
		if run.Outcome.Status == record.Completed && right[run.ID] {
			scored++
		}
	}
	return scored
}

func faultsIn(told *mockserver.Stats) (shown int) {
	for _, times := range told.Faults {
		shown += times
	}
	return shown
}

// TestF23_AnAnswerOf30MB: a whole suite, from the call to the record, needs at most
// four times the size of a huge answer besides what it needs for a small one.
func TestF23_AnAnswerOf30MB(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector holds more; .ci/run runs this without it")
	}
	const size = 30 // MiB, as the garbage collector tells
	for _, stream := range []bool{false, true} {
		for _, cache := range []string{"off", "on"} {
			small, huge := heapOf(t, "100KB", stream, cache), heapOf(t, fmt.Sprintf("%dMiB", size), stream, cache)
			t.Logf("streamed: %v, cache %s: a heap of %d MiB, %d MiB for a small answer", stream, cache, huge, small)
			if huge-small > 4*size {
				t.Errorf("streamed: %v, cache %s: the heap grew by %d MiB, which is more than four times the answer", stream, cache, huge-small)
			}
		}
	}
}

// heapOf is the largest heap, in MiB, of a run with an answer of this size.
func heapOf(t *testing.T, size string, stream bool, cache string) (most int) {
	t.Helper()
	fault, err := mockserver.ParseRated("huge:size=" + size)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(mockserver.New(mockserver.Options{Faults: []mockserver.Rated{fault}}))
	defer server.Close()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml":     "loop: a\nagent: {model: m}\nprompt: write much\nterminate: {max_iterations: 1}\n",
		"suite.yaml": fmt.Sprintf("suite: huge\ntasks: [{input: x}]\nmodels: {m: {provider: openai, base_url: %s/v1, price: free, stream: %v}}\nconfigurations: [{name: a, loop: a.yaml}]\n", server.URL, stream),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	child := exec.Command("agentbench", "run", "suite.yaml", "-q", "--cache", cache, "--cache-dir", "cache", "--out", "r")
	child.Dir, child.Env = folder, append(os.Environ(), "OPENAI_API_KEY=none", "GODEBUG=gctrace=1", "GOGC=100")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %.2000s", err, out)
	}
	if runs, err := os.Stat(filepath.Join(folder, "r", "records.jsonl")); err != nil || size != "100KB" && runs.Size() < 30<<20 {
		t.Fatalf("the record: %v, %v", runs, err)
	}
	for _, heaps := range regexp.MustCompile(`(\d+)->(\d+)->\d+ MB`).FindAllSubmatch(out, -1) { // before and at the end of each collection
		for _, heap := range heaps[1:] {
			n, _ := strconv.Atoi(string(heap))
			most = max(most, n)
		}
	}
	return most
}
