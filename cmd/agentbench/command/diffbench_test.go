//go:build linux

package command

import (
	"fmt"
	"hash/fnv"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// BenchmarkDiff starts `agentbench diff` on two folders of five configurations
// and two trials each, of which every task differs in two scores, cost, tokens
// and latency; and on one of them and a baseline.
func BenchmarkDiff(b *testing.B) {
	runs := benchedRuns(b)
	base, newest := b.TempDir(), b.TempDir()
	writeCompared(b, base, runs, "base")
	writeCompared(b, newest, runs, "new")
	file := b.TempDir()
	if out, err := exec.Command("agentbench", "baseline", "set", "main", base, "--dir", file).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	b.Run(fmt.Sprintf("folders/%d", runs), func(b *testing.B) { benchDiff(b, base, newest) })
	b.Run(fmt.Sprintf("baseline/%d", runs), func(b *testing.B) {
		benchDiff(b, "--baseline", "main", "--baselines", file, newest)
		b.ReportMetric(float64(sizeOf(b, file, "main.jsonl"))/float64(runs), "B/run-in-file")
	})
}

func benchDiff(b *testing.B, args ...string) {
	var held int64
	var used time.Duration
	for b.Loop() {
		c := exec.Command("agentbench", append([]string{"diff", "--fail-on", "none"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		used += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		held = max(held, c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
	}
	b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s")
	b.ReportMetric(float64(held>>20), "MiB")
}

// writeCompared makes a result folder whose numbers differ from those of another
// name.
func writeCompared(b *testing.B, dir string, runs int, name string) {
	b.Helper()
	configurations := []string{"single", "patient", "hasty", "phased", "strict"}
	const trials = 2
	m := record.Manifest{
		Suite: "many", Status: record.StateComplete, Spec: []byte(`{"suite":{"suite":"many"},"configurations":{}}`),
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
