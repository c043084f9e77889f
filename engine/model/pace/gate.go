// Package pace decides when a call may be made, whether it is made again, and whether
// a budget has room for it. Three decorators of a model do: Retry stands around Limit,
// which stands around a Gate, so that every attempt is reserved and paced.
//
// Retry keeps apart how long the attempt that counts took (Duration) and the time
// before it (Waited).
//
// A Gate decides when a call may start, so that a server is used as fully as it allows
// and is not asked more than that. One gate serves all calls of one model.
//
// A call starts once fewer are in flight than the window, which grows while calls
// succeed and shrinks when the server refuses one (window); no pause after a
// refusal is on; what the server says is left of its limits (left), the pace that was
// learned from refusals (pace) and the declared requests and tokens a minute
// (bucket) have room. Calls start in the order in which they came.
//
// A refusal is taken to mean "too much at once": all calls pause for as long as the
// server asked, once for all that had started by then. Two things show more. Where
// calls are refused as soon after a pause as before it, among others that are taken,
// the server may refuse single calls for reasons of its own, and where it refuses the
// first call after the pause that it asked for, it does: only these wait (doubt).
// Where it takes nothing at all, all that wait are refused like the one that was
// sent, so that no call waits longer than the server asks of it.
//
// A call for which this machine has no file descriptor left was not sent. It waits
// until one of those in flight has ended, and fails only where there is none.
//
// It is no stable API.
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

// GateOptions say what the server is known to allow. Zero values: nothing is known.
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
	left     left
	coolTill time.Time
	bursts   int              // of refusals since the last success
	row      int              // calls refused since then
	refusal  *model.CallError // that began the last burst
	borne    int              // calls that it left in flight
	doubt    doubt
	wake     *time.Timer
	share    *Share // nil: all that is declared is for this process

	// The numbers of calls, in the order of their starts.
	started uint64 // the last that has started
	burst   uint64 // the last that had when the last burst of refusals began
	wave    uint64 // the first of those that began together last
	waveAt  time.Time
}

// ticket is a call that waits to start, or has.
type ticket struct {
	tokens int64
	start  chan struct{}    // closed when it may, or is refused; nil: it need not wait
	began  time.Time        // the zero time before that
	number uint64           // in the order of starts, from 1
	wave   uint64           // the number of the first that began together with it
	others int              // in flight when it began
	failed *model.CallError // it is refused without being made; nil: it is not
}

// NewGate makes a gate.
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
	now := time.Now()
	return Status{g.inFlight, len(g.queue), g.window.places(), max(g.cooling(now), g.left.wait(g.started, now))}
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
	o = outcome{succeeded: true, usage: reply.Usage, limits: reply.Limits}
	reply.Waited += waited
	return reply, false, nil
}

// outcome is what a call tells about its server. The zero outcome tells nothing.
type outcome struct {
	succeeded bool
	refusal   *model.CallError // for the moment: there was too much to do
	usage     record.Usage     // of a call that succeeded
	limits    []model.Limit    // of the server, as the reply tells of them
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
	t := &ticket{tokens: tokens}
	g.mu.Lock()
	now := time.Now()
	if left := g.cooling(now); left > 0 && g.closed() {
		t.refuse(g.refusal, left)
	} else {
		g.queue = append(g.queue, t)
		g.admit(now)
	}
	waits := t.began.IsZero() && t.failed == nil
	if waits {
		t.start = make(chan struct{})
	}
	g.mu.Unlock()
	if !waits { // even if the context has ended: the model says so itself
		return t, nil
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
	g.tokens.take(max(0, o.usage.Tokens()-t.tokens), now)
	switch {
	case o.succeeded:
		g.left.tell(t, o.limits, &o.usage, now)
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
	g.left.forget()
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
	if g.share != nil && g.share.Parallel > 0 {
		return min(g.share.Parallel, g.window.places())
	}
	return g.window.places()
}

// refuse ends the wait of a call with another's refusal.
func (t *ticket) refuse(refusal *model.CallError, after time.Duration) {
	told := *refusal.Cause
	told.Message += " (another call got this answer; the server accepts none)"
	t.failed = &model.CallError{Cause: &told, Status: refusal.Status, RetryAfter: after, Retry: refusal.Retry}
	t.wake()
}

// wake ends the wait of a call that has begun to.
func (t *ticket) wake() {
	if t.start != nil {
		close(t.start)
	}
}

func (g *Gate) cooling(now time.Time) time.Duration { return max(0, g.coolTill.Sub(now)) }

// admit lets the first in the queue start as long as all allow it, and else
// comes back when they may.
func (g *Gate) admit(now time.Time) {
	for len(g.queue) > 0 && g.inFlight < g.places() && !g.share.over(now) {
		next := g.queue[0]
		wait := max(g.cooling(now), g.left.wait(g.started, now), g.pace.starts.wait(1, now), g.requests.wait(1, now), g.tokens.wait(next.tokens, now))
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
		next.wake()
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

const (
	// A burst of refusals comes soon where fewer calls than few were taken since
	// the last one. One makes a guess, if at least twice as many calls were taken as
	// refused.
	few    = 12
	enough = 1
	// A proof counts as so many, and a doubt that turned out to be wrong takes so many
	// times as many the next time.
	stubborn = 3
	// A doubt ends where more of the calls are refused than this share: two of five for
	// a guess, seven of ten for a proof.
	guessShare, proofShare = 0.4, 0.7
	// That is known after so many refusals that no call outweighs that is taken.
	guessEvidence, proofEvidence = 6, 16
	// So many calls taken in a row leave nothing to doubt.
	calmAgain = 100
)

// doubt asks whether refusals have to do with how much is asked of the server. One
// that bears so many calls a second takes many once it is asked for fewer. One
// that refuses as often as before refuses single calls for reasons of its own, and
// to hold back all the others would cost time and help nobody.
//
// That refusals come soon again is a guess. It is proven by the first call after a
// pause: a server that has had the pause that it asked for, and has less to do than
// before, takes it if it takes calls at all.
//
// It goes by the numbers of calls alone: what was started between two that were
// refused, and was not refused itself, counts as taken, for refusals come at once and
// answers late. What starts in a wave arrives in any order: it is not known to have
// been taken before another one of the wave was refused.
type doubt struct {
	on   bool
	need int    // soon bursts; 0: enough
	last uint64 // the last call that may belong to the refusals so far

	// Before it is on: the soon bursts in a row, and the calls refused in them and in the
	// burst before them, which began with the wave from.
	soon    int
	proven  bool
	from    uint64
	refused float64
	// While it is on: what speaks against it and ends it, and what a call that is taken
	// takes from that; one that is refused adds 1.
	against, evidence, relief float64
}

// believes reports whether the refusal of a call says that the server has too much to
// do, and learns from it. The call is the first of a burst or one of the others; so
// many have started by now. Rested is a server that was to take the next call.
func (d *doubt) believes(number, wave uint64, first, rested bool, started uint64) bool {
	if !first {
		if wave >= d.from {
			d.refused++
		}
		return true
	}
	gap := 0.0
	if number > d.last {
		gap = float64(number - d.last - 1)
	}
	if d.on && d.lasts(gap) {
		d.last = max(d.last, number)
		return false
	}
	if d.last == 0 || gap >= few {
		d.soon, d.proven, d.from, d.refused = 0, false, wave, 0
	} else if wave > d.last+1 {
		d.soon++
	}
	taken := float64(wave) - float64(d.from) - d.refused
	if gap == 0 && rested && taken > 0 {
		d.soon, d.proven = d.soon+stubborn, true
	}
	d.refused++
	d.last = started
	if d.soon < max(d.need, enough) || !d.proven && taken < 2*d.refused {
		return true
	}
	share, evidence := guessShare, float64(guessEvidence)
	if d.proven {
		share, evidence = proofShare, proofEvidence
	}
	*d = doubt{on: true, need: d.need, last: number, evidence: evidence, relief: share / (1 - share)}
	return false
}

// lasts reports whether the doubt outlasts a refusal behind so many calls that were
// taken.
func (d *doubt) lasts(gap float64) bool {
	d.against = max(0, d.against-gap*d.relief) + 1
	switch {
	case d.against > d.evidence:
		*d = doubt{need: stubborn * max(d.need, enough)}
	case gap >= calmAgain:
		*d = doubt{need: d.need}
	}
	return d.on
}

const (
	// memory is the time constant with which the meter forgets.
	memory = 5 * time.Second
	// A single refusal leaves nearly all of the starts a second that were borne;
	// several in a burst leave less.
	afterOne, afterMore = 0.95, 0.9
	// From there it grows by this share a second, twice as fast after 10 s, and
	// by catchUp where it is below what was borne before.
	patience = 0.0025
	longTime = 10 * time.Second
	catchUp  = 0.3
	// hurried is by how much it grows with a refusal that is of another kind.
	hurried = 2
	// slowStart is by how much it grows with a success while it is not known what
	// was borne: the refusal came within a second.
	slowStart = 1.25
	// slowestPace is where a server is asked again that bore nothing; beyond fastest
	// nothing is slowed down.
	slowestPace, fastest = 0.5, 1e6
)

// pace spaces the starts of calls at a server that has refused one, so that what
// queued up during a cool-down does not arrive together. It is learned: what the
// server bore before the refusal, less a little, growing again with time.
type pace struct {
	meter  meter
	starts bucket  // its rate is the pace; 0: unlimited
	borne  float64 // starts a second before the last burst of refusals
	step   float64 // what one start counts in borne
	bar    float64 // below it the pace grows fast; infinite: it is not known
	cut    time.Time
	grew   time.Time
}

func (p *pace) start(now time.Time) {
	p.meter.add(now)
	p.starts.take(1, now)
}

// refuse learns from the refusal of a call: it is not among what was borne.
func (p *pace) refuse(now time.Time, firstOfBurst bool) {
	keep := afterMore
	if firstOfBurst {
		keep = afterOne
		p.borne, p.step = p.meter.perSecond(now)
		slow := math.IsInf(p.bar, 1)
		p.bar = max(slowestPace, p.borne*keep)
		if now.Sub(p.meter.first) < time.Second {
			p.bar = math.Inf(1)
		} else if slow {
			p.bar = max(p.bar, min(p.starts.rate/2, 4*p.borne))
		}
		p.cut, p.grew = now, now
	}
	p.meter.takeBack()
	p.borne = max(0, p.borne-p.step)
	rate := max(slowestPace, p.borne*keep)
	if p.starts.rate == 0 {
		p.starts = bucket{burst: 1, rate: rate, at: now}
	}
	p.starts.fill(now)
	p.starts.rate = min(p.starts.rate, rate)
	if p.starts.burst = 1; p.borne < p.step/2 { // what was refused comes back
		p.starts.burst, p.starts.level, p.bar = nothing, nothing, slowestPace
	}
}

// hurry learns that a refusal had nothing to do with the pace.
func (p *pace) hurry(now time.Time) {
	p.meter.takeBack()
	p.starts.fill(now)
	p.starts.rate = min(hurried*p.starts.rate, fastest)
	p.bar = math.Inf(1)
}

// grow learns from a success, fresh if of a call that started since the last burst;
// nothing where something else keeps calls waiting.
func (p *pace) grow(now time.Time, binds, fresh bool) {
	since := min(now.Sub(p.grew), time.Second).Seconds()
	p.grew = now
	if p.starts.rate == 0 || !binds {
		return
	}
	p.starts.fill(now)
	switch rate := p.starts.rate; {
	case math.IsInf(p.bar, 1):
		if fresh {
			p.starts.rate = min(slowStart*p.starts.rate, fastest)
		}
	case rate < p.bar:
		p.starts.rate = min(p.bar, rate*(1+catchUp*since))
	default:
		p.starts.rate *= 1 + patience*since*(1+now.Sub(p.cut).Seconds()/longTime.Seconds())
	}
}

// meter is a moving average of starts a second.
type meter struct {
	sum       float64 // of starts, forgotten with time
	at, first time.Time
}

func (m *meter) add(now time.Time) {
	if m.first.IsZero() {
		m.first, m.at = now, now
	}
	m.forget(now)
	m.sum++
}

// takeBack undoes an add; it is recent.
func (m *meter) takeBack() { m.sum = max(0, m.sum-1) }

// skip leaves out a time in which nothing may start.
func (m *meter) skip(d time.Duration) {
	m.at = m.at.Add(d)
}

func (m *meter) forget(now time.Time) {
	if passed := now.Sub(m.at); passed > 0 {
		m.sum *= math.Exp(-passed.Seconds() / memory.Seconds())
		m.at = now
	}
}

// perSecond is the average, and what one start counts in it. Of a time shorter
// than a second nothing can be said; it counts as one.
func (m *meter) perSecond(now time.Time) (rate, one float64) {
	m.forget(now)
	known := max(now.Sub(m.first), time.Second/2).Seconds()
	one = 1 / (memory.Seconds() * (1 - math.Exp(-known/memory.Seconds())))
	return m.sum * one, one
}

const (
	firstPlaces = 16 // of a server that is not known
	// Beyond what was refused before, a window grows by one with so many
	// successes, and the faster the longer no refusal came: then the server bears
	// far more by now. A single refusal takes one away, so that a server that
	// refuses now and then for other reasons does not shrink it.
	calm  = 50
	haste = 500 // successes without a refusal after which it grows twice as fast
)

// window is how many calls may be in flight. It doubles with every round of
// answers (slow start) up to the threshold, which is unknown before the first
// refusal; then it grows slowly. A refusal cuts it to what the server bore.
type window struct {
	size      float64
	most      float64
	threshold float64
	bound     bool    // it was what bound when the last burst of refusals began
	successes float64 // since the cut
}

// newWindow is open from the start where it is known what the server allows.
func newWindow(parallel int, known bool) window {
	if parallel <= 0 {
		parallel = DefaultParallel
	}
	w := window{most: float64(parallel), threshold: math.Inf(1)}
	w.size = w.most
	if !known {
		w.size = min(firstPlaces, w.most)
	}
	return w
}

func (w *window) places() int { return int(w.size) }

// grow learns from a success. A window that keeps nobody waiting is large enough.
func (w *window) grow(binds bool) {
	w.successes++
	switch {
	case !binds:
	case w.size < w.threshold:
		w.size = min(w.most, w.size+1)
	default:
		w.size = min(w.most, w.size+(1+w.successes/haste)/calm)
	}
}

// shrink learns from a refusal, with so many other calls still in flight. All but
// the first of a burst show that the server bore even less. Where there were places
// left, it was not their number that the server refused.
func (w *window) shrink(first bool, others int) {
	if first {
		w.successes, w.bound = 0, others+1 >= w.places()
	}
	if !w.bound {
		return
	}
	w.size = max(1, min(w.size, float64(others)))
	if first {
		w.threshold = w.size
	}
}

// cut leaves no place beyond those that are taken; from there it grows slowly.
func (w *window) cut(taken int) {
	w.size, w.successes = min(w.size, float64(taken)), 0
	w.threshold = w.size
}

// What may come at once of a minute's worth, as a share. The rate is lower by as
// much, so that no minute holds more than was declared.
const (
	requestBurst = 1.0 / 60
	tokenBurst   = 1.0 / 10
)

// bucket is a declared rate: it fills with time, and calls take from it. One
// that takes more than there can ever be leaves a debt, which the next ones
// wait for. The zero bucket allows everything.
type bucket struct {
	rate  float64 // a second; 0: no limit
	burst float64
	level float64
	at    time.Time // of the level
}

func newBucket(perMinute int64, share float64, now time.Time) bucket {
	if perMinute <= 0 {
		return bucket{}
	}
	burst := max(1, float64(perMinute)*share)
	rate := (float64(perMinute) - (burst - 1)) / 60
	return bucket{rate: rate, burst: burst, level: burst, at: now}
}

// wait is how long until so much may be taken.
func (b *bucket) wait(n int64, now time.Time) time.Duration {
	if b.rate == 0 {
		return 0
	}
	b.fill(now)
	lacks := min(float64(n), b.burst) - b.level
	if lacks <= 1e-9 {
		return 0
	}
	return time.Duration(lacks/b.rate*float64(time.Second)) + 1
}

func (b *bucket) take(n int64, now time.Time) {
	if b.rate == 0 {
		return
	}
	b.fill(now)
	b.level -= float64(n)
}

func (b *bucket) fill(now time.Time) {
	if passed := now.Sub(b.at); passed > 0 {
		b.level = min(b.burst, b.level+b.rate*passed.Seconds())
		b.at = now
	}
}
