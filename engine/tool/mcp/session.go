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

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

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
	// fatal says whether the session cannot be used after an error of a call.
	fatal(err error) bool
	// close ends it, and the client's part of the session by leave.
	close(leave func())
	// said is what there is to know of how the peer ended by itself, "" where it
	// did not.
	said() string
}

// open starts a server and asks it for its tools.
func open(ctx context.Context, o *Options) (s *session, err error) {
	if o.Program == nil {
		return dial(ctx, o.Name, newEndpoint(o.URL, o.Headers), "")
	}
	for _, version := range []string{"", handshake} {
		program, failed := start(ctx, o.Program)
		if failed != nil {
			return nil, failed
		}
		s, err = dial(ctx, o.Name, program, version)
		if err == nil || ctx.Err() != nil || classOf(err) != record.Server {
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
	return nil, failure(class(err), "the server %q cannot be used: %s", name, s.why)
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

func classOf(err error) record.ErrorClass {
	if failed, ok := errors.AsType[*record.Error](err); ok {
		return failed.Class
	}
	return ""
}

// list asks for all tools.
func list(ctx context.Context, client *sdk.ClientSession) ([]record.ServerTool, error) {
	var all []record.ServerTool
	known := map[string]bool{} // a tool that is told of twice is the same
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

// call calls a tool. Sent says that the server may have the request.
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

// end marks the session as dead.
func (s *session) end(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause == nil {
		s.cause = cause
	}
}

// dead says whether the session is of no more use, and why. A dead one is ended
// for good.
func (s *session) dead() (why string, dead bool) {
	if s.died() == nil {
		return "", false
	}
	s.close()
	return s.why, true
}

// died is why the session is dead, nil: it lives.
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

// answered says whether an error is the server's answer to the call.
func answered(err error) bool {
	var answer *jsonrpc.Error
	return errors.As(err, &answer)
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
