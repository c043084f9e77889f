package cache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// slow is a model that takes its time; each call ends as told.
type slow struct {
	calls atomic.Int64
	end   func(call int64) (*model.Reply, error)
}

func (s *slow) Call(ctx context.Context, _ *model.Request) (*model.Reply, error) {
	call := s.calls.Add(1)
	select {
	case <-time.After(time.Second):
		return s.end(call)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func fine(int64) (*model.Reply, error) {
	return &model.Reply{Text: "fine", Finish: "stop", Usage: record.Usage{Calls: 1}}, nil
}

// together lets n runs ask the same at once and gives what each of them got.
func together(ctx context.Context, m model.Model, n int) (replies []*model.Reply, failed int) {
	replies = make([]*model.Reply, n)
	var errs atomic.Int64
	var asking sync.WaitGroup
	for i := range n {
		asking.Go(func() {
			reply, err := m.Call(WithRun(ctx), ask("x"))
			if replies[i] = reply; err != nil {
				errs.Add(1)
			}
		})
	}
	asking.Wait()
	return replies, int(errs.Load())
}

func TestEqualCallsInFlightAreMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, store := &slow{end: fine}, Open(t.TempDir(), Options{})
		replies, failed := together(t.Context(), Wrap(inner, store, openAI, On), 64)
		paid := 0
		for i, reply := range replies {
			if reply.Text != "fine" {
				t.Errorf("run %d got %+v", i, reply)
			}
			if !reply.Cached {
				paid++
			}
			for _, other := range replies[:i] {
				if other == reply {
					t.Fatal("two runs share a reply, which others may change")
				}
			}
		}
		if n := inner.calls.Load(); n != 1 || paid != 1 || failed != 0 {
			t.Errorf("%d calls, %d paid, %d failed", n, paid, failed)
		}
		if got := store.Stats(); got != (Stats{Hits: 63, Misses: 1, Stored: 1}) {
			t.Errorf("stats %+v", got)
		}
	})
}

// Whether it failed or gave an answer that is not kept: who waited for it tries
// itself.
func TestWhoWaitedInVainTriesItself(t *testing.T) {
	for name, end := range map[string]func() (*model.Reply, error){
		"error":    func() (*model.Reply, error) { return nil, model.Fail(record.Server, "no", 0) },
		"filtered": func() (*model.Reply, error) { return &model.Reply{Finish: "content_filter"}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := &slow{end: func(call int64) (*model.Reply, error) {
					if call == 1 {
						return end()
					}
					return fine(call)
				}}
				replies, _ := together(t.Context(), Wrap(inner, Open(t.TempDir(), Options{}), openAI, On), 8)
				good := 0
				for _, reply := range replies {
					if reply != nil && reply.Text == "fine" {
						good++
					}
				}
				if n := inner.calls.Load(); n != 2 || good != 7 {
					t.Errorf("%d calls, %d good answers", n, good)
				}
			})
		})
	}
}

// The context of who makes the call is not that of who waits for it.
func TestContextsOfWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &slow{end: fine}
		m := Wrap(inner, Open(t.TempDir(), Options{}), openAI, On)
		var asking sync.WaitGroup
		defer asking.Wait()
		impatient := func(patience time.Duration, wants bool) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			start := time.Now()
			_, err := m.Call(ctx, ask("x"))
			if wants != (err == nil) || !wants && (time.Since(start) != patience || !errors.Is(err, context.DeadlineExceeded)) {
				t.Errorf("patience %v: %v after %v", patience, err, time.Since(start))
			}
		}
		asking.Go(func() { impatient(500*time.Millisecond, false) }) // leads
		synctest.Wait()
		asking.Go(func() { impatient(200*time.Millisecond, false) }) // waits
		asking.Go(func() { impatient(time.Minute, true) })           // waits, then leads
		asking.Wait()
		if n := inner.calls.Load(); n != 2 {
			t.Errorf("%d calls", n)
		}
	})
}

// A panic of the one that makes the call leaves nobody waiting.
func TestF8_APanicLandsTheFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &slow{end: func(call int64) (*model.Reply, error) {
			if call == 1 {
				panic("boom")
			}
			return fine(call)
		}}
		m := Wrap(inner, Open(t.TempDir(), Options{}), openAI, On)
		var asking sync.WaitGroup
		var good, panics atomic.Int64
		for range 4 {
			asking.Go(func() {
				defer func() {
					if recover() != nil {
						panics.Add(1)
					}
				}()
				if _, err := m.Call(t.Context(), ask("x")); err == nil {
					good.Add(1)
				}
			})
		}
		asking.Wait()
		if good.Load() != 3 || panics.Load() != 1 {
			t.Errorf("%d good, %d panics", good.Load(), panics.Load())
		}
	})
}
