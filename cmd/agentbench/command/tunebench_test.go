//go:build linux

package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
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
	var held int64
	var used time.Duration
	for b.Loop() {
		c := exec.Command("agentbench", args...)
		if out, err := c.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("10000 recorded runs · 1010 configurations tried")) {
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
