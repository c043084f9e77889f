// Package mockserver decides how a server behaves that speaks the APIs of models
// without a model: what it replies, how long it takes, whom it refuses, and which
// faults it shows.
//
// The stages of a request: it is read (chat.go, responses.go, messages.go: one file
// for each protocol), counted, held to the rate limits (limits.go), meets its fault
// (fault.go), and gets an answer (replies.go), which does not depend on the protocol
// until it is written, whole or as a stream.
//
// With the same seed, equal requests get equal answers: latencies, identifiers
// and faults by share are drawn from what was asked and how often, never from
// the order of arrival. Only counted faults, schedules, lists of replies and what a
// prompt cache holds go by it.
//
// It is no stable API.
package mockserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"github.com/agentbench/agentbench/engine/model"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Options say how the server behaves. The zero Options echo at once and never fail.
type Options struct {
	Models []string // of GET /v1/models; default: mock
	Rules  []Rule   // the first that matches replies; none: the last user message comes back
	// Offline are models that reply to requests for them, by name, in place of the rules.
	Offline  map[string]model.Model
	Latency  Latency       // until an answer begins
	Pause    time.Duration // between the chunks of a stream
	Chunk    int           // characters of a chunk; default 20
	Limits   Limits
	Schedule Schedule // faults by order of arrival
	Faults   []Rated  // faults by count or share, after the schedule
	Seed     uint64
	Key      string           // that clients must bring; "": none is needed
	Now      func() time.Time // default: time.Now
}

// Server is the handler.
type Server struct {
	options Options
	mux     *http.ServeMux
	stats   stats
	limiter limiter
	faults  faults
	replies replies
	prompts prompts
}

// New makes a server.
func New(o Options) *Server {
	if len(o.Models) == 0 {
		o.Models = []string{"mock"}
	}
	if o.Chunk <= 0 {
		o.Chunk = 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{options: o, mux: http.NewServeMux()}
	s.reset()
	s.mux.HandleFunc("POST /v1/chat/completions", s.answering(chat{}))
	s.mux.HandleFunc("POST /v1/responses", s.answering(responses{}))
	s.mux.HandleFunc("POST /v1/messages", s.answering(messages{}))
	s.mux.HandleFunc("POST /v1/messages/count_tokens", s.countTokens)
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("GET /stats", s.tellStats)
	s.mux.HandleFunc("POST /reset", s.tellReset)
	s.mux.HandleFunc("/", s.unknown)
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Track makes the server count the connections of an http.Server.
func (s *Server) Track(server *http.Server) {
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		s.stats.count(func(now *Stats) {
			switch state {
			case http.StateNew:
				now.Connections++
				now.Open++
			case http.StateClosed, http.StateHijacked:
				now.Open--
			}
		})
	}
}

// reset starts counters, schedule, limits, caches and lists of replies anew.
func (s *Server) reset() {
	s.stats.reset()
	s.limiter.reset(s.options.Limits, s.options.Now())
	s.faults.reset(&s.options)
	s.prompts.reset()
	s.replies.reset(s.options.Rules)
}

func (s *Server) tellReset(w http.ResponseWriter, _ *http.Request) {
	s.reset()
	w.WriteHeader(http.StatusNoContent)
}

// models lists the models as the vendor does whose client asks.
func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	v := vendorOf(r.Header)
	if refused := s.lock(v, r.Header); refused != nil {
		writeJSON(w, refused.status, v.refuse(refused, ""))
		return
	}
	writeJSON(w, http.StatusOK, v.models(s.options.Models))
}

// countTokens tells how many tokens a request of Messages would be, which is no call.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	p := messages{counting: true}
	asked, refused := s.read(p, w, r)
	if refused != nil {
		writeJSON(w, refused.status, p.refuse(refused, ""))
		return
	}
	writeJSON(w, http.StatusOK, map[string]int64{"input_tokens": asked.inputTokens()})
}

func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	p := vendorOf(r.Header)
	refused := p.problem("404")
	refused.code, refused.message = "", "Invalid URL ("+r.Method+" "+r.URL.Path+")"
	writeJSON(w, refused.status, p.refuse(refused, ""))
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a client that went away needs no answer
}

// exchange is one request to a model and what became of it.
type exchange struct {
	server   *Server
	protocol protocol
	w        http.ResponseWriter
	ctx      context.Context
	host     string // as the client named the server
	path     string
	id       string // of the request
	request  *request
	chosen   chosen
	offline  *offlineReply // nil: a rule replies
	fault    Fault
	made     *answer // nil where the fault comes instead
	status   int     // of the answer; 0: none began
	counted  bool
}

// finish counts the request as answered. It comes before the last bytes, so that
// a client that has read them finds it counted.
func (x *exchange) finish() {
	if !x.counted {
		x.counted = true
		x.server.stats.end(x.status)
	}
}

// answering answers the requests of a protocol.
func (s *Server) answering(p protocol) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{server: s, protocol: p, w: w, ctx: r.Context(), host: r.Host, path: r.URL.Path}
		s.stats.count(func(now *Stats) {
			now.Requests++
			now.InFlight++
			now.MaxInFlight = max(now.MaxInFlight, now.InFlight)
		})
		defer x.finish()
		if refused := x.admit(r); refused != nil {
			x.fail(refused)
		} else if x.wait(s.options.Latency.of(s.options.Seed, x.request)) {
			x.answer()
		}
	}
}

// admit reads a request and finds its rule and its fault. It returns a refusal otherwise.
func (x *exchange) admit(r *http.Request) (refused *problem) {
	s := x.server
	x.request, refused = s.read(x.protocol, x.w, r)
	if refused != nil {
		return refused
	}
	var err error
	if x.chosen, err = s.replies.choose(x.ctx, x.request); err != nil {
		refused = x.protocol.problem("400")
		refused.message = fmt.Sprintf("the mock's match: %v", err)
		return refused
	}
	x.request.nth = s.stats.meet(x.request)
	x.request.id = s.identity(x.request)
	x.id = "req_" + x.request.id
	header := x.w.Header()
	x.protocol.identify(header, x.id)
	if refused = s.limiter.admit(x.protocol, x.request.inputTokens()+int64(x.request.maxOutput), header, s.options.Now()); refused != nil {
		s.stats.count(func(now *Stats) { now.Limited++ })
		return refused
	}
	if x.fault = s.faults.next(x.request); x.fault.Kind != noFault {
		s.stats.count(func(now *Stats) { now.Faults[x.fault.Kind]++ })
	}
	if m := s.options.Offline[x.request.model]; m != nil && x.fault.kind.instead == nil {
		return x.askOffline(m, r.Header)
	}
	return nil
}

// answer lets the fault, if any, do what its kind does.
func (x *exchange) answer() {
	kind := x.fault.kind
	if kind.instead != nil {
		kind.instead(x)
		return
	}
	x.made = x.reply()
	if kind.answer != nil {
		kind.answer(x.made)
	}
	p := x.payload(x.made)
	if kind.payload != nil {
		kind.payload(x, p)
	}
	x.send(p)
}

// reply is the answer without its fault.
func (x *exchange) reply() *answer {
	if x.offline != nil {
		return x.offline.answer(x.server, x.request)
	}
	return x.server.complete(x.request, x.server.replies.to(x.request, x.chosen))
}

func (x *exchange) fail(refused *problem) {
	x.status = refused.status
	x.finish()
	writeJSON(x.w, refused.status, x.protocol.refuse(refused, x.id))
}

// wait waits, and reports whether the client is still there.
func (x *exchange) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.ctx.Done():
		return false
	}
}

// payload is an answer as it goes over the wire.
type payload struct {
	status int
	header map[string]string
	pieces [][]byte      // of a stream: one frame each
	pause  time.Duration // between the pieces
	length int           // promised; -1: none is
	end    ending
}

// ending is what follows the last piece.
type ending int

const (
	done  ending = iota
	reset        // the connection is reset
	stall        // nothing, until the client goes away
)

const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
)

// payload is the answer as it was asked for.
func (x *exchange) payload(a *answer) *payload {
	if x.request.stream {
		return x.stream(a, x.server.options.Chunk)
	}
	return whole(x.protocol.whole(a))
}

func whole(value any) *payload {
	text, _ := json.Marshal(value) // plain data
	text = append(text, '\n')
	half := len(text) / 2
	return &payload{
		status: http.StatusOK, header: map[string]string{"Content-Type": typeJSON},
		pieces: [][]byte{text[:half], text[half:]}, length: len(text),
	}
}

func (x *exchange) stream(a *answer, part int) *payload {
	return &payload{
		status: http.StatusOK, header: map[string]string{"Content-Type": typeStream, "Cache-Control": "no-cache"},
		pieces: x.protocol.stream(a, part), pause: x.server.options.Pause, length: -1,
	}
}

// frame is an event of a stream; "": it has no name.
func frame(event string, value any) []byte {
	text, _ := json.Marshal(value) // plain data
	b := make([]byte, 0, len("event: \ndata: \n\n")+len(event)+len(text))
	if event != "" {
		b = append(append(append(b, "event: "...), event...), '\n')
	}
	return append(append(append(b, "data: "...), text...), "\n\n"...)
}

// replace makes another answer of it, with its length.
func (p *payload) replace(status int, contentType, text string) {
	p.status, p.length, p.pause = status, len(text), 0
	p.header = map[string]string{"Content-Type": contentType}
	p.pieces = [][]byte{[]byte(text)}
}

// text is all that is sent.
func (p *payload) text() string { return string(bytes.Join(p.pieces, nil)) }

// keepHalf drops what a connection that breaks would not have carried. The
// length stays promised.
func (p *payload) keepHalf() { p.pieces = p.pieces[:max(1, len(p.pieces)/2)] }

// send writes the payload, each piece at once.
func (x *exchange) send(p *payload) {
	x.begin(p.status, p.header, p.length)
	immediate := p.pause > 0 || p.length < 0 || p.end != done
	for i, piece := range p.pieces {
		if i > 0 && !x.wait(p.pause) {
			return
		}
		if i == len(p.pieces)-1 && p.end == done {
			x.finish()
		}
		if _, err := x.w.Write(piece); err != nil {
			return
		}
		if immediate && http.NewResponseController(x.w).Flush() != nil {
			return
		}
	}
	switch p.end {
	case reset:
		x.disconnect(0)
	case stall:
		<-x.ctx.Done()
	}
}

func (x *exchange) begin(status int, header map[string]string, length int) {
	for name, value := range header {
		x.w.Header().Set(name, value)
	}
	if length >= 0 {
		x.w.Header().Set("Content-Length", strconv.Itoa(length))
	}
	x.status = status
	x.w.WriteHeader(status)
}

// disconnect closes the connection under the answer; without lingering the
// client sees a reset.
func (x *exchange) disconnect(linger int) {
	x.finish()
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil { // HTTP/2 resets the stream instead
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(linger) // else it is closed in the usual way
	}
	_ = conn.Close()
}

// remembered is how many different requests are told apart.
const remembered = 1 << 20

// shownPrompts is how many of them /stats lists if not asked for more.
const shownPrompts = 100

// Stats are what GET /stats gives. All but InFlight and Open start anew with
// POST /reset.
type Stats struct {
	Requests    int            `json:"requests"`      // for chat completions, refused ones included
	Statuses    map[string]int `json:"by_status"`     // answers that began, by status; none: none began
	Faults      map[string]int `json:"by_fault"`      // by kind
	Limited     int            `json:"rate_limited"`  // refused by --rpm or --tpm
	Streams     int            `json:"streams"`       // asked for as a stream
	InFlight    int            `json:"in_flight"`     // now
	MaxInFlight int            `json:"max_in_flight"` // at any time
	Connections int            `json:"connections"`   // opened
	Open        int            `json:"open_connections"`
	Distinct    int            `json:"distinct_requests"`
	Duplicates  int            `json:"duplicate_requests"` // whose whole body had come before
	Prompts     []Prompt       `json:"prompts"`            // the most frequent first
}

// Prompt is how often one body came.
type Prompt struct {
	Hash  string `json:"hash"` // of the body: the first 16 hexadecimal digits of its SHA-256
	Times int    `json:"times"`
}

type stats struct {
	lock sync.Mutex
	now  Stats
	seen map[uint64]int
}

func (s *stats) reset() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.now = Stats{
		Statuses: map[string]int{}, Faults: map[string]int{},
		InFlight: s.now.InFlight, MaxInFlight: s.now.InFlight, Open: s.now.Open,
	}
	s.seen = map[uint64]int{}
}

func (s *stats) count(what func(now *Stats)) {
	s.lock.Lock()
	defer s.lock.Unlock()
	what(&s.now)
}

// meet counts a request that could be read and says how often it came.
func (s *stats) meet(request *request) int {
	s.lock.Lock()
	defer s.lock.Unlock()
	if request.stream {
		s.now.Streams++
	}
	times := s.seen[request.hash]
	switch {
	case times > 0:
		s.now.Duplicates++
	case len(s.seen) >= remembered:
		return 1
	default:
		s.now.Distinct++
	}
	s.seen[request.hash] = times + 1
	return times + 1
}

// end counts an answer; status 0 says that none began.
func (s *stats) end(status int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.now.InFlight--
	name := "none"
	if status != 0 {
		name = strconv.Itoa(status)
	}
	s.now.Statuses[name]++
}

// Stats are the counters, with the most frequent requests, so many at most.
func (s *Server) Stats(prompts int) Stats {
	s.stats.lock.Lock()
	defer s.stats.lock.Unlock()
	told := s.stats.now
	told.Statuses, told.Faults = maps.Clone(told.Statuses), maps.Clone(told.Faults)
	told.Prompts = make([]Prompt, 0, len(s.stats.seen))
	for hash, times := range s.stats.seen {
		told.Prompts = append(told.Prompts, Prompt{fmt.Sprintf("%016x", hash), times})
	}
	slices.SortFunc(told.Prompts, func(a, b Prompt) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Hash, b.Hash))
	})
	told.Prompts = told.Prompts[:min(prompts, len(told.Prompts))]
	return told
}

func (s *Server) tellStats(w http.ResponseWriter, r *http.Request) {
	prompts := shownPrompts
	if n, err := strconv.Atoi(r.URL.Query().Get("prompts")); err == nil && n >= 0 {
		prompts = n
	}
	writeJSON(w, http.StatusOK, s.Stats(prompts))
}
