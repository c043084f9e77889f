// Package cache decides whether a call has to be made at all: an answer that was
// paid for is kept, and the same draw of the same request gets it again, in this
// run's repetition, in another configuration, or after a crash.
//
// The stages: a request becomes a key with its number in the run, the key a file (store.go; given again to a program: raw.go) or, where it is not to be
// written, an answer that is remembered for a while, and equal calls
// at the same time one call. List and Prune inspect the folder.
//
// It is no stable API.
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
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
	if request.Raw != nil { // who passes it on knows which one it is, also where it is sent again
		return m.answer(ctx, &draw{request: request, n: request.Raw.Nth, key: base.nth(request.Raw.Nth)})
	}
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
		return found.give(ctx, d.request)
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
			return flight.entry.give(ctx, d.request)
		}
	}
}

func (m *cached) lead(ctx context.Context, d *draw, led *flight) (reply *model.Reply, err error) {
	var found *entry
	defer func() { m.store.flights.land(d.key, led, found) }()
	if found = m.lookup(d.key); found != nil {
		return found.give(ctx, d.request)
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
	if err != nil || !normal(reply) || !whole(d.request, reply) {
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
	e := &entry{
		Head: Head{
			Provider: m.identity.Provider, Model: m.identity.Model,
			Task: d.request.Draw.Task, Trial: d.request.Draw.Trial, N: d.n,
			Answered: reply.Answered, Finish: reply.Finish, Usage: reply.Usage, Duration: reply.Duration,
			Tier: reply.Tier, Reported: reply.Reported,
		},
		text: reply.Text, thinking: reply.Thinking, calls: slices.Clone(reply.ToolCalls), blocks: reply.Blocks,
	}
	if d.request.Raw != nil {
		e.raw, e.FirstByte, e.ContentType = reply.Raw.Body, reply.Raw.FirstByte, http.Header(reply.Raw.Header).Get("Content-Type")
	}
	return e
}

// missing is the fault of a call that was to be in the cache.
func (m *cached) missing(d *draw) error {
	return &model.CallError{Cause: &record.Error{
		Class: record.Exhausted,
		Message: fmt.Sprintf("the cache has no answer of model %s to this request of task %s (trial %d, n %d), and --cache only makes no call; "+
			"run once with --cache on to fill it", m.identity.Model, d.request.Draw.Task, d.request.Draw.Trial, d.n),
	}}
}

// storedCall is a tool call as an entry keeps it.
type storedCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// encodeCalls gives nothing where there are none.
func encodeCalls(calls []model.ToolCall) ([]byte, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	stored := make([]storedCall, len(calls))
	for i, call := range calls {
		stored[i] = storedCall(call)
	}
	return json.Marshal(stored)
}

func decodeCalls(text []byte) ([]model.ToolCall, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var stored []storedCall
	if json.Unmarshal(text, &stored) != nil || len(stored) == 0 {
		return nil, errDamaged
	}
	calls := make([]model.ToolCall, len(stored))
	for i, call := range stored {
		calls[i] = model.ToolCall(call)
	}
	return calls, nil
}

// flights are the draws that are being looked up or called right now.
type flights struct {
	mu sync.Mutex
	of map[Key]*flight
}

// flight is one of them. Once it is over, entry is its answer, or nil.
type flight struct {
	over  chan struct{}
	entry *entry
}

// join gives the flight of that key; whoever leads it has to land it.
func (f *flights) join(k Key) (joined *flight, leads bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if joined = f.of[k]; joined != nil {
		return joined, false
	}
	if f.of == nil {
		f.of = map[Key]*flight{}
	}
	joined = &flight{over: make(chan struct{})}
	f.of[k] = joined
	return joined, true
}

// land tells everybody who waits for the flight.
func (f *flights) land(k Key, led *flight, e *entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, k)
	led.entry = e
	close(led.over)
}

// Identity says who answers: what is sent beside the request and can change the
// answer.
type Identity struct {
	Provider string
	BaseURL  string // as declared; "" is the provider's own server. Credentials in it are not part of the key
	Model    string // the provider's name of it
	// Headers are sent with every request. Those that hold credentials are not
	// part of the key ([secret.Telling]): a new key asks for the same answers.
	Headers map[string]string
	// Settings are what the model's declaration changes of the answers, in any form; "": nothing.
	Settings string
}

// Key identifies one draw of one request.
type Key [sha256.Size]byte

// String is the key in hexadecimal, 64 digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// keyFormat changes whenever the same call would get another key.
const keyFormat = "agentbench cache 1"

// prefix is the part of the key that all requests to one model share.
func (i *Identity) prefix() []byte {
	b := appendText(nil, keyFormat)
	for _, text := range []string{i.Provider, strings.TrimRight(secret.WithoutCredentials(i.BaseURL), "/"), i.Model} {
		b = appendText(b, text)
	}
	headers := map[string]string{}
	for name, value := range i.Headers {
		if name = textproto.CanonicalMIMEHeaderKey(name); !secret.Telling(name) {
			headers[name] = value
		}
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(len(headers)))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		b = appendText(appendText(b, name), headers[name])
	}
	if i.Settings != "" {
		b = appendText(b, i.Settings)
	}
	return b
}

// sum is the key of a request but for n: what is sent, and for which task and
// trial.
func sum(prefix []byte, request *model.Request) Key {
	sent := request.Sum("")
	b := make([]byte, 0, len(prefix)+len(sent)+len(request.Draw.Task)+16)
	b = append(b, prefix...)
	b = append(b, sent[:]...)
	b = appendText(b, request.Draw.Task)
	b = binary.LittleEndian.AppendUint64(b, uint64(request.Draw.Trial))
	return sha256.Sum256(b)
}

// at is the key of a request that is made at a place beside others.
func (k Key) at(place string) Key {
	if place == "" {
		return k
	}
	return sha256.Sum256(append(k[:], place...))
}

// nth is the key of the n-th equal request of a run, from 0.
func (k Key) nth(n int) Key {
	var b [sha256.Size + 8]byte
	copy(b[:], k[:])
	binary.LittleEndian.PutUint64(b[sha256.Size:], uint64(n))
	return sha256.Sum256(b[:])
}

func appendText(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(text))), text...)
}

// Mode says what the cache is used for.
type Mode string

// The modes.
const (
	On    Mode = "on"    // answers are looked up; what is missing is called and stored
	Off   Mode = "off"   // every call is made, nothing is stored
	Read  Mode = "read"  // answers are looked up; what is missing is called and shared, not stored
	Write Mode = "write" // every answer is made anew, once, and stored in place of what was there
	Only  Mode = "only"  // answers are looked up; a missing one is an error, and no call is made
)

// Modes are all modes, the default first.
var Modes = []string{string(On), string(Off), string(Read), string(Write), string(Only)}

type runKey struct{}

// WithRun begins a run: the calls under the context are numbered, so that the
// n-th equal request is a draw of its own. Without it every call is the first.
func WithRun(ctx context.Context) context.Context {
	return context.WithValue(ctx, runKey{}, &numbers{taken: map[Key]*taken{}})
}

func numbersOf(ctx context.Context) *numbers {
	n, _ := ctx.Value(runKey{}).(*numbers)
	return n
}

// numbers counts the equal requests of one run. The nil one does not count.
type numbers struct {
	mu    sync.Mutex
	taken map[Key]*taken
}

// taken are the numbers of equal requests: all below next but the free ones.
type taken struct {
	next int
	free []int // ascending
}

// take gives the lowest number that no equal request has.
func (n *numbers) take(request Key) int {
	if n == nil {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.taken[request]
	if t == nil {
		t = &taken{}
		n.taken[request] = t
	}
	if len(t.free) > 0 {
		lowest := t.free[0]
		t.free = t.free[1:]
		return lowest
	}
	t.next++
	return t.next - 1
}

// giveBack frees the number of a call that failed: made again, it is the same
// draw.
func (n *numbers) giveBack(request Key, number int) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.taken[request]
	at, _ := slices.BinarySearch(t.free, number)
	t.free = slices.Insert(t.free, at, number)
}

// Tools keeps the answers of pure tools beside those of models. Where all answers
// are to be made anew none is looked up; tools have no mode in which they may not
// be used.
type Tools struct {
	Store *Store
	Mode  Mode // "": On
}

// Recall gives an answer that is kept, and how long it took to come.
func (t Tools) Recall(key [sha256.Size]byte) (content json.RawMessage, took time.Duration, ok bool) {
	if t.Mode == Off || t.Mode == Write {
		return nil, 0, false
	}
	found := t.Store.recent.find(key)
	if found == nil {
		var err error
		if found, err = t.Store.read(key); err != nil {
			return nil, 0, false // it is asked, and its answer replaces what cannot be read
		}
	}
	return json.RawMessage(found.text), found.Duration, found.Provider == toolProvider
}

// toolProvider is how entries tell tools from models.
const toolProvider = "tool"

// Keep stores an answer of the tool of that name.
func (t Tools) Keep(key [sha256.Size]byte, name string, content json.RawMessage, took time.Duration) {
	made := &entry{Head: Head{Provider: toolProvider, Model: name, Finish: "stop", Duration: took}, text: string(content)}
	switch t.Mode {
	case Off:
	case Read, Only:
		t.Store.recent.keep(key, made)
	default:
		t.Store.save(key, made)
	}
}
