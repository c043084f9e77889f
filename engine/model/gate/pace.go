package gate

import (
	"math"
	"time"
)

const (
	// memory is the time constant with which the meter forgets.
	memory = 5 * time.Second
	// A single refusal leaves nearly all of the starts a second that were borne;
	// several in a burst leave less.
	afterOne, afterMore = 0.95, 0.9
	// From there it grows by this share a second, twice as fast after 10 s, and
	// by catchUp where it is below what was borne before.
	patience = 0.0025
	hurry    = 10 * time.Second
	catchUp  = 0.3
	// slowestPace is where a server is asked again that bore nothing.
	slowestPace = 1.0
)

// pace spaces the starts of calls at a server that has refused one, so that what
// queued up during a cool-down does not arrive together. It is learned: what the
// server bore before the refusal, less a little, growing again with time.
type pace struct {
	meter  meter
	starts bucket  // its rate is the pace; 0: unlimited
	borne  float64 // starts a second before the last burst of refusals
	step   float64 // what one start counts in borne
	bar    float64 // below it the pace grows fast
	cut    time.Time
	grew   time.Time
}

func (p *pace) wait(now time.Time) time.Duration { return p.starts.wait(1, now) }

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
		p.bar = max(slowestPace, p.borne*keep)
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
}

// grow learns from a success; nothing where something else keeps calls waiting.
func (p *pace) grow(now time.Time, binds bool) {
	since := min(now.Sub(p.grew), time.Second).Seconds()
	p.grew = now
	if p.starts.rate == 0 || !binds {
		return
	}
	p.starts.fill(now)
	if rate := p.starts.rate; rate < p.bar {
		p.starts.rate = min(p.bar, rate*(1+catchUp*since))
	} else {
		p.starts.rate *= 1 + patience*since*(1+now.Sub(p.cut).Seconds()/hurry.Seconds())
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
	m.at, m.first = m.at.Add(d), m.first.Add(d)
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
	known := max(now.Sub(m.first), time.Second).Seconds()
	one = 1 / (memory.Seconds() * (1 - math.Exp(-known/memory.Seconds())))
	return m.sum * one, one
}
