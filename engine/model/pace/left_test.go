package pace

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// allowing is a server with a limit. Its replies say what is left, and it refuses what is beyond.
type allowing struct {
	most   float64
	window time.Duration // 0: the limit is steady
	rate   float64       // a second, of a steady one
	each   float64       // what a call takes; 0: 1
	of     model.Quantity
	silent bool // its replies say nothing
	takes  time.Duration

	mu      sync.Mutex
	level   float64
	at      time.Time
	ends    time.Time // of the window
	began   []time.Time
	refused int
}

// take reports whether a call is accepted, what is left then, and when all is there again.
func (s *allowing) take() (accepted bool, left int64, full time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case s.at.IsZero():
		s.level, s.ends = s.most, now.Add(s.window)
	case s.window == 0:
		s.level = min(s.most, s.level+s.rate*now.Sub(s.at).Seconds())
	case !now.Before(s.ends):
		s.level, s.ends = s.most, now.Add(s.window)
	}
	s.at = now
	each := max(1, s.each)
	if s.level < each-1e-6 {
		s.refused++
		return false, 0, s.ends
	}
	s.level -= each
	s.began = append(s.began, now)
	if s.window == 0 {
		return true, int64(s.level + 1e-6), now.Add(time.Duration((s.most - s.level) / s.rate * 1e9))
	}
	return true, int64(s.level + 1e-6), s.ends
}

func (s *allowing) Call(context.Context, *model.Request) (*model.Reply, error) {
	accepted, left, full := s.take()
	time.Sleep(s.takes)
	if !accepted {
		return nil, refusal(time.Second)
	}
	reply := &model.Reply{Duration: s.takes, Usage: record.Usage{Calls: 1, InputTokens: int64(max(1, s.each)), CachedTokens: 0}}
	if !s.silent {
		reply.Limits = []model.Limit{{Of: s.of, Left: left, Until: full}}
	}
	return reply, nil
}

// A server that says what is left refuses nothing, and is used as fully as it allows. The limit of the first has a
// window, the others are steady, and a call takes 100 tokens of the last.
func TestF11b_WhatIsLeftIsNotExceeded(t *testing.T) {
	for name, c := range map[string]struct {
		server   func() *allowing
		parallel int
		calls    int
		longest  time.Duration
	}{
		"a minute": {func() *allowing {
			return &allowing{most: 20, window: time.Minute, of: model.Requests, takes: time.Second}
		}, 10, 50, 2*time.Minute + 4*time.Second},
		"steady":          {func() *allowing { return &allowing{most: 20, rate: 1, of: model.Requests, takes: time.Second} }, 10, 50, 33 * time.Second},
		"steady, a day's": {func() *allowing { return &allowing{most: 14400, rate: 1.0 / 6, of: model.Requests, takes: time.Second} }, 10, 500, 60 * time.Second},
		"steady, of tokens": {func() *allowing {
			return &allowing{most: 2000, rate: 100, each: 100, of: model.InputTokens, takes: time.Second}
		}, 10, 50, 33 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := c.server()
			begin := time.Now()
			together(NewGate(GateOptions{Parallel: c.parallel}).Wrap(s), c.calls, model.Request{})
			if took := time.Since(begin); s.refused > 0 || len(s.began) != c.calls || took > c.longest {
				t.Errorf("%s: %d refused, %d taken, took %v", name, s.refused, len(s.began), took)
			}
			s = c.server()
			s.silent = true
			together(NewGate(GateOptions{Parallel: c.parallel}).Wrap(s), c.calls, model.Request{})
			if s.refused == 0 && s.most < float64(c.calls) {
				t.Errorf("%s: the server refuses nothing anyway", name)
			}
		})
	}
}

// telling gives one reply after the other, which takes a second. The last one says nothing.
type telling struct {
	counting
	tells []model.Limit // of the n-th call, until so long after the zero time
}

func (m *telling) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	m.mu.Lock()
	n := len(m.began)
	m.mu.Unlock()
	reply, err := m.counting.Call(ctx, request)
	if err == nil && n < len(m.tells) && m.tells[n].Of != "" {
		told := m.tells[n]
		told.Until = time.Now().Add(told.Until.Sub(time.Time{}))
		reply.Limits = []model.Limit{told}
		reply.Usage = record.Usage{Calls: 1, InputTokens: 1000, CachedTokens: 990, OutputTokens: 40}
	}
	return reply, err
}

// What a reply says of the limits holds the next call for so long, and no longer.
func TestF11b_WhatIsLeftHoldsTheNextCall(t *testing.T) {
	in := func(d time.Duration) time.Time { return time.Time{}.Add(d) }
	for name, c := range map[string]struct {
		tells []model.Limit
		holds time.Duration // the last call
	}{
		"nothing is told":             {[]model.Limit{{}}, 0},
		"one is left":                 {[]model.Limit{{Of: model.Requests, Left: 1, Until: in(20 * time.Second)}}, 0},
		"none is left":                {[]model.Limit{{Of: model.Requests, Until: in(20 * time.Second)}}, 20 * time.Second},
		"fewer tokens than are used":  {[]model.Limit{{Of: model.Tokens, Left: 49, Until: in(20 * time.Second)}}, 20 * time.Second},
		"as many tokens":              {[]model.Limit{{Of: model.Tokens, Left: 50, Until: in(20 * time.Second)}}, 0},
		"fewer tokens of input":       {[]model.Limit{{Of: model.InputTokens, Left: 9, Until: in(20 * time.Second)}}, 20 * time.Second},
		"cached ones do not count":    {[]model.Limit{{Of: model.InputTokens, Left: 10, Until: in(20 * time.Second)}}, 0},
		"fewer tokens of output":      {[]model.Limit{{Of: model.OutputTokens, Left: 39, Until: in(20 * time.Second)}}, 20 * time.Second},
		"the longest pause":           {[]model.Limit{{Of: model.Requests, Until: in(longestPause)}}, longestPause},
		"tomorrow":                    {[]model.Limit{{Of: model.Requests, Until: in(24 * time.Hour)}}, 0},
		"in a hundred years":          {[]model.Limit{{Of: model.Requests, Until: in(100 * 365 * 24 * time.Hour)}}, 0},
		"already reset":               {[]model.Limit{{Of: model.Requests, Until: in(-time.Second)}}, 0},
		"the next reply knows better": {[]model.Limit{{Of: model.Requests, Left: 1, Until: in(20 * time.Second)}, {Of: model.Requests, Left: 9, Until: in(20 * time.Second)}}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &telling{counting: counting{takes: time.Second}, tells: c.tells}
			gated := NewGate(GateOptions{}).Wrap(m)
			for range c.tells {
				_, _ = gated.Call(t.Context(), &model.Request{})
			}
			begin := time.Now()
			reply, err := gated.Call(t.Context(), &model.Request{})
			if held := time.Since(begin) - m.takes; err != nil || held.Round(time.Millisecond) != c.holds || reply.Waited != held {
				t.Errorf("%s: held for %v, want %v: %+v, %v", name, held, c.holds, reply, err)
			}
		})
	}
}

// Calls in flight count as if they took what is left, until a reply of theirs says it better.
func TestF11b_CallsInFlightCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &allowing{most: 3, window: 30 * time.Second, of: model.Requests, takes: time.Second}
		gated := NewGate(GateOptions{}).Wrap(s)
		_, _ = gated.Call(t.Context(), &model.Request{})
		begin := time.Now()
		together(gated, 3, model.Request{})
		if len(s.began) != 4 || s.refused > 0 || s.began[2].Sub(begin) != 0 || s.began[3].Sub(s.began[0]) != s.window {
			t.Errorf("calls began at %v, %d were refused", s.began, s.refused)
		}
	})
}
