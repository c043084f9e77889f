package mockserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/model"
)

// protocol is one API: how what is asked is read, and how what is answered is written.
type protocol interface {
	vendor
	// read fills a request from its body, or gives what is wrong with it.
	read(r *request, body []byte, header http.Header) *problem
	// whole is an answer in one piece.
	whole(a *answer) any
	// stream is an answer as the frames of a stream, its texts in parts of so many bytes.
	stream(a *answer, part int) [][]byte
	// broken is the frame of a stream that fails after so many: the event error, or else
	// the other way in which the protocol tells it.
	broken(a *answer, frames int, event bool) []byte
}

// vendor is who answers: how errors and limits are worded, and what headers there are.
type vendor interface {
	// problem words a status, or what else is refused: quota, context, filter.
	problem(name string) *problem
	// refuse is the body that tells a problem of a request.
	refuse(p *problem, id string) any
	// tooFast words that a limit is reached.
	tooFast(what string, limit int, asked float64, wait time.Duration) *problem
	// limits tells a limit and what is left of it, reset when it has all again, identify whose answer it is.
	limits(header http.Header, l limits)
	reset(header http.Header, what, when string)
	// key is the key that a client brings, and missing what is said where it brings none.
	key(header http.Header) (key, missing string)
	identify(header http.Header, id string)
	models(names []string) any
}

// vendorOf is who answers a request beside the protocols: only clients of Anthropic
// tell a version.
func vendorOf(header http.Header) vendor {
	if header.Get(versionHeader) != "" {
		return anthropic{}
	}
	return openAI{}
}

// problem is why a request is not answered as it asks.
type problem struct {
	status        int
	kind, message string
	param, code   string // of OpenAI; may be empty
}

// request is what is asked, in whichever protocol.
type request struct {
	model     string
	turns     []turn
	tools     int // bytes of their definitions
	maxOutput int // tokens; 0: the request does not say
	stream    bool
	json      bool   // the reply is to be JSON
	tier      string // as asked for
	callID    string // how the protocol's IDs of calls begin
	own       any    // what only the protocol's own writer needs
	cached    cached

	hash uint64 // of the whole body
	nth  int    // how many equal requests came before, this one included
	id   string // of its answer, 32 hexadecimal digits
}

// turn is one message of the conversation. What the assistant says until another
// speaks is one turn.
type turn struct {
	role  string // system, user, assistant, tool
	text  string
	bytes int // of all that it says, calls included
}

// say adds a turn. What the assistant says in several messages is one turn.
func (r *request) say(role, text string, bytes int) {
	if last := len(r.turns) - 1; role == "assistant" && last >= 0 && r.turns[last].role == role {
		r.turns[last].text += text
		r.turns[last].bytes += bytes
		return
	}
	r.turns = append(r.turns, turn{role, text, bytes})
}

// mostRequest is the longest body that is read, in bytes.
const mostRequest = 32 << 20

// read gives the request, or the problem that answers a bad one.
func (s *Server) read(p protocol, w http.ResponseWriter, r *http.Request) (*request, *problem) {
	if refused := s.lock(p, r.Header); refused != nil {
		return nil, refused
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostRequest))
	var tooLong *http.MaxBytesError
	if errors.As(err, &tooLong) {
		refused := p.problem("413")
		refused.message = fmt.Sprintf("The request is longer than %d bytes", mostRequest)
		return nil, refused
	} else if err != nil {
		refused := p.problem("400")
		refused.message = "The request could not be read"
		return nil, refused
	}
	sum := sha256.Sum256(body)
	made := &request{hash: binary.BigEndian.Uint64(sum[:8])}
	if refused := p.read(made, body, r.Header); refused != nil {
		return nil, refused
	}
	return made, nil
}

// lock refuses clients without the key, where the server has one.
func (s *Server) lock(v vendor, header http.Header) *problem {
	key, missing := v.key(header)
	if s.options.Key == "" || key == s.options.Key {
		return nil
	}
	refused := v.problem("401")
	if key == "" {
		refused.code, refused.message = "", missing
	}
	return refused
}

// lastUser is the text of the last message of the user.
func (r *request) lastUser() string {
	for i := len(r.turns) - 1; i >= 0; i-- {
		if r.turns[i].role == "user" {
			return r.turns[i].text
		}
	}
	return ""
}

// steps is how often the assistant has replied since the first message of the user
// that the rule matches.
func (r *request) steps(ctx context.Context, rule *Rule) (steps int, err error) {
	begun := false
	for i := range r.turns {
		switch t := &r.turns[i]; t.role {
		case "user":
			if begun {
				continue
			}
			if begun, err = rule.matches(ctx, t.text); err != nil {
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

func (r *request) inputTokens() int64 {
	bytes := r.tools
	for i := range r.turns {
		bytes += r.turns[i].bytes
	}
	return max(1, model.EstimateTokens(bytes))
}

// identity names an answer: equal requests have different ones, but the same in
// every run of the server.
func (s *Server) identity(r *request) string {
	a, b := draw(s.options.Seed, "identity", r)
	return fmt.Sprintf("%016x%016x", a, b)
}

// Latency is lognormal around a median; a sigma of 0 is constant.
type Latency struct {
	Median time.Duration
	Sigma  float64
}

// of draws how long the answer to a request takes to begin.
func (l Latency) of(seed uint64, r *request) time.Duration {
	if l.Sigma <= 0 || l.Median <= 0 {
		return l.Median
	}
	chance := rand.New(rand.NewPCG(draw(seed, "latency", r)))
	return time.Duration(float64(l.Median) * math.Exp(l.Sigma*chance.NormFloat64()))
}

// draw is a number that depends on the seed, on what it is for, on the request
// and on how often it came, but not on the order of arrival.
func draw(seed uint64, purpose string, r *request) (a, b uint64) {
	text := binary.LittleEndian.AppendUint64(make([]byte, 0, 64), seed)
	text = binary.LittleEndian.AppendUint64(text, r.hash)
	text = binary.LittleEndian.AppendUint64(text, uint64(r.nth))
	sum := sha256.Sum256(append(text, purpose...))
	return binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])
}

// seal makes of thoughts what a client cannot read and gives back as it is: a
// signature, encrypted content.
func seal(thoughts string) string {
	sum := sha256.Sum256([]byte("agentbench mock" + thoughts))
	return base64.StdEncoding.EncodeToString(append(sum[:12:12], thoughts...))
}

// unseal gives the thoughts back. What the mock did not seal is not ok.
func unseal(sealed string) (thoughts string, ok bool) {
	text, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil || len(text) < 12 {
		return "", false
	}
	thoughts = string(text[12:])
	return thoughts, seal(thoughts) == sealed
}

// MarshalJSON writes what was read.
func (t textOrParts[P]) MarshalJSON() ([]byte, error) {
	if t.parts != nil {
		return json.Marshal(t.parts)
	}
	return json.Marshal(t.text)
}

// mark is a part's request to keep the prompt up to it in a cache.
type mark struct {
	Control *struct {
		TTL string `json:"ttl"`
	} `json:"cache_control,omitempty"`
	Breakpoint *struct{} `json:"prompt_cache_breakpoint,omitempty"` // of OpenAI
}

// cached is the prompt as a cache sees it: parts, of which some end a prefix that is kept.
type cached struct {
	pieces []piece
	marks  int
}

// piece is a part of a prompt.
type piece struct {
	prefix uint64 // names all that the prompt is up to here
	tokens int64  // of all of that
	kept   bool   // in a cache, for an hour or else for five minutes
	hour   bool
}

// add adds what comes next in a prompt; bytes is how much the prompt is up to here.
func (c *cached) add(what any, bytes int, m *mark) {
	text, _ := json.Marshal(what) // what was read from JSON
	var before uint64
	if n := len(c.pieces); n > 0 {
		before = c.pieces[n-1].prefix
	}
	sum := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, before), text...))
	next := piece{prefix: binary.LittleEndian.Uint64(sum[:8]), tokens: model.EstimateTokens(bytes)}
	c.pieces = append(c.pieces, next)
	c.keep(m)
}

// keep keeps the prompt up to its newest part, if it is marked.
func (c *cached) keep(m *mark) {
	if m.Control == nil && m.Breakpoint == nil || len(c.pieces) == 0 {
		return
	}
	c.marks++
	last := &c.pieces[len(c.pieces)-1]
	last.kept, last.hour = true, m.Control != nil && m.Control.TTL == "1h"
}

// isMarked reports whether a body may ask for a cache, so that others are not looked at.
func isMarked(body []byte) bool {
	return bytes.Contains(body, []byte(`"cache_control"`)) || bytes.Contains(body, []byte(`"prompt_cache_breakpoint"`))
}

// prompts are the prefixes in the cache. They stay until the server is reset.
type prompts struct {
	lock sync.Mutex
	kept map[uint64]bool
}

func (p *prompts) reset() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.kept = map[uint64]bool{}
}

// lookBack is how many parts before a marked one are looked at for a prefix that is kept,
// itself included.
const lookBack = 20

// use tells which tokens of a prompt are read from the cache and which are written, and
// keeps what is marked.
func (p *prompts) use(c *cached, u *usage) {
	if c.marks == 0 {
		return
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	read := -1
	for i := range c.pieces {
		for j := i; c.pieces[i].kept && j > max(read, i-lookBack); j-- {
			if p.kept[c.pieces[j].prefix] {
				read = j
				break
			}
		}
	}
	if read >= 0 {
		u.cached = c.pieces[read].tokens
	}
	done := u.cached
	for i := range c.pieces {
		next := &c.pieces[i]
		if !next.kept {
			continue
		}
		if i > read && next.hour {
			u.written1h += next.tokens - done
		} else if i > read {
			u.written += next.tokens - done
		}
		done = max(done, next.tokens)
		if len(p.kept) < remembered {
			p.kept[next.prefix] = true
		}
	}
}

// textOrParts is a text, or a list of parts.
type textOrParts[P any] struct {
	text  string
	parts []P // nil: it came as a text
}

// UnmarshalJSON takes a text, a list of parts, or null.
func (t *textOrParts[P]) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '[' {
		return json.Unmarshal(raw, &t.text)
	}
	return json.Unmarshal(raw, &t.parts)
}
