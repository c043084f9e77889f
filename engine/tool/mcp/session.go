package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
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

// session is one conversation with a server, from its start to its end. It is safe for concurrent use.
type session struct {
	client *sdk.ClientSession // nil: it could not be started
	tools  []record.ServerTool
	pipes  *pipes             // to a program; nil: an endpoint
	kill   context.CancelFunc // ends the program at once
	leave  func()             // closes the connections to an endpoint
	ending sync.Once
	ended  chan struct{} // closed when the session is of no more use
	why    string        // it was closed; read after ended
}

// open starts a server and asks it for its tools. Beside an error the session is a dead one.
func open(ctx context.Context, o *Options) (*session, error) {
	starting, cancel := context.WithTimeout(ctx, o.Start)
	defer cancel()
	s, err := dial(starting, o, "")
	if isEnd(err) && o.Program != nil && starting.Err() == nil {
		s.close(err)
		s, err = dial(starting, o, handshake)
	}
	switch {
	case err == nil:
		return s, nil
	case starting.Err() != nil && ctx.Err() == nil:
		err = record.Errorf(record.Unstarted, "the server %q did not list its tools within %v", o.Name, o.Start)
	}
	s.close(err)
	if failed, ok := errors.AsType[*record.Error](err); ok && failed.Class != record.Program {
		return s, err
	}
	return s, record.Errorf(class(err), "the server %q cannot be used: %s", o.Name, s.why)
}

// dial begins a session in a version of the protocol, "" for the newest. It does not end with the context.
func dial(ctx context.Context, o *Options, version string) (s *session, err error) {
	s = &session{ended: make(chan struct{})}
	transport, err := s.transport(ctx, o)
	if err != nil {
		return s, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "agentbench", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, // no roots, which nil would offer
	})
	if s.client, err = client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version}); err == nil {
		s.tools, err = list(ctx, s.client)
	}
	return s, err
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
	program, err := o.Program.Open(running)
	if err != nil {
		s.kill()
		return nil, err
	}
	s.pipes = &pipes{program: program}
	return s.pipes, nil
}

// pipes are the transport to a program, and its connection, which knows how the program's output ended. The protocol does not
// close them: the session does, after the program could say how it ended.
type pipes struct {
	sdk.Connection
	program *external.Session
	broken  atomic.Pointer[error] // nil: the output has not ended
}

type unclosed struct{ io.ReadWriter }

func (unclosed) Close() error { return nil }

// Connect implements sdk.Transport.
func (p *pipes) Connect(ctx context.Context) (_ sdk.Connection, err error) {
	streams := unclosed{p.program}
	p.Connection, err = (&sdk.IOTransport{Reader: streams, Writer: streams}).Connect(ctx)
	return p, err
}

// Read implements sdk.Connection.
func (p *pipes) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := p.Connection.Read(ctx)
	if err != nil {
		p.broken.CompareAndSwap(nil, &err)
	}
	return m, err
}

// class is whose fault it is when a session cannot begin.
func class(err error) record.ErrorClass {
	switch text := err.Error(); {
	case strings.HasSuffix(text, "Unauthorized"), strings.HasSuffix(text, "Forbidden"):
		return record.Auth
	case strings.HasSuffix(text, "Not Found"):
		return record.InvalidRequest
	}
	return record.Unstarted
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

// breaks reports whether a session cannot be used after an error of a call. Of an endpoint whatever is no answer is the end: the
// server forgot the session, or died over the call, and a new session costs nothing. Of a program the end of its output is.
func (s *session) breaks(err error) bool {
	_, answered := errors.AsType[*jsonrpc.Error](err)
	return !answered && (s.pipes == nil || s.pipes.broken.Load() != nil || errors.Is(err, syscall.EPIPE))
}

// dead reports whether the session is of no more use. A dead one is ended for good, and has a why.
func (s *session) dead() bool {
	if s.pipes != nil {
		if err := s.pipes.broken.Load(); err != nil {
			s.close(*err)
		}
	}
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// close ends the session, and its program: at once where something is wrong, which is the cause, since what is blocked on the
// program would hold up the client.
func (s *session) close(cause error) {
	s.ending.Do(func() {
		if s.why = "the session was ended"; cause != nil {
			s.why = s.because(cause)
		}
		if s.pipes != nil {
			if cause != nil {
				s.kill()
			}
			_ = s.pipes.program.Close()
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

// because is a cause in words. A program that is gone had words of its own, which come a moment after the end of its output.
func (s *session) because(cause error) string {
	switch {
	case s.pipes != nil && isEnd(cause):
		select {
		case <-s.pipes.program.Done():
		case <-time.After(patience):
		}
		return message(cmp.Or(s.pipes.program.Err(), cause))
	case s.pipes != nil && s.pipes.broken.Load() != nil:
		return "its output is not the protocol, in which its logs have no place: " + message(cause)
	}
	return message(cause)
}

// message is an error without the names of the protocol's parts.
func message(err error) string {
	if failed, ok := errors.AsType[*record.Error](err); ok {
		return failed.Message
	}
	if unsent, ok := errors.AsType[*url.Error](err); ok {
		err = unsent.Err
	}
	text := strings.TrimSpace(wrapping.ReplaceAllString(err.Error(), ""))
	switch {
	case strings.HasSuffix(text, "request body too large"): // so is an answer's called, as text
		return fmt.Sprintf("an answer of more than %d bytes", maxBody)
	case text == "EOF", strings.HasSuffix(text, ": EOF"):
		return "it ended without an answer: EOF"
	}
	return text
}

// wrapping is what the SDK says of its own parts before it says what is wrong.
var wrapping = regexp.MustCompile(`^((calling|sending) "[a-z/]+": |rejected by transport: |connection closed: |client is closing: )+`)
