package imports_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/agentbench/agentbench/engine/imports"
)

// BenchmarkImport reads 100 MB of the tau-bench log, its runs repeated.
func BenchmarkImport(b *testing.B) {
	text, err := os.ReadFile(data(b, "taubench/gpt-4o-airline.json"))
	if err != nil {
		b.Fatal(err)
	}
	inner := bytes.TrimSpace(text)
	inner = inner[1 : len(inner)-1]
	log := []byte{'['}
	for len(log) < 100e6 {
		if len(log) > 1 {
			log = append(log, ',')
		}
		log = append(log, inner...)
	}
	log = append(log, ']')
	m := mapping(b, "tau-bench")
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		im := imports.New(m)
		runs := 0
		for _, err := range im.Read("log.json", bytes.NewReader(log)) {
			if err != nil {
				b.Fatal(err)
			}
			runs++
		}
		b.ReportMetric(float64(runs), "runs")
	}
}
