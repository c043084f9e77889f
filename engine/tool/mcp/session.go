package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

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
	// patience is how long a program may take to read a call that has ended, or to end
	// after its output has.
	patience = time.Second
)

// session is one conversation with a server, from its start to its end. It is safe
// for concurrent use.
type session struct {
	client  *sdk.ClientSession
	tools   []record.ServerTool
	program *external.Session     // nil: an endpoint
	kill    context.CancelFunc    // ends the program at once
	leave   func()                // closes the connections to an endpoint
	broken  atomic.Pointer[error] // how the output of the program ended; nil: it has not
	ending  sync.Once
	ended   chan struct{} // closed when the session is of no more use
	why     string        // it was closed; read after ended
}

// open starts a server and asks it for its tools.
func open(ctx context.Context, o *Options) (*session, error) {
	s, err := dial(ctx, o, "")
	if broke, ok := errors.AsType[*record.Error](err); ok && o.Program != nil && ctx.Err() == nil && broke.Class == record.Server {
		return dial(ctx, o, handshake)
	}
	return s, err
}

// dial begins a session in a version of the protocol, "" for the newest. It does not
// end with the context.
func dial(ctx context.Context, o *Options, version string) (*session, error) {
	s := &session{ended: make(chan struct{})}
	transport, err := s.transport(ctx, o)
	if err != nil {
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "agentbench", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, // no roots, which nil would offer
	})
	s.client, err = client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		s.tools, err = list(ctx, s.client)
	}
	if err != nil {
		s.close(err)
		return nil, record.Errorf(class(err), "the server %q cannot be used: %s", o.Name, s.why)
	}
	return s, nil
}

// transport starts a program, or reaches an endpoint.
func (s *session) transport(ctx context.Context, o *Options) (sdk.Transport, error) {
	if o.Program == nil {
		client := webClient(o.Headers)
		s.leave = client.CloseIdleConnections
		// What a server says without being asked is not waited for.
		return &sdk.StreamableClientTransport{Endpoint: o.URL, HTTPClient: client, MaxRetries: 1, DisableStandaloneSSE: true}, nil
	}
	var running context.Context
	running, s.kill = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if s.program, err = o.Program.Open(running); err != nil {
		s.kill()
		return nil, err
	}
	streams := kept{s.program}
	return &watched{&sdk.IOTransport{Reader: streams, Writer: streams}, s}, nil
}

// watched is a transport whose session knows when the program's output has ended.
type watched struct {
	sdk.Transport
	session *session
}

func (w *watched) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := w.Transport.Connect(ctx)
	return &watchedConnection{c, w.session}, err
}

type watchedConnection struct {
	sdk.Connection
	session *session
}

func (w *watchedConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := w.Connection.Read(ctx)
	if err != nil {
		w.session.broken.CompareAndSwap(nil, &err)
	}
	return m, err
}

// kept are streams that the protocol does not close: who closes the session does,
// after the program could say how it ended.
type kept struct{ io.ReadWriter }

func (kept) Close() error { return nil }

// class is what kind of fault it is when a session cannot begin.
func class(err error) record.ErrorClass {
	switch text := err.Error(); {
	case isEnd(err):
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

// isEnd reports whether an error is that the other end is gone.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, sdk.ErrConnectionClosed)
}

func list(ctx context.Context, client *sdk.ClientSession) ([]record.ServerTool, error) {
	all := []record.ServerTool{}
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

// call calls a tool. Where what comes back is no answer, the session is ended.
func (s *session) call(ctx context.Context, name string, arguments json.RawMessage) (*sdk.CallToolResult, error) {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	// Where an endpoint keeps a stream open after its answer, the end of the context
	// ends it.
	calling, cancel := context.WithCancel(ctx)
	defer cancel()
	returned := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-returned:
		case <-time.After(patience):
			s.close(errors.New("it does not read what it is sent"))
		}
	})
	answer, err := s.client.CallTool(calling, &sdk.CallToolParams{Name: name, Arguments: arguments})
	stop()
	close(returned)
	if err != nil && ctx.Err() == nil && s.breaks(err) {
		s.close(err)
	}
	return answer, err
}

// breaks reports whether a session cannot be used after an error of a call. Of an
// endpoint whatever is no answer is the end: the server forgot the session, or died over
// the call, and a new session costs nothing. Of a program the end of its output is.
func (s *session) breaks(err error) bool {
	_, answered := errors.AsType[*jsonrpc.Error](err)
	return !answered && (s.program == nil || s.broken.Load() != nil || errors.Is(err, syscall.EPIPE))
}

// forgotten reports whether a server did not make a call since it knew no such session.
func forgotten(err error) bool { return errors.Is(err, sdk.ErrSessionMissing) }

// dead reports whether the session is of no more use. A dead one is ended for good,
// and has a why.
func (s *session) dead() bool {
	if err := s.broken.Load(); err != nil {
		s.close(*err)
	}
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// close ends the session, and its program: at once where something is wrong, which is
// the cause, since what is blocked on the program would hold up the client.
func (s *session) close(cause error) {
	s.ending.Do(func() {
		if s.why = "the session was ended"; cause != nil {
			s.why = s.because(cause)
		}
		if s.program != nil {
			if cause != nil {
				s.kill()
			}
			_ = s.program.Close()
			s.kill()
		}
		if s.client != nil {
			_ = s.client.Close()
		}
		if s.leave != nil {
			s.leave()
		}
		close(s.ended)
	})
}

// because is a cause in words. A program that is gone had words of its own, which come a
// moment after the end of its output.
func (s *session) because(cause error) string {
	if s.program == nil || !isEnd(cause) && s.broken.Load() == nil {
		return message(cause)
	}
	if !isEnd(cause) {
		return "its output is not the protocol, in which its logs have no place: " + message(cause)
	}
	select {
	case <-s.program.Done():
	case <-time.After(patience):
	}
	return message(cmp.Or(s.program.Err(), cause))
}

// message is an error without the names of the protocol's parts.
func message(err error) string {
	if failed, ok := errors.AsType[*record.Error](err); ok {
		return failed.Message
	}
	if elsewhere, ok := errors.AsType[redirected](err); ok {
		return elsewhere.Error()
	}
	text := strings.TrimSpace(wrapping.ReplaceAllString(err.Error(), ""))
	if text == "EOF" || strings.HasSuffix(text, ": EOF") {
		return "it ended without an answer: EOF"
	}
	return text
}

// wrapping is what the SDK says of its own parts before it says what is wrong.
var wrapping = regexp.MustCompile(`^((calling|sending) "[a-z/]+": |rejected by transport: |connection closed: |client is closing: )+`)
