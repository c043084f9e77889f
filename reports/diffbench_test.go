package reports_test

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// BenchmarkDiff compares two reports of so many runs, and writes what they
// differ in; B/run is what the comparison keeps, most of it the flips.
func BenchmarkDiff(b *testing.B) {
	for _, runs := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(runs), func(b *testing.B) {
			m := one(runs).manifest
			base, err := reports.Collect(&m, signalsOf(runs), scoresOf(runs))
			if err != nil {
				b.Fatal(err)
			}
			new, err := reports.Collect(&m, signalsOf(runs), each(turnedScores(runs)))
			if err != nil {
				b.Fatal(err)
			}
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				c, err := reports.Diff(base, new, reports.DiffOptions{})
				if err != nil {
					b.Fatal(err)
				}
				if err := page.Write(io.Discard, c, page.Options{}); err != nil {
					b.Fatal(err)
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				runtime.KeepAlive(c)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*runs), "ns/run")
			b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(runs), "B/run")
		})
	}
}

// turnedScores are those of scoresOf, of which every third is turned.
func turnedScores(runs int) (scores []record.Score) {
	for s := range scoresOf(runs) {
		if len(scores)%3 == 0 {
			s.Value = 1 - s.Value
		}
		scores = append(scores, s)
	}
	return scores
}
