package pace

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// allowing is a server with a limit, of which each call takes so much. A call takes a second. Unless it is silent its replies say what is
// left.
func allowing(l limit, of model.Quantity, each float64, silent bool) *server {
	return &server{decide: func(int, int) (*model.Reply, error) {
		allowed, left, full := l.take(each)
		if !allowed {
			return nil, refusal(time.Second, time.Second)
		}
		reply := &model.Reply{Duration: time.Second, Usage: record.Usage{Calls: 1, InputTokens: int64(each)}}
		if !silent {
			reply.Limits = []model.Limit{{Of: of, Left: left, Until: full}}
		}
		return reply, nil
	}}
}

// A server that says what is left refuses nothing, and is used as fully as it allows.
func TestF11b_WhatIsLeftIsNotExceeded(t *testing.T) {
	for name, c := range map[string]struct {
		limit   limit
		of      model.Quantity
		each    float64
		calls   int
		longest time.Duration
	}{
		"a minute":          {limit{most: 20, window: time.Minute}, model.Requests, 1, 50, 2*time.Minute + 4*time.Second},
		"steady":            {limit{most: 20, rate: 1}, model.Requests, 1, 50, 33 * time.Second},
		"steady, a day's":   {limit{most: 14400, rate: 1.0 / 6}, model.Requests, 1, 500, 60 * time.Second},
		"steady, of tokens": {limit{most: 2000, rate: 100}, model.InputTokens, 100, 50, 33 * time.Second},
	} {
		synced(t, name, func(t *testing.T) {
			const parallel = 10
			s := allowing(c.limit, c.of, c.each, false)
			took, _, _ := drive(NewGate(GateOptions{Parallel: parallel}).Wrap(s), c.calls, c.calls)
			if s.refused > 0 || len(s.began) != c.calls || took > c.longest {
				t.Errorf("%d refused, %d came, took %v", s.refused, len(s.began), took)
			}
			s = allowing(c.limit, c.of, c.each, true)
			together(NewGate(GateOptions{Parallel: parallel}).Wrap(s), c.calls)
			if s.refused == 0 && c.limit.most < float64(c.calls) {
				t.Error("the server refuses nothing anyway")
			}
		})
	}
}

// What a reply says of the limits holds the next call for so long, and no longer.
func TestF11b_WhatIsLeftHoldsTheNextCall(t *testing.T) {
	in := func(d time.Duration) time.Time { return time.Time{}.Add(d) } // after the reply
	soon := in(20 * time.Second)
	for name, c := range map[string]struct {
		tells []model.Limit
		holds time.Duration // the last call
	}{
		"nothing is told":             {[]model.Limit{{}}, 0},
		"one is left":                 {[]model.Limit{{Of: model.Requests, Left: 1, Until: soon}}, 0},
		"none is left":                {[]model.Limit{{Of: model.Requests, Until: soon}}, 20 * time.Second},
		"fewer tokens than are used":  {[]model.Limit{{Of: model.Tokens, Left: 49, Until: soon}}, 20 * time.Second},
		"as many tokens":              {[]model.Limit{{Of: model.Tokens, Left: 50, Until: soon}}, 0},
		"fewer tokens of input":       {[]model.Limit{{Of: model.InputTokens, Left: 9, Until: soon}}, 20 * time.Second},
		"cached ones do not count":    {[]model.Limit{{Of: model.InputTokens, Left: 10, Until: soon}}, 0},
		"fewer tokens of output":      {[]model.Limit{{Of: model.OutputTokens, Left: 39, Until: soon}}, 20 * time.Second},
		"the longest pause":           {[]model.Limit{{Of: model.Requests, Until: in(longestPause)}}, longestPause},
		"tomorrow":                    {[]model.Limit{{Of: model.Requests, Until: in(24 * time.Hour)}}, 0},
		"in a hundred years":          {[]model.Limit{{Of: model.Requests, Until: in(100 * 365 * 24 * time.Hour)}}, 0},
		"already reset":               {[]model.Limit{{Of: model.Requests, Until: in(-time.Second)}}, 0},
		"the next reply knows better": {[]model.Limit{{Of: model.Requests, Left: 1, Until: soon}, {Of: model.Requests, Left: 9, Until: soon}}, 0},
	} {
		synced(t, name, func(t *testing.T) {
			s := &server{takes: time.Second}
			s.decide = func(n, _ int) (*model.Reply, error) {
				if n > len(c.tells) || c.tells[n-1].Of == "" {
					return nil, nil
				}
				told := c.tells[n-1]
				told.Until = time.Now().Add(s.takes + told.Until.Sub(time.Time{}))
				usage := record.Usage{Calls: 1, InputTokens: 1000, CachedTokens: 990, OutputTokens: 40}
				return &model.Reply{Duration: s.takes, Usage: usage, Limits: []model.Limit{told}}, nil
			}
			gated := NewGate(GateOptions{}).Wrap(s)
			for range c.tells {
				_, _ = gated.Call(t.Context(), &model.Request{})
			}
			begin := time.Now()
			reply, err := gated.Call(t.Context(), &model.Request{})
			if held := time.Since(begin) - s.takes; err != nil || held.Round(time.Millisecond) != c.holds || reply.Waited != held {
				t.Errorf("held for %v, want %v: %+v, %v", held, c.holds, reply, err)
			}
		})
	}
}

// Calls in flight count as if they took what is left, until a reply of theirs says it better.
func TestF11b_CallsInFlightCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 30 * time.Second
		s := allowing(limit{most: 3, window: window}, model.Requests, 1, false)
		gated := NewGate(GateOptions{}).Wrap(s)
		_, _ = gated.Call(t.Context(), &model.Request{})
		begin := time.Now()
		together(gated, 3)
		if len(s.began) != 4 || s.refused > 0 || s.began[2].Sub(begin) != 0 || s.began[3].Sub(s.began[0]) != window {
			t.Errorf("calls began at %v, %d were refused", s.began, s.refused)
		}
	})
}
