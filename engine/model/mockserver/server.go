// Package mockserver decides how a server behaves that speaks the
// chat-completions API of OpenAI without a model: what it replies,
// how long it takes, whom it refuses, and which faults it shows.
//
// The stages of a request: it is read, counted, held to
// the rate limits, meets its fault, gets a
// reply (replies.go) in the shape of the API, and is sent whole
// or as a stream.
//
// With the same seed, equal requests get equal answers: latencies, identifiers
// and faults by share are drawn from what was asked and how often, never from
// the order of arrival. Only counted faults, schedules and lists of replies go
// by it.
//
// It is no stable API.
package mockserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/model"
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

// mostRequest is the longest body that is read, in bytes.
const mostRequest = 32 << 20

// chatRequest is what the server reads of a body; the rest is only hashed.
type chatRequest struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens           int `json:"max_tokens"`
	MaxCompletionTokens int `json:"max_completion_tokens"`
	ResponseFormat      struct {
		Type string `json:"type"`
	} `json:"response_format"`
	Tools []struct {
		Function json.RawMessage `json:"function"`
	} `json:"tools"`

	hash uint64 // of the whole body
	nth  int    // how many equal requests came before, this one included
}

type message struct {
	Role      string     `json:"role"`
	Content   content    `json:"content"`
	ToolCalls []toolCall `json:"tool_calls"`
}

// content is a message's text, which comes as text or in parts.
type content string

// UnmarshalJSON takes text, a list of parts, or null.
func (c *content) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '[' {
		return json.Unmarshal(raw, (*string)(c))
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		*c += content(part.Text)
	}
	return nil
}

// read gives the request, or the status and the error that answer a bad one.
func read(w http.ResponseWriter, r *http.Request) (*chatRequest, int, *apiError) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostRequest))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		return nil, http.StatusRequestEntityTooLarge, invalid("", "", "The request is longer than %d bytes", mostRequest)
	} else if err != nil {
		return nil, http.StatusBadRequest, invalid("", "", "The request could not be read")
	}
	sum := sha256.Sum256(text)
	request := &chatRequest{hash: binary.BigEndian.Uint64(sum[:8])}
	if err := json.Unmarshal(text, request); err != nil {
		return nil, http.StatusBadRequest, invalid("", "invalid_json", "We could not parse the JSON body of your request: %v", err)
	}
	if refused := request.refuse(); refused != nil {
		return nil, http.StatusBadRequest, refused
	}
	return request, 0, nil
}

// refuse says what makes a request invalid; nil: nothing does.
func (r *chatRequest) refuse() *apiError {
	switch {
	case r.Model == "":
		return invalid("model", "missing_required_parameter", "you must provide a model parameter")
	case r.Messages == nil:
		return invalid("messages", "missing_required_parameter", "Missing required parameter: 'messages'")
	case len(r.Messages) == 0:
		return invalid("messages", "empty_array", "Invalid 'messages': empty array. Expected an array with minimum length 1")
	}
	return nil
}

// lastUser is the text of the last message of the user.
func (r *chatRequest) lastUser() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return string(r.Messages[i].Content)
		}
	}
	return ""
}

// steps is how often the assistant has replied since the first message of the user
// that the rule matches.
func (r *chatRequest) steps(ctx context.Context, rule *Rule) (steps int, err error) {
	begun := false
	for i := range r.Messages {
		switch m := &r.Messages[i]; m.Role {
		case "user":
			if begun {
				continue
			}
			if begun, err = rule.matches(ctx, string(m.Content)); err != nil {
				return 0, err
			}
		case "assistant":
			if begun {
				steps++
			}
		}
	}
	return steps, nil
}

func (r *chatRequest) inputTokens() int64 {
	bytes := 0
	for i := range r.Messages {
		bytes += len(r.Messages[i].Content)
		for _, call := range r.Messages[i].ToolCalls {
			bytes += len(call.Function.Name) + len(call.Function.Arguments)
		}
	}
	for i := range r.Tools {
		bytes += len(r.Tools[i].Function)
	}
	return max(1, model.EstimateTokens(bytes))
}

// maxOutput is the most tokens of output, 0 where the request does not say.
func (r *chatRequest) maxOutput() int { return max(r.MaxTokens, r.MaxCompletionTokens) }

// apiError is an error in the API's shape.
type apiError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (e *apiError) body() map[string]*apiError { return map[string]*apiError{"error": e} }

func invalid(param, code, format string, args ...any) *apiError {
	return &apiError{fmt.Sprintf(format, args...), "invalid_request_error", nullable(param), nullable(code)}
}

// nullable is null for no text.
func nullable(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Schedule is what the first requests meet, in the order of arrival.
type Schedule struct {
	Steps  []Fault
	Repeat bool // start over after the last
}

// ParseSchedule reads faults that are parted by commas: "ok*2,429:retry-after=2,cut".
// A last step "repeat" makes it start over.
func ParseSchedule(text string) (Schedule, error) {
	var schedule Schedule
	steps := strings.Split(text, ",")
	for i, step := range steps {
		step = strings.TrimSpace(step)
		if step == "repeat" && i > 0 && i == len(steps)-1 {
			schedule.Repeat = true
			break
		}
		fault, times, err := parseStep(step)
		if err != nil {
			return Schedule{}, err
		}
		for range times {
			schedule.Steps = append(schedule.Steps, fault)
		}
	}
	return schedule, nil
}

// mostSteps keeps a slip of the finger from filling the memory.
const mostSteps = 100_000

func parseStep(step string) (Fault, int, error) {
	step, count, counted := strings.Cut(step, "*")
	times := 1
	if counted {
		var err error
		if times, err = strconv.Atoi(count); err != nil || times < 1 || times > mostSteps {
			return Fault{}, 0, fmt.Errorf("%s*%s: how often is a number from 1 to %d", step, count, mostSteps)
		}
	}
	fault, err := ParseFault(step)
	return fault, times, err
}

// Rated is a fault with how often it shows.
type Rated struct {
	Every int     // each so manieth request
	First int     // the first requests
	At    int     // the one request, from 1
	Share float64 // of all requests, drawn for each
	Fault Fault   // of kind transient: each transient kind in turn
}

// ParseRated reads WHEN:FAULT, where WHEN is every=N, first=N, at=N or share=P.
// Without it every request meets the fault.
func ParseRated(text string) (Rated, error) {
	rated := Rated{Every: 1}
	if when, rest, found := strings.Cut(text, ":"); found && strings.Contains(when, "=") {
		var err error
		if rated, err = parseWhen(when); err != nil {
			return Rated{}, err
		}
		text = rest
	}
	fault, err := ParseFault(text)
	rated.Fault = fault
	return rated, err
}

func parseWhen(when string) (rated Rated, err error) {
	name, value, _ := strings.Cut(when, "=")
	counts := map[string]*int{"every": &rated.Every, "first": &rated.First, "at": &rated.At}
	switch count := counts[name]; {
	case count != nil:
		if *count, err = strconv.Atoi(value); err != nil || *count < 1 {
			err = fmt.Errorf("%s: want a number of at least 1", when)
		}
	case name == "share":
		if rated.Share, err = strconv.ParseFloat(value, 64); err != nil || !(rated.Share > 0 && rated.Share <= 1) {
			err = fmt.Errorf("%s: want a share above 0, at most 1", when)
		}
	default:
		err = fmt.Errorf("%q says not when: want every=N, first=N, at=N or share=P", when)
	}
	return rated, err
}

// faults decide which fault each request meets.
type faults struct {
	lock     sync.Mutex
	schedule Schedule
	rated    []Rated
	seed     uint64
	arrived  int // requests, refused ones left out
	shown    int // faults of the kind transient
}

func (f *faults) reset(o *Options) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.schedule, f.rated, f.seed = o.Schedule, o.Faults, o.Seed
	f.arrived, f.shown = 0, 0
}

// next is the fault that a request meets: the schedule's, else the first of
// those by count or share whose turn it is, else none.
func (f *faults) next(request *chatRequest) Fault {
	f.lock.Lock()
	defer f.lock.Unlock()
	n := f.arrived
	f.arrived++
	if steps := len(f.schedule.Steps); n < steps || f.schedule.Repeat && steps > 0 {
		return f.turn(f.schedule.Steps[n%steps])
	}
	for i := range f.rated {
		if f.rated[i].due(n+1, f.seed, i, request) {
			return f.turn(f.rated[i].Fault)
		}
	}
	return Fault{Kind: noFault, kind: &kind{}}
}

// turn resolves the kind transient.
func (f *faults) turn(fault Fault) Fault {
	if fault.Kind != transient {
		return fault
	}
	inTurn := transients()
	f.shown++
	next, _ := ParseFault(inTurn[(f.shown-1)%len(inTurn)]) // names of the table
	return next
}

// due says whether the n-th request, from 1, meets the fault.
func (r *Rated) due(n int, seed uint64, place int, request *chatRequest) bool {
	switch {
	case r.Every > 0:
		return n%r.Every == 0
	case r.First > 0:
		return n <= r.First
	case r.At > 0:
		return n == r.At
	}
	drawn, _ := draw(seed, "fault "+strconv.Itoa(place), request)
	return float64(drawn) < r.Share*math.Exp2(64)
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

func (s *stats) connection(state http.ConnState) {
	s.lock.Lock()
	defer s.lock.Unlock()
	switch state {
	case http.StateNew:
		s.now.Connections++
		s.now.Open++
	case http.StateClosed, http.StateHijacked:
		s.now.Open--
	}
}

func (s *stats) begin() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.now.Requests++
	s.now.InFlight++
	s.now.MaxInFlight = max(s.now.MaxInFlight, s.now.InFlight)
}

// meet counts a request that could be read and says how often it came.
func (s *stats) meet(request *chatRequest) int {
	s.lock.Lock()
	defer s.lock.Unlock()
	if request.Stream {
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

func (s *stats) limited() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.now.Limited++
}

func (s *stats) fault(kind string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.now.Faults[kind]++
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
