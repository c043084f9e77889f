package overview

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

func finishedRun(status record.Status, success bool) *record.Run {
	return &record.Run{
		Outcome:    record.Outcome{Status: status, Success: success},
		Iterations: []record.Iteration{{N: 1, Evaluation: &record.Evaluation{}}},
		Usage:      record.Usage{Calls: 4, Cost: record.USD},
	}
}

// ledgerSays is what the ledger says; judges have a fifth of it.
func ledgerSays(calls int64, cost record.Money) func() record.Spent {
	return func() record.Spent {
		return record.Spent{Total: record.Usage{Calls: calls, Cost: cost}, Judges: record.Usage{Calls: calls / 5, Cost: cost / 5}}
	}
}

func TestProgressIsAPlainLineEveryFewSecondsWithoutATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := &Progress{Out: &out, Now: time.Now, Total: 4, Budget: spec.SuiteBudget{CostUSD: 2.5}, Spent: ledgerSays(5, record.USD)}
		p.Start()
		p.Started(plan.Item{})
		p.Started(plan.Item{})
		time.Sleep(4 * time.Second)
		p.Finished(finishedRun(record.Completed, true), nil)
		time.Sleep(time.Second)
		synctest.Wait()
		p.Started(plan.Item{})
		p.Finished(finishedRun(record.Completed, false), nil)
		p.Finished(finishedRun(record.Faulted, false), nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		p.Finish()
		want := "1 of 4 runs · 1 in flight · success 1.00 · 15s left · spent $1.00 of $2.50 (agents $0.80, judges $0.20)\n" +
			"3 of 4 runs · 0 in flight · 1 faults · success 0.50 · 3s left · spent $1.00 of $2.50 (agents $0.80, judges $0.20)\n"
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", out.String(), want)
		}
	})
}

// A panic of the goroutine that tells the progress is that of finish, whose
// caller hides secrets; until then runs can be counted.
func TestF8_APanicOfTheProgressIsThatOfItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Progress{Out: io.Discard, Now: time.Now, Total: 2, Pace: func() (int, time.Duration) { panic("no pace") }}
		p.Start()
		time.Sleep(plainInterval)
		synctest.Wait()
		p.Finished(finishedRun(record.Completed, true), nil)
		defer func() {
			if cause := fmt.Sprint(recover()); !strings.HasPrefix(cause, "no pace\n") {
				t.Errorf("finish panics with %q", cause)
			}
		}()
		p.Finish()
	})
}

func TestProgressFollowsTheFirstScorer(t *testing.T) {
	p := &Progress{Now: time.Now, Total: 3, Score: "right", Spent: ledgerSays(0, 0)}
	p.Finished(finishedRun(record.Completed, false), []record.Score{
		{Name: "right", Iteration: 1, Value: 0}, {Name: "right", Value: 1}, {Name: "other", Value: 0},
	})
	p.Finished(finishedRun(record.Completed, true), []record.Score{{Name: "right", Unscored: "no target"}})
	if line := strings.Join(p.parts(), " · "); !strings.Contains(line, "right 1.00 · ") {
		t.Errorf("line %q", line)
	}
}

func TestProgressTellsNoSuccessWhereNothingIsEvaluated(t *testing.T) {
	p := &Progress{Now: time.Now, Total: 3, Spent: ledgerSays(0, 0)}
	p.Finished(&record.Run{Outcome: record.Outcome{Status: record.Completed}}, nil)
	if line := strings.Join(p.parts(), " · "); strings.Contains(line, "success") {
		t.Errorf("line %q", line)
	}
}

func TestProgressRewritesOneLineOnATerminalAndLeavesItEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := &Progress{Out: &out, Live: true, Width: 30, Now: time.Now, Total: 1000, Spent: ledgerSays(0, 0)}
		p.Start()
		p.Started(plan.Item{})
		time.Sleep(liveInterval)
		synctest.Wait()
		p.Finish()
		want := ClearLine + "0 of 1000 runs · 1 in flight…" + ClearLine
		if got := out.String(); !strings.HasPrefix(want, got[:20]) || strings.Contains(got, "\n") || !strings.HasSuffix(got, ClearLine) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// A run that waits for the disk is in flight no more, and not done yet.
func TestProgressTellsWhatHoldsItUp(t *testing.T) {
	waiting, backingOff := 0, time.Duration(0)
	p := &Progress{Now: time.Now, Total: 5, Spent: ledgerSays(0, 0), Pace: func() (int, time.Duration) { return waiting, backingOff }}
	for range 3 {
		p.Started(plan.Item{})
	}
	p.Executed()
	p.Executed()
	if line, want := strings.Join(p.parts(), " · "), "0 of 5 runs · 1 in flight · 2 being saved · time left unknown · spent $0.00"; !strings.HasPrefix(line, want) {
		t.Errorf("line %q, want %q", line, want)
	}
	p.Finished(finishedRun(record.Completed, true), nil)
	p.Finished(finishedRun(record.Completed, true), nil)
	waiting, backingOff = 7, 2345*time.Millisecond
	if line, want := strings.Join(p.parts(), " · "), "2 of 5 runs · 1 in flight · 7 waiting for rate limit · backing off 2.3s · success"; !strings.HasPrefix(line, want) {
		t.Errorf("line %q, want %q", line, want)
	}
}

// Who follows a suite from elsewhere reads every second what its line says, though nothing is printed.
func TestProgressIsKeptForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept []string
		p := &Progress{
			Now: time.Now, Total: 4, Budget: spec.SuiteBudget{Calls: 9}, Spent: ledgerSays(5, 0), Pace: func() (int, time.Duration) { return 2, 3 * time.Second },
			Keep: func(parts []string) { kept = append(kept, strings.Join(parts, "|")) },
		}
		p.Start()
		p.Started(plan.Item{})
		time.Sleep(1500 * time.Millisecond)
		p.Finished(finishedRun(record.Completed, true), nil)
		time.Sleep(time.Second)
		synctest.Wait()
		p.Finish()
		want := []string{
			"0 of 4 runs|1 in flight|2 waiting for rate limit|backing off 3s|time left unknown|spent 5 of 9 calls (agents 4, judges 1)",
			"1 of 4 runs|0 in flight|2 waiting for rate limit|backing off 3s|success 1.00|6s left|spent 5 of 9 calls (agents 4, judges 1)",
		}
		if strings.Join(kept, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(kept, "\n"), strings.Join(want, "\n"))
		}
	})
}
