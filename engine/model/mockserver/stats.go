package mockserver

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

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
