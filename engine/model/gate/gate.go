// Package gate decides when a call may start, so that a server is used as fully
// as it allows and is not asked more than that. One gate serves all calls of one
// model.
//
// A call starts once fewer are in flight than the window, which grows while calls
// succeed and shrinks when the server refuses one (window.go); no cool-down after
// a refusal is on; the pace that was learned from refusals (pace.go) and the
// declared requests and tokens a minute (rate.go) have room. Calls start in the
// order in which they came.
package gate

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// Options say what the server is known to allow. Zero values: nothing is known.
type Options struct {
	Requests int64          // a minute
	Tokens   int64          // a minute, input and allowed output
	Parallel int            // calls at once; default DefaultParallel
	Random   func() float64 // from 0 to below 1, safe for concurrent use; default: math/rand/v2
}

// DefaultParallel bounds the calls at once to a model that declares nothing.
const DefaultParallel = 1024

const (
	// firstCooldown doubles with every refusal that follows another, where the
	// server does not say how long to wait.
	firstCooldown = 500 * time.Millisecond
	longCooldown  = 30 * time.Second
	// longestCooldown: who is asked to wait longer fails, and the next one asks.
	longestCooldown = 120 * time.Second
)

// Gate paces the calls of one model. It is safe for concurrent use.
type Gate struct {
	random func() float64

	mu       sync.Mutex
	queue    []*ticket
	inFlight int
	window   window
	pace     pace
	requests bucket
	tokens   bucket
	coolTill time.Time
	refusals int // bursts of them since the last success
	wake     *time.Timer
}

// ticket is a call that waits to start, or has.
type ticket struct {
	tokens int64
	start  chan struct{} // closed when it may
	began  time.Time     // the zero time before that
}

// New makes a gate.
func New(o Options) *Gate {
	if o.Random == nil {
		o.Random = rand.Float64
	}
	now := time.Now()
	g := &Gate{
		random:   o.Random,
		window:   newWindow(o.Parallel, o.Parallel > 0 || o.Requests > 0),
		requests: newBucket(o.Requests, requestBurst, now),
		tokens:   newBucket(o.Tokens, tokenBurst, now),
	}
	return g
}

// Wrap lets the calls of a model through the gate. Replies and *CallErrors tell
// how long they Waited there.
func (g *Gate) Wrap(inner model.Model) model.Model { return &gated{gate: g, inner: inner} }

// Status is what a gate is doing.
type Status struct {
	InFlight, Waiting int
	Window            int           // how many may be in flight at most
	Cooling           time.Duration // how long no call will start; 0: not
}

// Status tells what the gate is doing now.
func (g *Gate) Status() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Status{g.inFlight, len(g.queue), g.window.places(), max(0, time.Until(g.coolTill))}
}

type gated struct {
	gate  *Gate
	inner model.Model
}

// Call waits for its turn and makes the call.
func (m *gated) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	came := time.Now()
	t, err := m.gate.enter(ctx, request.InputTokens()+int64(request.MaxOutputTokens))
	if err != nil {
		return nil, err
	}
	waited := t.began.Sub(came)
	o := outcome{}
	defer func() { m.gate.leave(t, o) }() // also where the model panics
	reply, err := m.inner.Call(ctx, request)
	if err != nil {
		o = outcomeOf(err)
		var failed *model.CallError
		if errors.As(err, &failed) {
			failed.Waited += waited
		}
		return nil, err
	}
	o = outcome{succeeded: true, tokens: reply.Usage.Tokens()}
	reply.Waited += waited
	return reply, nil
}

// outcome is what a call tells about its server. The zero outcome tells nothing.
type outcome struct {
	succeeded bool
	refused   bool // for the moment: there was too much to do
	after     time.Duration
	tokens    int64 // that were used
}

// statusOverloaded is Anthropic's.
const statusOverloaded = 529

func outcomeOf(err error) outcome {
	var failed *model.CallError
	if !errors.As(err, &failed) {
		return outcome{}
	}
	full := failed.Status == http.StatusServiceUnavailable || failed.Status == statusOverloaded
	refused := failed.Cause.Class == record.RateLimit || full && failed.RetryAfter > 0
	return outcome{refused: refused, after: failed.RetryAfter}
}

// enter waits until a call may start.
func (g *Gate) enter(ctx context.Context, tokens int64) (*ticket, error) {
	t := &ticket{tokens: tokens, start: make(chan struct{})}
	g.mu.Lock()
	g.queue = append(g.queue, t)
	g.admit(time.Now())
	g.mu.Unlock()
	select {
	case <-t.start: // even if the context has ended: the model says so itself
		return t, nil
	default:
	}
	defer model.Waiting(ctx)()
	select {
	case <-t.start:
		return t, nil
	case <-ctx.Done():
		g.giveUp(t)
		return nil, context.Cause(ctx)
	}
}

// giveUp takes a ticket back, whether it may already start or not.
func (g *Gate) giveUp(t *ticket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !t.began.IsZero() {
		g.inFlight--
	}
	for i, waiting := range g.queue {
		if waiting == t {
			g.queue = append(g.queue[:i], g.queue[i+1:]...)
			break
		}
	}
	g.admit(time.Now())
}

// leave makes room, and learns from how the call went.
func (g *Gate) leave(t *ticket, o outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.inFlight--
	g.tokens.take(max(0, o.tokens-t.tokens), now)
	switch {
	case o.succeeded:
		g.refusals = 0
		full := g.inFlight+1 >= g.window.places()
		g.window.grow(full && len(g.queue) > 0)
		g.pace.grow(now, !full && len(g.queue) > 0)
	case o.refused:
		g.refuse(t, o.after, now)
	}
	g.admit(now)
}

// refuse makes room smaller and lets nobody start for a while. Calls that began
// before the window was last cut belong to the same burst.
func (g *Gate) refuse(t *ticket, after time.Duration, now time.Time) {
	first := g.window.shrink(t.began, now, g.inFlight)
	g.pace.refuse(now, first)
	if first {
		g.refusals++
	}
	if after <= 0 || after > longestCooldown {
		after = min(longCooldown, firstCooldown<<min(max(0, g.refusals-1), 10))
	}
	after += time.Duration(0.1 * g.random() * float64(after))
	if till := now.Add(after); till.After(g.coolTill) {
		g.pace.meter.skip(till.Sub(later(now, g.coolTill)))
		g.coolTill = till
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// admit lets the first in the queue start as long as all allow it, and else
// comes back when they may.
func (g *Gate) admit(now time.Time) {
	for len(g.queue) > 0 && g.inFlight < g.window.places() {
		next := g.queue[0]
		wait := max(g.coolTill.Sub(now), g.pace.wait(now), g.requests.wait(1, now), g.tokens.wait(next.tokens, now))
		if wait > 0 {
			g.comeBack(wait)
			return
		}
		g.queue = g.queue[1:]
		g.inFlight++
		g.pace.start(now)
		g.requests.take(1, now)
		g.tokens.take(next.tokens, now)
		next.began = now
		close(next.start)
	}
}

func (g *Gate) comeBack(in time.Duration) {
	if g.wake != nil {
		g.wake.Reset(in)
		return
	}
	g.wake = time.AfterFunc(in, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.admit(time.Now())
	})
}
