package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
)

// visit is what one run has of a server. A run sees a server die once; one that
// dies again is of no more use to it.
type visit struct {
	link   *link
	name   string
	turn   lock
	now    *session // nil: none yet, or it died
	deaths int
	why    string // of the last death
}

// request is one call of a tool.
type request struct {
	name      string
	arguments json.RawMessage
	pure      bool
}

// What a run keeps is known by what the server is: stages that declare the same
// one have it together.
type (
	visitKey string
	linkKey  string
)

// visit is that of the run in the context.
func (s *Server) visit(ctx context.Context) (*visit, error) {
	run := tool.RunOf(ctx)
	if run == nil {
		return nil, failure(record.Internal, "the server %q was asked for its tools outside of a run", s.options.Name)
	}
	v, err := run.Keep(visitKey(s.identity), func() (any, func(), error) {
		return &visit{link: s.link(run), name: s.options.Name, turn: newLock()}, nil, nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*visit), nil
}

// link is that of the run, or the one of all runs.
func (s *Server) link(run *tool.Run) *link {
	if s.options.Shared != nil {
		run = s.options.Shared
	}
	l, _ := run.Keep(linkKey(s.identity), func() (any, func(), error) { // it never fails
		l := newLink(&s.options)
		return l, l.close, nil
	})
	return l.(*link)
}

// identity is a hash of what the server is, and not of what is used of it; there
// may be keys among that.
func (o *Options) identity() string {
	is := fmt.Sprintf("%q %v", o.URL, o.Headers)
	if p := o.Program; p != nil {
		is = fmt.Sprintf("%q %q %q", p.Argv, p.Dir, p.Env)
	}
	return fmt.Sprintf("mcp %x", sha256.Sum256([]byte(is)))
}

// tools are those that the server told of first.
func (v *visit) tools(ctx context.Context) ([]record.ServerTool, error) {
	if told, known := v.link.told(); known {
		return told, nil
	}
	s, err := v.session(ctx)
	if err != nil {
		return nil, err
	}
	return s.tools, nil
}

// session is one that lives, as far as can be told.
func (v *visit) session(ctx context.Context) (*session, error) {
	if err := v.turn.acquire(ctx); err != nil {
		return nil, err
	}
	defer v.turn.release()
	if v.now != nil {
		why, dead := v.now.dead()
		if !dead {
			return v.now, nil
		}
		v.now, v.why, v.deaths = nil, why, v.deaths+1
	}
	if v.deaths > 1 {
		return nil, failure(record.Tool, "the server %q died again: %s", v.name, v.why)
	}
	s, err := v.link.session(ctx)
	if err != nil && ctx.Err() == nil {
		v.why, v.deaths = message(err), v.deaths+1
	}
	v.now = s
	return s, err
}

// call calls a tool, again on another session where that is safe: the server died
// before it had the request, or the tool is pure.
func (v *visit) call(ctx context.Context, r *request) (tool.Result, error) {
	for attempt := 1; ; attempt++ {
		s, err := v.session(ctx)
		if err != nil {
			return tool.Result{Attempts: attempt}, told(ctx, err)
		}
		answer, sent, err := s.call(ctx, r)
		if err == nil {
			return result(answer, attempt)
		}
		why, dead := s.dead()
		switch {
		case ctx.Err() != nil:
			return tool.Result{Attempts: attempt}, context.Cause(ctx)
		case !dead:
			return tool.Result{Attempts: attempt}, failure(record.Tool, "%s", refusal(err))
		case sent && !r.pure:
			return tool.Result{Attempts: attempt}, failure(record.Tool, "the server %q died during the call: %s", v.name, why)
		}
	}
}

// refusal is the error of a call that the server survived, whose answer may be
// none.
func refusal(err error) string {
	_, sending := errors.AsType[*url.Error](err)
	switch {
	case !errors.Is(err, io.EOF):
		return message(err)
	case sending:
		return "the connection ended without an answer: EOF"
	}
	return "the answer has no result"
}

// told is an error as an agent is told it: whatever the server's fault is, it is
// one of the tool to whoever uses it.
func told(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return failure(record.Tool, "%s", message(err))
}

// lock is a mutex that is not waited for longer than a context lasts.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

func (l lock) acquire(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l lock) release() { <-l }
