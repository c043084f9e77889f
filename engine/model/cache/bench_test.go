//go:build unix

package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
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

func BenchmarkStore(b *testing.B) {
	m, request := Wrap(&counting{}, Open(b.TempDir(), Options{}), openAI, Write), conversation(1<<10)
	for i := 0; b.Loop(); i++ {
		request.Draw.Trial = i
		if _, err := m.Call(b.Context(), request); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKey(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 256 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			request, prefix := conversation(size), openAI.prefix()
			b.SetBytes(int64(size))
			for b.Loop() {
				sum(prefix, request).nth(0)
			}
		})
	}
}

// manyEntries makes a cache of n entries.
func manyEntries(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	for part := range 256 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("%02x", part)), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	for i := range n {
		e := someEntry()
		e.Key = Key{byte(i), byte(i >> 8), byte(i >> 16)}.String()
		e.Task, e.text = fmt.Sprint("task-", i), strings.Repeat("word ", 200)
		content, err := e.encode()
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, e.Key[:2], e.Key[2:]), content, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// entries is how many a benchmark lists and prunes; its figure is for 200,000.
const entries = 200_000

func BenchmarkList(b *testing.B) {
	dir := manyEntries(b, entries)
	defer reportCPU(b)()
	for b.Loop() {
		n, most := 0, uint64(0)
		for _, err := range List(dir) {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n%20_000 == 0 {
				most = max(most, heap())
			}
		}
		if n != entries {
			b.Fatalf("%d entries", n)
		}
		b.ReportMetric(float64(most)/1e6, "heap-MB")
	}
}

func heap() uint64 {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapInuse
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
		b.ReportMetric(float64(heap())/1e6, "heap-MB")
	}
	b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "cpu-ns/op")
}
