package record

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

func TestRunsThatDifferInWhatIsVolatileLastAsTheSame(t *testing.T) {
	one, other := sampleRun(1, 2), sampleRun(1, 2)
	other.Volatile = Volatile{Started: time.Unix(2e9, 0), Waited: 1, Cached: 2}
	call := &other.Iterations[1].Calls[0]
	call.Waited, call.Attempts, call.Cached = time.Second, 3, true
	if a, b := marshalled(t, one.Lasting()), marshalled(t, other.Lasting()); !bytes.Equal(a, b) {
		t.Errorf("\n%s\n%s", a, b)
	}
	if !call.Cached || other.Volatile.Cached != 2 {
		t.Error("the run itself was changed")
	}
	other.Outcome.Success = false
	if bytes.Equal(marshalled(t, one.Lasting()), marshalled(t, other.Lasting())) {
		t.Error("different outcomes are the same")
	}
}

func TestRunsOfDelegatesLastAsTheSame(t *testing.T) {
	with := func(served *Run, cached bool, attempts int) *Run {
		run := sampleRun(1, 2)
		run.Iterations[0].ToolCalls = []ToolCall{{Tool: "t", Cached: cached, Attempts: attempts}, {Tool: "d", Delegated: served}}
		return run
	}
	one, other := sampleRun(7, 1), sampleRun(7, 1)
	other.Volatile.Wall, other.Iterations[0].Calls[0].Cached = time.Hour, true
	a, b := with(one, false, 0), with(other, true, 3)
	if first, second := marshalled(t, a.Lasting()), marshalled(t, b.Lasting()); !bytes.Equal(first, second) {
		t.Errorf("\n%s\n%s", first, second)
	}
	if tools := b.Iterations[0].ToolCalls; !tools[0].Cached || !other.Iterations[0].Calls[0].Cached {
		t.Error("the run itself was changed")
	}
	if other.Outcome.Reason = "other"; bytes.Equal(marshalled(t, a.Lasting()), marshalled(t, b.Lasting())) {
		t.Error("different runs of a delegate are the same")
	}
}

func marshalled(t *testing.T, run *Run) []byte {
	t.Helper()
	text, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestPaidCountsEveryAttempt(t *testing.T) {
	dir := t.TempDir()
	j, err := Create(dir, Manifest{}, Options{Delay: soon})
	if err != nil {
		t.Fatal(err)
	}
	failed, done := sampleRun(1, 1), sampleRun(1, 1)
	failed.Outcome.Status = Faulted
	failed.Volatile = Volatile{Paid: Usage{Calls: 1, Cost: 10}, Attempts: 1}
	done.Volatile = Volatile{Paid: Usage{Calls: 2, Cost: 5}, Cached: 3, Attempts: 4, Waited: time.Second}
	want := Effort{Paid: Usage{Calls: 3, Cost: 15}, Cached: 3, Made: 2*done.Total().Calls - 3, Attempts: 5, Waited: time.Second}
	for _, run := range []*Run{failed, done} {
		if err := j.Append(run, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := EffortOf(dir); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	var sum Effort
	sum.Add(failed)
	if sum.Plus(Effort{Paid: done.Volatile.Paid}).Paid != want.Paid {
		t.Errorf("the sum is %+v", sum)
	}
}
