package mockserver

import (
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"time"
)

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

// payload is the completion as it was asked for.
func (x *exchange) payload(c *completion) *payload {
	if x.request.Stream {
		return x.stream(c)
	}
	return whole(c)
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

func (x *exchange) stream(c *completion) *payload {
	p := &payload{
		status: http.StatusOK, header: map[string]string{"Content-Type": typeStream, "Cache-Control": "no-cache"},
		pause: x.server.options.Pause, length: -1,
	}
	for _, chunk := range c.chunks(x.server.options.Chunk, x.request.StreamOptions.IncludeUsage) {
		p.pieces = append(p.pieces, frame(chunk))
	}
	p.pieces = append(p.pieces, []byte("data: [DONE]\n\n"))
	return p
}

func frame(value any) []byte {
	text, _ := json.Marshal(value) // plain data
	return append(append([]byte("data: "), text...), "\n\n"...)
}

// replace makes another answer of it, with its length.
func (p *payload) replace(status int, contentType, text string) {
	p.status, p.length, p.pause = status, len(text), 0
	p.header = map[string]string{"Content-Type": contentType}
	p.pieces = [][]byte{[]byte(text)}
}

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
