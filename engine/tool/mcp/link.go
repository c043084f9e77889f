package mcp

import (
	"context"
	"sync"

	"github.com/agentbench/agentbench/engine/record"
)

// link keeps a server for those who use it, one session at a time.
type link struct {
	options *Options
	turn    lock // of whoever starts the server

	mu     sync.Mutex
	now    *session
	begun  bool
	tools  []record.ServerTool // that the server told of when it was started first
	closed bool
}

func newLink(o *Options) *link { return &link{options: o, turn: newLock()} }

// told are the tools of the server, once it was started.
func (l *link) told() (tools []record.ServerTool, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tools, l.begun
}

// session is the one in use, or a new one where there is none that lives.
func (l *link) session(ctx context.Context) (*session, error) {
	if err := l.turn.acquire(ctx); err != nil {
		return nil, err
	}
	defer l.turn.release()
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
		return nil, failure(record.CallTimeout, "the server %q did not tell of its tools within %v", l.options.Name, l.options.Start)
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
		return failure(record.Internal, "the server %q was asked for after the run's end", l.options.Name)
	}
	if !l.begun {
		l.begun, l.tools = true, s.tools
	}
	l.now = s
	return nil
}

// close ends the server with the run.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.now != nil {
		l.now.close()
	}
}
