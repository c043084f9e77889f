package temporal

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
)

// safe is a buffer that a process writes while it is read.
type safe struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *safe) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *safe) has(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Contains(b.Bytes(), []byte(text))
}

// done is how many runs of a folder are on the disk.
func (s *site) done(out string) int {
	text, _ := os.ReadFile(filepath.Join(s.dir, "suite", out, "records.jsonl"))
	return bytes.Count(text, []byte{'\n'})
}

// One signal lets runs in progress end and begins none; a second one cancels them on the
// workers. Either way the same command makes the rest.
func TestInterrupts(t *testing.T) {
	const runs = 60
	s := newSite(t, false, scaleSuite(runs, "{provider: simulate, sleep: true, latency: {median: 300ms}, quality: {start: 0.6, limit: 0.9, rate: 0.5, spread: 0.2}}", 4))
	s.startWorker(0)
	for name, signals := range map[string]int{"drained": 1, "cancelled": 2} {
		c := s.elsewhere(name)
		var said safe
		c.Stderr = &said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		progress := filepath.Join(s.dir, "suite", name, results.Progress)
		await(t, "some runs are done, and view has the progress", func() bool {
			text, _ := os.ReadFile(progress)
			return s.done(name) >= 8 && bytes.Contains(text, fmt.Appendf(nil, "of %d", runs))
		})
		for n := range signals {
			if n > 0 {
				await(t, "the first signal is heard", func() bool { return said.has("stopping") })
			}
			if err := c.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
		if err, ok := c.Wait().(*exec.ExitError); !ok || err.ExitCode() != 4 {
			t.Errorf("%s: %v: %s", name, err, said.String())
		}
		if n := s.done(name); n < 8 || n > runs/2 {
			t.Errorf("%s: %d of %d runs are there", name, n, runs)
		}
		if signals == 1 {
			s.records(name, timeless) // each of them counts
		}
		s.must(s.elsewhere(name))
		finished := map[string]bool{}
		for _, line := range s.scores(name) {
			finished[line] = true
		}
		if len(finished) != runs {
			t.Errorf("%s: %d of %d runs are scored in the end", name, len(finished), runs)
		}
	}
}

// The store may be a bucket, of one server or another.
func TestElsewhereByABucket(t *testing.T) {
	for name, serve := range map[string]func(testing.TB) func(string) string{"gofakes3": s3, "versitygw": gateway} {
		t.Run(name, func(t *testing.T) {
			variables := serve(t)
			s := newSite(t, false, scaleSuite(20, "{provider: simulate, quality: {start: 0.6, limit: 0.9, rate: 0.5, spread: 0.2}}", 4))
			s.inBucket(variables)
			s.startWorker(0)
			s.must(s.elsewhere("there"))
			s.must(s.command("run", "suite.yaml", "-q", "--out", "here"))
			if here, there := s.records("here", func(*record.Run) {}), s.records("there", func(*record.Run) {}); len(here) != 20 || !maps.Equal(here, there) {
				t.Errorf("%d runs here, %d there, or they differ", len(here), len(there))
			}
		})
	}
}
