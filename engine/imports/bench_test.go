package imports_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/record/recordingtest"
)

// BenchmarkImport reads 100 MB of the tau-bench log, its runs repeated: only
// reads it, and also writes what it holds into a folder.
func BenchmarkImport(b *testing.B) {
	log := repeated(b, "taubench/gpt-4o-airline.json", 100e6)
	m := mapping(b, "tau-bench")
	importing := func(b *testing.B, keep func(*imports.Imported) error) {
		for i, err := range imports.New(m).Read("log.json", bytes.NewReader(log)) {
			if err == nil {
				err = keep(i)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(log)))
		for b.Loop() {
			importing(b, func(*imports.Imported) error { return nil })
		}
	})
	b.Run("written", func(b *testing.B) {
		b.SetBytes(int64(len(log)))
		for b.Loop() {
			journal, err := record.Create(b.TempDir(), record.Manifest{}, record.Options{})
			if err != nil {
				b.Fatal(err)
			}
			importing(b, func(i *imports.Imported) error { return journal.Append(i.Run, i.Scores, nil) })
			if err := journal.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// repeated is a list of runs in a file, repeated up to so many bytes.
func repeated(b *testing.B, path string, size int) []byte {
	text, err := os.ReadFile(recordingtest.File(b, path))
	if err != nil {
		b.Fatal(err)
	}
	runs := bytes.TrimSpace(text)
	runs = runs[1 : len(runs)-1]
	log := append(make([]byte, 0, size+len(text)+1), '[')
	for len(log) < size {
		if len(log) > 1 {
			log = append(log, ',')
		}
		log = append(log, runs...)
	}
	return append(log, ']')
}
