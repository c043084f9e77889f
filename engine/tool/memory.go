package tool

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// Memory has what pure tools answered. It is safe for concurrent use, and the
// zero value is ready. Several runs that ask the same at the same time ask once.
type Memory struct {
	// Lasting also keeps them beyond the process; nil: nothing does.
	Lasting Lasting

	mu    sync.Mutex
	known map[key]*answer
	kept  []key // of those with a result, the oldest first
	bytes int   // of their contents
}

// Lasting keeps the answers of pure tools, and how long they took to come. It is
// safe for concurrent use; its trouble is its own.
type Lasting interface {
	Recall(key [sha256.Size]byte) (content json.RawMessage, took time.Duration, ok bool)
	Keep(key [sha256.Size]byte, name string, content json.RawMessage, took time.Duration)
}

// mostRemembered is how many bytes of contents are kept. Runs that may share
// answers stand together in a plan, so the oldest are missed least.
const mostRemembered = 64 << 20

// answer is what a tool gave to one set of arguments, once it did.
type answer struct {
	given  chan struct{} // closed when there is a result, or none came
	result *Result       // nil: none came
}

// key identifies a tool and its arguments.
type key [sha256.Size]byte

// keyOf is the same for arguments that are the same value, however written.
func keyOf(d *Definition, arguments json.RawMessage) key {
	h := sha256.New()
	for _, part := range []string{"agentbench tool 1", d.Server, d.Name, d.Identity, string(d.Parameters), string(record.Canonical(arguments))} {
		var length [8]byte
		binary.LittleEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return key(h.Sum(nil))
}

// recall gives what is remembered, or asks and remembers what did not fail.
func (m *Memory) recall(ctx context.Context, name string, k key, ask func() (Result, error)) (Result, error) {
	for {
		a, mine := m.join(k)
		if mine {
			return m.answer(k, a, func() (Result, error) { return m.last(name, k, ask) })
		}
		select {
		case <-a.given:
		case <-ctx.Done():
			return Result{}, context.Cause(ctx)
		}
		if a.result != nil {
			found := *a.result // what others hold of it is only read
			found.Duration -= found.Waited
			found.Cached, found.Attempts, found.Waited = true, 0, 0
			return found, nil
		}
	}
}

// join gives the answer to wait for; mine says that the caller is to ask for it.
func (m *Memory) join(k key) (a *answer, mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, known := m.known[k]; known {
		return a, false
	}
	if m.known == nil {
		m.known = map[key]*answer{}
	}
	a = &answer{given: make(chan struct{})}
	m.known[k] = a
	return a, true
}

// answer asks, and lets those know who wait. Where nothing came, or the use
// panicked, the next one asks again.
func (m *Memory) answer(k key, a *answer, ask func() (Result, error)) (result Result, err error) {
	given := false
	defer func() {
		if given {
			a.result = &result
		}
		m.settle(k, a)
		close(a.given)
	}()
	result, err = ask()
	given = err == nil
	return result, err
}

// last gives what lasts, or asks and lets it last. An answer that ends the run, or
// is no text, is more than its content.
func (m *Memory) last(name string, k key, ask func() (Result, error)) (Result, error) {
	if m.Lasting == nil {
		return ask()
	}
	if content, took, ok := m.Lasting.Recall(k); ok {
		return Result{Content: content, Duration: took, Cached: true}, nil
	}
	result, err := ask()
	if err == nil && result.Ended == nil && result.Bytes == nil {
		m.Lasting.Keep(k, name, result.Content, result.Duration-result.Waited)
	}
	return result, err
}

// settle keeps an answer that came, and forgets one that did not.
func (m *Memory) settle(k key, a *answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.result == nil {
		delete(m.known, k)
		return
	}
	m.kept = append(m.kept, k)
	m.bytes += a.result.size()
	for m.bytes > mostRemembered {
		m.bytes -= m.known[m.kept[0]].result.size()
		delete(m.known, m.kept[0])
		m.kept = m.kept[1:]
	}
}

func (r *Result) size() int { return len(r.Content) + len(r.Bytes) }
