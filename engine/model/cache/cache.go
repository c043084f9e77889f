// Package cache keeps the answers of models that were paid for. Open gives the store of a folder, and Wrap puts it
// around a model: the same draw of the same request gets the same answer, in another configuration, after a crash or in
// another session. List and Prune inspect the folder, which has a JSON file for each answer.
//
// It is no stable API.
package cache

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// Mode says what the cache is used for.
type Mode string

// The modes.
const (
	On    Mode = "on"    // answers are looked up; what is missing is called and stored
	Off   Mode = "off"   // every call is made, nothing is stored
	Read  Mode = "read"  // answers are looked up; what is missing is called, not stored
	Write Mode = "write" // every answer is made anew, once in a session, and replaces what was stored
	Only  Mode = "only"  // answers are looked up; a missing one is an error, and no call is made
)

// Modes are all modes, the default first.
var Modes = []string{string(On), string(Off), string(Read), string(Write), string(Only)}

// Wrap puts a cache around a model. If the mode is Only the inner model is never called and may be nil; if it is Off,
// Wrap gives the inner model.
//
// A reply from the cache has the usage and the duration of the call that was made, no attempts and no waiting, and is
// marked as Cached. Trouble of the cache never fails a call.
func Wrap(inner model.Model, store *Store, identity Identity, mode Mode) model.Model {
	if mode == Off {
		return inner
	}
	c := &cached{inner: inner, store: store, identity: identity, prefix: identity.prefix(), mode: mode}
	if mode == Write {
		c.since = store.opened
	}
	return c
}

type cached struct {
	inner    model.Model
	store    *Store
	identity Identity
	prefix   string // of keys
	mode     Mode
	since    time.Time // older answers are not used
}

// draw is one call: a request, its number among the equal requests of its run, and its key.
type draw struct {
	request *model.Request
	n       int
	key     Key
}

// Call answers from the cache, or makes the call.
func (m *cached) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	base := requestKey(m.prefix, request, model.Place(ctx))
	if request.Raw != nil { // the proxy numbers the requests of programs, also those that are sent again
		return m.answer(ctx, &draw{request, request.Raw.Nth, base.nth(request.Raw.Nth)})
	}
	run := numbersOf(ctx)
	n := run.take(base)
	reply, err := m.answer(ctx, &draw{request, n, base.nth(n)})
	if err != nil {
		run.giveBack(base, n)
	}
	return reply, err
}

// answer makes equal calls at the same time one call. If the one that was made failed or was cancelled, another one is made.
func (m *cached) answer(ctx context.Context, d *draw) (*model.Reply, error) {
	for {
		mine := &flight{over: make(chan struct{})}
		other, busy := m.store.flights.LoadOrStore(d.key, mine)
		if !busy {
			return m.lead(ctx, d, mine)
		}
		f := other.(*flight)
		select {
		case <-f.over:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if f.entry != nil {
			m.store.hits.Add(1)
			return f.entry.give(ctx, d.request)
		}
	}
}

// flight is a draw that is looked up or called right now, or whose answer could not be stored. Once it is over, entry is
// its answer, or nil.
type flight struct {
	over  chan struct{}
	entry *Entry
}

func (m *cached) lead(ctx context.Context, d *draw, f *flight) (*model.Reply, error) {
	kept := false // for equal calls of this session
	defer func() {
		if !kept {
			m.store.flights.Delete(d.key)
		}
		close(f.over)
	}()
	if f.entry = m.store.lookup(d.key, m.since); f.entry != nil {
		return f.entry.give(ctx, d.request)
	}
	if m.mode == Only {
		return nil, m.missing(d)
	}
	reply, err := m.inner.Call(ctx, d.request)
	if err != nil || !complete(d.request, reply) {
		return reply, err
	}
	f.entry = m.entry(d, reply)
	if m.mode == Read || !m.store.save(d.key, f.entry) {
		size := f.entry.size()
		kept = size <= mostStored && m.store.unstored.Add(size) <= mostUnstored
	}
	return reply, nil
}

// complete reports whether an answer is whole, and of the kind that another call would give as well. That to a program
// must have been kept as it came.
func complete(request *model.Request, reply *model.Reply) bool {
	switch reply.Finish {
	case "stop", "length", "tool_calls":
		return request.Raw == nil || reply.Raw != nil && reply.Raw.Body != nil && !reply.Raw.Broken
	}
	return false
}

func (m *cached) entry(d *draw, reply *model.Reply) *Entry {
	e := &Entry{
		Provider: m.identity.Provider, Model: m.identity.Model, Task: d.request.Draw.Task, Trial: d.request.Draw.Trial, N: d.n,
		Answered: reply.Answered, Tier: reply.Tier, Reported: reply.Reported, Finish: reply.Finish, Usage: reply.Usage, Duration: reply.Duration,
		Text: reply.Text, Thinking: reply.Thinking, ToolCalls: slices.Clone(reply.ToolCalls), Blocks: string(reply.Blocks),
	}
	if d.request.Raw != nil {
		e.Raw, e.FirstByte, e.ContentType = reply.Raw.Body, reply.Raw.FirstByte, http.Header(reply.Raw.Header).Get("Content-Type")
	}
	return e
}

// missing is the fault of a call whose answer should be in the cache.
func (m *cached) missing(d *draw) error {
	return &model.CallError{Cause: &record.Error{
		Class: record.Exhausted,
		Message: fmt.Sprintf("the cache has no answer of model %s to this request of task %s (trial %d, n %d), and --cache only makes no call; "+
			"run once with --cache on to fill it", m.identity.Model, d.request.Draw.Task, d.request.Draw.Trial, d.n),
	}}
}

// Tools keeps the answers of pure tools beside those of models. Tools may always be used: the mode Only is Read for them.
type Tools struct {
	Store *Store
	Mode  Mode // "": On
}

// toolProvider is the provider of the answers of tools.
const toolProvider = "tool"

// Recall is an answer that was kept, and how long it took to come.
func (t Tools) Recall(key [32]byte) (content json.RawMessage, took time.Duration, ok bool) {
	if t.Mode == Off || t.Mode == Write {
		return nil, 0, false
	}
	e, err := t.Store.read(key)
	if err != nil || e.Provider != toolProvider {
		return nil, 0, false
	}
	return json.RawMessage(e.Text), e.Duration, true
}

// Keep stores an answer of the tool of that name.
func (t Tools) Keep(key [32]byte, name string, content json.RawMessage, took time.Duration) {
	switch t.Mode {
	case "", On, Write:
		t.Store.save(key, &Entry{Provider: toolProvider, Model: name, Finish: "stop", Duration: took, Text: string(content)})
	}
}
