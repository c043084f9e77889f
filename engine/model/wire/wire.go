// Package wire makes calls of model servers over HTTP, for any protocol. New makes a Line to a server: it keeps the
// limits within which a call is made and its answer is read, knows whether the answer is whole, and classifies failures. It does not try again;
// that is for a model around it.
//
// A protocol (packages openai and anthropic) makes one request, which every call copies with a body of its own: address and headers
// of OpenAI's are those of the client of go-openai. The providers' libraries themselves would follow redirections with a
// key, have no limits of an answer's length or of its silence, and take a stream that was cut for a whole one.
//
// It is no stable API.
package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/agentbench/agentbench/spec"
)

// The limits of a call where the options say nothing.
const (
	DefaultTimeout     = 10 * time.Minute
	DefaultFirstByte   = 120 * time.Second
	DefaultIdle        = 60 * time.Second
	DefaultMaxResponse = 32 << 20
)

// Options say where the server is and how long to wait for it.
type Options struct {
	Name        string // of the model, at the server
	BaseURL     string // of the server
	Key         string // "": none is sent
	KeyEnv      string // the environment variable that it comes from
	Headers     map[string]string
	Quirks      spec.Quirks       // how the server differs from OpenAI's
	Timeout     time.Duration     // of one call; default DefaultTimeout
	Effort      string            // of the reasoning; "": none is sent
	Tier        string            // the service tier to ask for; "": none is sent
	Thinking    *spec.Thinking    // of a model of Anthropic
	Cache       []string          // what Anthropic is to cache: system, tools, conversation, or auto, which is all of them
	CacheTTL    string            // for how long; "": as usual
	Stream      bool              // let the answer come in pieces
	FirstByte   time.Duration     // until the answer begins; default DefaultFirstByte, or Timeout if that is longer
	Idle        time.Duration     // between two pieces of the answer; default DefaultIdle
	MaxResponse int64             // bytes, after decompression; default DefaultMaxResponse
	Transport   http.RoundTripper // default: NewTransport
	Now         func() time.Time  // default: time.Now
}

// FromSpec reads the options of a declared model. The key comes from the
// environment; a server on this machine, and one whose address alone is declared, may need none.
func FromSpec(name string, m *spec.Model, getenv func(string) string) (Options, error) {
	o := Options{
		Name: m.Name, Headers: m.Headers,
		Timeout: m.Timeout, FirstByte: m.FirstByteTimeout, Idle: m.IdleTimeout, Stream: m.Stream,
		Effort: m.Effort, Tier: m.ServiceTier, Thinking: m.Thinking, Cache: m.Cache, CacheTTL: m.CacheTTL,
	}
	o.Name = cmp.Or(o.Name, name)
	server, calls := m.Server()
	if !calls {
		return o, fmt.Errorf("model %q: unknown provider %q", name, m.Provider)
	}
	o.BaseURL, o.KeyEnv, o.Quirks = server.BaseURL, server.KeyEnv, server.Quirks
	o.Key = strings.TrimSpace(getenv(server.KeyEnv))
	if o.Key == "" && !server.Keyless {
		return o, &missingKey{name, server.KeyEnv}
	}
	return o, nil
}

// missingKey is a key that is in no environment variable.
type missingKey struct{ model, variable string }

func (e *missingKey) Error() string {
	return fmt.Sprintf("model %q needs a key: the environment variable %s is not set", e.model, e.variable)
}

// Hint says what to do about it.
func (e *missingKey) Hint() string {
	return fmt.Sprintf("set it: export %s=YOUR_KEY; api_key_env names another variable; agentbench run quickstart needs no key", e.variable)
}

func (o Options) withDefaults() Options {
	if o.FirstByte <= 0 {
		o.FirstByte = max(DefaultFirstByte, o.Timeout)
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Idle <= 0 {
		o.Idle = DefaultIdle
	}
	if o.MaxResponse <= 0 {
		o.MaxResponse = DefaultMaxResponse
	}
	if o.Transport == nil {
		o.Transport = NewTransport()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Line is the way to one model of a server.
type Line struct {
	Options
	Host    string        // of the server's address
	server  string        // scheme and host
	blank   *http.Request // every call sends a copy, with its own body
	secrets *secret.Redactor
	values  *secret.Redactor // the same without shapes of keys, of which a model may write
	estimates
}

// Caught is an HTTP client that keeps the request and sends nothing.
type Caught struct{ request *http.Request }

// Do keeps the request.
func (c *Caught) Do(request *http.Request) (*http.Response, error) {
	c.request = request
	return nil, http.ErrNotSupported
}

// New makes the way to a server. The protocol makes a call of whatever content, at the address with the key, by an HTTP client
// that catches the request. New fails on an invalid address.
func New(o Options, protocol func(address, key string, client *Caught) error) (*Line, error) {
	o = o.withDefaults()
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("the base_url of model %q is not an http or https address", o.Name)
	}
	query := base.RawQuery
	base.RawQuery, base.Fragment = "", ""
	headers, key := o.Headers, o.Key
	if name := o.Quirks.KeyHeader; name != "" && o.Key != "" {
		headers, key = maps.Clone(o.Headers), ""
		if headers == nil {
			headers = map[string]string{}
		}
		if _, declared := headers[name]; !declared {
			headers[name] = o.Key
		}
	}
	var made Caught
	if err := protocol(base.String(), key, &made); made.request == nil {
		return nil, fmt.Errorf("the base_url of model %q: %w", o.Name, err)
	}
	made.request.URL.RawQuery = query
	setHeaders(made.request, headers, o.Stream)
	secrets := secret.OfServer(o.BaseURL, o.Key, o.Headers)
	return &Line{
		Options: o, Host: base.Host, server: base.Scheme + "://" + base.Host, blank: made.request,
		secrets: secret.New(secrets...), values: secret.Values(secrets...),
	}, nil
}

// Answer is what came of a call.
type Answer struct {
	Status  int // 0: no answer began
	Header  http.Header
	Body    []byte        // of an answer that was not streamed
	unasked bool          // it was not streamed although it was to be
	Took    time.Duration // the call
	start   time.Time
	limits  []model.Limit // that its headers tell

	passed   *passing          // of a raw request that is answered by a stream; nil: nothing is passed on as it comes
	broken   error             // why the answer is not whole
	hopeless bool              // trying again would end the same way
	refused  bool              // nothing listens at the server's address
	sending  *external.Sending // nil: nothing was ever to be sent
}

// outgoing is what one call sends.
type outgoing struct {
	body        []byte
	idempotency string     // the same for all attempts of one call; "": none is sent
	raw         *model.Raw // that it is made of; nil: it is our own
}

// call sends a body and waits for the whole answer, with a status below 300. A streamed one is read by fold, whose error says
// why it is not whole. An error is that of [model.Model].
func (l *Line) call(ctx context.Context, sent outgoing, fold func(*bufio.Reader) error) (*Answer, error) {
	calling, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(l.Timeout, func() { cancel(context.DeadlineExceeded) }).Stop()
	a := &Answer{start: l.Now()}
	err := l.do(calling, a, cancel, sent, fold)
	a.Took = l.Now().Sub(a.start)
	switch {
	case err == nil && a.Status < 300:
		return a, nil
	case ctx.Err() != nil && !a.sent():
		return nil, &model.Unsent{Err: context.Cause(ctx)}
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	failed := l.fail(l.classify(calling, a, err), a)
	failed.Answer = l.failedRaw(l.raw(a, sent.raw))
	if a.passed != nil && a.passed.begun { // what was passed on cannot be taken back
		failed.Retry = new(bool)
	}
	return nil, failed
}

// sent reports whether a byte of the request may have reached the server. Where an answer began one did, although what was written
// may not be counted yet.
func (a *Answer) sent() bool { return a.Status != 0 || a.sending.Began() }

// Protocol is how a request becomes a body, and an answer, which is a T, a reply.
type Protocol[T any] struct {
	Name  model.Protocol
	Body  func(*model.Request) ([]byte, error)
	Fold  func(*bufio.Reader) (*T, error) // of a stream
	Empty func(*T) bool                   // of what was not streamed: it may be an error
	Reply func(*model.Request, *T) (*model.Reply, *record.Error)
}

// Call sends a request and waits for the whole answer.
func (p Protocol[T]) Call(ctx context.Context, line *Line, request *model.Request) (*model.Reply, error) {
	sent, err := p.outgoing(line, request)
	if err != nil {
		return nil, line.invalid(err)
	}
	var whole *T
	answer, err := line.call(ctx, sent, func(from *bufio.Reader) (err error) {
		whole, err = p.Fold(from)
		return err
	})
	if err != nil {
		return nil, err
	}
	cameRaw := line.raw(answer, request.Raw)
	reply, failed := p.answered(request, answer, whole)
	if failed != nil {
		err := line.fail(failed, answer)
		if err.Reply, err.Answer = reply, line.failedRaw(cameRaw); answer.passed != nil {
			err.Retry = new(bool)
		}
		return nil, err
	}
	if reply.Raw = cameRaw; cameRaw != nil && answer.passed == nil {
		cameRaw.PassOn(request.Raw.Answer)
	}
	if len(reply.Text) > 8<<20 {
		runtime.GC() // a huge reply costs at most five times its size: what it was read from goes at once
	}
	reply.Duration, reply.Limits = answer.Took, answer.limits
	return reply, nil
}

// outgoing is what a request sends.
func (p Protocol[T]) outgoing(line *Line, request *model.Request) (outgoing, error) {
	if raw := request.Raw; raw != nil {
		if raw.Protocol != p.Name {
			return outgoing{}, fmt.Errorf("the model answers in the protocol %s, not in %s", p.Name, raw.Protocol)
		}
		return outgoing{raw.Body(line.Name), request.Idempotency, raw}, nil
	}
	body, err := p.Body(request)
	return outgoing{body: body, idempotency: request.Idempotency}, err
}

// answered makes a reply of an answer, or gives the error. A refusal gives both, since it costs something.
func (p Protocol[T]) answered(request *model.Request, answer *Answer, whole *T) (*model.Reply, *record.Error) {
	if whole == nil {
		var failed *record.Error
		if whole, failed = p.decode(answer); failed != nil {
			return nil, failed
		}
	}
	reply, failed := p.Reply(request, whole)
	if failed == nil && answer.unasked && request.Raw == nil {
		return nil, notStreamed(reply.Text)
	}
	return reply, failed
}

// decode decodes an answer that was not streamed, or gives the error that it tells. The bytes are not kept.
func (p Protocol[T]) decode(answer *Answer) (*T, *record.Error) {
	body, whole := answer.Body, new(T)
	answer.Body = nil
	if json.Unmarshal(body, whole) != nil {
		return nil, &record.Error{Class: record.BadResponse, Message: unreadable(body)}
	}
	if p.Empty(whole) {
		if told := Tell(body); told.Message != "" {
			return nil, &record.Error{Class: cmp.Or(told.Class(), record.BadResponse), Message: "status 200 with an error: " + told.Message}
		}
	}
	return whole, nil
}

// invalid is the error of a request that cannot be encoded, and was not sent.
func (l *Line) invalid(err error) error {
	return l.fail(&record.Error{Class: record.InvalidRequest, Message: err.Error()}, &Answer{})
}

// AnsweredBy is the name that a server gives to what answered, "" where it is the one asked for.
func (l *Line) AnsweredBy(name string) string {
	if name == l.Name {
		return ""
	}
	return Shorten(name)
}

const (
	// drained is how much of an answer is read behind its end, so that its
	// connection can be used again, and for how long.
	drained   = 4 << 10
	drainTime = 250 * time.Millisecond
)

// errTooLarge says that an answer was longer than allowed.
var errTooLarge = errors.New("the answer is too long")

// NewTransport makes a transport that keeps more connections than calls are usually made at once, so that hardly any is made anew.
func NewTransport() *http.Transport { return external.NewTransport(512, 5*time.Second) }

// do reads the whole answer, so that its errors are the call's and the connection can be used again. Its error is a
// *url.Error.
func (l *Line) do(ctx context.Context, a *Answer, end context.CancelCauseFunc, sent outgoing, fold func(*bufio.Reader) error) error {
	err := context.Cause(ctx)
	if err == nil {
		watched, sending := external.Watch(ctx)
		a.sending = sending
		err = causeOf(ctx, l.exchange(l.request(watched, &sent), a, end, sent.raw, fold))
	}
	if err == nil {
		return nil
	}
	return &url.Error{Op: "Post", URL: l.blank.URL.Redacted(), Err: err}
}

// request is the blank one, filled in. Only what differs is copied.
func (l *Line) request(ctx context.Context, sent *outgoing) *http.Request {
	request := l.blank.WithContext(ctx)
	if sent.raw != nil {
		l.dress(request, sent.raw)
	}
	if sent.idempotency != "" && request.Header.Get(idempotencyKey) == "" {
		request.Header = maps.Clone(request.Header)
		request.Header.Set(idempotencyKey, sent.idempotency)
	}
	onceOnly(request)
	setBody(request, sent.body)
	return request
}

func (l *Line) exchange(request *http.Request, a *Answer, end context.CancelCauseFunc, raw *model.Raw, fold func(*bufio.Reader) error) error {
	silence := listen(l.FirstByte, l.Idle, end)
	defer silence.timer.Stop()
	response, err := l.Transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	a.Status, a.Header = response.StatusCode, response.Header
	a.limits = l.limits(a.Header)
	if err := l.read(a, response, silence, raw, fold); err != nil {
		a.broken = causeOf(request.Context(), err)
	}
	return a.broken
}

// causeOf is why a request ended, where its context knows better.
func causeOf(ctx context.Context, err error) error {
	var failed *record.Error
	if err == nil || ctx.Err() == nil || errors.As(err, &failed) || errors.Is(err, errTooLarge) {
		return err
	}
	return context.Cause(ctx)
}

const idempotencyKey = "Idempotency-Key"

// onceOnly keeps net/http from sending a request again by itself, unseen by budgets. It does so where a connection breaks that was
// used before and the request has a key of idempotency, which it looks for by its usual spelling; servers know it by any.
func onceOnly(request *http.Request) {
	for _, name := range []string{idempotencyKey, "X-" + idempotencyKey} {
		if key, has := request.Header[name]; has {
			request.Header = maps.Clone(request.Header)
			delete(request.Header, name)
			request.Header[strings.ToLower(name)] = key
		}
	}
}

func setHeaders(request *http.Request, headers map[string]string, stream bool) {
	if stream {
		request.Header.Set("Accept", "text/event-stream")
	}
	if user := request.URL.User; user != nil && request.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
}

// read reads the answer, however it is sent.
func (l *Line) read(a *Answer, response *http.Response, silence *silence, raw *model.Raw, fold func(*bufio.Reader) error) (err error) {
	silence.from = response.Body
	limited := &limited{from: silence, left: l.MaxResponse, most: l.MaxResponse}
	stream := l.Stream
	if raw != nil {
		stream = raw.Stream
	}
	if !stream || a.Status >= 300 {
		a.Body, err = readAll(limited)
		return err
	}
	if raw != nil {
		return l.pass(a, response, silence, raw, fold)
	}
	from := bufio.NewReader(limited)
	if !isStream(from) {
		a.unasked = true
		a.Body, err = readAll(from)
		return err
	}
	if err = fold(from); err == nil {
		silence.timer.Reset(drainTime)
		_, _ = io.CopyN(io.Discard, from, drained)
	}
	return err
}

// setBody replaces what the caught request would send.
func setBody(request *http.Request, body []byte) {
	request.ContentLength = int64(len(body))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	request.Body = io.NopCloser(bytes.NewReader(body))
}
