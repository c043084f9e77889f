//go:build unix

package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model"
)

// reportCPU adds what an operation took of the processor, which is steadier than
// the time on a machine with other work.
func reportCPU(b *testing.B) (done func()) {
	before := cpu(b)
	return func() { b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op") }
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// conversation is a request with so many bytes of text.
func conversation(bytes int) *model.Request {
	request := ask(strings.Repeat("x", bytes))
	request.Messages = append([]model.Message{{Role: "system", Text: "Answer briefly."}}, request.Messages...)
	return request
}

func BenchmarkHit(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			m, request := Wrap(&counting{}, Open(b.TempDir(), Options{}), openAI, On), conversation(size)
			if _, err := m.Call(b.Context(), request); err != nil {
				b.Fatal(err)
			}
			defer reportCPU(b)()
			for b.Loop() {
				if _, err := m.Call(WithRun(b.Context()), request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// manyEntries makes a cache of n entries.
func manyEntries(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	for part := range 256 {
		must(b, os.Mkdir(filepath.Join(dir, fmt.Sprintf("%02x", part)), 0o755))
	}
	for i := range n {
		e := someEntry()
		e.Key = Key{byte(i), byte(i >> 8), byte(i >> 16)}.String()
		e.Task, e.Text = fmt.Sprint("task-", i), strings.Repeat("word ", 200)
		content, err := encode(e)
		must(b, err)
		must(b, os.WriteFile(filepath.Join(dir, e.Key[:2], e.Key[2:]+".json"), content, 0o644))
	}
	return dir
}

// entries is how many a benchmark lists and prunes; its figure is for 100,000.
const entries = 100_000

func BenchmarkList(b *testing.B) {
	dir := manyEntries(b, entries)
	defer reportCPU(b)()
	for b.Loop() {
		n := 0
		for _, err := range List(dir) {
			must(b, err)
			n++
		}
		if n != entries {
			b.Fatalf("%d entries", n)
		}
	}
}

// BenchmarkPrune removes half of the entries.
func BenchmarkPrune(b *testing.B) {
	var took time.Duration
	for b.Loop() {
		b.StopTimer()
		dir := manyEntries(b, entries)
		var half int64
		for listed := range List(dir) {
			half += listed.Bytes / 2
		}
		b.StartTimer()
		before := cpu(b)
		got, err := Prune(dir, half, time.Now())
		took += cpu(b) - before
		if err != nil || got.Removed < entries/2 {
			b.Fatalf("%+v, %v", got, err)
		}
	}
	b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "cpu-ns/op")
}
