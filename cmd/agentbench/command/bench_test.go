//go:build linux

package command

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/spec"
)

// BenchmarkTune starts `agentbench tune` on 10,000 runs that were recorded under
// loose limits, with 1,000 configurations: ten limits of iterations and a hundred
// thresholds. All that it prints is part of it.
func BenchmarkTune(b *testing.B) {
	dir := recordedWide(b, 2500, 4)
	var thresholds []string
	for i := range 100 {
		thresholds = append(thresholds, fmt.Sprintf("%.4f", 0.5+float64(i)*0.0049))
	}
	args := []string{"tune", dir, "-p", "terminate.max_iterations=1,2,3,4,5,6,7,8,9,10", "-p", "terminate.confidence.threshold=" + strings.Join(thresholds, ",")}
	benchCommand(b, "10000 recorded runs · 1010 configurations tried", args...)
}

// benchCommand measures a command as a process of its own, and expects it to print a text.
func benchCommand(b *testing.B, text string, args ...string) {
	b.Helper()
	var held int64
	var used time.Duration
	for b.Loop() {
		c := exec.Command("agentbench", args...)
		if out, err := c.CombinedOutput(); err != nil || !bytes.Contains(out, []byte(text)) {
			b.Fatalf("%v\n%s", err, out)
		}
		used += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		held = max(held, c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	}
	b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s")
	b.ReportMetric(float64(held>>20), "MiB")
}

// recordedWide runs the quickstart's loop under loose limits on made tasks.
func recordedWide(b *testing.B, tasks, trials int) string {
	b.Helper()
	dir := b.TempDir()
	var problems strings.Builder
	for i := range tasks {
		fmt.Fprintf(&problems, "{\"id\": \"problem-%05d\", \"input\": \"What is %d + 7?\", \"target\": %d}\n", i, i, i+7)
	}
	texts := map[string]string{"problems.jsonl": problems.String()}
	texts["suite.yaml"] = fmt.Sprintf(`suite: wide
tasks: problems.jsonl
models:
  worker:
    provider: simulate
    sleep: false
    quality: {start: 0.55, limit: 0.93, rate: 0.5, spread: 0.15, noise: 0.04}
    reply: '{"answer": {{ answer }}, "confidence": {{ confidence }}}'
    latency: {median: 1.2s, sigma: 0.3}
    tokens: {input: 240, output: 90, spread: 0.2}
    price: {input: 0.50, output: 2.00}
configurations: [{name: wide, loop: answer.loop.yaml}]
scorers: [{name: right, type: numeric, value: output.answer}]
trials: %d
`, trials)
	texts["answer.loop.yaml"] = `loop: answer
pattern: confidence
agent: {model: worker, reply: json, max_output_tokens: 200}
prompt: '{{ task.input }} {{ iteration == 0 ? "" : "Check every step of " + string(output.answer) }}'
evaluate: {confidence: double(output.confidence)}
terminate: {confidence: {threshold: 1.0}, max_iterations: 10}
`
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	out := filepath.Join(dir, "results")
	if code := run(context.Background(), []string{"run", dir, "--out", out, "-q"}, func(string) string { return "" }, strings.NewReader(""), io.Discard, os.Stderr); code != 0 {
		b.Fatalf("recording ended with %d", code)
	}
	return out
}

// BenchmarkDiff starts `agentbench diff` on two folders of five configurations
// and two trials each, of which every task differs in two scores, cost, tokens
// and latency; and on one of them and a baseline.
func BenchmarkDiff(b *testing.B) {
	runs := benchedRuns(b)
	base, newest := b.TempDir(), b.TempDir()
	writeCompared(b, base, runs, "base")
	writeCompared(b, newest, runs, "new")
	file := b.TempDir()
	if out, err := exec.Command("agentbench", "baseline", "set", "main", base, "--baselines", file).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	b.Run(fmt.Sprintf("folders/%d", runs), func(b *testing.B) { benchDiff(b, base, newest) })
	b.Run(fmt.Sprintf("baseline/%d", runs), func(b *testing.B) {
		benchDiff(b, "--baseline", "main", "--baselines", file, newest)
		b.ReportMetric(float64(sizeOf(b, file, "main.jsonl"))/float64(runs), "B/run-in-file")
	})
}

func benchDiff(b *testing.B, args ...string) {
	benchCommand(b, "", append([]string{"diff", "--fail-on", "none"}, args...)...)
}

// writeCompared makes a result folder whose numbers differ from those of another
// name.
func writeCompared(b *testing.B, dir string, runs int, name string) {
	b.Helper()
	configurations := []string{"single", "patient", "hasty", "phased", "strict"}
	const trials = 2
	m := record.Manifest{
		Suite: "many", Status: record.StateComplete,
		Tasks: runs / trials / len(configurations), Trials: trials, Scorers: []string{"right", "quality"}, Totals: record.Totals{Planned: runs},
	}
	for _, c := range configurations {
		m.Configurations = append(m.Configurations, record.ConfigurationHead{Name: c, MaxIterations: 3, EffectiveMax: 3})
	}
	journal, err := record.Create(dir, m, record.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for task := range m.Tasks {
		for n := range trials * len(configurations) {
			r := madeRun(configurations[n%len(configurations)], task, 1+n/len(configurations), "text")
			x := fraction(name, r.ID)
			r.Usage.Cost += record.Money(x * 1e9)
			r.Usage.OutputTokens += int64(x * 1e3)
			r.Elapsed += time.Duration(x * 1e9)
			scores := []record.Score{
				{Run: r.ID, Name: "right", Value: float64(int(x*97) % 2), Scorer: "0011223344556677"},
				{Run: r.ID, Name: "quality", Value: x, Scorer: "0011223344556677"},
			}
			if err := journal.Append(r, scores, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := journal.Close(); err != nil {
		b.Fatal(err)
	}
}

// fraction is a number from 0 to 1 that depends on the texts alone.
func fraction(texts ...string) float64 {
	h := fnv.New64a()
	for _, text := range texts {
		h.Write([]byte(text))
	}
	return float64(h.Sum64()*0x9e3779b97f4a7c15>>11) / (1 << 53)
}

// BenchmarkScore starts `agentbench score` on a folder of runs of three iterations,
// as BenchmarkReport has them, with three scorers that ask nobody: of all runs and
// all their iterations, from the task's target, a regular expression and CEL. The
// memory of a tenth of the runs is told beside it.
func BenchmarkScore(b *testing.B) {
	runs := benchedRuns(b)
	for _, n := range []int{runs / 10, runs} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			home := b.TempDir()
			dir := scoredFolder(b, home, n)
			benchCommand(b, "", "score", dir, filepath.Join(home, "suite.yaml"), "--again", "-q")
			b.ReportMetric(float64(sizeOf(b, dir, "records.jsonl")>>20), "MiB-records")
		})
	}
}

// scoredFolder is a folder of runs of a suite that it writes beside it.
func scoredFolder(b *testing.B, home string, runs int) string {
	b.Helper()
	var tasks strings.Builder
	for n := range runs / 10 {
		fmt.Fprintf(&tasks, "{\"id\": \"task-%d\", \"input\": \"which one?\", \"target\": \"ten bytes task-%d\"}\n", n, n)
	}
	files := map[string]string{
		"tasks.jsonl": tasks.String(),
		"l.yaml":      "loop: l\nagent: {model: m}\nprompt: \"{{ task.input }}\"\nterminate: {max_iterations: 3}\n",
		"suite.yaml": `suite: many
models: {m: {provider: script, responses: [x], price: free}}
tasks: tasks.jsonl
trials: 2
configurations:
  - {name: single, loop: l.yaml}
  - {name: patient, loop: l.yaml, set: {agent.temperature: 0.1}}
  - {name: hasty, loop: l.yaml, set: {agent.temperature: 0.2}}
  - {name: phased, loop: l.yaml, set: {agent.temperature: 0.3}}
  - {name: strict, loop: l.yaml, set: {agent.temperature: 0.4}}
scorers:
  - {name: right, type: exact}
  - {name: numbered, type: regex, pattern: 'task-\d+$'}
  - {name: short, type: cel, expr: 'size(output) < 2000'}
`,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	dir := filepath.Join(home, "r")
	writeRuns(b, dir, runs, strings.Repeat("ten bytes ", 10))
	d, faults := spec.Load(filepath.Join(home, "suite.yaml"), spec.Options{Env: os.Getenv})
	if d == nil {
		b.Fatal(faults.Err())
	}
	copies, err := results.Writer{Redact: func(text []byte) []byte { return text }}.NewCopies(d, d.Tasks())
	if err != nil {
		b.Fatal(err)
	}
	data, err := d.DataFiles()
	if err != nil {
		b.Fatal(err)
	}
	journal, m, err := record.OpenScores(dir, record.Options{})
	if err != nil {
		b.Fatal(err)
	}
	m.Data = []record.DataFile{record.DataFile(data[0])}
	made, err := copies.Keep(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	for i := range m.Configurations {
		made.Configurations = append(made.Configurations, m.Configurations[i].Name)
	}
	made.Scorers, m.Specs = m.Scorers, []record.Spec{made}
	if err := errors.Join(journal.WriteManifest(m), journal.Close()); err != nil {
		b.Fatal(err)
	}
	return dir
}

// reportRuns is how many runs the folders of BenchmarkReport and BenchmarkDiff
// have; AGENTBENCH_RUNS says otherwise.
const reportRuns = 20_000

// BenchmarkReport starts `agentbench report` on a folder of five configurations
// and two trials. A run has three iterations, each with a call of the agent and
// one of a judge and so many bytes of text.
func BenchmarkReport(b *testing.B) {
	runs := benchedRuns(b)
	for _, bytes := range []int{100, 1000} {
		b.Run(fmt.Sprintf("%d/%d", runs, bytes), func(b *testing.B) {
			dir := b.TempDir()
			writeRuns(b, dir, runs, strings.Repeat("ten bytes ", bytes/10))
			benchCommand(b, "", "report", dir)
			b.ReportMetric(float64(sizeOf(b, dir, "records.jsonl")>>20), "MiB-records")
		})
	}
}

// BenchmarkPage writes the page of such a folder.
func BenchmarkPage(b *testing.B) {
	runs := benchedRuns(b)
	for _, bytes := range []int{100, 1000} {
		b.Run(fmt.Sprintf("%d/%d", runs, bytes), func(b *testing.B) {
			dir, out := b.TempDir(), b.TempDir()
			writeRuns(b, dir, runs, strings.Repeat("ten bytes ", bytes/10))
			benchCommand(b, "report.html", "report", dir, "--page", filepath.Join(out, "report.html"))
			b.ReportMetric(float64(sizeOf(b, out, "report.html"))/1e6, "MB-page")
		})
	}
}

func benchedRuns(b *testing.B) int {
	b.Helper()
	text := os.Getenv("AGENTBENCH_RUNS")
	if text == "" {
		return reportRuns
	}
	runs, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	return runs
}

// writeRuns makes a result folder.
func writeRuns(b *testing.B, dir string, runs int, text string) {
	b.Helper()
	names := []string{"single", "patient", "hasty", "phased", "strict"}
	const trials = 2
	tasks := runs / trials / len(names)
	m := record.Manifest{
		Suite: "many", Status: record.StateComplete, Tasks: tasks, Trials: trials, Scorers: []string{"right"},
		Totals: record.Totals{Planned: runs},
	}
	for _, name := range names {
		m.Configurations = append(m.Configurations, record.ConfigurationHead{Name: name, MaxIterations: 3, EffectiveMax: 3})
	}
	journal, err := record.Create(dir, m, record.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for task := range tasks {
		for n := range trials * len(names) {
			r := madeRun(names[n%len(names)], task, 1+n/len(names), text)
			scores := []record.Score{{Run: r.ID, Name: "right", Value: float64((task + n) % 7 % 2), Scorer: "0011223344556677"}}
			for i := range r.Iterations {
				scores = append(scores, record.Score{Run: r.ID, Name: "right", Iteration: i + 1, Value: float64((task + n + i) % 2), Scorer: "0011223344556677"})
			}
			if err := journal.Append(r, scores, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := journal.Close(); err != nil {
		b.Fatal(err)
	}
}

func madeRun(configuration string, task, trial int, text string) *record.Run {
	id := "task-" + strconv.Itoa(task)
	output, _ := json.Marshal(text + id) // a string always can be
	r := &record.Run{
		Version: record.Version, ID: record.RunID(configuration, id, trial), Configuration: configuration, Task: id, Trial: trial, Loop: "0123456789abcdef",
		Outcome: record.Outcome{Status: record.Completed, Reason: record.ReasonMaxIterations, Class: record.ByCondition, Fired: "max_iterations", Returned: 3},
	}
	for n := range 3 {
		r.Elapsed += time.Duration(800+task%500) * time.Millisecond
		it := record.Iteration{
			N: n + 1, Request: "fedcba9876543210", Output: output,
			Evaluation: &record.Evaluation{Confidence: 0.5 + float64((task+n)%50)/100, Feedback: "more"},
			Calls: []record.Call{
				{Role: record.RoleAgent, Model: "small", Request: "fedcba9876543210", Usage: record.Usage{Calls: 1, InputTokens: 900, OutputTokens: int64(100 + task%100), Cost: 255_000_000}, Duration: 700 * time.Millisecond, Finish: "stop"},
				{Role: record.RoleJudge, Model: "small", Request: "fedcba9876543210", Usage: record.Usage{Calls: 1, InputTokens: 400, OutputTokens: 40, Cost: 84_000_000}, Duration: 100 * time.Millisecond, Finish: "stop"},
			},
			End: r.Elapsed,
		}
		agent, judging := it.Spent()
		r.Usage, r.Judging, r.Iterations = r.Usage.Plus(agent), r.Judging.Plus(judging), append(r.Iterations, it)
	}
	return r
}

func sizeOf(b *testing.B, dir, file string) int64 {
	b.Helper()
	info, err := os.Stat(filepath.Join(dir, file))
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}

// A hundred thousand tasks are read, drawn from and run in 200 MB, the report of all of them left aside.
func TestAHundredThousandTasks(t *testing.T) {
	nightly(t)
	const most = 200_000_000
	dir := manyRuns(t, 100_000)
	packTasks(t, dir)
	suite, err := os.ReadFile(filepath.Join(dir, "suite.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tasks := range map[string]string{
		"plain": "tasks.jsonl", "packed": "{files: [tasks.jsonl.gz], shuffle: true}", "shuffled": "{files: [tasks.jsonl], shuffle: true}",
		"sampled": "{files: [tasks.jsonl], sample: {by: size(task.input), share: 0.5}}", "chosen": "{files: [tasks.jsonl], where: task.id.endsWith(\"7\"), limit: 1000}",
	} {
		write(t, dir, name+".yaml", strings.Replace(string(suite), "tasks: tasks.jsonl", "tasks: "+tasks, 1))
		for _, args := range [][]string{{"check", name + ".yaml"}, {"plan", name + ".yaml"}, {"run", name + ".yaml", "--limit", "1000", "-q", "--out", name}} {
			if held, _ := peak(t, dir, args...); held > most {
				t.Errorf("agentbench %q held %d MB", args, held/1_000_000)
			}
		}
	}
}

func packTasks(t *testing.T, dir string) {
	t.Helper()
	from, err := os.Open(filepath.Join(dir, "tasks.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(dir, "tasks.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	w := gzip.NewWriter(to)
	if _, err := io.Copy(w, from); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
