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

// failsWith is a server whose calls fail with each error in turn, then are fine. nil: the call is fine. Each takes a second.
func failsWith(errs ...error) *server {
	return &server{takes: time.Second, decide: func(n, _ int) (*model.Reply, error) {
		if n > len(errs) {
			return nil, nil
		}
		return nil, errs[n-1]
	}}
}

// failing has failed after a second.
func failing(class record.ErrorClass) error { return failure(class, time.Second, 0) }

// told is the error of a server that says whether to try again.
func told(class record.ErrorClass, retry bool) error {
	err := failure(class, time.Second, 0)
	err.Retry = &retry
	return err
}

// F13, F14, F15, F21: what is tried again, and how often. The server's own word wins, but not where it would only burn calls. A
// second bad answer, and be it the same, is asked once more; a third is not.
func TestF13_F21_WhatIsTriedAgain(t *testing.T) {
	always := func(class record.ErrorClass) []error { return slices.Repeat([]error{failing(class)}, 20) }
	bad, late := failing(record.BadResponse), failing(record.Server)
	type failures struct {
		fails    []error
		retries  int
		attempts int
		class    record.ErrorClass // of the error in the end; "": a reply
	}
	cases := map[string]failures{
		"told not to, of a 500":   {[]error{told(record.Server, false)}, 0, 1, record.Server},
		"told to, of a 400":       {[]error{told(record.InvalidRequest, true)}, 0, 2, ""},
		"told to, of a quota":     {[]error{told(record.Quota, true)}, 0, 1, record.Quota},
		"told to, of the context": {[]error{told(record.ContextLength, true)}, 0, 1, record.ContextLength},

		"two bad answers":           {[]error{bad, bad}, 0, 3, ""},
		"three":                     {[]error{bad, bad, bad}, 0, 3, record.BadResponse},
		"two among others":          {[]error{late, bad, bad}, 0, 4, ""},
		"two where few are allowed": {[]error{bad, bad}, 1, 2, record.BadResponse},
		"three where many are":      {[]error{bad, late, bad, bad}, 9, 4, record.BadResponse},
		"none allowed":              {[]error{late}, -1, 1, record.Server},
		"one allowed":               {[]error{late, late}, 1, 2, record.Server},
		"six allowed":               {always(record.Server), 6, 7, record.Server},
	}
	for attempts, classes := range map[int][]record.ErrorClass{
		4: {record.RateLimit, record.Server, record.Network, record.CallTimeout, record.Incomplete},
		3: {record.BadResponse},
		1: {record.Quota, record.Auth, record.InvalidRequest, record.ContextLength, record.ContentFilter, record.Exhausted, record.Internal, record.Resources},
	} {
		for _, class := range classes {
			cases[string(class)] = failures{always(class), 0, attempts, class}
		}
	}
	for name, c := range cases {
		synced(t, name, func(t *testing.T) {
			s := failsWith(c.fails...)
			reply, err := Retry(s, RetryOptions{Retries: c.retries}).Call(t.Context(), &model.Request{})
			var failed *model.CallError
			class, attempts := record.ErrorClass(""), 0
			if errors.As(err, &failed) {
				class, attempts = failed.Cause.Class, failed.Attempts
			} else if reply != nil {
				attempts = reply.Attempts
			}
			if class != c.class || len(s.began) != c.attempts || attempts != c.attempts {
				t.Errorf("%d attempts, %d told, want %d: %v", len(s.began), attempts, c.attempts, err)
			}
		})
	}
}

// F10, P9: a call waits as long as it is asked, in all at most two minutes. Who asks for too long gets its answer as an error, at once.
func TestF10_RetryAfterIsObeyed(t *testing.T) {
	asks := func(class record.ErrorClass, waits ...time.Duration) (all []error) {
		for _, wait := range waits {
			all = append(all, failure(class, time.Second, wait))
		}
		return all
	}
	for name, c := range map[string]struct {
		fails []error
		waits []time.Duration
		class record.ErrorClass // "": a reply
		says  string
	}{
		"a millisecond": {asks(record.RateLimit, time.Millisecond), []time.Duration{time.Millisecond}, "", ""},
		"two seconds":   {asks(record.RateLimit, 2*time.Second), []time.Duration{2 * time.Second}, "", ""},
		"two minutes":   {asks(record.RateLimit, 119*time.Second), []time.Duration{119 * time.Second}, "", ""},
		"the longest":   {asks(record.RateLimit, LongestWait), []time.Duration{LongestWait}, "", ""},
		"too long":      {asks(record.Server, LongestWait+time.Second), nil, record.RateLimit, "2m1s"},
		"too long in all": {asks(record.RateLimit, slices.Repeat([]time.Duration{50 * time.Second}, 20)...), []time.Duration{50 * time.Second, 50 * time.Second},
			record.RateLimit, "no"},
	} {
		synced(t, name, func(t *testing.T) {
			begin, s := time.Now(), failsWith(c.fails...)
			_, err := Retry(s, RetryOptions{Retries: 10}).Call(t.Context(), &model.Request{})
			took := time.Duration(len(s.began)) * time.Second
			for _, wait := range c.waits {
				took += wait
			}
			if !slices.Equal(s.pauses(), c.waits) || time.Since(begin) != took {
				t.Errorf("waited %v, took %v; want %v and %v", s.pauses(), time.Since(begin), c.waits, took)
			}
			var failed *record.Error
			if errors.As(err, &failed) != (c.class != "") || failed != nil && (failed.Class != c.class || !strings.Contains(failed.Message, c.says)) {
				t.Errorf("got %v", err)
			}
		})
	}
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

// without is a source of chances without any.
func without() float64 { return 0 }

// Working is the attempt that counts; all else was waited.
func TestWaitingAndWorkingApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := failure(record.Server, time.Second, 3*time.Second)
		queued := *late
		queued.Waited = 10 * time.Second
		s := &server{decide: func(n, _ int) (*model.Reply, error) {
			if n == 1 {
				return nil, &queued
			}
			return &model.Reply{Duration: time.Second, Waited: time.Minute}, nil
		}}
		reply, err := Retry(s, RetryOptions{Random: without}).Call(t.Context(), &model.Request{})
		must(t, err)
		if want := 10*time.Second + time.Second + 3*time.Second + time.Minute; reply.Waited != want || reply.Duration != time.Second || reply.Attempts != 2 {
			t.Errorf("waited %v, want %v; worked %v in %d attempts", reply.Waited, want, reply.Duration, reply.Attempts)
		}
		_, err = Retry(failsWith(late, late, late, late), RetryOptions{Random: without}).Call(t.Context(), &model.Request{})
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
		s := failsWith(failure(record.RateLimit, time.Second, time.Minute))
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
		s := failsWith(failing(record.Server))
		m := Retry(s, RetryOptions{})
		request := &model.Request{}
		for range 2 {
			_, err := m.Call(t.Context(), request)
			must(t, err)
		}
		if first, again, other := s.asked[0].Idempotency, s.asked[1].Idempotency, s.asked[2].Idempotency; first == "" || first != again || again == other {
			t.Errorf("keys %q, %q, %q", first, again, other)
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
		s := failsWith(failure(record.Server, time.Second, time.Minute), failing(record.Server))
		if _, err := Retry(s, RetryOptions{}).Call(ctx, &model.Request{}); err != nil || ctx.Err() != nil {
			t.Errorf("%v, context %v", err, context.Cause(ctx))
		}
	})
}

// A call that a budget has no room to try again tells what it failed with, and
// stops the run for the budget; one that was never tried tells of the budget alone.
func TestF42_NoRoomToTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := failure(record.Incomplete, time.Second, 0)
		cut.Waited = 3 * time.Second
		refused := unsent(1, 0)
		refused.Duration = time.Second
		noRoom := &Refused{Budget: NewBudget(Suite, Limits{})}
		_, err := Retry(failsWith(cut, refused, noRoom), RetryOptions{Random: without}).Call(t.Context(), &model.Request{})
		var failed *model.CallError
		var refusal model.Refusal
		if !errors.As(err, &failed) || failed.Cause.Message != "connection refused" || errors.Is(err, model.ErrRefused) ||
			!errors.As(err, &refusal) || refusal.StopReason() != record.ReasonSuiteBudget {
			t.Fatalf("got %v", err)
		}
		// it waited at the gate, took a second, and slept half a second and a second
		if failed.Attempts != 2 || failed.Unsent != 1 || model.NeverSent(err) || failed.Waited != 5500*time.Millisecond || failed.Duration != time.Second {
			t.Errorf("got %+v", failed)
		}
		_, err = Retry(failsWith(noRoom), RetryOptions{}).Call(t.Context(), &model.Request{})
		if !errors.Is(err, model.ErrRefused) || errors.As(err, &failed) {
			t.Errorf("got %v", err)
		}
	})
}

// Attempts that reached no server are counted, of calls that are answered in the
// end and of those that are not.
func TestF16_AttemptsThatReachedNobodyAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := unsent(1, 0)
		reply, err := Retry(failsWith(refused, failing(record.Server)), RetryOptions{}).Call(t.Context(), &model.Request{})
		if err != nil || reply.Attempts != 3 || reply.Unsent != 1 {
			t.Errorf("got %+v, %v", reply, err)
		}
		_, err = Retry(failsWith(slices.Repeat([]error{refused}, 20)...), RetryOptions{}).Call(t.Context(), &model.Request{})
		var failed *model.CallError
		if !errors.As(err, &failed) || failed.Attempts != 4 || failed.Unsent != 4 || !model.NeverSent(err) {
			t.Errorf("got %v", err)
		}
	})
}

// F16: a server at which nothing has listened since the first call is asked twice; one
// that was there and went away has all the patience.
func TestF16_AServerThatWasNeverThere(t *testing.T) {
	gone := unsent(1, 0)
	gone.Refused = "http://here"
	var refused error = gone
	always := slices.Repeat([]error{refused}, 20)
	for name, c := range map[string]struct {
		fails    []error
		attempts int
		told     []string
	}{
		"never there":            {always, 2, []string{"http://here"}},
		"there at second glance": {[]error{refused}, 2 + 1, nil},
		"there before":           {append([]error{nil}, always...), 1 + 4, nil},
		"reached once":           {append([]error{failing(record.Network)}, always...), 4, nil},
	} {
		synced(t, name, func(t *testing.T) {
			s := failsWith(c.fails...)
			var told []string
			m := Retry(s, RetryOptions{Unreachable: func(address string) { told = append(told, address) }})
			for range 2 {
				if _, err := m.Call(t.Context(), &model.Request{}); err != nil {
					break
				}
			}
			if len(s.began) != c.attempts || !slices.Equal(told, c.told) {
				t.Errorf("%d attempts, told %q", len(s.began), told)
			}
		})
	}
}
