package pace

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/propertytest"
	"github.com/agentbench/agentbench/engine/record"
)

// A server of which nothing is known is asked by more at once as it answers.
func TestSlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{takes: time.Second}
		begin := time.Now()
		together(NewGate(GateOptions{}).Wrap(s), 16+32+64+128)
		perSecond := make([]int, 4)
		for _, at := range s.began {
			perSecond[int(at.Sub(begin)/time.Second)]++
		}
		if want := []int{16, 32, 64, 128}; !slices.Equal(perSecond, want) {
			t.Errorf("calls began %v, want %v", perSecond, want)
		}
	})
}

// No minute holds more requests than were declared, wherever it begins, and in
// the long run they are used.
func TestDeclaredRequestsAMinute(t *testing.T) {
	for _, perMinute := range []int64{1, 2, 7, 60, 600} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			n := int(3 * perMinute)
			took, _, _ := drive(NewGate(GateOptions{Requests: perMinute}).Wrap(s), n, n)
			if most := busiest(s.began, time.Minute); most > int(perMinute) || took > 190*time.Second {
				t.Errorf("%d a minute: a minute holds %d, %d took %v", perMinute, most, n, took)
			}
		})
	}
}

// Tokens a minute hold but for the excess of one request that is larger than
// what may come at once.
func TestDeclaredTokensAMinute(t *testing.T) {
	propertytest.Check(t, func(r *rapid.T) {
		perMinute := rapid.Int64Range(100, 10_000).Draw(r, "tokens a minute")
		sizes := rapid.SliceOfN(rapid.Int64Range(1, 2000), 1, 40).Draw(r, "sizes")
		now := time.Now()
		l := newLimiter(perMinute, tokenBurst)
		type taken struct {
			at time.Time
			n  int64
		}
		var all []taken
		for _, n := range sizes {
			now = now.Add(l.take(n, now))
			all = append(all, taken{now, n})
		}
		for from := range all {
			sum, largest := int64(0), int64(0)
			for _, next := range all[from:] {
				if next.at.Sub(all[from].at) < time.Minute {
					sum, largest = sum+next.n, max(largest, next.n)
				}
			}
			if sum > perMinute+largest {
				r.Fatalf("%d tokens within a minute that allows %d", sum, perMinute)
			}
		}
	})
}

// Where a reply used more tokens than its request announced, the next call waits for them.
func TestTokensOfTheReplyCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewGate(GateOptions{Tokens: 6000}).Wrap(answers{used: record.Usage{Calls: 1, InputTokens: 10, OutputTokens: 1500}})
		begin := time.Now()
		for range 2 {
			_, _ = m.Call(t.Context(), &model.Request{MaxOutputTokens: 10})
		}
		if took := time.Since(begin); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("600 at once, 1500 used: the next call began after %v, want about 10 s", took)
		}
	})
}

// F10: after a refusal all calls pause, not only those that were refused. Refusals of calls that had started before the pause
// belong to the same burst: they make it no longer, however late they come and whatever they ask.
func TestF10_OneRefusalPausesAll(t *testing.T) {
	for name, c := range map[string]struct {
		refused, calls int
		refusal        func(n int) *model.CallError
		jitter         float64
		ends           time.Duration
	}{
		"for 20 s and half a tenth more": {2, 6, func(int) *model.CallError { return refusal(time.Second, 20*time.Second) }, 0.5, 22 * time.Second},
		"a burst, by its first": {8, 9, func(n int) *model.CallError {
			return refusal(time.Duration(n)*100*time.Millisecond, time.Duration(n)*time.Second)
		}, 0, 1100 * time.Millisecond},
	} {
		synced(t, name, func(t *testing.T) {
			s := &server{takes: time.Second, decide: func(n, _ int) (*model.Reply, error) {
				if n <= c.refused {
					return nil, c.refusal(n)
				}
				return nil, nil
			}}
			begin := time.Now()
			together(NewGate(GateOptions{Parallel: c.refused, Random: func() float64 { return c.jitter }}).Wrap(s), c.calls)
			for i, at := range s.began[c.refused:] {
				if after := at.Sub(begin); after < c.ends || i == 0 && after != c.ends {
					t.Errorf("call %d began after %v, the pause ends after %v", c.refused+i+1, after, c.ends)
				}
			}
			if len(s.began) != c.calls {
				t.Errorf("%d calls began", len(s.began))
			}
		})
	}
}

// A refusal pauses all calls again, but not soon after a pause and among calls that are taken: that concerns the refused call alone.
func TestF17_SingleRefusalsPauseNoOtherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := false
		g := NewGate(GateOptions{Random: func() float64 { return 0 }})
		m := g.Wrap(&server{decide: func(int, int) (*model.Reply, error) {
			if refused {
				return nil, refusal(0, time.Second)
			}
			return nil, nil
		}})
		for i, c := range []struct {
			after time.Duration // the step before
			taken int           // calls behind the one that is refused
			pause time.Duration // after the refusal
		}{
			{0, 10, time.Second}, {2 * time.Second, 10, 0}, {2 * time.Second, 10, 0}, {restless, 0, time.Second}, {2 * time.Second, 1, time.Second},
		} {
			time.Sleep(c.after)
			refused = true
			_, _ = m.Call(t.Context(), &model.Request{})
			if got := g.Status().Pause; got != c.pause {
				t.Errorf("step %d: a pause of %v, want %v", i, got, c.pause)
			}
			refused = false
			for range c.taken {
				_, _ = m.Call(t.Context(), &model.Request{})
			}
		}
	})
}

// Without a word of the server, refusals in a row double the pause; a wait that
// nobody will sleep is no pause.
func TestF11_Cooldowns(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		want  []time.Duration
	}{
		"mute":     {0, []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}},
		"too long": {99999 * time.Second, []time.Duration{500 * time.Millisecond, time.Second}},
		"told":     {3 * time.Second, []time.Duration{3 * time.Second, 3 * time.Second}},
	} {
		synced(t, name, func(t *testing.T) {
			g := NewGate(GateOptions{Random: func() float64 { return 0 }})
			m := g.Wrap(&server{decide: failingOn(len(c.want), refusal(0, c.after))})
			for i, want := range c.want {
				_, _ = m.Call(t.Context(), &model.Request{})
				if got := g.Status().Pause; got != want {
					t.Errorf("refusal %d cools for %v, want %v", i+1, got, want)
				}
				time.Sleep(want)
			}
		})
	}
}

// Other errors say nothing of how much a server bears, unless it says that it is
// full and when to come back.
func TestOtherErrorsChangeNothing(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		after  time.Duration
		cools  time.Duration
	}{
		"500":                   {500, 0, 0},
		"500 with Retry-After":  {500, time.Minute, 0},
		"503":                   {503, 0, 0},
		"503 with Retry-After":  {503, time.Minute, time.Minute},
		"529 with Retry-After":  {529, time.Minute, time.Minute},
		"no answer that counts": {0, 0, 0},
	} {
		synced(t, name, func(t *testing.T) {
			g := NewGate(GateOptions{Random: func() float64 { return 0 }})
			failed := failure(record.Server, 0, c.after)
			failed.Status = c.status
			together(g.Wrap(&server{decide: failingOn(firstPlaces, failed)}), firstPlaces)
			if got := g.Status(); got.Pause != c.cools || c.cools == 0 && got.Window != firstPlaces {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestCallsStartInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{takes: time.Second}
		gated := NewGate(GateOptions{Parallel: 1}).Wrap(s)
		var calls sync.WaitGroup
		for i := range 4 {
			calls.Go(func() { _, _ = gated.Call(t.Context(), &model.Request{Draw: model.Draw{Call: i}}) })
			synctest.Wait()
		}
		calls.Wait()
		for i, request := range s.asked {
			if request.Draw.Call != i {
				t.Errorf("call %d started as number %d", request.Draw.Call+1, i+1)
			}
		}
	})
}

// Replies and errors tell how long they queued.
func TestWaitedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gated := NewGate(GateOptions{Parallel: 1}).Wrap(&server{takes: time.Second, decide: func(n, _ int) (*model.Reply, error) {
			if n == 2 {
				return nil, failure(record.Server, time.Second, 0)
			}
			return nil, nil
		}})
		var calls sync.WaitGroup
		for n := range 3 {
			calls.Go(func() {
				reply, err := gated.Call(t.Context(), &model.Request{})
				var failed *model.CallError
				waited := time.Duration(-1)
				if errors.As(err, &failed); n == 1 && failed != nil {
					waited = failed.Waited
				} else if reply != nil {
					waited = reply.Waited
				}
				if waited != time.Duration(n)*time.Second {
					t.Errorf("call %d waited %v: %+v, %v", n+1, waited, reply, err)
				}
			})
			synctest.Wait()
		}
		calls.Wait()
	})
}

// Whoever is cancelled, waiting or in flight, leaves with the cause and its
// place to others; queueing does not use up the time that may be worked. What waited was never sent.
func TestCancelledCallsLeaveTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &server{takes: 10 * time.Second}
		g := NewGate(GateOptions{Parallel: 2})
		m := g.Wrap(inner)
		cause := errors.New("budget")
		ctx, cancel := context.WithCancelCause(t.Context())
		var calls sync.WaitGroup
		var unsent atomic.Int64
		for range 50 {
			calls.Go(func() {
				working, stop := model.WithWorkingTime(ctx, 11*time.Second, errors.New("late"))
				defer stop()
				_, err := m.Call(working, &model.Request{})
				if err != nil && !errors.Is(err, cause) {
					t.Errorf("got %v", err)
				}
				if err != nil && model.NeverSent(err) {
					unsent.Add(1)
				}
			})
		}
		time.Sleep(25 * time.Second)
		cancel(cause)
		calls.Wait()
		if got, sent := g.Status(), len(inner.began); got.InFlight != 0 || sent != 6 || unsent.Load() != 44 {
			t.Errorf("%+v, %d calls were sent, %d were not", got, sent, unsent.Load())
		}
	})
}

// A panic leaves its place in the gate, and keeps its reservation in the budget.
func TestAPanicLeavesItsPlace(t *testing.T) {
	g, b := NewGate(GateOptions{Parallel: 1}), NewBudget(Suite, Limits{Calls: 3})
	m := Limit(g.Wrap(panicking), b, LimitOptions{})
	for range 3 {
		func() {
			defer func() { _ = recover() }()
			_, _ = m.Call(t.Context(), request)
		}()
	}
	if got := g.Status().InFlight; got != 0 || b.Spent().Calls != 3 || b.Spent().OutputTokens != 150 || reservedOf(b) != (record.Usage{}) {
		t.Errorf("%d in flight, spent %+v, reserved %+v", got, b.Spent(), reservedOf(b))
	}
}

// F26b: a call for which no file descriptor is left waits until another one has ended;
// where none is in flight, it fails.
func TestF26b_ACallWithoutAFileDescriptorWaitsForOthers(t *testing.T) {
	const takes = time.Second
	synctest.Test(t, func(t *testing.T) {
		descriptors := 5
		s := &server{decide: func(n, inFlight int) (*model.Reply, error) {
			if inFlight < descriptors { // no two calls end at the same moment
				return &model.Reply{Duration: takes - time.Duration(n)*time.Microsecond}, nil
			}
			err := model.Fail(record.Resources, "no file descriptor left", 0)
			err.Unsent = 1
			return nil, err
		}}
		g := NewGate(GateOptions{Parallel: 50})
		gated := g.Wrap(s)
		took, lost, _ := drive(gated, 50, 50)
		if took > time.Duration(50/descriptors)*takes || lost > 0 || s.refused > 100 || g.Status().InFlight != 0 || g.Status().Pause > 0 {
			t.Errorf("took %v, %d were lost, %d calls without a descriptor, %+v", took, lost, s.refused, g.Status())
		}
		descriptors = 0
		if _, err := gated.Call(t.Context(), &model.Request{}); !model.NeverSent(err) {
			t.Errorf("no other call is in flight: got %v", err)
		}
	})
}
