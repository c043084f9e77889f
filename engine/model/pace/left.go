package pace

import (
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// left is what the server says is left of its limits. No call starts that it would refuse for them, until a limit is
// reset. The zero value knows of none.
//
// What is left is told with the reply of a call. Calls that started after that one, or together with it, are taken to use what
// calls used in the mean, so that many in flight are not more than is left. The newest call whose reply told decides: once
// the replies of all in flight are there, the number is the server's own.
type left struct{ of map[model.Quantity]*allowance }

// tell learns from the reply of a call.
func (l *left) tell(t *ticket, limits []model.Limit, u *record.Usage, now time.Time) {
	if l.of == nil && len(limits) > 0 {
		l.of = map[model.Quantity]*allowance{}
	}
	for _, limit := range limits {
		a := l.of[limit.Of]
		if a == nil {
			a = &allowance{}
			l.of[limit.Of] = a
		}
		a.calls++
		a.used += used(limit.Of, u)
		a.tell(t.wave, float64(limit.Left), limit.Until, now)
	}
}

// forget is for a refusal: the server itself says when to come back, and its limits are other than they seemed.
func (l *left) forget() {
	for _, a := range l.of {
		a.until, a.steady = time.Time{}, false
	}
}

// wait is how long until the server has room for another call, after so many that have started.
func (l *left) wait(started uint64, now time.Time) (longest time.Duration) {
	for _, a := range l.of {
		longest = max(longest, a.wait(started, now))
	}
	return longest
}

// used is what a call takes from a limit. What is read from the provider's cache mostly counts for none.
func used(of model.Quantity, u *record.Usage) float64 {
	input := u.InputTokens - u.CachedTokens
	switch of {
	case model.Requests:
		return 1
	case model.InputTokens:
		return float64(input)
	case model.OutputTokens:
		return float64(u.OutputTokens)
	}
	return float64(input + u.OutputTokens)
}

// allowance is what is left of one limit.
//
// Some servers give a limit for a time, and all of it again at its end. Others give it steadily, and say when all would be
// there again if nobody asked (OpenAI, Anthropic, Groq): of these, that time moves away as more is used, and a call need
// not wait for all of it.
type allowance struct {
	used, calls float64 // of the calls that told
	most        float64 // that was ever left

	left    float64 // the least that a call of the wave told
	wave    uint64  // the newest of which a call told: it began with the call of that number
	replies uint64  // of its calls
	at      time.Time
	until   time.Time // when all of it is there again

	steady     bool
	firstLeft  float64 // what was told first since it was last full, or had more than before
	firstUntil time.Time
}

// moved is by how much a reset is later than before that moves, and is not only read later.
const moved = time.Second

func (a *allowance) tell(wave uint64, left float64, until, now time.Time) {
	switch {
	case wave < a.wave:
		return
	case wave > a.wave:
		a.wave, a.replies = wave, 0
	}
	a.replies++
	if a.replies > 1 && left > a.left && now.Before(a.until) {
		return // it came before another one of its wave
	}
	if !now.Before(a.until) || left >= a.firstLeft {
		a.firstLeft, a.firstUntil = left, until
	}
	a.steady = a.steady || until.Sub(a.firstUntil) > moved
	a.most = max(a.most, left)
	a.left, a.at, a.until = left, now, until
}

// wait is how long until the next call finds room. Who would wait longer than the longest pause is not held: the server
// says itself how that is meant.
func (a *allowance) wait(started uint64, now time.Time) time.Duration {
	reset := a.until.Sub(now)
	if reset <= 0 {
		return 0
	}
	each := max(1, a.used/a.calls)
	others := started - (a.wave - 1) - a.replies // of which the server may not have known
	lacks := each*float64(others+1) - a.left
	if lacks <= 0 {
		return 0
	}
	wait := reset
	if share := lacks / (a.most - a.left); a.steady && a.most > a.left && share < 1 {
		whole := float64(a.until.Sub(a.at))
		wait = a.at.Add(time.Duration(share*whole) + 1).Sub(now)
	}
	if wait > longestCooldown {
		return 0
	}
	return wait
}
