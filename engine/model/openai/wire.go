package openai

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/record"
)

// connections is how many idle connections to a server are kept: more than calls
// are usually made at once, so that hardly any is made anew.
const connections = 512

const (
	// drained is how much of an answer is read behind its end, so that its
	// connection can be used again, and for how long.
	drained   = 4 << 10
	drainTime = 250 * time.Millisecond
)

// errTooLarge says that an answer was longer than allowed.
var errTooLarge = errors.New("the answer is too long")

// NewTransport makes a transport for many calls at once to few servers; the
// default of net/http would connect anew for nearly each of them.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            external.Counting((&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext),
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           connections,
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// exchange is what a call and its wire tell each other.
type exchange struct {
	body   []byte // to be sent
	key    string // of idempotency; "": none
	stream bool   // the answer is to be streamed

	status   int // 0: no answer began
	header   http.Header
	answer   []byte      // where it was not streamed
	folded   *completion // where it was
	unasked  bool        // it was not streamed although it was to be
	broken   error       // why the answer is not whole
	hopeless bool        // trying again would end the same way

	sending *external.Sending // nil: nothing was ever to be sent
}

type exchangeKey struct{}

func withExchange(ctx context.Context, e *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}

// wire is the transport under go-openai, which has no limits, no headers and no
// zero values of its own, and takes a stream that was cut for a whole one. The
// context of its requests holds their exchange.
type wire struct {
	base        http.RoundTripper
	query       string // of the base address: it goes behind the path
	headers     map[string]string
	maxResponse int64
	firstByte   time.Duration
	idle        time.Duration
}

// RoundTrip reads the whole answer, so that its errors are the call's and the
// connection can be used again.
func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	e := request.Context().Value(exchangeKey{}).(*exchange)
	ctx, cancel := context.WithCancelCause(request.Context())
	defer cancel(nil)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ctx, e.sending = external.Watch(ctx)
	request = request.Clone(ctx)
	request.URL.RawQuery = w.query
	w.setHeaders(request, e)
	setBody(request, e.body)
	silence := listen(w.firstByte, w.idle, cancel)
	defer silence.stop()
	response, err := w.base.RoundTrip(request)
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	defer response.Body.Close()
	e.status, e.header = response.StatusCode, response.Header
	if err := w.read(e, response, silence); err != nil {
		e.broken = causeOf(ctx, err)
		return nil, e.broken
	}
	response.Body = io.NopCloser(strings.NewReader("{}")) // read here, not by go-openai
	return response, nil
}

// causeOf is why a request ended, where its context knows better.
func causeOf(ctx context.Context, err error) error {
	var failed *record.Error
	if ctx.Err() == nil || errors.As(err, &failed) || errors.Is(err, errTooLarge) {
		return err
	}
	return context.Cause(ctx)
}

func (w *wire) setHeaders(request *http.Request, e *exchange) {
	if e.stream {
		request.Header.Set("Accept", "text/event-stream")
	}
	if e.key != "" {
		request.Header.Set("Idempotency-Key", e.key)
	}
	for name, value := range w.headers {
		request.Header.Set(name, value)
	}
}

// read reads the answer, however it is sent.
func (w *wire) read(e *exchange, response *http.Response, silence *silence) (err error) {
	limited := &limited{from: silence.reader(response.Body), left: w.maxResponse, most: w.maxResponse}
	if !e.stream || e.status >= 300 {
		e.answer, err = readAll(limited, response.ContentLength)
		return err
	}
	from := bufio.NewReader(limited)
	if !isStream(from) {
		e.unasked = true
		e.answer, err = readAll(from, response.ContentLength)
		return err
	}
	if e.folded, err = fold(from); err == nil {
		silence.within(drainTime)
		_, _ = io.CopyN(io.Discard, from, drained)
	}
	return err
}

// setBody replaces what go-openai would send.
func setBody(request *http.Request, body []byte) {
	if request.Body != nil {
		request.Body.Close()
	}
	request.ContentLength = int64(len(body))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	request.Body = io.NopCloser(bytes.NewReader(body))
}
