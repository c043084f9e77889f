package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/page"
)

const (
	liveSuite = `suite: live
tasks: tasks.jsonl
models:
  weak: {provider: simulate, quality: {start: 0.05, limit: 0.2, rate: 0.3, spread: 0.1, noise: 0.04}, reply: '{"answer": {{ answer }}, "confidence": {{ confidence }}}', tokens: {input: 240, output: 90}, price: {input: 0.1, output: 0.4}}
  poor: {provider: simulate, quality: {start: 0.2, limit: 0.4, rate: 0.3, spread: 0.1, noise: 0.04}, reply: '{"answer": {{ answer }}, "confidence": {{ confidence }}}', tokens: {input: 240, output: 90}, price: {input: 0.1, output: 0.4}}
  good: {provider: simulate, quality: {start: 0.55, limit: 0.93, rate: 0.5, spread: 0.1, noise: 0.04}, reply: '{"answer": {{ answer }}, "confidence": {{ confidence }}}', tokens: {input: 240, output: 90}, price: {input: 0.5, output: 2.0}}
  fine: {provider: simulate, quality: {start: 0.60, limit: 0.93, rate: 0.5, spread: 0.1, noise: 0.04}, reply: '{"answer": {{ answer }}, "confidence": {{ confidence }}}', tokens: {input: 240, output: 90}, price: {input: 0.5, output: 2.0}}
configurations: [{name: default, loop: answer.loop.yaml}]
scorers: [{name: right, type: numeric, value: output.answer}]
seed: 1
tune:
  parameters: {agent.model: [weak, poor, good, fine], terminate.confidence.threshold: [0.7, 0.8, 0.9], terminate.max_iterations: {from: 1, to: 6}}
`
	liveLoop = `loop: answer
pattern: confidence
agent: {model: good, system: "Reply with JSON.", reply: json, max_output_tokens: 200}
prompt: "{{ task.input }}{{ iteration == 0 ? '' : ' Not ' + string(output.answer) }}"
evaluate: {confidence: double(output.confidence)}
terminate: {confidence: {threshold: 0.85}, max_iterations: 3}
`
)

// liveFolder writes a suite of so many tasks that says how it is tuned.
func liveFolder(t testing.TB, suite string, tasks int) string {
	t.Helper()
	dir := t.TempDir()
	var lines strings.Builder
	for i := range tasks {
		fmt.Fprintf(&lines, `{"id": "t%03d", "input": "%d + 1", "target": %d, "metadata": {"group": %d}}`+"\n", i, i, i+1, i/4)
	}
	for name, text := range map[string]string{"suite.yaml": suite, "answer.loop.yaml": liveLoop, "tasks.jsonl": lines.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// openedLive is a suite as tune opens it to record it.
func openedLive(t *testing.T, dir string, f tuneFlags) (*tuning, error) {
	t.Helper()
	p := &program{env: os.Getenv, in: strings.NewReader(""), out: io.Discard, err: io.Discard, now: time.Now}
	p.guard()
	f.recordFlags = recordFlags{cacheFlags: cacheFlags{mode: cache.On}, out: filepath.Join(dir, "r"), attempts: 1, quiet: true, grace: time.Second, concurrency: 4}
	f.typed = pflag.NewFlagSet("tune", pflag.ContinueOnError)
	f.Given = func(flag string) bool { return flag == "minimize" && f.Minimize }
	return p.openTuning(t.Context(), filepath.Join(dir, "suite.yaml"), &f)
}

// recording is what a race left behind.
type recording struct {
	paths  []string // that are left
	outs   []int    // after how many tasks the paths left
	places int
	lines  []string // how the race went
	ended  error
}

func recordedLive(t *testing.T, dir string) *recording { return recordedBy(t, dir, 4) }

// recordedBy is what so many runs at once record.
func recordedBy(t *testing.T, dir string, concurrency int) *recording {
	t.Helper()
	l, err := openedLive(t, dir, tuneFlags{})
	if err != nil {
		t.Fatal(err)
	}
	l.live.Suite.Concurrency = concurrency
	l.live.job.engine.Executor = engine.Pool{Workers: concurrency}
	ended, err := l.record(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made := &recording{ended: ended}
	if c := l.live.contest; c != nil {
		made.outs, made.places, made.lines = c.Outs(), c.Places(), c.Lines(page.Visible)
		for path, name := range c.Names() {
			if c.In(path) {
				made.paths = append(made.paths, name)
			}
		}
	}
	return made
}

// runsBy are how many runs a folder has of each configuration.
func runsBy(t *testing.T, dir string) map[string]int {
	t.Helper()
	runs := map[string]int{}
	for r, err := range record.ReadLight(dir) {
		if err != nil {
			t.Fatal(err)
		}
		runs[r.Configuration]++
	}
	return runs
}

// What replays is recorded once, at its loosest; what needs calls makes paths, of
// which the worse leaves the race before it has run every task. Going on in the
// same folder decides the same, without a run.
func TestPathsAreRaced(t *testing.T) {
	skipLong(t)
	t.Parallel()
	dir := liveFolder(t, liveSuite, 80)
	made := recordedLive(t, dir)
	name := func(model string) string { return "default@threshold=0.9,max_iterations=6,model=" + model + "" }
	if !slices.Equal(made.paths, []string{name("poor"), name("good"), name("fine")}) || made.ended != nil {
		t.Fatalf("left are %v, ended by %v", made.paths, made.ended)
	}
	weak, lines := made.outs[0], strings.Join(made.lines, "\n")
	if !strings.Contains(lines, "inconclusive whether one of them is the best: "+name("weak")+" is out") || strings.Contains(lines, "ended early") {
		t.Errorf("the race: %+v: %s", made.outs, lines)
	}
	runs := runsBy(t, dir+"/r")
	if runs[name("weak")] != weak || weak != 80/3 || runs[name("good")] != 80 || runs[name("fine")] != 80 {
		t.Errorf("runs: %v", runs)
	}
	again := recordedLive(t, dir)
	if after := runsBy(t, dir+"/r"); !slices.Equal(again.paths, made.paths) || again.outs[0] != weak || after[name("weak")] != weak {
		t.Errorf("again: %v left, %+v, runs %v", again.paths, again.outs, after)
	}
}

// How many runs go on at once decides nothing.
func TestARaceIsTheSameAtAnyConcurrency(t *testing.T) {
	t.Parallel()
	dirs := []string{liveFolder(t, liveSuite, 60), liveFolder(t, liveSuite, 60)}
	one, many := recordedBy(t, dirs[0], 1), recordedBy(t, dirs[1], 16)
	if !slices.Equal(one.outs, many.outs) || !slices.Equal(one.lines, many.lines) || !slices.Equal(one.paths, many.paths) {
		t.Errorf("%+v, %s and %+v, %s", one.outs, one.lines, many.outs, many.lines)
	}
}

// A budget ends the race where it stands, and what is not decided then is told.
func TestARaceKeepsTheBudget(t *testing.T) {
	t.Parallel()
	dir := liveFolder(t, liveSuite+"budget: {calls: 60}\n", 80)
	made := recordedLive(t, dir)
	code := 0
	if f, ok := made.ended.(*exit.Error); ok {
		code = f.Code
	}
	if code != exit.Stopped || len(made.paths) != 4 {
		t.Errorf("ended by %v, left %v, %+v", made.ended, made.paths, made.outs)
	}
	if lines := strings.Join(made.lines, "\n"); !strings.Contains(lines, "inconclusive which is better") {
		t.Errorf("told:\n%s", lines)
	}
	calls := int64(0)
	for r, err := range record.ReadLight(dir + "/r") {
		if err != nil {
			t.Fatal(err)
		}
		calls += r.Usage.Calls
	}
	if calls > 60 {
		t.Errorf("%d calls", calls)
	}
}

// Tasks of a cluster depend on each other: they are run together and count as one.
func TestARaceCountsClusters(t *testing.T) {
	skipRace(t)
	t.Parallel()
	dir := liveFolder(t, liveSuite+"cluster: string(task.metadata.group)\n", 80)
	made := recordedLive(t, dir)
	if made.places != 20 || made.outs[0] != 20/3 {
		t.Errorf("%d places, left after %v: %v", made.places, made.outs, made.lines)
	}
}

// Without a parameter that needs calls there is nothing to race.
func TestOnePathIsRecorded(t *testing.T) {
	t.Parallel()
	dir := liveFolder(t, strings.Replace(liveSuite, "agent.model: [weak, poor, good, fine], ", "", 1), 10)
	made := recordedLive(t, dir)
	if want := "default@threshold=0.9,max_iterations=6"; made.lines != nil || runsBy(t, dir+"/r")[want] != 10 {
		t.Errorf("%+v", made)
	}
}

// What has too many faults is no recording to choose by.
func TestFaultsLeaveNothingToTune(t *testing.T) {
	skipRace(t)
	dir := liveFolder(t, strings.Replace(liveSuite, "good: {provider: simulate,", "good: {provider: simulate, errors: 0.5,", 1), 20)
	l, err := openedLive(t, dir, tuneFlags{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.record(t.Context()); err == nil || !strings.Contains(err.Error(), "could be measured; min_coverage is 0.95") {
		t.Errorf("the error is %v", err)
	}
}
