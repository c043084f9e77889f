package pace

import (
	"math"
	"time"

	"github.com/agentbench/agentbench/engine/model"
)

// window is how many calls may be in flight. It grows by one with each answer, so that it doubles with every round of answers, until
// a call is refused. Then it is what the server took, and grows by one a round at most.
type window struct {
	size, most float64
	slow       bool
	taken      int // most others in flight when a call began that was taken, since the last refusal
}

const firstPlaces = 16 // of a server that is not known

// newWindow is open from the start where it is known what the server allows.
func newWindow(parallel int, known bool) window {
	if parallel <= 0 {
		parallel = DefaultParallel
	}
	w := window{size: float64(parallel), most: float64(parallel)}
	if !known {
		w.size = min(firstPlaces, w.most)
	}
	return w
}

// grow learns from a call that was taken beside others.
func (w *window) grow(others int) {
	w.taken = max(w.taken, others)
	step := 1.0
	if w.slow {
		step = 1 / max(10, w.size)
	}
	w.size = min(w.most, w.size+step)
}

// single learns from a refusal beside others that is no reason for a pause: the server has too few places where it took none beside as many.
func (w *window) single(others int) {
	if w.slow = others > w.taken; w.slow {
		w.cut(others)
	}
	w.taken = 0
}

// cut leaves so many places at most.
func (w *window) cut(places int) {
	w.size, w.slow = max(1, min(w.size, float64(places))), true
}

const (
	// longestPause: a call that is asked to wait longer fails, and the next one asks.
	longestPause = LongestWait
	// restless: a refusal so soon after a pause began, by a server that took at least two of seven calls since, is not for too many calls.
	restless = 10 * time.Second
)

// pause is the wait of all calls after a refusal, for as long as the server asks.
//
// Some servers refuse single calls, however few they are asked. Calls are then refused soon after a pause, among others that are taken,
// and only these wait. A server that was asked for too much refuses few calls after a pause, for the throttle and the window leave it room.
type pause struct {
	random       func() float64
	began, until time.Time
	last         *model.CallError // that began it
	row          int              // pauses since a call was taken

	// Calls since the first pause of the last seconds.
	taken, refused int
}

func (p *pause) wait(now time.Time) time.Duration { return p.until.Sub(now) }

// takes learns that a call was taken.
func (p *pause) takes() {
	p.taken++
	p.row = 0
}

// single reports whether a refusal concerns no other call.
func (p *pause) single(now time.Time) bool {
	if now.Sub(p.began) >= restless {
		p.taken, p.refused = 0, 1
	}
	return 5*p.taken > 2*(p.refused-1) && p.refused > 1
}

// begin pauses all calls.
func (p *pause) begin(refusal *model.CallError, now time.Time) {
	p.last, p.began = refusal, now
	p.row++
	wait := refusal.RetryAfter
	if wait <= 0 || wait > longestPause {
		wait = backoff(p.row)
	}
	p.until = now.Add(wait + time.Duration(0.1*p.random()*float64(wait)))
}

// nothingTaken reports whether the server took no call since the last pause but one.
func (p *pause) nothingTaken() bool { return p.row >= 2 }

// refusal is that of a call which is not made, for the server would refuse it like the last one.
func (p *pause) refusal(now time.Time) *model.CallError {
	told := *p.last.Cause
	told.Message += " (another call got this answer; the server accepts none)"
	return &model.CallError{Cause: &told, Status: p.last.Status, RetryAfter: p.wait(now), Retry: p.last.Retry}
}

const (
	// After a refusal calls start at this share of the rate that the server took, which doubles with time.
	slower   = 0.85
	doubling = 45 * time.Second
	// slowest is the least rate a second that a server is thought to take.
	slowest = 0.5
	// memory is the time constant with which the rate forgets.
	memory = 5 * time.Second
)

// throttle spaces the starts of calls once one was refused, so that what queued up during a pause does not arrive together, and so that
// the server is soon asked for as much as it takes. The zero throttle lets all start.
type throttle struct {
	sum       float64 // of starts, forgotten with time
	at, first time.Time

	base  float64 // starts a second that the server took; 0: not known
	since time.Time
	next  time.Time // when the next call may start
}

func (t *throttle) wait(now time.Time) time.Duration { return t.next.Sub(now) }

func (t *throttle) start(now time.Time) {
	if t.first.IsZero() {
		t.first, t.at = now, now
	}
	t.forget(now)
	t.sum++
	if t.base > 0 {
		rate := slower * t.base * math.Exp2(float64(now.Sub(t.since))/float64(doubling))
		t.next = now.Add(time.Duration(float64(time.Second) / rate))
	}
}

func (t *throttle) forget(now time.Time) {
	if passed := now.Sub(t.at); passed > 0 {
		t.sum *= math.Exp(-float64(passed) / float64(memory))
		t.at = now
	}
}

// forgive takes back a start that the server refused.
func (t *throttle) forgive() { t.sum = max(0, t.sum-1) }

// slow learns what the server takes; in the pause until then nothing is forgotten. Of less than a second nothing can be said.
func (t *throttle) slow(now, until time.Time) {
	t.forget(now)
	if known := now.Sub(t.first); known >= time.Second {
		rate := t.sum / memory.Seconds() / (1 - math.Exp(-float64(known)/float64(memory)))
		t.base, t.since = max(slowest, rate), now
	}
	t.at = until
}

// hurry learns that a refusal had nothing to do with the rate.
func (t *throttle) hurry() { t.base *= 2 }
