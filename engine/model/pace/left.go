package pace

import (
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// left is what the server says is left of its limits. No call starts that one of them has no room for, beside those in flight at what
// calls use in the mean, until it is reset. The zero value knows of none.
type left map[model.Quantity]*allowance

// allowance is what is left of one limit.
type allowance struct {
	left  int64
	until time.Time // when all of it is there again
	told  time.Time

	used, calls int64 // of the calls that told
}

// tell learns from the reply to a call that began then. Where it began after the last word it knows better; calls side by side
// arrive in any order, and the least that they tell counts.
func (l *left) tell(began time.Time, reply *model.Reply, now time.Time) {
	if *l == nil && len(reply.Limits) > 0 {
		*l = left{}
	}
	for _, limit := range reply.Limits {
		a := (*l)[limit.Of]
		if a == nil {
			a = &allowance{}
			(*l)[limit.Of] = a
		}
		a.used += used(limit.Of, &reply.Usage)
		a.calls++
		if !began.Before(a.told) || limit.Left < a.left || !now.Before(a.until) {
			a.left, a.until, a.told = limit.Left, limit.Until, now
		}
	}
}

// wait is how long until the server has room for a call beside those in flight. A reset that is further away than the longest pause
// holds nothing: the server says itself how that is meant.
func (l left) wait(inFlight int, now time.Time) (longest time.Duration) {
	for _, a := range l {
		reset := a.until.Sub(now)
		if a.left*a.calls < max(a.calls, a.used)*int64(inFlight+1) && reset <= longestPause {
			longest = max(longest, reset)
		}
	}
	return longest
}

// used is what a call takes from a limit. What is read from the provider's cache mostly counts for none.
func used(of model.Quantity, u *record.Usage) int64 {
	input := u.InputTokens - u.CachedTokens
	switch of {
	case model.Requests:
		return 1
	case model.InputTokens:
		return input
	case model.OutputTokens:
		return u.OutputTokens
	}
	return input + u.OutputTokens
}
