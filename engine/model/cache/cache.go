// Package cache decides whether a call has to be made at all: an answer that was
// paid for is kept, and the same draw of the same request gets it again, in this
// run's repetition, in another configuration, or after a crash.
//
// The stages: a request becomes a key (key.go) with its number in the run
// (numbers.go), the key a file (store.go, entry.go) or, where it is not to be
// written, an answer that is remembered for a while (recent.go), and equal calls
// at the same time one call (flights.go). List and Prune look after the folder.
package cache

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// Wrap puts a cache around a model. Where the mode is Only the inner model is
// never called and may be nil; where it is Off, Wrap gives the inner model.
//
// A reply from the cache has the usage and the duration of the call that was
// made, no attempts and no waiting, and says that it is Cached. The cache's own
// trouble never fails a call.
func Wrap(inner model.Model, store *Store, identity Identity, mode Mode) model.Model {
	if mode == Off {
		return inner
	}
	return &cached{inner: inner, store: store, identity: identity, prefix: identity.prefix(), mode: mode}
}

type cached struct {
	inner    model.Model
	store    *Store
	identity Identity
	prefix   []byte
	mode     Mode
}

// draw is one call: a request, its number in the run, and its key.
type draw struct {
	request *model.Request
	n       int
	key     Key
}

// Call answers from the cache, or makes the call.
func (m *cached) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	numbers, base := numbersOf(ctx), sum(m.prefix, request).at(model.Place(ctx))
	n, answered := numbers.take(base), false
	defer func() {
		if !answered {
			numbers.giveBack(base, n)
		}
	}()
	reply, err := m.answer(ctx, &draw{request: request, n: n, key: base.nth(n)})
	answered = err == nil
	return reply, err
}

func (m *cached) answer(ctx context.Context, d *draw) (*model.Reply, error) {
	if m.mode != Only {
		return m.once(ctx, d)
	}
	if found := m.store.lookup(d.key); found != nil {
		return found.reply(), nil
	}
	return nil, m.missing(d)
}

// once makes equal calls in flight one call. Who waited in vain, because the one
// that was made failed or was cancelled, tries itself.
func (m *cached) once(ctx context.Context, d *draw) (*model.Reply, error) {
	for {
		flight, leads := m.store.flights.join(d.key)
		if leads {
			return m.lead(ctx, d, flight)
		}
		select {
		case <-flight.over:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if flight.entry != nil {
			m.store.hits.Add(1)
			return flight.entry.reply(), nil
		}
	}
}

func (m *cached) lead(ctx context.Context, d *draw, led *flight) (reply *model.Reply, err error) {
	var found *entry
	defer func() { m.store.flights.land(d.key, led, found) }()
	if found = m.lookup(d.key); found != nil {
		return found.reply(), nil
	}
	reply, found, err = m.callAndKeep(ctx, d)
	return reply, err
}

// lookup finds an answer; where all are to be made anew, only one that was.
func (m *cached) lookup(k Key) *entry {
	if m.mode == Write {
		return m.store.lookupNew(k)
	}
	return m.store.lookup(k)
}

// callAndKeep makes the call; the entry is nil where the answer is not one to
// be given again.
func (m *cached) callAndKeep(ctx context.Context, d *draw) (*model.Reply, *entry, error) {
	reply, err := m.inner.Call(ctx, d.request)
	if err != nil || !normal(reply) {
		return reply, nil, err
	}
	made := m.entry(d, reply)
	if m.mode == Read {
		m.store.recent.keep(d.key, made)
	} else {
		m.store.save(d.key, made)
	}
	return reply, made, nil
}

func (m *cached) entry(d *draw, reply *model.Reply) *entry {
	return &entry{
		Head: Head{
			Provider: m.identity.Provider, Model: m.identity.Model,
			Task: d.request.Draw.Task, Trial: d.request.Draw.Trial, N: d.n,
			Answered: reply.Answered, Finish: reply.Finish, Usage: reply.Usage, Duration: reply.Duration,
		},
		text: reply.Text, thinking: reply.Thinking, calls: slices.Clone(reply.ToolCalls),
	}
}

// missing is the fault of a call that was to be in the cache.
func (m *cached) missing(d *draw) error {
	return &model.CallError{Cause: &record.Error{
		Class: record.Exhausted,
		Message: fmt.Sprintf("the cache has no answer of model %s to this request of task %s (trial %d, n %d), and --cache only makes no call; "+
			"run once with --cache on to fill it", m.identity.Model, d.request.Draw.Task, d.request.Draw.Trial, d.n),
	}}
}
