package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkVersion is what starting the program costs: at most 20 ms are wanted.
func BenchmarkVersion(b *testing.B) {
	program := filepath.Join(b.TempDir(), "agentbench")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("building the program: %v\n%s", err, out)
	}
	var used float64 // nanoseconds of processor time
	for b.Loop() {
		c := exec.Command(program, "version")
		if err := c.Run(); err != nil {
			b.Fatal(err)
		}
		used += float64(c.ProcessState.UserTime() + c.ProcessState.SystemTime())
	}
	b.ReportMetric(used/float64(b.N)/1e6, "cpu-ms/op")
}
