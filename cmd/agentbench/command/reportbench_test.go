//go:build linux

package command

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// reportRuns is how many runs the folders of BenchmarkReport and BenchmarkDiff
// have; AGENTBENCH_RUNS says otherwise.
const reportRuns = 20_000

// BenchmarkReport starts `agentbench report` on a folder of five configurations
// and two trials. A run has three iterations, each with a call of the agent and
// one of a judge and so many bytes of text: reports read signals, so the texts
// must make no difference.
func BenchmarkReport(b *testing.B) {
	runs := benchedRuns(b)
	for _, bytes := range []int{100, 1000} {
		b.Run(fmt.Sprintf("%d/%d", runs, bytes), func(b *testing.B) {
			dir := b.TempDir()
			writeRuns(b, dir, runs, strings.Repeat("ten bytes ", bytes/10))
			var held int64
			var used time.Duration
			for b.Loop() {
				c := exec.Command("agentbench", "report", dir)
				if out, err := c.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				used += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
				held = max(held, c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
			}
			b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s")
			b.ReportMetric(float64(held>>20), "MiB")
			b.ReportMetric(float64(sizeOf(b, dir, "records.jsonl")>>20), "MiB-records")
			b.ReportMetric(float64(sizeOf(b, dir, "signals.jsonl")>>20), "MiB-signals")
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
