//go:build unix

package mcp

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/agentbench/agentbench/engine/external/leaktest"
	"github.com/agentbench/agentbench/engine/tool"
)

// eachRun calls `double` in so many runs at the same time, so often in each.
func eachRun(t testing.TB, all context.Context, o Options, runs, calls int) {
	var waiting sync.WaitGroup
	for r := range runs {
		waiting.Go(func() {
			ctx, run := tool.WithRun(all)
			defer run.Close()
			set := toolsOf(t, ctx, New(o))
			for c := range calls {
				n := r*calls + c
				got, err := use(ctx, set, "double", fmt.Sprintf(`{"n":%d}`, n))
				if want := fmt.Sprintf(`{"n":%d}`, 2*n); err != nil || got != want {
					t.Errorf("got %s, %v, want %s", got, err, want)
				}
			}
		})
	}
	waiting.Wait()
}

// A thousand runs at the same time use one server, each is given its own answers,
// and nothing is left of them: no goroutine, and no process but the server until
// the last has ended. The full number of calls takes a while.
func TestAThousandRunsShareAServer(t *testing.T) {
	runs, calls := 1000, 1
	if testing.Short() {
		runs = 200
	}
	if os.Getenv("AGENTBENCH_NIGHTLY") != "" {
		calls = 10
	}
	for name, o := range map[string]Options{"stdio": child("orderly"), "http": listening(t)} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			all, shared := tool.WithRun(t.Context())
			o.Shared = shared
			eachRun(t, all, o, runs, calls)
			pid := serverOf(t, all, New(o))
			shared.Close()
			if o.Program != nil {
				leaktest.Until(t, "the server has ended", func() bool { return syscall.Kill(pid, 0) != nil })
			}
			leaktest.Until(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
		})
	}
}

// serverOf is the process of a server.
func serverOf(t *testing.T, ctx context.Context, s *Server) (pid int) {
	t.Helper()
	got, err := use(ctx, toolsOf(t, ctx, s), "pid", `{}`)
	must(t, err)
	if _, err := fmt.Sscanf(got, `"%d"`, &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

// BenchmarkSharedServer is a call in one of a thousand runs that share a server.
func BenchmarkSharedServer(b *testing.B) {
	all, shared := tool.WithRun(b.Context())
	defer shared.Close()
	o := child("orderly")
	o.Shared, o.Only = shared, []string{"double"}
	for b.Loop() {
		eachRun(b, all, o, 1000, 10)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/10_000, "us/call")
}

// BenchmarkCall is a call with nothing else going on.
func BenchmarkCall(b *testing.B) {
	ctx := begun(b)
	set := toolsOf(b, ctx, New(child("orderly")))
	for b.Loop() {
		if _, err := use(ctx, set, "double", `{"n":1}`); err != nil {
			b.Fatal(err)
		}
	}
}
