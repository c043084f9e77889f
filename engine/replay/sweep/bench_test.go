//go:build unix

package sweep

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"
)

// BenchmarkTotals adds up 1,000 configurations on 10,000 runs by five parts, walks
// and evaluation of the conditions included: those of a loop, of one with phases,
// and, of which there are fewer, such as have to be walked each for itself.
func BenchmarkTotals(b *testing.B) {
	b.Run("stops", func(b *testing.B) { benchmarkTotals(b, plain, "", 1000) })
	b.Run("phases", func(b *testing.B) { benchmarkTotals(b, staged, "", 1000) })
	b.Run("walked", func(b *testing.B) {
		benchmarkTotals(b, plain, "guards: {budget: {calls: 20, hard: true}}\n", 50)
	})
}

const staged = "agent: {model: m}\nevaluate: {confidence: '0.5'}\nphases:\n- {name: plan, prompt: p, max_iterations: 2}\n- {name: act, prompt: q, max_iterations: 9}\n"

func benchmarkTotals(b *testing.B, loop, guards string, n int) {
	r := recorded(b, loop+"terminate: {confidence: off}\nmax_iterations: 10\n", benchmarkRuns()...)
	if loop == staged {
		for i := range r.Runs {
			for k := range r.Runs[i].Run.Iterations {
				r.Runs[i].Run.Iterations[k].Phase = []string{"plan", "act"}[min(k/2, 1)]
			}
		}
	}
	var candidates []Candidate
	for i := range n {
		text := fmt.Sprintf("terminate: {max_iterations: %d, confidence: {threshold: %v}, no_improvement: {patience: %d}}\n", 1+i%10, float64(1+i/10%10)/10, 1+i/100)
		candidates = append(candidates, Candidate{Loop: declared(b, loop+text+guards)})
	}
	part := make([]int, len(r.Runs))
	for i := range part {
		part[i] = i % 5
	}
	before := processor(b)
	for b.Loop() {
		s, err := New([]Recording{r}, candidates, Options{})
		must(b, err)
		must(b, s.Totals(context.Background(), part, 5, func(int, []Totals) {}))
	}
	took := processor(b) - before
	b.ReportMetric(float64(took.Milliseconds())/float64(b.N)*1000/float64(n), "cpu-ms/1000-configurations")
}

// processor is the processor time used so far.
func processor(b *testing.B) time.Duration {
	var usage syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// benchmarkRuns are 10,000 of up to ten iterations.
func benchmarkRuns() []Run {
	runs := make([]Run, 10_000)
	for i := range runs {
		confidences := make([]float64, 1+(i*i*7+i)%10)
		for n := range confidences {
			confidences[n] = float64((i*31+n*n*17)%20) / 20
		}
		runs[i] = run(fmt.Sprint("t", i/3), 1+i%3, confidences...)
		for n := range runs[i].Run.Iterations {
			call := &runs[i].Run.Iterations[n].Calls[0]
			call.Usage.InputTokens, call.Usage.OutputTokens = int64(i*31+n*977)%4000, int64(i*17+n*379)%1000
			call.Usage.Cost = call.Usage.Cost / 1000 * 1 * 997 / 991
		}
	}
	return runs
}

// must ends a test at an error.
func must(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
