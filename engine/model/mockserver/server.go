// Package mockserver decides how a server behaves that speaks the
// chat-completions API of OpenAI and has no model behind it: what it replies,
// how long it takes, whom it refuses, and which faults it shows.
//
// The stages of a request: it is read (request.go), counted (stats.go), held to
// the rate limits (limits.go), meets its fault (schedule.go, kinds.go), gets a
// reply (replies.go) in the shape of the API (completion.go), and is sent whole
// or as a stream (payload.go).
//
// With the same seed, equal requests get equal answers: latencies, identifiers
// and faults by share are drawn from what was asked and how often, never from
// the order of arrival. Only counted faults, schedules and lists of replies go
// by it.
package mockserver

import (
	"encoding/json"
	"net"
	"net/http"
	"time"
)

// Options say how the server behaves. The zero Options echo at once and never fail.
type Options struct {
	Models   []string      // of GET /v1/models; default: mock
	Rules    []Rule        // the first that matches replies; none: the last user message comes back
	Latency  Latency       // until an answer begins
	Pause    time.Duration // between the chunks of a stream
	Chunk    int           // characters of a chunk; default 20
	Limits   Limits
	Schedule Schedule // faults by order of arrival
	Faults   []Rated  // faults by count or share, after the schedule
	Seed     uint64
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
	s.mux.HandleFunc("POST /v1/chat/completions", s.chat)
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
	server.ConnState = func(_ net.Conn, state http.ConnState) { s.stats.connection(state) }
}

// reset starts counters, schedule, limits and lists of replies anew.
func (s *Server) reset() {
	s.stats.reset()
	s.limiter.reset(s.options.Limits, s.options.Now())
	s.faults.reset(&s.options)
	s.replies.reset(s.options.Rules)
}

func (s *Server) tellReset(w http.ResponseWriter, _ *http.Request) {
	s.reset()
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	type entry struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	data := make([]entry, len(s.options.Models))
	for i, name := range s.options.Models {
		data[i] = entry{name, "model", 1_700_000_000, "agentbench"}
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	refused := &apiError{Message: "Invalid URL (" + r.Method + " " + r.URL.Path + ")", Type: "invalid_request_error"}
	writeJSON(w, http.StatusNotFound, refused.body())
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a client that went away needs no answer
}
