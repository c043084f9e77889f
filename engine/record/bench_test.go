package record

import (
	"bufio"
	"encoding/json"
	"io"
	"testing"
)

// BenchmarkEncode is the record and the score of a run of one iteration; BenchmarkFloor is what encoding/json and a buffered write of the
// same record cost at least.
func BenchmarkEncode(b *testing.B) {
	run := sampleRun(1, 1)
	scores := sampleScores(run)
	b.ReportAllocs()
	for b.Loop() {
		_, err := lineOfRun(run)
		if err == nil {
			_, err = lineOfScores(run.ID, scores, nil)
		}
		must(b, err)
	}
}

func BenchmarkFloor(b *testing.B) {
	run := sampleRun(1, 1)
	w := bufio.NewWriterSize(io.Discard, 1<<16)
	b.ReportAllocs()
	for b.Loop() {
		text, err := json.Marshal(run)
		must(b, err)
		w.Write(text)
	}
}

func BenchmarkAppend(b *testing.B) {
	j, err := Create(b.TempDir(), Manifest{}, Options{Disk: nowhere{}})
	must(b, err)
	run := sampleRun(1, 1)
	scores := sampleScores(run)
	b.ReportAllocs()
	for b.Loop() {
		must(b, j.Append(run, scores, func(error) {}))
	}
	must(b, j.Close())
}

// BenchmarkReadLight reads runs of one iteration.
func BenchmarkReadLight(b *testing.B) {
	const runs = 10_000
	dir := b.TempDir()
	j, err := Create(dir, Manifest{}, Options{})
	must(b, err)
	for n := range runs {
		j.Append(sampleRun(n, 1), nil, nil)
	}
	must(b, j.Close())
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range ReadLight(dir) {
			must(b, err)
			n++
		}
		if n != runs {
			b.Fatalf("%d runs", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/runs, "ns/run")
}

// nowhere is a disk that takes everything and keeps nothing.
type nowhere struct{}

func (nowhere) Append(string) (File, error)                 { return nowhere{}, nil }
func (nowhere) Replace(string, func(io.Writer) error) error { return nil }
func (nowhere) Truncate(string, int64) error                { return nil }
func (nowhere) Write(p []byte) (int, error)                 { return len(p), nil }
func (nowhere) Sync() error                                 { return nil }
func (nowhere) Close() error                                { return nil }
