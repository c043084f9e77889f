package pace

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
