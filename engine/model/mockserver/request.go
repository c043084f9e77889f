package mockserver

import (
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
	"time"

	"github.com/agentbench/agentbench/engine/model"
)

// protocol is one API: how what is asked is read, and how what is answered is written.
type protocol interface {
	vendor
	// read fills a request from its body, or says why it is none.
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
	// limits tells a limit and what is left of it, identify whose answer it is.
	limits(header http.Header, l limits)
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
	param, code   string // of OpenAI; "": there is none
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

	hash uint64 // of the whole body
	nth  int    // how many equal requests came before, this one included
}

// turn is one message of the conversation. What the assistant says until another
// speaks is one turn.
type turn struct {
	role  string // system, user, assistant, tool
	text  string
	bytes int // of all that it says, calls included
}

// say adds a turn, or to the last one where the assistant goes on.
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
func read(p protocol, w http.ResponseWriter, r *http.Request) (*request, *problem) {
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
