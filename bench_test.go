//go:build unix

package agentbench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/record"
)

// The suite of the benchmarks: one iteration of a scripted model without
// latency, one exact score.
const (
	benchLoop  = "loop: bench\nagent: {model: m}\nprompt: 'Question: {{ task.input }}'\nterminate: {max_iterations: 1}\n"
	benchSuite = `suite: bench
tasks: tasks.jsonl
models:
  m: {provider: script, responses: ["42"], after_last: repeat, price: {input: 1, output: 2}}
configurations: [{name: only, loop: bench.loop.yaml}]
scorers: [{name: right, type: exact}]
`
	slowModel = "{provider: simulate, sleep: true, latency: {median: 200ms}}"
)

// benchFolder writes a suite with n tasks.
func benchFolder(b *testing.B, suite string, n int) string {
	b.Helper()
	dir := b.TempDir()
	var tasks strings.Builder
	for i := range n {
		fmt.Fprintf(&tasks, `{"id": "task-%d", "input": "What is %d + %d?", "target": "42"}`+"\n", i, i, i)
	}
	for name, text := range map[string]string{"bench.loop.yaml": benchLoop, "suite.yaml": suite, "tasks.jsonl": tasks.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// runBench runs the suite of a folder with everything that `run` does but the
// report and the progress.
func runBench(b *testing.B, dir string, workers int, options record.Options) {
	b.Helper()
	doc, p, e := assembled(b, filepath.Join(dir, "suite.yaml"))
	journal, err := record.Create(filepath.Join(b.TempDir(), "results"), record.Manifest{}, options)
	if err != nil {
		b.Fatal(err)
	}
	e.Executor, e.Journal, e.Now = engine.Pool{Workers: workers}, journal, time.Now
	_, err = e.Run(b.Context(), p, doc.Tasks())
	if err := journal.Close(); err != nil {
		b.Fatal(err)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// unsynced is a folder whose files are never synced.
type unsynced struct{ dir string }

type plainFile struct{ *os.File }

func (plainFile) Sync() error { return nil }

func (u unsynced) Append(name string) (record.File, error) {
	f, err := os.OpenFile(filepath.Join(u.dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	return plainFile{f}, err
}

func (u unsynced) Replace(name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(u.dir, name))
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func (u unsynced) Truncate(name string, size int64) error {
	return os.Truncate(filepath.Join(u.dir, name), size)
}

// cpu is what this process has used so far.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// peakMemory is the most memory that this process had resident since the last
// call; Linux only, 0 elsewhere.
func peakMemory() (bytes int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	return kilobytes << 10
}

// BenchmarkOverhead is the CPU of a run besides its model: everything but the
// sync of the files.
func BenchmarkOverhead(b *testing.B) {
	dir := benchFolder(b, benchSuite, b.N)
	b.ResetTimer()
	before := cpu(b)
	runBench(b, dir, 2, record.Options{Disk: unsynced{b.TempDir()}})
	b.ReportMetric(float64(cpu(b)-before)/float64(time.Microsecond)/float64(b.N), "cpu-us/run")
}

// BenchmarkRuns runs many with group commit, each group synced.
func BenchmarkRuns(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			dir := benchFolder(b, benchSuite, n)
			debug.FreeOSMemory()
			peakMemory()
			for b.Loop() {
				runBench(b, dir, 8, record.Options{})
			}
			b.ReportMetric(float64(peakMemory())/1e6, "peak-MB")
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*1e6/float64(n), "us/run")
		})
	}
}

// BenchmarkConcurrency waits for 10,240 calls of 200 ms, 256 at a time: 40 waves.
func BenchmarkConcurrency(b *testing.B) {
	const n, workers, latency = 10_240, 256, 200 * time.Millisecond
	suite := strings.Replace(benchSuite, benchSuite[strings.Index(benchSuite, "{provider"):strings.Index(benchSuite, "\nconfigurations")], slowModel, 1)
	dir := benchFolder(b, suite, n)
	for b.Loop() {
		runBench(b, dir, workers, record.Options{})
	}
	ideal := time.Duration((n+workers-1)/workers) * latency
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/ideal.Seconds(), "x-ideal")
}

// BenchmarkVersion starts the program and ends it.
func BenchmarkVersion(b *testing.B) {
	program := filepath.Join(b.TempDir(), "agentbench")
	build(b, program)
	for b.Loop() {
		start(b, program, "version")
	}
}

// BenchmarkCheck10000Tasks checks a suite with 10,000 inline tasks, as a user does.
func BenchmarkCheck10000Tasks(b *testing.B) {
	program := filepath.Join(b.TempDir(), "agentbench")
	build(b, program)
	dir := benchFolder(b, "", 0)
	var suite strings.Builder
	suite.WriteString(strings.Replace(benchSuite, "tasks: tasks.jsonl\n", "tasks:\n", 1))
	text := suite.String()
	head, tail, _ := strings.Cut(text, "tasks:\n")
	suite.Reset()
	suite.WriteString(head + "tasks:\n")
	for i := range 10_000 {
		fmt.Fprintf(&suite, "  - {id: task-%d, input: \"What is %d + %d?\", target: \"42\", vars: {level: easy}}\n", i, i, i)
	}
	suite.WriteString(tail)
	file := filepath.Join(dir, "suite.yaml")
	if err := os.WriteFile(file, []byte(suite.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		start(b, program, "check", file)
	}
}

func build(b *testing.B, program string) {
	b.Helper()
	if out, err := exec.Command("go", "build", "-o", program, "./cmd/agentbench").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}

func start(b *testing.B, program string, args ...string) {
	b.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}
