// Package proxy serves models to programs. New makes a server with an address and a token for each run; it knows which
// model answers, which call of which conversation it is, and whether it is admitted. A call then takes the road of every other call.
//
// The stages of a call: it is let in by its token (proxy.go), read (request.go, results.go), given its place among the calls of its run
// (conversation.go, by the rules of its program: rules.go; what it is a step of: steps.go), admitted or refused (session.go), made by its model, and its answer
// passed on as it comes (answer.go).
//
// It is no stable API.
package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/record"
)

// DefaultMostBody is the longest body of a request that is read.
const DefaultMostBody = 32 << 20

// Options say where a server listens. The zero Options are a handler alone.
type Options struct {
	MostBody int64 // of a request, in bytes; default DefaultMostBody
	Now      func() time.Time
}

// Server serves all runs of a process. It is an [http.Handler].
type Server struct {
	options Options
	address string
	http    *http.Server
	serving sync.WaitGroup

	mu       sync.RWMutex
	sessions map[string]*Session // by token
	closed   bool
}

// New makes a server that does not listen yet.
func New(o Options) *Server {
	if o.MostBody <= 0 {
		o.MostBody = DefaultMostBody
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{options: o, sessions: map[string]*Session{}}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	return s
}

// Listen serves a free port of this machine. Sessions that are opened from now on have its address.
func (s *Server) Listen() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("opening a port for the model proxy: %w", err)
	}
	s.address = "http://" + listener.Addr().String()
	s.serve(listener)
	return nil
}

// ListenUnix serves a socket of this machine as well, which is for sandboxes without a network. Only its owner may connect.
func (s *Server) ListenUnix(path string) error {
	listener, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		return fmt.Errorf("opening a socket for the model proxy: %w", err)
	}
	s.serve(listener)
	return nil
}

func (s *Server) serve(listener net.Listener) {
	s.serving.Go(func() { _ = s.http.Serve(listener) }) // it ends when the server is closed
}

// Close ends all sessions and everything that the server does.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	var open []*Session
	for _, session := range s.sessions {
		open = append(open, session)
	}
	s.mu.Unlock()
	for _, session := range open {
		session.Close()
	}
	err := s.http.Close()
	s.serving.Wait()
	return err
}

// Open lets the programs of a run call its models until the session is closed. The calls are made under the context of the run.
func (s *Server) Open(ctx context.Context, run Run) (*Session, error) {
	if run.Clock == nil {
		start := s.options.Now()
		run.Clock = func() time.Duration { return s.options.Now().Sub(start) }
	}
	run.Own = ofRun(run.Own)
	opened := &Session{
		// It has the shape of a key, so that it is hidden as one where a program prints it.
		BaseURL: s.address, Token: "sk-agentbench-0" + rand.Text(), server: s, run: run, iteration: iteration{number: 1},
		conversations: newConversations(), asked: map[drawn]int{}, ending: map[*call]bool{},
	}
	opened.ctx, opened.end = context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the model proxy is closed")
	}
	s.sessions[opened.Token] = opened
	return opened, nil
}

func (s *Server) forget(session *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, session.Token)
}

// enter is the session of a token, with one more request in it; nil where there is none.
func (s *Server) enter(header http.Header) *Session {
	token := header.Get("X-Api-Key")
	if bearer, ok := strings.CutPrefix(header.Get("Authorization"), "Bearer "); ok && token == "" {
		token = bearer
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	found := s.sessions[token]
	if found != nil {
		found.open.Add(1)
	}
	return found
}

// ServeHTTP answers one request of a program.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := "/" + strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/"), "v1/")
	protocol, isCall := s.protocol(r.Method, at)
	if at == "/" || at == "/v1" { // whether anybody is there
		w.WriteHeader(http.StatusOK)
		return
	}
	if !isCall {
		protocol = mockserver.ProtocolOf(r.Header)
	}
	session := s.enter(r.Header)
	if session == nil {
		refuse(w, protocol, http.StatusUnauthorized, "", "the token is not valid, or its run is over")
		return
	}
	defer session.open.Done()
	switch {
	case isCall:
		session.answer(w, r, protocol)
	case r.Method == http.MethodPost && at == "/messages/count_tokens":
		session.count(w, r)
	case r.Method == http.MethodGet && (at == "/models" || strings.HasPrefix(at, "/models/")):
		session.models(w, r, strings.TrimPrefix(strings.TrimPrefix(at, "/models"), "/"))
	default:
		refuse(w, protocol, http.StatusNotFound, "", "the model proxy does not know "+r.Method+" "+r.URL.Path)
	}
}

func (s *Server) protocol(method, at string) (model.Protocol, bool) {
	for protocol, form := range forms {
		if method == http.MethodPost && at == form.body {
			return protocol, true
		}
	}
	return "", false
}

// refuse answers in the form of the protocol's vendor.
func refuse(w http.ResponseWriter, p model.Protocol, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Should-Retry", "false")
	w.WriteHeader(status)
	_, _ = w.Write(mockserver.Refuse(p, status, code, message)) // a client that went away needs no answer
}

// mostRoom is how much memory is made ready at most for a body, as long as a request says that it is.
const mostRoom = 1 << 20

// body reads the body of a request; nil where it was refused.
func (s *Session) body(w http.ResponseWriter, r *http.Request, p model.Protocol) []byte {
	var read bytes.Buffer
	read.Grow(int(min(max(r.ContentLength, 0), mostRoom)) + bytes.MinRead)
	_, err := read.ReadFrom(http.MaxBytesReader(w, r.Body, s.server.options.MostBody))
	switch tooLong, isTooLong := errors.AsType[*http.MaxBytesError](err); {
	case isTooLong:
		refuse(w, p, http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the request is longer than %d bytes", tooLong.Limit))
	case err != nil:
		refuse(w, p, http.StatusBadRequest, "", "the request could not be read")
	case values(read.Bytes()) > mostValues:
		refuse(w, p, http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the body has more than %d JSON values", mostValues))
	default:
		return read.Bytes()
	}
	return nil
}

// models lists those that the program may ask for, or tells of one.
func (s *Session) models(w http.ResponseWriter, r *http.Request, one string) {
	var names []string
	for _, n := range s.run.Models {
		if n.Asked != defaultName && !strings.ContainsAny(n.Asked, `*?[\`) {
			names = append(names, n.Asked)
		}
		names = append(names, n.Model.Name)
	}
	slices.Sort(names)
	told := mockserver.ModelList(r.Header, slices.Compact(names))
	if one != "" {
		if s.run.resolve(one) == nil {
			refuse(w, mockserver.ProtocolOf(r.Header), http.StatusNotFound, "", unknownModel(one))
			return
		}
		told = mockserver.ModelOf(r.Header, one)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(told)
}

func unknownModel(name string) string {
	return fmt.Sprintf("the model %q does not exist: the loop's models do not name it", name)
}

// count tells how many tokens a request of Messages would be, by an estimate. That is no call.
func (s *Session) count(w http.ResponseWriter, r *http.Request) {
	body := s.body(w, r, model.Messages)
	if body == nil {
		return
	}
	tokens, refused := mockserver.CountTokens(body)
	w.Header().Set("Content-Type", "application/json")
	if refused != nil {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(refused)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]int64{"input_tokens": tokens})
}

// LimitCode is how clients are told that the run has no room for a call.
const LimitCode = "agentbench_limit"

// limitStatus is the status of a refusal that no client tries again, and after which none makes its conversation shorter.
func limitStatus(p model.Protocol) int {
	if p == model.Responses {
		return http.StatusBadRequest
	}
	return http.StatusPaymentRequired
}

// refused deals with a call that is refused: it is told, or left without an answer until the session is closed.
func (s *Session) refused(w http.ResponseWriter, r *http.Request, p model.Protocol, reason record.Reason) {
	if s.run.Refuse {
		refuse(w, p, limitStatus(p), LimitCode, fmt.Sprintf("the run has reached its limit (%s)", reason))
		return
	}
	select {
	case <-s.ctx.Done():
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler)
}
