package wire

import (
	"bufio"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/secret"
)

// ours are the headers of a raw request that a model's own request has in another way: its key, and what belongs to one connection.
var ours = []string{
	"Accept-Encoding", "Api-Key", "Authorization", "Connection", "Content-Length", "Cookie", "Forwarded", "Host", "Keep-Alive", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "X-Api-Key", "X-Forwarded-For",
}

// theirs are the headers of an answer that belong to its connection, or to the server's own client.
var theirs = []string{"Alt-Svc", "Connection", "Content-Encoding", "Content-Length", "Keep-Alive", "Set-Cookie", "Trailer", "Transfer-Encoding", "Upgrade"}

// dress gives a request the headers and the query of the program that wrote it. Those that the model declares stay.
func (l *Line) dress(request *http.Request, raw *model.Raw) {
	header := maps.Clone(http.Header(raw.Header))
	if header == nil {
		header = http.Header{}
	}
	for _, name := range ours {
		header.Del(name)
	}
	for name, values := range request.Header {
		if _, has := header[name]; !has {
			header[name] = values
		}
	}
	for name := range l.Headers {
		name = http.CanonicalHeaderKey(name)
		header[name] = request.Header[name]
	}
	header.Set("Accept-Encoding", "identity") // what is compressed may be held back
	request.Header = header
	if raw.Query != "" {
		address := *request.URL
		if address.RawQuery != "" {
			address.RawQuery += "&"
		}
		address.RawQuery += raw.Query
		request.URL = &address
	}
}

// passing passes a stream on as it comes, and keeps the first of it. What has come is passed on before more is waited for, and
// after it was read: so it is known of the last part that it is the last. A program that reads slowly is no silence of the
// server.
type passing struct {
	from    io.Reader
	silence *silence
	status  int
	header  http.Header
	to      model.Sink
	hiding  *secret.Writer       // to it
	took    func() time.Duration // so far

	part   []byte // read, and not passed on yet
	room   [16 << 10]byte
	begun  bool
	first  time.Duration
	kept   []byte
	length int64
	err    error // of the connection to the server, or to the program
}

// Read passes on what was read before, and reads on.
func (p *passing) Read(b []byte) (int, error) {
	if p.flush(); p.err != nil {
		return 0, p.err
	}
	n, err := p.from.Read(p.room[:min(len(b), len(p.room))])
	p.part, p.err = p.room[:n], err
	copy(b, p.part)
	if n > 0 {
		return n, nil // an error comes with the next part, when this one was passed on
	}
	return 0, err
}

// flush passes on what was read.
func (p *passing) flush() {
	if len(p.part) == 0 {
		return
	}
	if p.silence.timer.Stop() {
		defer p.silence.timer.Reset(p.silence.idle)
	}
	if !p.begun {
		p.begun, p.first = true, p.took()
		p.to.Begin(p.status, p.header)
	}
	if _, err := p.hiding.Write(p.part); err != nil {
		p.err = err
	}
	p.part = nil
}

// keeper keeps what is passed on.
type keeper passing

// Write implements io.Writer.
func (p *keeper) Write(part []byte) (int, error) {
	if p.length += int64(len(part)); p.length <= model.MostKept {
		p.kept = append(p.kept, part...)
	} else {
		p.kept = nil
	}
	return p.to.Write(part)
}

// pass passes a stream on and folds it meanwhile. Whatever is wrong with it, all that the server sends is passed on. What is no
// stream is read whole.
func (l *Line) pass(a *Answer, response *http.Response, silence *silence, raw *model.Raw, fold func(*bufio.Reader) error) (err error) {
	from := bufio.NewReader(silence)
	within := func(r io.Reader) io.Reader { return &limited{from: r, left: l.MaxResponse, most: l.MaxResponse} }
	if !isStream(from) {
		a.unasked = true
		a.Body, err = readAll(within(from))
		return err
	}
	a.passed = &passing{
		from: from, silence: silence, status: a.Status, header: l.passedOn(a.Header), to: raw.Answer,
		took: func() time.Duration { return l.Now().Sub(a.start) },
	}
	a.passed.hiding = l.values.Writer((*keeper)(a.passed))
	if err = fold(bufio.NewReader(within(a.passed))); err == nil {
		raw.Answer.Last()
		silence.idle = drainTime // nothing is missing any more
		silence.timer.Reset(drainTime)
	}
	_, _ = io.Copy(io.Discard, a.passed)
	_ = a.passed.hiding.Flush() // its error is that of a program that went away
	return err
}

// passedOn are the headers of an answer that a program is given.
func (l *Line) passedOn(header http.Header) http.Header {
	header = header.Clone()
	for _, name := range theirs {
		header.Del(name)
	}
	for _, values := range header {
		for i := range values {
			values[i] = l.secrets.String(values[i])
		}
	}
	return header
}

// raw is the answer as a program is given it: servers repeat keys that they refuse. nil where nothing came, or the request is our own.
func (l *Line) raw(a *Answer, raw *model.Raw) *model.RawAnswer {
	if raw == nil || a.Status == 0 {
		return nil
	}
	if p := a.passed; p != nil {
		broken := a.broken != nil && p.err != nil && p.err != io.EOF
		return &model.RawAnswer{Status: a.Status, Header: p.header, Body: p.kept, FirstByte: p.first, Broken: broken}
	}
	return &model.RawAnswer{Status: a.Status, Header: l.passedOn(a.Header), Body: l.values.Redact(a.Body), FirstByte: a.Took}
}

// failedRaw is the answer of a call that failed: no model wrote it, and whatever looks like a key may be one.
func (l *Line) failedRaw(came *model.RawAnswer) *model.RawAnswer {
	if came != nil {
		came.Body = l.secrets.Redact(came.Body)
	}
	return came
}
