package pace

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// The policy where the options say nothing.
const (
	DefaultRetries = 3
	// LongestWait is the longest that a server may ask to wait, and the most
	// that one call sleeps in all.
	LongestWait = 120 * time.Second

	badResponses = 2 // retries after answers that are none
	refusals     = 2 // attempts at a server that has refused every connection so far
)

// RetryOptions say how often to try again. Zero values mean the defaults.
type RetryOptions struct {
	Retries int            // attempts after the first; negative: none; default DefaultRetries
	Random  func() float64 // from 0 to below 1, safe for concurrent use; default: math/rand/v2
	Key     func() string  // of idempotency, one a call; default: crypto/rand
	// Unreachable is told the address of a server at which nothing has listened since
	// the first call, whenever a call failed for that; nil: nobody wants to know.
	Unreachable func(address string)
}

// Retry tries the calls of a model again that failed for a while.
func Retry(inner model.Model, o RetryOptions) model.Model {
	o.Retries = cmp.Or(o.Retries, DefaultRetries)
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Key == nil {
		o.Key = crand.Text
	}
	return &retrying{inner: inner, options: o}
}

type retrying struct {
	inner   model.Model
	options RetryOptions
	reached atomic.Bool // a byte of a call was sent
}

// Call makes the call until it succeeds or is not worth another attempt.
func (m *retrying) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	sent := *request
	sent.Idempotency = m.options.Key()
	c := call{options: &m.options, reached: &m.reached}
	for {
		reply, err := m.inner.Call(ctx, &sent)
		if noRoom := c.noRoom(err); noRoom != nil {
			return nil, noRoom
		}
		c.attempts++
		if err == nil {
			m.reached.Store(true)
			reply.Attempts, reply.Unsent, reply.Waited = c.attempts, c.unsent, reply.Waited+c.waited
			return reply, nil
		}
		wait, again := c.next(err)
		if !again {
			return nil, err
		}
		took, _ := model.Failure(err)
		model.Forgive(ctx, took)
		if err := c.sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// call is one call with its attempts.
type call struct {
	options  *RetryOptions
	reached  *atomic.Bool // of the model
	attempts int
	unsent   int              // attempts of which no byte reached a server
	last     *model.CallError // of the attempt before; nil: there was none
	bad      int              // attempts whose answer was none
	slept    time.Duration    // between attempts
	waited   time.Duration    // slept, queued, and spent in failed attempts
}

// next says whether to try again after an error, and after how long. Where not,
// the error is told what the call has cost.
func (c *call) next(err error) (wait time.Duration, again bool) {
	var failed *model.CallError
	if !errors.As(err, &failed) {
		return 0, false
	}
	c.unsent += failed.Unsent
	if failed.Unsent == 0 {
		c.reached.Store(true)
	}
	unreachable := failed.Refused != "" && !c.reached.Load()
	if failed.Cause.Class == record.BadResponse {
		c.bad++
	}
	wait = c.wait(failed.RetryAfter)
	if c.worthwhile(failed) && c.affordable(failed, wait) && !(unreachable && c.attempts >= refusals) {
		c.waited += failed.Duration + failed.Waited
		c.last = failed
		return wait, true
	}
	failed.Attempts, failed.Unsent = c.attempts, c.unsent
	failed.Waited += c.waited
	if unreachable && c.options.Unreachable != nil {
		c.options.Unreachable(failed.Refused)
	}
	return 0, false
}

// noRoom is the error of a call that a budget has no room to try again: what it
// failed with before, not that the budget is spent. nil where that is not so.
func (c *call) noRoom(err error) error {
	var refusal model.Refusal
	if c.last == nil || !errors.Is(err, model.ErrRefused) || !errors.As(err, &refusal) {
		return nil
	}
	failed := *c.last
	failed.Attempts, failed.Unsent, failed.Waited = c.attempts, c.unsent, c.waited-failed.Duration
	return &model.NoRoom{Failed: &failed, Refusal: refusal}
}

// worthwhile says whether another attempt is left and may end otherwise.
func (c *call) worthwhile(failed *model.CallError) bool {
	if c.attempts > c.options.Retries {
		return false
	}
	switch failed.Cause.Class {
	case record.Quota, record.ContextLength:
		return false // whatever the server says: it would only burn calls
	}
	if failed.Retry != nil {
		return *failed.Retry
	}
	switch failed.Cause.Class {
	case record.RateLimit, record.Server, record.Network, record.CallTimeout, record.Incomplete:
		return true
	case record.BadResponse:
		return c.bad <= badResponses
	}
	return false
}

// affordable says whether the wait is one that a call may sleep. A server that
// asks for more has its word in the error.
func (c *call) affordable(failed *model.CallError, wait time.Duration) bool {
	if failed.RetryAfter > LongestWait {
		told := fmt.Sprintf("the server asks to wait %v, longer than %v: %s", failed.RetryAfter, LongestWait, failed.Cause.Message)
		failed.Cause = &record.Error{Class: record.RateLimit, Message: told}
		return false
	}
	return c.slept+wait <= LongestWait
}

// wait is how long to sleep: what the server asked for, for the gate beneath spreads
// what comes back at once; else a backoff that doubles, less up to a quarter of it.
func (c *call) wait(asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	longest := backoff(c.attempts)
	return longest - time.Duration(0.25*c.options.Random()*float64(longest))
}

const shortestBackoff, longestBackoff = 500 * time.Millisecond, 30 * time.Second

// backoff is the wait after the n-th failure in a row, from 1, of a server that does not say how long to wait. It doubles.
func backoff(n int) time.Duration { return min(longestBackoff, shortestBackoff<<min(n-1, 10)) }

// sleep waits, or ends with the context's cause.
func (c *call) sleep(ctx context.Context, wait time.Duration) error {
	defer model.Waiting(ctx)()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		c.slept += wait
		c.waited += wait
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
