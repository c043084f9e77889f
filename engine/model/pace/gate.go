// Package pace limits, retries and budgets calls of models. Wrap a model as
//
//	pace.Retry(pace.Limit(gate.Wrap(m), budget, pricing), options)
//
// so that every attempt is reserved in the budget and passes the gate. One gate serves all calls of one model.
//
// A gate starts calls in the order in which they came, once all of these have room:
//   - the declared requests and tokens a minute (limiter),
//   - the places of calls in flight, which grow as the server answers (window),
//   - the wait that the server asked of a call that it refused: all calls obey it (pause),
//   - behind a refusal the rate that the server took, a little less at first (throttle),
//   - what the server says is left of its limits (left).
//
// Where a server takes nothing at all, all calls that wait are refused like the one that was sent, so that none waits longer than the server
// asks. A call for which this machine has no file descriptor left was not sent: it waits until a call in flight has ended, and fails
// if there is none.
//
// It is no stable API.
package pace

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// GateOptions are what the server is known to allow. Zero values: nothing is known.
type GateOptions struct {
	Requests int64          // a minute
	Tokens   int64          // a minute, input and allowed output
	Parallel int            // calls at once; default DefaultParallel
	Random   func() float64 // from 0 to below 1, safe for concurrent use; default: math/rand/v2
}

// DefaultParallel bounds the calls at once to a model that declares nothing.
const DefaultParallel = 1024

// Gate paces the calls of one model. It is safe for concurrent use.
type Gate struct {
	turn    chan struct{} // is taken by the call that starts next
	changed chan struct{} // tells that call to look again

	mu       sync.Mutex
	waiting  int // calls that came and have not begun
	inFlight int
	requests limiter
	tokens   limiter
	window   window
	pause    pause
	throttle throttle
	left     left
	share    *Share // nil: all that is declared is for this process
}

// NewGate makes a gate.
func NewGate(o GateOptions) *Gate {
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return &Gate{
		turn: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		requests: newLimiter(o.Requests, requestBurst),
		tokens:   newLimiter(o.Tokens, tokenBurst),
		window:   newWindow(o.Parallel, o.Parallel > 0 || o.Requests > 0),
		pause:    pause{random: o.Random},
	}
}

// Wrap lets the calls of a model through the gate. Replies and *CallErrors tell how long they Waited there.
func (g *Gate) Wrap(inner model.Model) model.Model { return &gated{gate: g, inner: inner} }

// Status is what a gate is doing.
type Status struct {
	InFlight, Waiting int
	Window            int           // how many may be in flight at most
	Pause             time.Duration // how long no call will start; 0: calls start
}

// Status tells what the gate is doing now.
func (g *Gate) Status() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	return Status{g.inFlight, g.waiting, g.places(), max(0, g.pause.wait(now), g.left.wait(g.inFlight, now))}
}

type gated struct {
	gate  *Gate
	inner model.Model
}

// Call waits for its turn and makes the call.
func (m *gated) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	came := time.Now()
	for {
		reply, again, err := m.once(ctx, request, came)
		if !again {
			return reply, err
		}
	}
}

// once makes a call that came then, in its turn, and reports whether it was not sent and is to wait for another turn.
func (m *gated) once(ctx context.Context, request *model.Request, came time.Time) (reply *model.Reply, again bool, err error) {
	t, refusal, err := m.gate.enter(ctx, request.InputTokens()+int64(request.MaxOutputTokens))
	waited := time.Since(came)
	switch {
	case err != nil:
		return nil, false, &model.Unsent{Err: err}
	case refusal != nil:
		refusal.Waited = waited
		return nil, false, refusal
	}
	defer func() { again = m.gate.leave(t, reply, err) }() // also where the model panics
	reply, err = m.inner.Call(ctx, request)
	var failed *model.CallError
	switch {
	case err == nil:
		reply.Waited += waited
	case errors.As(err, &failed):
		failed.Waited += waited
	}
	return reply, false, err
}

// ticket is a call in flight.
type ticket struct {
	tokens int64 // that it may use
	began  time.Time
	others int // in flight when it began
}

// enter waits until a call may start, or gives the refusal that the server would give.
func (g *Gate) enter(ctx context.Context, tokens int64) (t *ticket, refusal *model.CallError, err error) {
	defer model.Waiting(ctx)()
	g.wait(1)
	defer g.wait(-1)
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	defer func() { <-g.turn }()
	t = &ticket{tokens: tokens}
	var paced time.Time // when the declared limits have room; zero: they were not asked yet
	for {
		wait, refusal := g.start(t, &paced, time.Now())
		if wait <= 0 {
			return t, refusal, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-g.changed:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return nil, nil, context.Cause(ctx)
		}
	}
}

func (g *Gate) wait(calls int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting += calls
}

// untilChanged is the wait for another call to end.
const untilChanged = time.Hour

// start lets a call begin, or tells how long it waits before it asks again.
func (g *Gate) start(t *ticket, paced *time.Time, now time.Time) (wait time.Duration, refusal *model.CallError) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inFlight == 0 && g.pause.nothingTaken() && g.pause.wait(now) > 0 {
		return 0, g.pause.refusal(now)
	}
	switch {
	case g.inFlight >= g.places():
		return untilChanged, nil
	case g.share.over(now):
		return untilChanged, nil
	}
	wait = max(g.pause.wait(now), g.left.wait(g.inFlight, now))
	if !g.pause.nothingTaken() {
		wait = max(wait, g.throttle.wait(now))
	}
	if wait > 0 {
		return wait, nil
	}
	if paced.IsZero() {
		*paced = now.Add(max(g.requests.take(1, now), g.tokens.take(t.tokens, now)))
	}
	if wait = paced.Sub(now); wait > 0 {
		return wait, nil
	}
	t.began, t.others = now, g.inFlight
	g.inFlight++
	g.throttle.start(now)
	return 0, nil
}

// leave makes room, and learns from how the call went. It reports whether the call is to wait for another turn: there was no file
// descriptor for it beside those in flight.
func (g *Gate) leave(t *ticket, reply *model.Reply, err error) (again bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.inFlight--
	if refusal := refusalOf(err); refusal != nil {
		g.refuse(t, refusal, now)
	} else if again = g.inFlight > 0 && lacksDescriptor(err); again {
		g.window.cut(g.inFlight)
	} else if reply != nil {
		g.tokens.take(reply.Usage.Tokens()-t.tokens, now)
		g.left.tell(t.began, reply, now)
		g.pause.takes()
		if t.began.After(g.pause.began) { // the others tell of the time before the refusal
			g.window.grow(t.others)
		}
	}
	g.change()
	return again
}

// lacksDescriptor reports whether a call was not sent because this machine has no file descriptor left.
func lacksDescriptor(err error) bool {
	var failed *model.CallError
	return errors.As(err, &failed) && failed.Cause.Class == record.Resources && model.NeverSent(err)
}

// refuse learns from a refusal. Those of calls that had started when the pause began belong to it; they show that the server
// took even less.
func (g *Gate) refuse(t *ticket, refusal *model.CallError, now time.Time) {
	g.left = nil // the server itself says when to come back
	g.throttle.forgive()
	ofPause := !t.began.After(g.pause.began)
	if g.pause.refused++; !ofPause && g.pause.single(now) {
		g.throttle.hurry()
		g.window.single(t.others)
		return
	}
	if !ofPause {
		g.pause.begin(refusal, now)
		g.window.taken = 0
	}
	g.throttle.slow(now, g.pause.until)
	g.window.cut(g.inFlight)
}

// change tells the call whose turn it is.
func (g *Gate) change() {
	select {
	case g.changed <- struct{}{}:
	default: // a signal is waiting already
	}
}

// places is how many calls may be in flight: one, where the server took none lately.
func (g *Gate) places() int {
	switch {
	case g.pause.nothingTaken():
		return 1
	case g.share != nil && g.share.Parallel > 0:
		return min(g.share.Parallel, int(g.window.size))
	}
	return int(g.window.size)
}

// statusOverloaded is Anthropic's.
const statusOverloaded = 529

// refusalOf is the error of a call that the server had no room for; nil: the call went otherwise.
func refusalOf(err error) *model.CallError {
	var failed *model.CallError
	if !errors.As(err, &failed) {
		return nil
	}
	full := failed.Status == http.StatusServiceUnavailable || failed.Status == statusOverloaded
	if failed.Cause.Class == record.RateLimit || full && failed.RetryAfter > 0 {
		return failed
	}
	return nil
}

// What may come at once of a minute's worth, as a share. The rate is lower by as much, so that no minute holds more than was declared.
const (
	requestBurst = 1.0 / 60
	tokenBurst   = 1.0 / 10
)

// limiter is a declared limit a minute.
type limiter struct{ *rate.Limiter } // nil: none

func newLimiter(perMinute int64, share float64) limiter {
	if perMinute <= 0 {
		return limiter{}
	}
	burst := max(1, int(float64(perMinute)*share))
	return limiter{rate.NewLimiter(rate.Limit(float64(perMinute)-float64(burst)+0.99)/60, burst)}
}

// take takes so much, and tells how long until that is there, or as much as may come at once: the rest is a debt, which the next calls wait for.
func (l limiter) take(n int64, now time.Time) (wait time.Duration) {
	for debt := false; l.Limiter != nil && n > 0; debt = true {
		part := min(n, int64(l.Burst()))
		taken := l.ReserveN(now, int(part))
		if n -= part; !debt {
			wait = taken.DelayFrom(now)
		}
	}
	return wait
}
