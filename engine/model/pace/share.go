package pace

import "time"

// Share is the part of a model's limits that one of several processes may use for a while. Zero: the limit is not shared.
type Share struct {
	Requests, Tokens int64 // a minute
	Parallel         int
	// Until is when it ends: then no call starts until there is a new one.
	Until time.Time
}

// over reports whether a share has ended, or is none.
func (s *Share) over(now time.Time) bool { return s != nil && !now.Before(s.Until) }

// Share gives a gate its share from now on. The zero Share lets no call start. A gate that had none begins with nothing saved up:
// others have used what there was.
func (g *Gate) Share(s Share) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	had := !g.share.over(now)
	g.share = &s
	g.requests.share(s.Requests, requestBurst, had, now)
	g.tokens.share(s.Tokens, tokenBurst, had, now)
	g.change()
}

func (l limiter) share(perMinute int64, burst float64, had bool, now time.Time) {
	part := newLimiter(perMinute, burst)
	if l.Limiter == nil || part.Limiter == nil {
		return
	}
	l.SetLimitAt(now, part.Limit())
	l.SetBurstAt(now, part.Burst())
	if saved := int(l.TokensAt(now)); !had && saved > 0 {
		l.ReserveN(now, saved)
	}
}
