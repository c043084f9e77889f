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

// counting is a model that keeps when its calls began and how many were in
// flight at once.
type counting struct {
	takes time.Duration
	fail  func(n int) error // of the n-th call, from 1; nil: none fails

	mu       sync.Mutex
	began    []time.Time
	order    []string
	inFlight int
	most     int
}

func (m *counting) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	m.mu.Lock()
	m.began, m.order = append(m.began, time.Now()), append(m.order, request.Draw.Task)
	n := len(m.began)
	m.inFlight++
	m.most = max(m.most, m.inFlight)
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.inFlight--
	}()
	select {
	case <-time.After(m.takes):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if m.fail != nil {
		if err := m.fail(n); err != nil {
			return nil, err
		}
	}
	return &model.Reply{Duration: m.takes}, nil
}

// together makes so many calls at once.
func together(m model.Model, n int, request model.Request) {
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() { _, _ = m.Call(context.Background(), &request) })
	}
	calls.Wait()
}

func refusal(after time.Duration) error {
	err := model.Fail(record.RateLimit, "slow down", 0)
	err.RetryAfter = after
	return err
}

// A server of which nothing is known is asked by more at once as it answers.
func TestSlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &counting{takes: time.Second}
		begin := time.Now()
		together(NewGate(GateOptions{}).Wrap(m), 16+32+64+128, model.Request{})
		perSecond := make([]int, 4)
		for _, at := range m.began {
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
			m := &counting{}
			n := int(3 * perMinute)
			begin := time.Now()
			together(NewGate(GateOptions{Requests: perMinute}).Wrap(m), n, model.Request{})
			if most := busiest(m.began, time.Minute); most > int(perMinute) {
				t.Errorf("%d a minute: a minute holds %d", perMinute, most)
			}
			if took := time.Since(begin); took > 190*time.Second {
				t.Errorf("%d a minute: %d took %v", perMinute, n, took)
			}
		})
	}
}

func busiest(times []time.Time, within time.Duration) int {
	slices.SortFunc(times, time.Time.Compare)
	most, from := 0, 0
	for i, at := range times {
		for at.Sub(times[from]) >= within {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
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
		m := NewGate(GateOptions{Tokens: 6000}).Wrap(answering(func() (*model.Reply, error) {
			return &model.Reply{Usage: record.Usage{Calls: 1, InputTokens: 10, OutputTokens: 1500}}, nil
		}))
		begin := time.Now()
		for range 2 {
			_, _ = m.Call(t.Context(), &model.Request{MaxOutputTokens: 10})
		}
		if took := time.Since(begin); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("600 at once, 1500 used: the next call began after %v, want about 10 s", took)
		}
	})
}

// F10: after a refusal all calls pause, not only those that were refused.
func TestF10_OneRefusalPausesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &counting{takes: time.Second, fail: func(n int) error {
			if n <= 2 {
				return refusal(20 * time.Second)
			}
			return nil
		}}
		g := NewGate(GateOptions{Parallel: 2, Random: func() float64 { return 0.5 }})
		begin := time.Now()
		together(g.Wrap(m), 6, model.Request{})
		for i, at := range m.began[2:] {
			if after := at.Sub(begin); after < 22*time.Second {
				t.Errorf("call %d began after %v, in the cool-down", i+3, after)
			}
		}
		if first := m.began[2].Sub(begin); first != 22*time.Second {
			t.Errorf("the cool-down ended after %v, want 1s + 20s and half a tenth more", first)
		}
	})
}

// Refusals of calls that had started before the pause belong to the same burst: they
// make it no longer, however late they come and whatever they ask.
func TestF10_ABurstPausesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &counting{}
		m.fail = func(n int) error {
			if n > 8 {
				return nil
			}
			time.Sleep(time.Duration(n) * 100 * time.Millisecond)
			return refusal(time.Duration(n) * time.Second)
		}
		g := NewGate(GateOptions{Parallel: 8, Random: func() float64 { return 0 }})
		begin := time.Now()
		together(g.Wrap(m), 9, model.Request{})
		if got := m.began[len(m.began)-1].Sub(begin); len(m.began) != 9 || got != 1100*time.Millisecond {
			t.Errorf("the pause ended after %v, want a second after the first refusal", got)
		}
	})
}

// A refusal pauses all calls again, but not soon after a pause and among calls that are taken: that concerns the refused call alone.
func TestF17_SingleRefusalsPauseNoOtherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := false
		g := NewGate(GateOptions{Random: func() float64 { return 0 }})
		m := g.Wrap(&counting{fail: func(int) error {
			if refused {
				return refusal(time.Second)
			}
			return nil
		}})
		for i, c := range []struct {
			after   time.Duration // the step before
			refused int           // calls one after the other
			taken   int           // behind them
			pause   time.Duration // after the refusals
		}{
			{0, 1, 10, time.Second},
			{2 * time.Second, 1, 10, 0},
			{2 * time.Second, 1, 10, 0},
			{restless, 1, 0, time.Second},
			{2 * time.Second, 1, 1, time.Second},
		} {
			time.Sleep(c.after)
			refused = true
			for range c.refused {
				_, _ = m.Call(t.Context(), &model.Request{})
			}
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
		synctest.Test(t, func(t *testing.T) {
			g := NewGate(GateOptions{Random: func() float64 { return 0 }})
			m := g.Wrap(&counting{fail: func(int) error { return refusal(c.after) }})
			for i, want := range c.want {
				_, _ = m.Call(t.Context(), &model.Request{})
				if got := g.Status().Pause; got != want {
					t.Errorf("%s: refusal %d cools for %v, want %v", name, i+1, got, want)
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
		synctest.Test(t, func(t *testing.T) {
			g := NewGate(GateOptions{Random: func() float64 { return 0 }})
			m := g.Wrap(&counting{fail: func(int) error {
				err := model.Fail(record.Server, "no", 0)
				err.Status, err.RetryAfter = c.status, c.after
				return err
			}})
			together(m, firstPlaces, model.Request{})
			got := g.Status()
			if got.Pause != c.cools || c.cools == 0 && got.Window != firstPlaces {
				t.Errorf("%s: %+v", name, got)
			}
		})
	}
}

func TestCallsStartInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &counting{takes: time.Second}
		gated := NewGate(GateOptions{Parallel: 1}).Wrap(m)
		var calls sync.WaitGroup
		for _, task := range []string{"a", "b", "c", "d"} {
			calls.Go(func() { _, _ = gated.Call(t.Context(), &model.Request{Draw: model.Draw{Task: task}}) })
			synctest.Wait()
		}
		calls.Wait()
		if want := []string{"a", "b", "c", "d"}; !slices.Equal(m.order, want) {
			t.Errorf("order %v", m.order)
		}
	})
}

// Replies and errors tell how long they queued.
func TestWaitedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &counting{takes: time.Second, fail: func(n int) error {
			if n == 2 {
				return model.Fail(record.Server, "no", time.Second)
			}
			return nil
		}}
		gated := NewGate(GateOptions{Parallel: 1}).Wrap(m)
		waited := map[time.Duration]bool{}
		var mu sync.Mutex
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				reply, err := gated.Call(t.Context(), &model.Request{})
				mu.Lock()
				defer mu.Unlock()
				var failed *model.CallError
				if errors.As(err, &failed) {
					waited[-failed.Waited] = true
				} else {
					waited[reply.Waited] = true
				}
			})
		}
		calls.Wait()
		if !waited[0] || !waited[-time.Second] || !waited[2*time.Second] {
			t.Errorf("waited %v", waited)
		}
	})
}

// Whoever is cancelled, waiting or in flight, leaves with the cause and its
// place to others; queueing does not use up the time that may be worked. What waited was never sent.
func TestCancelledCallsLeaveTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &counting{takes: 10 * time.Second}
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

func TestAPanicLeavesItsPlace(t *testing.T) {
	g := NewGate(GateOptions{Parallel: 1})
	for range 3 {
		func() {
			defer func() { _ = recover() }()
			_, _ = g.Wrap(panicking).Call(t.Context(), &model.Request{})
		}()
	}
	if got := g.Status().InFlight; got != 0 {
		t.Errorf("%d in flight", got)
	}
}

// F26b: a call for which no file descriptor is left waits until another one has ended;
// where none is in flight, it fails.
func TestF26b_ACallWithoutAFileDescriptorWaitsForOthers(t *testing.T) {
	const descriptors, takes = 5, time.Second
	synctest.Test(t, func(t *testing.T) {
		m := &descriptorsOf{left: descriptors, takes: takes}
		g := NewGate(GateOptions{Parallel: 50})
		gated := g.Wrap(m)
		begin := time.Now()
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() {
				if _, err := gated.Call(t.Context(), &model.Request{}); err != nil {
					t.Errorf("got %v", err)
				}
			})
		}
		calls.Wait()
		if took := time.Since(begin); took > 50/descriptors*takes || m.refused > 100 || g.Status().InFlight != 0 {
			t.Errorf("took %v, %d calls without a descriptor, %+v", took, m.refused, g.Status())
		}
		m.left = 0
		if _, err := gated.Call(t.Context(), &model.Request{}); !model.NeverSent(err) {
			t.Errorf("no other call is in flight: got %v", err)
		}
	})
}

// descriptorsOf is a model of which each call needs a file descriptor.
type descriptorsOf struct {
	takes time.Duration

	mu            sync.Mutex
	left, refused int
}

func (m *descriptorsOf) Call(context.Context, *model.Request) (*model.Reply, error) {
	m.mu.Lock()
	if m.left == 0 {
		defer m.mu.Unlock()
		m.refused++
		err := model.Fail(record.Resources, "no file descriptor left", 0)
		err.Unsent = 1
		return nil, err
	}
	m.left--
	m.mu.Unlock()
	time.Sleep(m.takes)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left++
	return &model.Reply{Duration: m.takes}, nil
}
