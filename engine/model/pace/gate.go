// Package gate decides when a call may start, so that a server is used as fully
// as it allows and is not asked more than that. One gate serves all calls of one
// model.
//
// A call starts once fewer are in flight than the window, which grows while calls
// succeed and shrinks when the server refuses one (window.go); no pause after a
// refusal is on; the pace that was learned from refusals (pace.go) and the
// declared requests and tokens a minute (rate.go) have room. Calls start in the
// order in which they came.
//
// A refusal is taken to mean "too much at once": all calls pause for as long as the
// server asked, once for all that had started by then. Two things show more. Where
// calls are refused as soon after a pause as before it, among others that are taken,
// the server may refuse single calls for reasons of its own, and where it refuses the
// first call after the pause that it asked for, it does: only these wait (doubt.go).
// Where it takes nothing at all, all that wait are refused like the one that was
// sent, so that no call waits longer than the server asks of it.
//
// A call for which this machine has no file descriptor left was not sent. It waits
// until one of those in flight has ended, and fails only where there is none.
package pace

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// Options say what the server is known to allow. Zero values: nothing is known.
type GateOptions struct {
	Requests int64          // a minute
	Tokens   int64          // a minute, input and allowed output
	Parallel int            // calls at once; default DefaultParallel
	Random   func() float64 // from 0 to below 1, safe for concurrent use; default: math/rand/v2
}

// DefaultParallel bounds the calls at once to a model that declares nothing.
const DefaultParallel = 1024

const (
	// firstCooldown doubles with every burst of refusals that follows another, where
	// the server does not say how long to wait.
	firstCooldown = 500 * time.Millisecond
	longCooldown  = 30 * time.Second
	// longestCooldown: who is asked to wait longer fails, and the next one asks.
	longestCooldown = 120 * time.Second
	// A server that refused so many calls in a row, in two bursts or more, takes none.
	nothing = 8
	// Calls that begin within a ripple may arrive in any order.
	ripple = 5 * time.Millisecond
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
	bursts   int              // of refusals since the last success
	row      int              // calls refused since then
	refusal  *model.CallError // that began the last burst
	borne    int              // calls that it left in flight
	doubt    doubt
	wake     *time.Timer

	// The numbers of calls, in the order of their starts.
	started uint64 // the last that has started
	burst   uint64 // the last that had when the last burst of refusals began
	wave    uint64 // the first of those that began together last
	waveAt  time.Time
}

// ticket is a call that waits to start, or has.
type ticket struct {
	tokens int64
	start  chan struct{}    // closed when it may, or is refused
	began  time.Time        // the zero time before that
	number uint64           // in the order of starts, from 1
	wave   uint64           // the number of the first that began together with it
	others int              // in flight when it began
	failed *model.CallError // it is refused without being made; nil: it is not
}

// New makes a gate.
func NewGate(o GateOptions) *Gate {
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
	return Status{g.inFlight, len(g.queue), g.window.places(), g.cooling(time.Now())}
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

// once makes a call that came then, in its turn, and reports whether it was not sent and
// is to wait for another turn.
func (m *gated) once(ctx context.Context, request *model.Request, came time.Time) (reply *model.Reply, again bool, err error) {
	t, err := m.gate.enter(ctx, request.InputTokens()+int64(request.MaxOutputTokens))
	if err != nil {
		return nil, false, &model.Unsent{Err: err}
	}
	if t.failed != nil {
		t.failed.Waited = time.Since(came)
		return nil, false, t.failed
	}
	waited := t.began.Sub(came)
	o := outcome{}
	defer func() { m.gate.leave(t, o) }() // also where the model panics
	reply, err = m.inner.Call(ctx, request)
	if err != nil {
		o = outcomeOf(err)
		var failed *model.CallError
		if errors.As(err, &failed) {
			again = failed.Cause.Class == record.Resources && model.NeverSent(err) && m.gate.tighten()
			failed.Waited += waited
		}
		return nil, again, err
	}
	o = outcome{succeeded: true, tokens: reply.Usage.Tokens()}
	reply.Waited += waited
	return reply, false, nil
}

// outcome is what a call tells about its server. The zero outcome tells nothing.
type outcome struct {
	succeeded bool
	refusal   *model.CallError // for the moment: there was too much to do
	tokens    int64            // that were used
}

// tighten leaves no place for a call in flight that was not sent beside the others, and
// reports whether there are others.
func (g *Gate) tighten() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	others := g.inFlight - 1
	if others > 0 {
		g.window.cut(others)
	}
	return others > 0
}

// statusOverloaded is Anthropic's.
const statusOverloaded = 529

func outcomeOf(err error) outcome {
	var failed *model.CallError
	if !errors.As(err, &failed) {
		return outcome{}
	}
	full := failed.Status == http.StatusServiceUnavailable || failed.Status == statusOverloaded
	if failed.Cause.Class == record.RateLimit || full && failed.RetryAfter > 0 {
		return outcome{refusal: failed}
	}
	return outcome{}
}

// enter waits until a call may start, or is refused without being made.
func (g *Gate) enter(ctx context.Context, tokens int64) (*ticket, error) {
	t := &ticket{tokens: tokens, start: make(chan struct{})}
	g.mu.Lock()
	now := time.Now()
	if left := g.cooling(now); left > 0 && g.closed() {
		t.refuse(g.refusal, left)
	} else {
		g.queue = append(g.queue, t)
		g.admit(now)
	}
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
		g.succeed(t, now)
	case o.refusal != nil:
		g.refuse(t, o.refusal, now)
	}
	g.admit(now)
}

// succeed learns that the server takes calls.
func (g *Gate) succeed(t *ticket, now time.Time) {
	g.bursts, g.row = 0, 0
	full := g.inFlight+1 >= g.window.places()
	g.window.grow(full && len(g.queue) > 0)
	g.pace.grow(now, !full && len(g.queue) > 0, t.number > g.burst)
}

// refuse makes room smaller and pauses all calls. Those that had started when the
// first of a burst was refused belong to it: their refusals begin no other pause.
func (g *Gate) refuse(t *ticket, refusal *model.CallError, now time.Time) {
	first := t.number > g.burst
	if !g.doubt.believes(t.number, t.wave, first, g.rested(t), g.started) {
		g.pace.hurry(now)
		g.window.threshold = math.Inf(1)
		return
	}
	g.window.shrink(first, g.inFlight)
	g.pace.refuse(now, first)
	g.row++
	g.borne = g.inFlight
	if first {
		soon := g.burst > 0 && t.number <= g.burst+few
		g.burst, g.refusal = g.started, refusal
		g.bursts++
		g.pause(refusal.RetryAfter, soon, now)
	}
	if g.closed() {
		for _, waiting := range g.queue {
			waiting.refuse(g.refusal, g.cooling(now))
		}
		g.queue = nil
	}
}

// rested reports whether a call began when the server had had the pause that it asked
// for and had less to do than it bore before.
func (g *Gate) rested(t *ticket) bool {
	return g.refusal != nil && obeyed(g.refusal.RetryAfter) && t.others < max(1, g.borne)
}

// obeyed reports whether a pause is as long as the server asked.
func obeyed(asked time.Duration) bool { return 0 < asked && asked <= longestCooldown }

// pause lets nobody start for as long as the server asked. What a server bears that
// refuses calls soon after a pause, it bears with the pauses.
func (g *Gate) pause(asked time.Duration, soon bool, now time.Time) {
	if !obeyed(asked) {
		asked = min(longCooldown, firstCooldown<<min(g.bursts-1, 10))
	}
	asked += time.Duration(0.1 * g.random() * float64(asked))
	if !soon {
		g.pace.meter.skip(asked)
	}
	g.coolTill = now.Add(asked)
}

// closed reports whether the server takes nothing: it refused the last calls, also
// after a pause, and no answer is on its way.
func (g *Gate) closed() bool { return g.inFlight == 0 && g.bursts >= 2 && g.row >= nothing }

// places is how many calls may be in flight: one, where the server took none lately.
func (g *Gate) places() int {
	if g.bursts >= 2 && g.row >= nothing {
		return 1
	}
	return g.window.places()
}

// refuse ends the wait of a call with another's refusal.
func (t *ticket) refuse(refusal *model.CallError, after time.Duration) {
	told := *refusal.Cause
	told.Message += " (this was told to another call; the server takes none)"
	t.failed = &model.CallError{Cause: &told, Status: refusal.Status, RetryAfter: after, Retry: refusal.Retry}
	close(t.start)
}

func (g *Gate) cooling(now time.Time) time.Duration { return max(0, g.coolTill.Sub(now)) }

// admit lets the first in the queue start as long as all allow it, and else
// comes back when they may.
func (g *Gate) admit(now time.Time) {
	for len(g.queue) > 0 && g.inFlight < g.places() {
		next := g.queue[0]
		wait := max(g.cooling(now), g.pace.wait(now), g.requests.wait(1, now), g.tokens.wait(next.tokens, now))
		if wait > 0 {
			g.comeBack(wait)
			return
		}
		g.queue = g.queue[1:]
		next.others = g.inFlight
		g.inFlight++
		g.pace.start(now)
		g.requests.take(1, now)
		g.tokens.take(next.tokens, now)
		g.started++
		if now.Sub(g.waveAt) > ripple {
			g.wave, g.waveAt = g.started, now
		}
		next.began, next.number, next.wave = now, g.started, g.wave
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
