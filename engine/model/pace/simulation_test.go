package pace_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
)

// server allows so many calls a second and refuses the others after 50 ms.
type server struct {
	perSecond, burst float64
	retryAfter       time.Duration
	latency          func() time.Duration

	mu       sync.Mutex
	level    float64
	at       time.Time
	arrivals []time.Time
	refused  []time.Time
	accepted int
	possible time.Duration
}

func (s *server) allows() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.arrivals = append(s.arrivals, now)
	if s.at.IsZero() {
		s.level = s.burst
	} else {
		s.level = min(s.burst, s.level+now.Sub(s.at).Seconds()*s.perSecond)
	}
	s.at = now
	if s.level < 1 {
		s.refused = append(s.refused, now)
		return false
	}
	s.level--
	return true
}

func (s *server) Call(context.Context, *model.Request) (*model.Reply, error) {
	if !s.allows() {
		const took = 50 * time.Millisecond
		time.Sleep(took)
		err := model.Fail(record.RateLimit, "slow down", took)
		err.RetryAfter = s.retryAfter
		return nil, err
	}
	took := s.latency()
	s.note(took)
	time.Sleep(took)
	return &model.Reply{Duration: took, Usage: record.Usage{Calls: 1, OutputTokens: 100}}, nil
}

// note keeps when the call would have ended if calls had come as fast as the
// server allows, which the longest ones decide.
func (s *server) note(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waits := max(0, float64(s.accepted)-s.burst) / s.perSecond
	s.accepted++
	s.possible = max(s.possible, took+time.Duration(waits*float64(time.Second)))
}

// lognormal has a median of 4 s.
func lognormal(random *rand.Rand) func() time.Duration {
	var mu sync.Mutex
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(4e9 * math.Exp(random.NormFloat64()*0.7))
	}
}

// result is how a simulation went.
type result struct {
	lost, refused, attempts int64
	makespan                time.Duration
	possible                time.Duration // what no policy can go below
}

const workers, calls = 256, 2000 // at once, in all

// simulate makes many calls at a server that allows 20 a second.
func simulate(t *testing.T, seed uint64, burst float64, retryAfter time.Duration, o pace.GateOptions) (r result) {
	synctest.Test(t, func(*testing.T) {
		s := &server{perSecond: 20, burst: burst, retryAfter: retryAfter, latency: lognormal(rand.New(rand.NewPCG(seed, 1)))}
		m := pace.Retry(pace.NewGate(o).Wrap(s), pace.RetryOptions{})
		begin := time.Now()
		var left, lost atomic.Int64
		left.Store(calls)
		var working sync.WaitGroup
		for range workers {
			working.Go(func() {
				for left.Add(-1) >= 0 {
					if _, err := m.Call(context.Background(), &model.Request{}); err != nil {
						lost.Add(1)
					}
				}
			})
		}
		working.Wait()
		r = result{lost.Load(), int64(len(s.refused)), int64(len(s.arrivals)), time.Since(begin), s.possible}
	})
	return r
}

// ideal is how long the server needs to let the calls begin, at least. The last
// ones still have to end: with latencies of this shape that alone is a quarter more.
const ideal = (calls - 20) * time.Second / 20

// Nothing is lost, few calls are refused, and the server is kept busy, whether
// it says when to come back or not.
func TestF17_ManyCallsAtALimitedServer(t *testing.T) {
	for name, c := range map[string]struct {
		burst      float64
		retryAfter time.Duration
		options    pace.GateOptions
	}{
		"nothing known":         {20, time.Second, pace.GateOptions{}},
		"a server that is mute": {20, 0, pace.GateOptions{}},
		"a longer wait":         {20, 3 * time.Second, pace.GateOptions{}},
		"a larger burst":        {40, time.Second, pace.GateOptions{}},
		"declared":              {20, time.Second, pace.GateOptions{Requests: 1200}},
	} {
		t.Run(name, func(t *testing.T) {
			const seeds = 2
			var sum time.Duration
			var refused int64
			for seed := range uint64(seeds) {
				r := simulate(t, seed, c.burst, c.retryAfter, c.options)
				sum, refused = sum+r.makespan, refused+r.refused
				if r.lost > 0 || r.refused > 15 || r.makespan > r.possible*7/5 {
					t.Errorf("seed %d: %+v", seed, r)
				}
				if c.options.Requests > 0 && r.refused > 0 {
					t.Errorf("seed %d: %d refused although the rate was declared", seed, r.refused)
				}
			}
			if mean := sum / seeds; mean > ideal*3/2 {
				t.Errorf("mean makespan %v, ideal %v", mean, ideal)
			}
			if refused > 6*seeds && c.burst == 20 || refused > 10*seeds {
				t.Errorf("%d refused in %d simulations", refused, seeds)
			}
		})
	}
}

// All of 64 calls are refused at once: each is tried at most four times, and
// when the wait is over no second holds more than the server allows.
func TestF17_RetryStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{perSecond: 20, burst: 20, level: 0, at: time.Now(), retryAfter: 2 * time.Second, latency: func() time.Duration { return time.Second }}
		m := pace.Retry(pace.NewGate(pace.GateOptions{Parallel: 64}).Wrap(s), pace.RetryOptions{})
		begin := time.Now()
		var lost atomic.Int64
		var working sync.WaitGroup
		for range 64 {
			working.Go(func() {
				if _, err := m.Call(t.Context(), &model.Request{}); err != nil {
					lost.Add(1)
				}
			})
		}
		working.Wait()
		if lost.Load() > 0 || len(s.arrivals) > 64*4 {
			t.Errorf("%d lost in %d attempts", lost.Load(), len(s.arrivals))
		}
		var after []time.Time
		for _, at := range s.arrivals {
			if at.Sub(begin) > 0 {
				after = append(after, at)
			}
		}
		if first := after[0].Sub(begin); first < 2*time.Second {
			t.Errorf("the first attempt came %v after the start, before the server allowed it", first)
		}
		if n := busiest(after); n > 20 {
			t.Errorf("%d attempts within a second", n)
		}
	})
}

// busiest is how many fall into any one second.
func busiest(times []time.Time) int {
	slices.SortFunc(times, time.Time.Compare)
	most, from := 0, 0
	for i, at := range times {
		for at.Sub(times[from]) >= time.Second {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

// capricious refuses every so many-eth call that arrives, however few there are, and
// asks to wait a second.
type capricious struct {
	every    int64
	once     bool // only the first of them
	delay    func() time.Duration
	arrivals atomic.Int64
}

func (c *capricious) Call(context.Context, *model.Request) (*model.Reply, error) {
	const takes = 20 * time.Millisecond
	if c.delay != nil {
		time.Sleep(c.delay())
	}
	n := c.arrivals.Add(1)
	time.Sleep(takes)
	if n == c.every || !c.once && n%c.every == 0 {
		err := model.Fail(record.RateLimit, "slow down", takes)
		err.RetryAfter = time.Second
		return nil, err
	}
	return &model.Reply{Duration: takes}, nil
}

// uneven is a delay after which what starts together arrives in any order.
func uneven(random *rand.Rand) func() time.Duration {
	var mu sync.Mutex
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(random.Int64N(int64(3 * time.Millisecond)))
	}
}

// drive makes so many calls, some at once, and tells how long that took, how many
// failed, and the longest that one of these had taken.
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

// A refusal costs the wait that the server asks for, and not much more. A server that refuses every fifth call is not
// asked any slower for that: with a pause of all calls it would take half a minute. One refusal is soon forgotten. A
// server that refuses everything is hardly asked, and keeps no call longer than three of its waits and a tenth more.
func TestF17_RefusalsCostTheirWaitOnce(t *testing.T) {
	for name, c := range map[string]struct {
		server        *capricious
		atOnce, calls int
		least, most   time.Duration
		lost          int64
		made          int64 // at most
	}{
		"every fifth":       {&capricious{every: 5, delay: uneven(rand.New(rand.NewPCG(1, 1)))}, 8, 100, 0, 8 * time.Second, 0, 124},
		"the first alone":   {&capricious{every: 1, once: true}, 8, 100, time.Second, 2 * time.Second, 0, 108},
		"the 80th alone":    {&capricious{every: 80, once: true}, 8, 100, time.Second, 2 * time.Second, 0, 101},
		"all of 20":         {&capricious{every: 1}, 1, 20, 0, time.Hour, 20, 80},
		"all of 32 at once": {&capricious{every: 1}, 32, 32, 0, time.Hour, 32, 40},
		"all of 256":        {&capricious{every: 1}, 256, 256, 0, time.Hour, 256, 60},
	} {
		synctest.Test(t, func(t *testing.T) {
			took, lost, longest := drive(pace.Retry(pace.NewGate(pace.GateOptions{}).Wrap(c.server), pace.RetryOptions{}), c.atOnce, c.calls)
			made := c.server.arrivals.Load()
			if took < c.least || took > c.most || lost != c.lost || made > c.made || longest > 3*time.Second*11/10+time.Second*11/10+100*time.Millisecond {
				t.Errorf("%s: took %v, the longest of %d lost calls %v, %d made", name, took, lost, longest, made)
			}
		})
	}
}

// choosy refuses the calls that its rule refuses, after 20 ms, and takes the others.
type choosy struct {
	refuses func(inFlight int) bool
	answers func() time.Duration
	asks    time.Duration // to wait

	mu              sync.Mutex
	taken, inFlight int
	refused         int
}

func (c *choosy) Call(context.Context, *model.Request) (*model.Reply, error) {
	c.mu.Lock()
	if c.refuses(c.inFlight) {
		c.refused++
		c.mu.Unlock()
		const took = 20 * time.Millisecond
		time.Sleep(took)
		err := model.Fail(record.RateLimit, "slow down", took)
		err.RetryAfter = c.asks
		return nil, err
	}
	c.taken, c.inFlight = c.taken+1, c.inFlight+1
	took := c.answers()
	c.mu.Unlock()
	time.Sleep(took)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight--
	return &model.Reply{Duration: took}, nil
}

// A server that refuses a share of the calls at random, whatever it is asked, takes
// little longer with a gate than where only the calls that were refused wait: a few
// pauses of all show what it is.
func TestF17_CallsAreRefusedAtRandom(t *testing.T) {
	for _, c := range []struct{ atOnce, calls int }{{8, 100}, {64, 1000}} {
		for _, share := range []float64{0.1, 0.2, 0.3, 0.5} {
			const seeds = 4
			makespan := func(wrap func(model.Model) model.Model) (mean time.Duration) {
				for seed := range uint64(seeds) {
					synctest.Test(t, func(*testing.T) {
						random := rand.New(rand.NewPCG(seed, 7))
						server := &choosy{asks: time.Second}
						server.refuses = func(int) bool { return random.Float64() < share }
						server.answers = func() time.Duration { return 20 * time.Millisecond }
						took, _, _ := drive(pace.Retry(wrap(server), pace.RetryOptions{Retries: 6}), c.atOnce, c.calls)
						mean += took / seeds
					})
				}
				return mean
			}
			naive := makespan(func(m model.Model) model.Model { return m })
			gated := makespan(func(m model.Model) model.Model { return pace.NewGate(pace.GateOptions{}).Wrap(m) })
			if gated > 2*naive {
				t.Errorf("%.1f of %d calls, %d at once: %v, %v without a gate", share, c.calls, c.atOnce, gated, naive)
			}
		}
	}
}

// Servers with limits of other kinds are not taken for one that refuses at random, and
// what they bear is found with few refusals.
func TestF17_OtherLimits(t *testing.T) {
	places := func(inFlight int) bool { return inFlight >= 4 }
	bucket := func(burst float64) func(int) bool {
		s := &server{perSecond: 1, burst: burst}
		return func(int) bool { return !s.allows() }
	}
	for name, c := range map[string]struct {
		atOnce  int
		refuses func() func(int) bool
		asks    time.Duration
		most    int // refused, in the mean
	}{
		"4 at once, 8 ask":               {8, func() func(int) bool { return places }, time.Second, 50},
		"4 at once, 64 ask":              {64, func() func(int) bool { return places }, time.Second, 20},
		"1 a second, 8 ask":              {8, func() func(int) bool { return bucket(1) }, time.Second, 40},
		"1 a second, 64 ask":             {64, func() func(int) bool { return bucket(1) }, time.Second, 25},
		"1 a second, burst of 5, 8 ask":  {8, func() func(int) bool { return bucket(5) }, time.Second, 45},
		"1 a second, burst of 5, 64 ask": {64, func() func(int) bool { return bucket(5) }, time.Second, 50},
		"60 a minute, 8 ask":             {8, aMinute, time.Minute, 5},
		"60 a minute, 64 ask":            {64, aMinute, time.Minute, 10},
	} {
		const seeds = 2
		refused := 0
		for seed := range uint64(seeds) {
			synctest.Test(t, func(*testing.T) {
				random := rand.New(rand.NewPCG(seed, 7))
				server := &choosy{asks: c.asks, refuses: c.refuses()}
				server.answers = func() time.Duration {
					return time.Duration((1 + random.ExpFloat64()) * float64(time.Second/2))
				}
				drive(pace.Retry(pace.NewGate(pace.GateOptions{}).Wrap(server), pace.RetryOptions{Retries: 6}), c.atOnce, 100)
				refused += server.refused
			})
		}
		if refused > c.most*seeds {
			t.Errorf("%s: %d of 100 calls are refused", name, refused/seeds)
		}
	}
}

// aMinute takes 60 calls in each minute from the first on.
func aMinute() func(int) bool {
	var begin time.Time
	calls := 0
	return func(int) bool {
		if now := time.Now(); begin.IsZero() || now.Sub(begin) >= time.Minute {
			begin, calls = now, 0
		}
		calls++
		return calls > 60
	}
}
