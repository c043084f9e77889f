package reports_test

import (
	"fmt"
	"io"
	"iter"
	"runtime"
	"strconv"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// BenchmarkCollect reads so many runs of one iteration with a score of the run
// and of the iteration; B/run is what is kept.
func BenchmarkCollect(b *testing.B) {
	for _, runs := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(runs), func(b *testing.B) {
			m := one(runs).manifest
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				r, err := reports.Collect(&m, signalsOf(runs), scoresOf(runs))
				if err != nil {
					b.Fatal(err)
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				runtime.KeepAlive(r)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*runs), "ns/run")
			b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(runs), "B/run")
		})
	}
}

func signalsOf(runs int) iter.Seq2[*record.Run, error] {
	return func(yield func(*record.Run, error) bool) {
		s := one(1).run("", 1, 0.5)
		for task := range runs {
			s.Task = strconv.Itoa(task)
			s.ID = record.RunID("c", s.Task, 1)
			if !yield(s, nil) {
				return
			}
		}
	}
}

func scoresOf(runs int) iter.Seq2[record.Score, error] {
	return func(yield func(record.Score, error) bool) {
		for i := range 2 * runs {
			s := record.Score{Run: record.RunID("c", strconv.Itoa(i/2), 1), Name: "right", Iteration: i % 2, Value: float64(i / 2 % 2)}
			if !yield(s, nil) {
				return
			}
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	r := coach(24).collect()
	for _, format := range page.Formats {
		b.Run(format, func(b *testing.B) {
			for b.Loop() {
				if err := page.Write(io.Discard, r, page.Options{Format: format}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSummarise is what a report costs besides reading: five configurations
// with curves of up to seven points.
func BenchmarkSummarise(b *testing.B) {
	for _, tasks := range []int{24, 100, 101, 1000} {
		b.Run(fmt.Sprint(tasks), func(b *testing.B) {
			f := coach(tasks)
			for b.Loop() {
				f.collect()
			}
		})
	}
}

// BenchmarkSweep is a report of a thousand configurations.
func BenchmarkSweep(b *testing.B) {
	f := coach(100)
	head, kept := f.manifest.Configurations[1], f.signals[:0]
	for _, s := range f.signals {
		if s.Configuration == head.Name && s.Trial == 1 {
			kept = append(kept, s)
		}
	}
	f.signals, f.scores, f.manifest.Configurations, f.manifest.Trials = nil, nil, nil, 1
	for c := range 1000 {
		name := "c" + strconv.Itoa(c)
		f.manifest.Configurations = append(f.manifest.Configurations, record.ConfigurationHead{Name: name, MaxIterations: 5, EffectiveMax: 5})
		for _, s := range kept {
			of := *s
			of.Configuration, of.ID = name, record.RunID(name, s.Task, 1)
			f.signals = append(f.signals, &of)
			f.scores = append(f.scores, record.Score{Run: of.ID, Name: "close", Value: float64(c % 2)})
		}
	}
	for b.Loop() {
		f.collect()
	}
}

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
