package pace

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// server fails with each error in turn, then answers. Every attempt takes a
// second.
type server struct {
	fails []error
	began []time.Time
	keys  []string
}

func (s *server) Call(_ context.Context, request *model.Request) (*model.Reply, error) {
	s.began, s.keys = append(s.began, time.Now()), append(s.keys, request.Idempotency)
	time.Sleep(time.Second)
	if n := len(s.began); n <= len(s.fails) && s.fails[n-1] != nil {
		return nil, s.fails[n-1]
	}
	return &model.Reply{Text: "yes", Duration: time.Second, Waited: time.Minute}, nil
}

// pauses are the times between the end of an attempt and the next.
func (s *server) pauses() []time.Duration {
	var all []time.Duration
	for i := 1; i < len(s.began); i++ {
		all = append(all, s.began[i].Sub(s.began[i-1])-time.Second)
	}
	return all
}

func failing(class record.ErrorClass, after time.Duration) error {
	err := model.Fail(class, "no", time.Second)
	err.RetryAfter = after
	return err
}

func told(class record.ErrorClass, retry bool) error {
	err := model.Fail(class, "no", time.Second)
	err.Retry = &retry
	return err
}

func always(err func() error) []error {
	var all []error
	for range 20 {
		all = append(all, err())
	}
	return all
}

// F13, F14, F15: what is tried again, and how often.
func TestF13_WhatIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		class    record.ErrorClass
		attempts int
	}{
		{record.RateLimit, 4}, {record.Server, 4}, {record.Network, 4}, {record.CallTimeout, 4}, {record.Incomplete, 4},
		{record.BadResponse, 3},
		{record.Quota, 1}, {record.Auth, 1}, {record.InvalidRequest, 1}, {record.ContextLength, 1},
		{record.ContentFilter, 1}, {record.Exhausted, 1}, {record.Internal, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{fails: always(func() error { return failing(c.class, 0) })}
			_, err := Retry(s, RetryOptions{}).Call(t.Context(), &model.Request{})
			var failed *model.CallError
			if !errors.As(err, &failed) || failed.Cause.Class != c.class {
				t.Fatalf("%s: got %v", c.class, err)
			}
			if len(s.began) != c.attempts || failed.Attempts != c.attempts {
				t.Errorf("%s: %d attempts, %d told, want %d", c.class, len(s.began), failed.Attempts, c.attempts)
			}
		})
	}
}

// F13: the server's own word wins, but not where it would only burn calls.
func TestF13_TheServersWordWins(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		attempts int
	}{
		"do not, of a 500":   {told(record.Server, false), 1},
		"do, of a 400":       {told(record.InvalidRequest, true), 2},
		"do, of a quota":     {told(record.Quota, true), 1},
		"do, of the context": {told(record.ContextLength, true), 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{fails: []error{c.err}}
			_, _ = Retry(s, RetryOptions{}).Call(t.Context(), &model.Request{})
			if len(s.began) != c.attempts {
				t.Errorf("%s: %d attempts, want %d", name, len(s.began), c.attempts)
			}
		})
	}
}

// F21: a second bad answer, and be it the same, is asked once more; a third is not.
func TestF21_ASecondBadAnswerIsAskedOnceMore(t *testing.T) {
	bad := func() error { return failing(record.BadResponse, 0) }
	late := func() error { return failing(record.Server, 0) }
	for name, c := range map[string]struct {
		fails    []error
		retries  int
		attempts int
		fine     bool
	}{
		"two":                       {[]error{bad(), bad()}, 0, 3, true},
		"three":                     {[]error{bad(), bad(), bad()}, 0, 3, false},
		"two among others":          {[]error{late(), bad(), bad()}, 0, 4, true},
		"none allowed":              {[]error{late()}, -1, 1, false},
		"one allowed":               {[]error{late(), late()}, 1, 2, false},
		"six allowed":               {[]error{late(), late(), late(), late(), late(), late(), late()}, 6, 7, false},
		"two where few are allowed": {[]error{bad(), bad()}, 1, 2, false},
		"three where many are":      {[]error{bad(), late(), bad(), bad()}, 9, 4, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{fails: c.fails}
			_, err := Retry(s, RetryOptions{Retries: c.retries}).Call(t.Context(), &model.Request{})
			if (err == nil) != c.fine || len(s.began) != c.attempts {
				t.Errorf("%s: %d attempts, error %v", name, len(s.began), err)
			}
		})
	}
}

// F10: as long as asked.
func TestF10_RetryAfterIsObeyed(t *testing.T) {
	for _, asked := range []time.Duration{time.Millisecond, 2 * time.Second, 119 * time.Second, LongestWait} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{fails: []error{failing(record.RateLimit, asked)}}
			if _, err := Retry(s, RetryOptions{}).Call(t.Context(), &model.Request{}); err != nil || s.pauses()[0] != asked {
				t.Errorf("asked %v, waited %v, %v", asked, s.pauses(), err)
			}
		})
	}
}

// F10, P9: who asks for too long gets its answer as an error, at once.
func TestF10_TooLongAWaitIsARateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		s := &server{fails: []error{failing(record.Server, LongestWait+time.Second)}}
		_, err := Retry(s, RetryOptions{}).Call(t.Context(), &model.Request{})
		var failed *record.Error
		if !errors.As(err, &failed) || failed.Class != record.RateLimit || !strings.Contains(failed.Message, "2m1s") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// P9: one call sleeps at most two minutes, whatever each answer asks for.
func TestF10_TheSumOfWaitsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{fails: always(func() error { return failing(record.RateLimit, 50*time.Second) })}
		_, err := Retry(s, RetryOptions{Retries: 10}).Call(t.Context(), &model.Request{})
		var slept time.Duration
		for _, pause := range s.pauses() {
			slept += pause
		}
		if err == nil || slept > LongestWait || len(s.began) != 3 {
			t.Errorf("slept %v in %d attempts, error %v", slept, len(s.began), err)
		}
	})
}

// F11: 0.5 s doubled, at most 30 s, less up to a quarter.
func TestF11_Backoff(t *testing.T) {
	least, most := make([]time.Duration, 8), make([]time.Duration, 8)
	for seed := range uint64(1000) {
		o := RetryOptions{Random: rand.New(rand.NewPCG(seed, 1)).Float64}
		for n := range least {
			c := call{options: &o, attempts: n + 1}
			wait := c.wait(0)
			full := min(30*time.Second, time.Duration(1<<n)*time.Second/2)
			if wait > full || wait < full*3/4 {
				t.Fatalf("seed %d, attempt %d: %v, want %v less up to a quarter", seed, n+1, wait, full)
			}
			if least[n] == 0 || wait < least[n] {
				least[n] = wait
			}
			most[n] = max(most[n], wait)
		}
	}
	for n := range least {
		if full := min(30*time.Second, time.Duration(1<<n)*time.Second/2); most[n]-least[n] < full/5 {
			t.Errorf("attempt %d: %v to %v is no jitter", n+1, least[n], most[n])
		}
	}
}

// Working is the attempt that counts; all else was waited.
func TestWaitingAndWorkingApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queued := failing(record.Server, 3*time.Second)
		queued.(*model.CallError).Waited = 10 * time.Second
		s := &server{fails: []error{queued}}
		reply, err := Retry(s, RetryOptions{Random: func() float64 { return 0 }}).Call(t.Context(), &model.Request{})
		must(t, err)
		if want := 10*time.Second + time.Second + 3*time.Second + time.Minute; reply.Waited != want || reply.Duration != time.Second || reply.Attempts != 2 {
			t.Errorf("waited %v, want %v; worked %v in %d attempts", reply.Waited, want, reply.Duration, reply.Attempts)
		}
		s = &server{fails: always(func() error { return failing(record.Server, 3*time.Second) })}
		_, err = Retry(s, RetryOptions{Random: func() float64 { return 0 }}).Call(t.Context(), &model.Request{})
		var failed *model.CallError
		if !errors.As(err, &failed) || failed.Waited != 12*time.Second || failed.Duration != time.Second {
			t.Errorf("failed: %+v", failed)
		}
	})
}

func TestCancelledWhileSleeping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		s := &server{fails: []error{failing(record.RateLimit, time.Minute)}}
		time.AfterFunc(10*time.Second, func() { cancel(cause) })
		begin := time.Now()
		if _, err := Retry(s, RetryOptions{}).Call(ctx, &model.Request{}); err != cause {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took != 10*time.Second || len(s.began) != 1 {
			t.Errorf("took %v and %d attempts", took, len(s.began))
		}
	})
}

// All attempts of one call carry one key, and every call another.
func TestIdempotencyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{fails: []error{failing(record.Server, 0)}}
		m := Retry(s, RetryOptions{})
		request := &model.Request{}
		for range 2 {
			if _, err := m.Call(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		if s.keys[0] == "" || s.keys[0] != s.keys[1] || s.keys[1] == s.keys[2] {
			t.Errorf("keys %q", s.keys)
		}
		if request.Idempotency != "" {
			t.Error("the caller's request was changed")
		}
	})
}

// What was waited does not use up the time that may be worked.
func TestSleepingIsNotWorking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := model.WithWorkingTime(t.Context(), 1500*time.Millisecond, errors.New("late"))
		defer cancel()
		s := &server{fails: []error{failing(record.Server, time.Minute), failing(record.Server, 0)}}
		if _, err := Retry(s, RetryOptions{}).Call(ctx, &model.Request{}); err != nil || ctx.Err() != nil {
			t.Errorf("%v, context %v", err, context.Cause(ctx))
		}
	})
}

// noRoom is a budget's refusal.
type noRoom struct{}

func (noRoom) Error() string             { return "no room" }
func (noRoom) Is(target error) bool      { return target == model.ErrRefused }
func (noRoom) StopReason() record.Reason { return record.ReasonSuiteBudget }

// A call that a budget has no room to try again tells what it failed with, and
// stops the run for the budget; one that was never tried tells of the budget alone.
func TestF42_NoRoomToTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := model.Fail(record.Incomplete, "cut", time.Second)
		cut.Waited = 3 * time.Second
		refused := model.Fail(record.Network, "refused", time.Second)
		refused.Unsent = 1
		_, err := Retry(&server{fails: []error{cut, refused, noRoom{}}}, RetryOptions{Random: func() float64 { return 0 }}).Call(t.Context(), &model.Request{})
		var failed *model.CallError
		var refusal model.Refusal
		if !errors.As(err, &failed) || failed.Cause.Message != "refused" || errors.Is(err, model.ErrRefused) || !errors.As(err, &refusal) || refusal.StopReason() != record.ReasonSuiteBudget {
			t.Fatalf("got %v", err)
		}
		// it waited at the gate, took a second, and slept half a second and a second
		if failed.Attempts != 2 || failed.Unsent != 1 || model.NeverSent(err) || failed.Waited != 5500*time.Millisecond || failed.Duration != time.Second {
			t.Errorf("got %+v", failed)
		}
		_, err = Retry(&server{fails: []error{noRoom{}}}, RetryOptions{}).Call(t.Context(), &model.Request{})
		if !errors.Is(err, model.ErrRefused) || errors.As(err, &failed) {
			t.Errorf("got %v", err)
		}
	})
}

// Attempts that reached no server are counted, of calls that are answered in the
// end and of those that are not.
func TestF16_AttemptsThatReachedNobodyAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := func() error {
			err := model.Fail(record.Network, "refused", 0)
			err.Unsent = 1
			return err
		}
		reply, err := Retry(&server{fails: []error{refused(), failing(record.Server, 0)}}, RetryOptions{}).Call(t.Context(), &model.Request{})
		if err != nil || reply.Attempts != 3 || reply.Unsent != 1 {
			t.Errorf("got %+v, %v", reply, err)
		}
		_, err = Retry(&server{fails: always(refused)}, RetryOptions{}).Call(t.Context(), &model.Request{})
		var failed *model.CallError
		if !errors.As(err, &failed) || failed.Attempts != 4 || failed.Unsent != 4 || !model.NeverSent(err) {
			t.Errorf("got %v", err)
		}
	})
}

// F16: a server at which nothing has listened since the first call is asked twice; one
// that was there and went away has all the patience.
func TestF16_AServerThatWasNeverThere(t *testing.T) {
	refused := func() error {
		err := model.Fail(record.Network, "refused", 0)
		err.Unsent, err.Refused = 1, "http://here"
		return err
	}
	broken := func() error { return model.Fail(record.Network, "reset", 0) }
	for name, c := range map[string]struct {
		fails    []error
		attempts int
		told     []string
	}{
		"never there":            {always(refused), 2, []string{"http://here"}},
		"there at second glance": {[]error{refused()}, 2, nil},
		"there before":           {append([]error{nil}, always(refused)...), 1 + 4, nil},
		"reached once":           {append([]error{broken()}, always(refused)...), 4, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{fails: c.fails}
			var told []string
			m := Retry(s, RetryOptions{Unreachable: func(address string) { told = append(told, address) }})
			for range 2 {
				if _, err := m.Call(t.Context(), &model.Request{}); err != nil {
					break
				}
			}
			if name == "there at second glance" {
				s.began = s.began[:2]
			}
			if len(s.began) != c.attempts || !slices.Equal(told, c.told) {
				t.Errorf("%s: %d attempts, told %q", name, len(s.began), told)
			}
		})
	}
}

// A call that is no model's counts as one in both budgets, and in none that had
// no room for it.
func TestCallsThatAreNoModels(t *testing.T) {
	for name, c := range map[string]struct {
		run, suite int64
		made       int
		reason     record.Reason
	}{
		"the run's is smaller":   {2, 5, 2, record.ReasonBudgetCalls},
		"the suite's is smaller": {5, 3, 3, record.ReasonSuiteBudget},
		"none has a limit":       {0, 0, 9, ""},
	} {
		run, suite := NewBudget(Run, Limits{Calls: c.run}), NewBudget(Suite, Limits{Calls: c.suite})
		ctx := WithRun(t.Context(), run)
		var err error
		made := 0
		for made < 9 && err == nil {
			var settle func(unsent bool)
			var reserved *record.Usage
			if settle, reserved, err = BudgetCall(ctx, suite); err == nil {
				settle(false)
				made++
				if reserved == nil || reserved.Calls != 1 {
					t.Errorf("%s: reserved %+v", name, reserved)
				}
			}
		}
		if want := (record.Usage{Calls: int64(c.made)}); made != c.made || run.Spent() != want || suite.Spent() != want || reservedOf(run).Calls+reservedOf(suite).Calls != 0 {
			t.Errorf("%s: %d calls, %+v of the run, %+v of the suite", name, made, run.Spent(), suite.Spent())
		}
		var refused *Refused
		if (err != nil) != (c.reason != "") || err != nil && (!errors.As(err, &refused) || refused.StopReason() != c.reason) {
			t.Errorf("%s: %v", name, err)
		}
		var unanswered *model.Unanswered
		if ofRun := c.reason == record.ReasonBudgetCalls; errors.As(err, &unanswered) != ofRun || ofRun && unanswered.Reserved.Calls != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A call that never reached the remote agent is in the suite's budget no more; in
// the run's it is, whose decisions are the same whenever a server dies.
func TestCallsThatReachedNobody(t *testing.T) {
	run, suite := NewBudget(Run, Limits{Calls: 5}), NewBudget(Suite, Limits{Calls: 5})
	settle, _, err := BudgetCall(WithRun(t.Context(), run), suite)
	must(t, err)
	settle(true)
	if free, reserved, err := BudgetCall(t.Context(), nil); err != nil || reserved != nil {
		t.Errorf("without budgets: %v, %v", reserved, err)
	} else {
		free(false)
	}
	if run.Spent().Calls != 1 || suite.Spent() != (record.Usage{}) || reservedOf(suite) != (record.Usage{}) {
		t.Errorf("spent %+v of the run, %+v of the suite", run.Spent(), suite.Spent())
	}
}
