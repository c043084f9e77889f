package pace

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
	"github.com/agentbench/agentbench/engine/record"
)

var must = wiretest.Must

// server is a model that decides about each call when it arrives, and keeps what arrived and when.
type server struct {
	takes time.Duration        // of a call about which nothing is decided
	late  func() time.Duration // before a call arrives; nil: it arrives at once
	// decide answers the n-th call, from 1, while so many are being answered. The answer comes after its Duration.
	// nil, or neither reply nor error: the call is fine.
	decide func(n, inFlight int) (*model.Reply, error)

	mu       sync.Mutex
	began    []time.Time
	asked    []*model.Request
	inFlight int
	refused  int
}

func (s *server) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	if s.late != nil {
		s.mu.Lock()
		wait := s.late()
		s.mu.Unlock()
		time.Sleep(wait)
	}
	reply, err := s.arrive(request)
	took, _ := model.Failure(err)
	if err == nil {
		took = reply.Duration
		defer s.leave()
	}
	select {
	case <-time.After(took):
		return reply, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *server) arrive(request *model.Request) (reply *model.Reply, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began, s.asked = append(s.began, time.Now()), append(s.asked, request)
	if s.decide != nil {
		reply, err = s.decide(len(s.began), s.inFlight)
	}
	if err != nil {
		s.refused++
		if failed, ok := err.(*model.CallError); ok { // which the callers change
			again := *failed
			err = &again
		}
		return nil, err
	}
	s.inFlight++
	if reply == nil {
		reply = &model.Reply{Duration: s.takes}
	}
	return reply, nil
}

func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
}

// pauses are the times between the end of an attempt, which took a second, and the next.
func (s *server) pauses() []time.Duration {
	var all []time.Duration
	for i := 1; i < len(s.began); i++ {
		all = append(all, s.began[i].Sub(s.began[i-1])-time.Second)
	}
	return all
}

// failingOn decides that the calls up to a number fail.
func failingOn(last int, err error) func(int, int) (*model.Reply, error) {
	return func(n, _ int) (*model.Reply, error) {
		if n <= last {
			return nil, err
		}
		return nil, nil
	}
}

// failure is one after a time, with the wait that the server asks for.
func failure(class record.ErrorClass, took, wait time.Duration) *model.CallError {
	err := model.Fail(class, "no", took)
	err.RetryAfter = wait
	return err
}

func refusal(took, wait time.Duration) *model.CallError { return failure(record.RateLimit, took, wait) }

// unsent is a call of so many attempts, of which so many reached nobody.
func unsent(of, attempts int) *model.CallError {
	err := model.Fail(record.Network, "connection refused", 0)
	err.Unsent, err.Attempts = of, attempts
	return err
}

// answers is a model that gives one answer.
type answers struct {
	used record.Usage
	err  error
}

func (a answers) Call(context.Context, *model.Request) (*model.Reply, error) {
	if a.err != nil {
		return nil, a.err
	}
	return &model.Reply{Text: "yes", Usage: a.used}, nil
}

// answering is a model of one answer.
type answering func() (*model.Reply, error)

func (a answering) Call(context.Context, *model.Request) (*model.Reply, error) { return a() }

var panicking = answering(func() (*model.Reply, error) { panic("no") })

// drive makes so many calls, some at once, and tells how long that took, how many failed, and the longest that one of these had taken.
func drive(m model.Model, atOnce, n int) (took time.Duration, lost int64, longest time.Duration) {
	var left, failed, most atomic.Int64
	left.Store(int64(n))
	begin := time.Now()
	var working sync.WaitGroup
	for range atOnce {
		working.Go(func() {
			for left.Add(-1) >= 0 {
				came := time.Now()
				if _, err := m.Call(context.Background(), &model.Request{}); err != nil {
					failed.Add(1)
					most.Store(max(most.Load(), int64(time.Since(came))))
				}
			}
		})
	}
	working.Wait()
	return time.Since(begin), failed.Load(), time.Duration(most.Load())
}

// together makes so many calls at once.
func together(m model.Model, n int) { drive(m, n, n) }

// busiest is how many fall into any such time.
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

// synced runs a case of a table by a clock of its own.
func synced(t *testing.T, name string, try func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, try) })
}
