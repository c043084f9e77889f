package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/record"
)

const (
	// maxTools is how many tools a server may tell of.
	maxTools = 10_000
	// handshake is the last version of the protocol that begins with one. Servers
	// that only know such versions are to answer the question for newer ones with
	// an error; some end instead.
	handshake = "2025-11-25"
)

// session is one conversation with a server, from its start to its end. It is safe
// for concurrent use.
type session struct {
	client *sdk.ClientSession
	peer   peer
	tools  []record.ServerTool
	ending sync.Once
	why    string // it is dead, in words; read after close

	mu    sync.Mutex
	cause error // why it is dead, nil: it lives
}

// peer is the other end of a session: a program or an endpoint.
type peer interface {
	transport(s *session) sdk.Transport
	// fatal reports whether the session cannot be used after an error of a call.
	fatal(err error) bool
	// close ends it, and the client's part of the session by leave.
	close(leave func())
	// said is how the peer ended by itself, "" where it did not.
	said() string
}

// open starts a server and asks it for its tools.
func open(ctx context.Context, o *Options) (s *session, err error) {
	if o.Program == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = 64
		client := &http.Client{Transport: &counted{own, o.Headers}, CheckRedirect: sameHost}
		return dial(ctx, o.Name, &endpoint{url: o.URL, client: client}, "")
	}
	for _, version := range []string{"", handshake} {
		program, failed := start(ctx, o.Program)
		if failed != nil {
			return nil, failed
		}
		s, err = dial(ctx, o.Name, program, version)
		if broke, ok := errors.AsType[*record.Error](err); ctx.Err() != nil || !ok || broke.Class != record.Server {
			break
		}
	}
	return s, err
}

// dial begins a session with a peer. The session does not end with the context.
func dial(ctx context.Context, name string, p peer, version string) (*session, error) {
	s := &session{peer: p}
	client := sdk.NewClient(&sdk.Implementation{Name: "agentbench", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, // no roots, which nil would offer
	})
	var err error
	s.client, err = client.Connect(ctx, p.transport(s), &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		s.tools, err = list(ctx, s.client)
	}
	if err == nil {
		return s, nil
	}
	if cause := s.died(); cause != nil {
		err = cause
	}
	s.end(err)
	s.close()
	return nil, record.Errorf(class(err), "the server %q cannot be used: %s", name, s.why)
}

// class is what kind of fault it is when a session cannot begin.
func class(err error) record.ErrorClass {
	switch text := err.Error(); {
	case errors.Is(err, io.EOF):
		return record.Server
	case isDial(err):
		return record.Network
	case strings.HasSuffix(text, "Unauthorized"), strings.HasSuffix(text, "Forbidden"):
		return record.Auth
	case strings.HasSuffix(text, "Not Found"):
		return record.InvalidRequest
	}
	return record.BadResponse
}

func list(ctx context.Context, client *sdk.ClientSession) ([]record.ServerTool, error) {
	var all []record.ServerTool
	known := map[string]bool{} // a tool that is listed twice is the same
	for t, err := range client.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if known[t.Name] {
			continue
		}
		known[t.Name] = true
		if len(all) == maxTools {
			return nil, fmt.Errorf("it has more than %d tools", maxTools)
		}
		o := record.ServerTool{Name: t.Name, Description: t.Description}
		if t.InputSchema != nil {
			if o.Parameters, err = json.Marshal(t.InputSchema); err != nil {
				return nil, fmt.Errorf("the parameters of %q: %w", t.Name, err)
			}
		}
		all = append(all, o)
	}
	return all, nil
}

// sentKey is under which a call's context has whether the server may have it.
type sentKey struct{}

func sentTo(ctx context.Context) {
	if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
		sent.Store(true)
	}
}

// call calls a tool. Sent reports whether the server may have the request.
func (s *session) call(ctx context.Context, r *request) (answer *sdk.CallToolResult, sent bool, err error) {
	var reached atomic.Bool
	// Where an endpoint keeps a stream open after its answer, the end of the context
	// ends it.
	calling, cancel := context.WithCancel(context.WithValue(ctx, sentKey{}, &reached))
	defer cancel()
	arguments := r.arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	answer, err = s.client.CallTool(calling, &sdk.CallToolParams{Name: r.name, Arguments: arguments})
	if err != nil && ctx.Err() == nil && s.peer.fatal(err) {
		s.end(err)
	}
	return answer, reached.Load(), err
}

func (s *session) end(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause == nil {
		s.cause = cause
	}
}

// dead reports whether the session is of no more use, and why. A dead one is ended
// for good.
func (s *session) dead() (why string, dead bool) {
	if s.died() == nil {
		return "", false
	}
	s.close()
	return s.why, true
}

func (s *session) died() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}

var errClosed = errors.New("the session was ended")

// close ends the session, and the program with it.
func (s *session) close() {
	s.ending.Do(func() {
		s.end(errClosed)
		cause := s.died()
		s.why = message(cause)
		if errors.Is(cause, io.EOF) {
			s.why = cmp.Or(s.peer.said(), s.why)
		}
		s.peer.close(func() {
			if s.client != nil {
				_ = s.client.Close()
			}
		})
	})
}

// message is an error without the names of the protocol's parts.
func message(err error) string {
	if failed, ok := errors.AsType[*record.Error](err); ok {
		return failed.Message
	}
	if err == io.EOF { // of the pipe itself, and of nothing behind it
		return "it ended"
	}
	if elsewhere, ok := errors.AsType[redirected](err); ok {
		return elsewhere.Error()
	}
	return strings.TrimSpace(wrapping.ReplaceAllString(err.Error(), ""))
}

// wrapping is what the SDK says of its own parts before it says what is wrong.
var wrapping = regexp.MustCompile(`^((calling|sending) "[a-z/]+": |rejected by transport: |connection closed: |client is closing: )+`)

// link keeps a server for those who use it, one session at a time.
type link struct {
	options *Options
	turn    *semaphore.Weighted // of 1: to start the server

	mu     sync.Mutex
	now    *session
	begun  bool
	tools  []record.ServerTool // that the server told of when it was started first
	closed bool
}

// session is the one in use, or a new one where there is none that lives.
func (l *link) session(ctx context.Context) (*session, error) {
	if l.turn.Acquire(ctx, 1) != nil {
		return nil, context.Cause(ctx)
	}
	defer l.turn.Release(1)
	if s := l.current(); s != nil {
		return s, nil
	}
	starting, cancel := context.WithTimeout(ctx, l.options.Start)
	defer cancel()
	s, err := open(starting, l.options)
	switch {
	case err == nil:
		return s, l.keep(s)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case starting.Err() != nil:
		return nil, record.Errorf(record.CallTimeout, "the server %q did not list its tools within %v", l.options.Name, l.options.Start)
	}
	return nil, err
}

func (l *link) current() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil {
		return nil
	}
	if _, dead := l.now.dead(); dead { // and is ended now
		l.now = nil
	}
	return l.now
}

func (l *link) keep(s *session) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		s.close()
		return record.Errorf(record.Internal, "the server %q was asked for after the run's end", l.options.Name)
	}
	if !l.begun {
		l.begun, l.tools = true, s.tools
	}
	l.now = s
	return nil
}

func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.now != nil {
		l.now.close()
	}
}

// patience is how long a server may take after the end of a call to read it.
const patience = time.Second

var errNotRead = errors.New("it does not read what it is sent")

type program struct {
	*external.Session
	kill context.CancelFunc
}

func start(ctx context.Context, p *external.Program) (*program, error) {
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	s, err := p.Open(running)
	if err != nil {
		kill()
		return nil, err
	}
	return &program{s, kill}, nil
}

func (p *program) transport(s *session) sdk.Transport {
	streams := kept{p.Session}
	return &guarded{Transport: &sdk.IOTransport{Reader: streams, Writer: streams}, session: s, program: p}
}

// kept are streams that the protocol does not close: who closes the session does,
// after the program could say how it ended.
type kept struct{ io.ReadWriter }

func (kept) Close() error { return nil }

// fatal leaves it to the pipes: as long as they hold, an error is of one call.
func (p *program) fatal(error) bool { return false }

// close ends the program first: what is blocked on it would hold up the client.
func (p *program) close(leave func()) {
	_ = p.Session.Close()
	p.kill()
	leave()
}

// said waits a moment for the program's end, which comes after that of its output.
func (p *program) said() string {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.Done():
	case <-late.C:
	}
	if err := p.Err(); err != nil {
		return message(err)
	}
	return ""
}

// guarded is a transport that knows when the pipes are broken.
type guarded struct {
	sdk.Transport
	session *session
	program *program
}

func (g *guarded) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := g.Transport.Connect(ctx)
	return &guard{Connection: c, session: g.session, program: g.program}, err
}

type guard struct {
	sdk.Connection
	session *session
	program *program
}

func (g *guard) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := g.Connection.Read(ctx)
	switch {
	case errors.Is(err, io.EOF):
		g.session.end(err)
	case err != nil:
		g.session.end(fmt.Errorf("its output is not the protocol, in which its logs have no place: %w", err))
		g.program.kill() // nothing reads its output from now on
	}
	return m, err
}

// Write is not held up by a server that does not read: it is killed.
func (g *guard) Write(ctx context.Context, m jsonrpc.Message) error {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		late := time.NewTimer(patience)
		defer late.Stop()
		select {
		case <-done:
		case <-late.C:
			g.session.end(errNotRead)
			g.program.kill()
		}
	})
	err := g.Connection.Write(ctx, m)
	stop()
	close(done)
	switch {
	case err == nil:
		sentTo(ctx)
	case ctx.Err() == nil: // the program ended, and the failed write was noticed first
		g.session.end(fmt.Errorf("%w: %w", io.EOF, err))
	}
	return err
}

// maxBody is how large one answer of an endpoint may be, with all its events: the
// SDK has a limit for each, and asks again for those that are beyond it.
const maxBody = 16 << 20

type endpoint struct {
	url    string
	client *http.Client
}

// sameHost follows redirects that stay where the server is.
func sameHost(next *http.Request, before []*http.Request) error {
	if next.URL.Host != before[0].URL.Host || len(before) > 5 {
		return redirected{next.URL.Redacted()}
	}
	return nil
}

// redirected is the error of a redirect that is not followed.
type redirected struct{ to string }

func (r redirected) Error() string {
	return "it redirects to " + r.to + ", which is not followed: write that address if it is right"
}

func (e *endpoint) transport(*session) sdk.Transport {
	// What a server says without being asked is not waited for.
	return &sdk.StreamableClientTransport{Endpoint: e.url, HTTPClient: e.client, MaxRetries: 1, DisableStandaloneSSE: true}
}

// fatal takes what is no answer for the end: the server forgot the session, or
// died over the call. A new session costs nothing.
func (e *endpoint) fatal(err error) bool {
	_, answered := errors.AsType[*jsonrpc.Error](err)
	return !answered
}

func (e *endpoint) close(leave func()) {
	leave()
	e.client.CloseIdleConnections()
}

func (e *endpoint) said() string { return "" }

// counted sends the headers with every request, marks those that reached a server,
// and reads no endless answers.
type counted struct {
	http.RoundTripper
	headers http.Header
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(c.headers) > 0 {
		r = r.Clone(r.Context()) // which is not ours to change
		maps.Copy(r.Header, c.headers)
	}
	answer, err := c.RoundTripper.RoundTrip(r)
	if err == nil && answer.StatusCode != http.StatusNotFound || err != nil && !isDial(err) {
		sentTo(r.Context())
	}
	if err == nil {
		answer.Body = &limited{ReadCloser: answer.Body, left: maxBody}
	}
	return answer, err
}

// CloseIdleConnections is for http.Client, which asks its transport for it.
func (c *counted) CloseIdleConnections() {
	c.RoundTripper.(*http.Transport).CloseIdleConnections()
}

// isDial reports whether an error is of a connection that never was.
func isDial(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}

type limited struct {
	io.ReadCloser
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("an answer of more than %d bytes", maxBody)
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
