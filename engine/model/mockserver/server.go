// Package mockserver answers the clients of models without a model. New makes a server, which is an http.Handler; Speaking lets a
// scripted or simulated model answer the requests of programs without one.
//
// A request in any of three protocols (chat.go, responses.go, messages.go) is decoded into one turn (turn.go). The rate limit
// (limit.go) or a fault (fault.go) may refuse it. A model of a suite, a rule (rules.go) or the echo gives the reply, and the
// protocol encodes it, whole or as a stream.
//
// With the same seed, equal requests get equal answers in any order of arrival, faults by share included. Only faults by
// count and replies in turn follow the order of arrival.
//
// It is no stable API.
package mockserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// defaultChunk is how many bytes of text an event of a stream has.
const defaultChunk = 20

// Options say how the server behaves. The zero Options echo at once and never fail.
type Options struct {
	Models  []string               // of GET /v1/models; default: mock
	Rules   []Rule                 // the first that matches replies; none: the last message of the user is the reply
	Offline map[string]model.Model // by name; requests for them go to them and not to the rules
	Latency time.Duration          // until an answer begins
	Pause   time.Duration          // between the events of a stream
	Chunk   int                    // bytes of text in an event of a stream; default: 20
	Limit   Limit
	Faults  []Fault // the first that is due shows
	Seed    uint64
	Key     string           // that clients must have; "": none is needed
	Now     func() time.Time // default: time.Now
}

// Server is the handler.
type Server struct {
	options Options
	mux     http.ServeMux
	limiter *limiter
	arrived atomic.Int64   // requests within the limit
	given   []atomic.Int64 // replies of each rule

	mu    sync.Mutex
	stats Stats
	seen  map[[sha256.Size]byte]int // how often each body came
}

// New makes a server.
func New(o Options) *Server {
	if len(o.Models) == 0 {
		o.Models = []string{"mock"}
	}
	o.Chunk = cmp.Or(o.Chunk, defaultChunk)
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{options: o, limiter: newLimiter(o.Limit), given: make([]atomic.Int64, len(o.Rules)), seen: map[[sha256.Size]byte]int{}}
	s.stats = Stats{Statuses: map[string]int{}, Faults: map[string]int{}}
	for _, p := range protocols {
		s.mux.HandleFunc("POST /v1"+p.path, func(w http.ResponseWriter, r *http.Request) { s.answer(p, w, r) })
	}
	s.mux.HandleFunc("POST /v1/messages/count_tokens", s.countTokens)
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, s.Stats()) })
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, ProtocolOf(r.Header), &problem{status: http.StatusNotFound, message: "unknown " + r.Method + " " + r.URL.Path}, "")
	})
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// answer answers a request for a reply.
func (s *Server) answer(p *protocol, w http.ResponseWriter, r *http.Request) {
	s.count(func(now *Stats) {
		now.Requests++
		now.InFlight++
		now.MaxInFlight = max(now.MaxInFlight, now.InFlight)
	})
	defer s.count(func(now *Stats) { now.InFlight-- })
	t, err := s.read(p.decode, w, r)
	if err != nil {
		s.refuse(p, w, err, "")
		return
	}
	t.id = s.identify(t.sum)
	w.Header().Set(idHeader(p.name), "req_"+t.id)
	if err := s.limiter.take(p.name, t, w.Header(), s.options.Now()); err != nil {
		s.refuse(p, w, err, t.id)
		return
	}
	fault := s.fault(t)
	if !wait(r.Context(), s.options.Latency+fault.By) {
		return
	}
	switch {
	case fault.Kind == reset:
		s.began("none")
		breakConnection(w)
	case fault.status() != 0:
		if fault.RetryAfter != "" {
			w.Header().Set("Retry-After", fault.RetryAfter)
		}
		s.refuse(p, w, &problem{status: fault.status()}, t.id)
	default:
		s.reply(p, w, r, t, &fault)
	}
}

// read checks the key of a request and decodes its body.
func (s *Server) read(decode func([]byte) (*turn, error), w http.ResponseWriter, r *http.Request) (*turn, error) {
	if err := s.unlock(r.Header); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostRequest))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return nil, &problem{status: http.StatusRequestEntityTooLarge, message: fmt.Sprintf("the request is longer than %d bytes", mostRequest)}
	} else if err != nil {
		return nil, err
	}
	t, err := decode(body)
	if err != nil {
		return nil, err
	}
	t.sum = sha256.Sum256(body)
	return t, nil
}

// mostRequest is the longest body that is read, in bytes.
const mostRequest = 32 << 20

// mostSeen is how many different bodies are remembered.
const mostSeen = 1 << 20

// identify names the answer to a body with that sum, in 32 hexadecimal digits: the n-th answer to equal bodies has the same
// name whenever it comes.
func (s *Server) identify(sum [sha256.Size]byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == mostSeen {
		clear(s.seen)
	}
	s.seen[sum]++
	id := sha256.Sum256(fmt.Appendf(sum[:], " %d %d", s.options.Seed, s.seen[sum]))
	return hex.EncodeToString(id[:16])
}

// unlock refuses clients without the key, where the server has one.
func (s *Server) unlock(header http.Header) error {
	key := cmp.Or(header.Get("X-Api-Key"), strings.TrimPrefix(header.Get("Authorization"), "Bearer "))
	if s.options.Key == "" || key == s.options.Key {
		return nil
	}
	return &problem{status: http.StatusUnauthorized, message: "the API key is missing or wrong"}
}

// fault is the first fault that is due; the zero Fault is none.
func (s *Server) fault(t *turn) Fault {
	n := s.arrived.Add(1)
	for i, f := range s.options.Faults {
		if f.due(n, chance(t.id, i)) {
			s.count(func(now *Stats) { now.Faults[f.Kind]++ })
			return f
		}
	}
	return Fault{}
}

// chance is a number from 0 to 1 that follows from an identity and a purpose.
func chance(id string, purpose int) float64 {
	sum := sha256.Sum256(fmt.Append(nil, id, " ", purpose))
	n, _ := strconv.ParseUint(hex.EncodeToString(sum[:8]), 16, 64) // 16 digits
	return float64(n) / math.Exp2(64)
}

// reply sends what a model, a rule or the echo replies, with the fault in it.
func (s *Server) reply(p *protocol, w http.ResponseWriter, r *http.Request, t *turn, fault *Fault) {
	said, err := s.says(r.Context(), t, r.Header.Get(taskHeader))
	if err != nil {
		s.refuse(p, w, err, t.id)
		return
	}
	fault.change(said)
	a := t.answer(said, s.options.Now())
	kind, frames := p.encode(a, s.options.Chunk)
	fault.damage(p, frames)
	header := w.Header()
	header.Set("Content-Type", kind)
	if !t.stream {
		header.Set("Content-Length", strconv.Itoa(len(frames[0])))
	}
	if fault.Kind == cut || fault.Kind == stall {
		frames = half(frames)
	}
	s.began("200")
	for i, frame := range frames {
		if i > 0 && !wait(r.Context(), s.options.Pause) {
			return
		}
		if _, err := w.Write(frame); err != nil {
			return
		}
		if t.stream || fault.Kind == stall {
			_ = http.NewResponseController(w).Flush() // the next write fails where this does
		}
	}
	if fault.Kind == stall {
		<-r.Context().Done()
	}
}

// taskHeader names the task of a request to a model of a suite: a script with replies for each task finds them by it, and a
// simulated model is as good as it is at that task. Without it the task is the first message of the user.
const taskHeader = "X-Agentbench-Task"

// says asks the model of a suite that the request names, else the first rule that matches.
func (s *Server) says(ctx context.Context, t *turn, task string) (*model.Reply, error) {
	asked := s.options.Offline[t.name]
	if asked == nil {
		return s.byRule(t)
	}
	t.Draw = model.Draw{Task: task, Trial: 1, Iteration: 1}
	for _, m := range t.Messages {
		switch m.Role {
		case "assistant":
			t.Draw.Call++
			t.Draw.Iteration++
		case "user":
			t.Draw.Task = cmp.Or(t.Draw.Task, m.Text)
		}
	}
	reply, err := asked.Call(ctx, &t.Request)
	if failed, ok := errors.AsType[*model.CallError](err); ok && failed.Cause.Class == record.Server {
		return nil, &problem{status: http.StatusInternalServerError, message: err.Error()}
	}
	return reply, err
}

// refuse answers a request for a reply with an error.
func (s *Server) refuse(p *protocol, w http.ResponseWriter, err error, id string) {
	s.began(strconv.Itoa(problemOf(err).status))
	writeError(w, p.name, err, id)
}

// models lists the models as the vendor does whose client asks.
func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	if err := s.unlock(r.Header); err != nil {
		writeError(w, ProtocolOf(r.Header), err, "")
		return
	}
	writeJSON(w, http.StatusOK, ModelList(r.Header, s.options.Models))
}

// countTokens estimates how many tokens a request of Messages would be, which is no call.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	t, err := s.read(decodePrompt, w, r)
	if err != nil {
		writeError(w, model.Messages, err, "")
		return
	}
	writeJSON(w, http.StatusOK, object{"input_tokens": t.inputTokens()})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a client that went away needs no answer
}

func writeError(w http.ResponseWriter, p model.Protocol, err error, id string) {
	failed := problemOf(err)
	writeJSON(w, failed.status, errorBody(p, failed, id))
}

// wait waits, and reports whether the client is still there.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// breakConnection closes the connection without an answer, so that the client sees a reset.
func breakConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil { // HTTP/2 resets the stream
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // else it is closed in the usual way
	}
	_ = conn.Close()
}

// Stats are the counters of GET /stats.
type Stats struct {
	Requests    int            `json:"requests"`      // for replies, refused ones included
	Statuses    map[string]int `json:"by_status"`     // answers that began; none: the connection was reset
	Faults      map[string]int `json:"by_fault"`      // by kind
	InFlight    int            `json:"in_flight"`     // now
	MaxInFlight int            `json:"max_in_flight"` // at any time
}

// Stats are the counters since the server was made.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.stats
	now.Statuses, now.Faults = maps.Clone(now.Statuses), maps.Clone(now.Faults)
	return now
}

func (s *Server) count(what func(now *Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what(&s.stats)
}

// began counts an answer before its first byte, so that a client that has read it finds it counted.
func (s *Server) began(status string) { s.count(func(now *Stats) { now.Statuses[status]++ }) }
