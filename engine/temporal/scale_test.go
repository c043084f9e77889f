package temporal

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
)

// scaleVariable says how many runs of no time TestScale makes.
const scaleVariable = "AGENTBENCH_TEMPORAL_SCALE"

// used is the processor time of a process that still runs.
func used(t *testing.T, pid int) (cpu time.Duration) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Skip(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
	for _, at := range []int{11, 12} { // in hundredths of a second
		n, _ := strconv.Atoi(fields[at])
		cpu += time.Duration(n) * 10 * time.Millisecond
	}
	return cpu
}

// TestScale measures what Temporal costs: runs of no time, and calls of 200 ms on one worker
// and on three.
func TestScale(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(scaleVariable))
	if err != nil {
		t.Skip(scaleVariable + " is not set")
	}
	t.Run("no time", func(t *testing.T) {
		s := newSite(t, sharedServer, plainSuite(n, simulated, 16))
		s.startWorker(0, "--concurrency", "16")
		c := s.byWorkers("there")
		began := time.Now()
		s.must(c)
		took := time.Since(began)
		worker := used(t, s.workers[0].Process.Pid)
		server := used(t, s.process.Process.Pid)
		own := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		t.Logf("%d runs in %v; processor time a run: coordinator %v, worker %v, server %v, in all %v",
			n, took.Round(time.Second), own/time.Duration(n), worker/time.Duration(n), server/time.Duration(n), (own+worker+server)/time.Duration(n))
		s.histories(t)
	})
	slow := strings.Replace(simulated, "simulate,", "simulate, sleep: true, latency: {median: 200ms},", 1)
	var took [2]time.Duration
	for i, workers := range []int{1, 3} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			s := newSite(t, sharedServer, plainSuite(240, slow, 4*workers))
			for w := range workers {
				s.startWorker(w, "--concurrency", "4")
			}
			s.must(s.byWorkers("warm", "--limit", "12"))
			began := time.Now()
			s.must(s.byWorkers("there"))
			took[i] = time.Since(began)
			t.Logf("240 runs of 200 ms, 4 at a time on each of %d: %v", workers, took[i].Round(10*time.Millisecond))
		})
	}
	if took[1] > 0 {
		t.Logf("3 workers are %.2f times as fast as one", float64(took[0])/float64(took[1]))
	}
}

// histories logs how long those of the workflows are that have ended, by their kinds.
func (s *site) histories(t *testing.T) {
	c, err := s.Dial(t.Context())
	check(t, err)
	defer c.Close()
	for _, kind := range []string{suiteWorkflow, batchWorkflow} {
		var workflows, events, longest int64
		asked := workflowservice.ListWorkflowExecutionsRequest{Namespace: s.Namespace, Query: fmt.Sprintf("WorkflowType = %q", kind)}
		for more := true; more; more = len(asked.NextPageToken) > 0 {
			found, err := c.ListWorkflow(t.Context(), &asked)
			check(t, err)
			for _, w := range found.Executions {
				workflows, events, longest = workflows+1, events+w.HistoryLength, max(longest, w.HistoryLength)
			}
			asked.NextPageToken = found.NextPageToken
		}
		t.Logf("%d histories of %s have %d events, the longest %d", workflows, kind, events, longest)
	}
}
