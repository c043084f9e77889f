package pace

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
)

// limit is what a server allows: at most so many, which come back steadily, or all at once when a window ends.
type limit struct {
	most   float64
	rate   float64       // a second, of a steady one
	window time.Duration // 0: it is steady
	level  float64
	at     time.Time
	ends   time.Time // of the window
}

// take reports whether so many are allowed, how many are left then, and when all are there again.
func (l *limit) take(n float64) (allowed bool, left int64, full time.Time) {
	now := time.Now()
	switch {
	case l.at.IsZero():
		l.level, l.ends = l.most, now.Add(l.window)
	case l.window == 0:
		l.level = min(l.most, l.level+l.rate*now.Sub(l.at).Seconds())
	case !now.Before(l.ends):
		l.level, l.ends = l.most, now.Add(l.window)
	}
	l.at = now
	if l.level < n-1e-6 {
		return false, 0, l.ends
	}
	l.level -= n
	full = l.ends
	if l.window == 0 {
		full = now.Add(time.Duration((l.most - l.level) / l.rate * 1e9))
	}
	return true, int64(l.level + 1e-6), full
}

// allows takes one.
func (l *limit) allows(int) bool {
	allowed, _, _ := l.take(1)
	return allowed
}

// refusing decides that calls beyond what is allowed are refused, and the others take a while.
func refusing(allows func(inFlight int) bool, refused *model.CallError, takes func() time.Duration) *server {
	return &server{decide: func(_, inFlight int) (*model.Reply, error) {
		if !allows(inFlight) {
			return nil, refused
		}
		return &model.Reply{Duration: takes()}, nil
	}}
}

// Nothing is lost, few calls are refused, and the server is kept busy, whether it says when to come back or not. It allows 20
// calls a second, which take 4 s in the median.
func TestF17_ManyCallsAtALimitedServer(t *testing.T) {
	const workers, calls, perSecond = 256, 2000, 20
	// How long the server needs to let the calls begin, at least. The last ones still have to end: with latencies of this shape that
	// alone is a quarter more.
	const ideal = (calls - 20) * time.Second / perSecond
	for name, c := range map[string]struct {
		burst      float64
		retryAfter time.Duration
		options    GateOptions
	}{
		"nothing known":         {20, time.Second, GateOptions{}},
		"a server that is mute": {20, 0, GateOptions{}},
		"a longer wait":         {20, 3 * time.Second, GateOptions{}},
		"a larger burst":        {40, time.Second, GateOptions{}},
		"declared":              {20, time.Second, GateOptions{Requests: 1200}},
	} {
		const seeds = 2
		var sum time.Duration
		refused := 0
		for seed := range uint64(seeds) {
			synced(t, name, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				l := limit{most: c.burst, rate: perSecond}
				taken, possible := 0.0, time.Duration(0) // possible is what no policy can go below
				s := refusing(l.allows, refusal(50*time.Millisecond, c.retryAfter), func() time.Duration {
					took := time.Duration(4e9 * math.Exp(random.NormFloat64()*0.7))
					possible = max(possible, took+time.Duration(max(0, taken-c.burst)/perSecond*float64(time.Second)))
					taken++
					return took
				})
				makespan, lost, _ := drive(Retry(NewGate(c.options).Wrap(s), RetryOptions{}), workers, calls)
				sum, refused = sum+makespan, refused+s.refused
				if lost > 0 || s.refused > 15 || makespan > possible*7/5 || c.options.Requests > 0 && s.refused > 0 {
					t.Errorf("seed %d: %d lost, %d refused, took %v where %v is possible", seed, lost, s.refused, makespan, possible)
				}
			})
		}
		if mean := sum / seeds; mean > ideal*3/2 {
			t.Errorf("%s: mean makespan %v, ideal %v", name, mean, ideal)
		}
		if refused > 6*seeds && c.burst == 20 || refused > 10*seeds {
			t.Errorf("%s: %d refused in %d simulations", name, refused, seeds)
		}
	}
}

// All of 64 calls are refused at once: each is tried at most four times, and
// when the wait is over no second holds more than the server allows.
func TestF17_RetryStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit{most: 20, rate: 20, at: time.Now()}
		s := refusing(l.allows, refusal(50*time.Millisecond, 2*time.Second), func() time.Duration { return time.Second })
		begin := time.Now()
		_, lost, _ := drive(Retry(NewGate(GateOptions{Parallel: 64}).Wrap(s), RetryOptions{}), 64, 64)
		if lost > 0 || len(s.began) > 64*4 {
			t.Errorf("%d lost in %d attempts", lost, len(s.began))
		}
		var after []time.Time
		for _, at := range s.began {
			if at.Sub(begin) > 0 {
				after = append(after, at)
			}
		}
		if first := after[0].Sub(begin); first < 2*time.Second {
			t.Errorf("the first attempt came %v after the start, before the server allowed it", first)
		}
		if n := busiest(after, time.Second); n > 20 {
			t.Errorf("%d attempts within a second", n)
		}
	})
}

// A refusal costs the wait that the server asks for, and not much more. A server that refuses every fifth call is not
// asked any slower for that: with a pause of all calls it would take half a minute. One refusal is soon forgotten. A
// server that refuses everything is hardly asked, and keeps no call longer than three of its waits and a tenth more.
func TestF17_RefusalsCostTheirWaitOnce(t *testing.T) {
	every := func(nth int) func(int) bool { return func(n int) bool { return n%nth == 0 } }
	only := func(nth int) func(int) bool { return func(n int) bool { return n == nth } }
	for name, c := range map[string]struct {
		refuses       func(n int) bool
		atOnce, calls int
		least, most   time.Duration
		lost          int64
		made          int // at most
	}{
		"every fifth":       {every(5), 8, 100, 0, 8 * time.Second, 0, 124},
		"the first alone":   {only(1), 8, 100, time.Second, 2 * time.Second, 0, 108},
		"the 80th alone":    {only(80), 8, 100, time.Second, 2 * time.Second, 0, 101},
		"all of 20":         {every(1), 1, 20, 0, time.Hour, 20, 80},
		"all of 32 at once": {every(1), 32, 32, 0, time.Hour, 32, 40},
		"all of 256":        {every(1), 256, 256, 0, time.Hour, 256, 60},
	} {
		synced(t, name, func(t *testing.T) {
			const takes = 20 * time.Millisecond
			s := &server{takes: takes, decide: func(n, _ int) (*model.Reply, error) {
				if c.refuses(n) {
					return nil, refusal(takes, time.Second)
				}
				return nil, nil
			}}
			if name == "every fifth" { // what starts together arrives in any order
				random := rand.New(rand.NewPCG(1, 1))
				s.late = func() time.Duration { return time.Duration(random.Int64N(int64(3 * time.Millisecond))) }
			}
			took, lost, longest := drive(Retry(NewGate(GateOptions{}).Wrap(s), RetryOptions{}), c.atOnce, c.calls)
			const patience = 3*time.Second*11/10 + time.Second*11/10 + 100*time.Millisecond
			if made := len(s.began); took < c.least || took > c.most || lost != c.lost || made > c.made || longest > patience {
				t.Errorf("took %v, the longest of %d lost calls %v, %d made", took, lost, longest, made)
			}
		})
	}
}

// A server that refuses a share of the calls at random, whatever it is asked, takes
// little longer with a gate than where only the calls that were refused wait: a few
// pauses of all show what it is.
func TestF17_CallsAreRefusedAtRandom(t *testing.T) {
	for _, c := range []struct{ atOnce, calls int }{{8, 100}, {64, 1000}} {
		for _, share := range []float64{0.1, 0.2, 0.3, 0.5} {
			const seeds, takes = 4, 20 * time.Millisecond
			makespan := func(wrap func(model.Model) model.Model) (mean time.Duration) {
				for seed := range uint64(seeds) {
					synctest.Test(t, func(*testing.T) {
						random := rand.New(rand.NewPCG(seed, 7))
						s := refusing(func(int) bool { return random.Float64() >= share }, refusal(takes, time.Second), func() time.Duration { return takes })
						took, _, _ := drive(Retry(wrap(s), RetryOptions{Retries: 6}), c.atOnce, c.calls)
						mean += took / seeds
					})
				}
				return mean
			}
			naive := makespan(func(m model.Model) model.Model { return m })
			gated := makespan(func(m model.Model) model.Model { return NewGate(GateOptions{}).Wrap(m) })
			if gated > 2*naive {
				t.Errorf("%.1f of %d calls, %d at once: %v, %v without a gate", share, c.calls, c.atOnce, gated, naive)
			}
		}
	}
}

// Servers with limits of other kinds are not taken for one that refuses at random, and
// what they bear is found with few refusals.
func TestF17_OtherLimits(t *testing.T) {
	steady := func(burst float64) *limit { return &limit{most: burst, rate: 1} }
	for name, c := range map[string]struct {
		atOnce int
		limit  *limit // nil: 4 at once
		asks   time.Duration
		most   int // refused, in the mean
	}{
		"4 at once, 8 ask":               {8, nil, time.Second, 50},
		"4 at once, 64 ask":              {64, nil, time.Second, 20},
		"1 a second, 8 ask":              {8, steady(1), time.Second, 40},
		"1 a second, 64 ask":             {64, steady(1), time.Second, 25},
		"1 a second, burst of 5, 8 ask":  {8, steady(5), time.Second, 45},
		"1 a second, burst of 5, 64 ask": {64, steady(5), time.Second, 50},
		"60 a minute, 8 ask":             {8, &limit{most: 60, window: time.Minute}, time.Minute, 5},
		"60 a minute, 64 ask":            {64, &limit{most: 60, window: time.Minute}, time.Minute, 10},
	} {
		const seeds = 2
		refused := 0
		for seed := range uint64(seeds) {
			synced(t, name, func(*testing.T) {
				random := rand.New(rand.NewPCG(seed, 7))
				allows := func(inFlight int) bool { return inFlight < 4 }
				if c.limit != nil {
					of := *c.limit
					allows = of.allows
				}
				s := refusing(allows, refusal(20*time.Millisecond, c.asks), func() time.Duration {
					return time.Duration((1 + random.ExpFloat64()) * float64(time.Second/2))
				})
				drive(Retry(NewGate(GateOptions{}).Wrap(s), RetryOptions{Retries: 6}), c.atOnce, 100)
				refused += s.refused
			})
		}
		if refused > c.most*seeds {
			t.Errorf("%s: %d of 100 calls are refused", name, refused/seeds)
		}
	}
}
