//go:build linux

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/spec"
)

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
			var held int64
			var used time.Duration
			for b.Loop() {
				c := exec.Command("agentbench", "score", dir, filepath.Join(home, "suite.yaml"), "--again", "-q")
				if out, err := c.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				used += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
				held = max(held, c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
			}
			b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s")
			b.ReportMetric(float64(held)/(1<<20), "MiB")
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
	resolved, err := results.Resolve(d.Suite, d.Suite.Resolved)
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
	if m.Spec, err = json.Marshal(resolved); err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(journal.WriteManifest(m), journal.Close()); err != nil {
		b.Fatal(err)
	}
	return dir
}
