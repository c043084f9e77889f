package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
)

// link keeps a server for one run or for all, one session at a time.
type link struct {
	options *Options
	tools   atomic.Pointer[[]record.ServerTool] // that the server told of when it was started first
	turn    *semaphore.Weighted                 // of 1, for what follows: waiting for it ends with a context
	now     *session                            // nil: none yet
	closed  bool
}

// visit is what one run has of a server. A run sees a server die once; one that
// dies again is of no more use to it.
type visit struct {
	link *link

	mu     sync.Mutex
	last   *session // nil: none, or it could not be started
	starts int
	why    string // the last start failed
}

// A run keeps these by the server's identity: stages that declare the same server share them.
type (
	visitKey string
	linkKey  string
)

func (s *Server) visit(ctx context.Context) (*visit, error) {
	run := tool.RunOf(ctx)
	if run == nil {
		return nil, record.Errorf(record.Internal, "the server %q was asked for its tools outside of a run", s.options.Name)
	}
	v, _ := run.Keep(visitKey(s.identity), func() (any, func(), error) { // it never fails
		return &visit{link: s.link(run)}, nil, nil
	})
	return v.(*visit), nil
}

// link is that of the run, or the one of all runs.
func (s *Server) link(run *tool.Run) *link {
	if s.options.Shared != nil {
		run = s.options.Shared
	}
	l, _ := run.Keep(linkKey(s.identity), func() (any, func(), error) {
		l := &link{options: &s.options, turn: semaphore.NewWeighted(1)}
		return l, l.close, nil
	})
	return l.(*link)
}

// session is the one in use, or a new one where there is none that lives.
func (l *link) session(ctx context.Context) (*session, error) {
	if l.turn.Acquire(ctx, 1) != nil {
		return nil, context.Cause(ctx)
	}
	defer l.turn.Release(1)
	switch {
	case l.closed:
		return nil, record.Errorf(record.Internal, "the server %q was asked for after the run's end", l.options.Name)
	case l.now != nil && !l.now.dead():
		return l.now, nil
	}
	starting, cancel := context.WithTimeout(ctx, l.options.Start)
	defer cancel()
	s, err := open(starting, l.options)
	switch {
	case err == nil:
		l.now = s
		l.tools.CompareAndSwap(nil, &s.tools)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case starting.Err() != nil:
		err = record.Errorf(record.CallTimeout, "the server %q did not list its tools within %v", l.options.Name, l.options.Start)
	}
	return s, err
}

func (l *link) close() {
	_ = l.turn.Acquire(context.Background(), 1)
	defer l.turn.Release(1)
	l.closed = true
	if l.now != nil {
		l.now.close(nil)
	}
}

// session is one that lives, as far as can be told.
func (v *visit) session(ctx context.Context) (*session, error) {
	if why := v.diedAgain(); why != "" {
		return nil, record.Errorf(record.Tool, "the server %q died again: %s", v.link.options.Name, why)
	}
	s, err := v.link.session(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case err == nil && s != v.last:
		v.last, v.starts = s, v.starts+1
	case err != nil && ctx.Err() == nil:
		v.last, v.starts, v.why = nil, v.starts+1, message(err)
	}
	return s, err
}

// diedAgain is why the server is of no more use, "" while it is.
func (v *visit) diedAgain() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.starts < 2:
		return ""
	case v.last == nil:
		return v.why
	case v.last.dead():
		return v.last.why
	}
	return ""
}

// call calls a tool, again on another session where that is safe: the server had
// forgotten the session and did nothing, or the tool is pure.
func (v *visit) call(ctx context.Context, name string, arguments json.RawMessage, pure bool) (tool.Result, error) {
	for attempt := 1; ; attempt++ {
		s, err := v.session(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return tool.Result{Attempts: attempt}, context.Cause(ctx)
		case err != nil: // whatever class it has, to the agent it is an error of the tool
			return tool.Result{Attempts: attempt}, record.Errorf(record.Tool, "%s", message(err))
		}
		answer, err := s.call(ctx, name, arguments)
		switch {
		case err == nil:
			return result(answer, attempt)
		case ctx.Err() != nil:
			return tool.Result{Attempts: attempt}, context.Cause(ctx)
		case !s.dead():
			return tool.Result{Attempts: attempt}, record.Errorf(record.Tool, "%s", message(err))
		case !pure && !forgotten(err):
			return tool.Result{Attempts: attempt}, record.Errorf(record.Tool, "the server %q died during the call: %s", v.link.options.Name, s.why)
		}
	}
}
