package model

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"time"
)

// Protocol is an API that models are called by.
type Protocol string

// The protocols.
const (
	Chat      Protocol = "chat"      // OpenAI's chat completions
	Responses Protocol = "responses" // OpenAI's Responses
	Messages  Protocol = "messages"  // Anthropic's Messages
)

// MostKept is how many bytes of a raw answer are kept for the record and the cache. A longer one is passed on all the same.
const MostKept = 4 << 20

// Raw is a request that a program wrote itself, and where its answer goes. It is sent as it is but for the model's name and
// the key, by a model that speaks its protocol.
type Raw struct {
	Protocol Protocol
	Name     string // of the model, as the program asks for it
	// Before and After are the body around the JSON text that names the model.
	Before, After []byte
	Query         string // of the address, without the question mark
	Header        map[string][]string
	Stream        bool // the answer is to come in pieces
	// Bytes is the length of what a model reads, where an image counts as a text of as many tokens.
	Bytes int64
	// Sum is that of the canonical form: equal for requests that ask the same.
	Sum [sha256.Size]byte
	// Nth says which of the equal requests of its run it is, from 0. One that is sent again, because its answer did not
	// come, has the number that it had.
	Nth int
	// Reserve is how many tokens of output a budget reserves, whatever limit the program asks for.
	Reserve int64
	Answer  Sink
}

// Sink takes the answer of a raw request as it comes. What is written is passed on at once. Nothing is written before Begin,
// which is called once at most, and not at all where the call fails before a byte of the answer was passed on. Last comes
// before what makes the answer of a stream whole: the program may make its next call as soon as it has that.
type Sink interface {
	Begin(status int, header map[string][]string)
	io.Writer
	Last()
}

// Body is the request as the model of that name is sent it.
func (r *Raw) Body(name string) []byte {
	quoted, _ := json.Marshal(name) // a text
	body := make([]byte, 0, len(r.Before)+len(quoted)+len(r.After))
	return append(append(append(body, r.Before...), quoted...), r.After...)
}

// RawAnswer is an answer as it came.
type RawAnswer struct {
	Status int
	Header map[string][]string
	Body   []byte // nil where it is longer than MostKept
	// Broken means that the connection ended inside it.
	Broken bool
	// FirstByte is how long it took to begin.
	FirstByte time.Duration
}

// PassOn passes the whole answer on, and keeps it only where it is not too long.
func (a *RawAnswer) PassOn(to Sink) {
	to.Begin(a.Status, a.Header)
	to.Last()
	_, _ = to.Write(a.Body) // the call does not fail because a program went away that is paid for
	if len(a.Body) > MostKept {
		a.Body = nil
	}
}
