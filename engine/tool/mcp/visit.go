package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/semaphore"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
)

// process is a server as one run or all runs use it, in one session at a time.
type process struct {
	options *Options
	tools   atomic.Pointer[[]record.ServerTool] // those of the first session
	turn    *semaphore.Weighted                 // of 1, for what follows and for visits: waiting for it ends with a context
	now     *session                            // nil: none yet
	closed  bool
}

// visit is one run's use of a server. A run sees a server die once; one that dies again is of no more use to it.
type visit struct {
	*process
	last   *session // nil: none yet
	starts int
}

// A run keeps these by the server's identity: stages that declare the same server share them.
type (
	visitKey   string
	processKey string
)

func (s *Server) visit(ctx context.Context) (*visit, error) {
	run := tool.RunOf(ctx)
	if run == nil {
		return nil, record.Errorf(record.Internal, "the server %q was asked for its tools outside of a run", s.options.Name)
	}
	v, _ := run.Keep(visitKey(s.identity), func() (any, func(), error) { // it never fails
		return &visit{process: s.process(run)}, nil, nil
	})
	return v.(*visit), nil
}

// process is that of the run, or the one of all runs.
func (s *Server) process(run *tool.Run) *process {
	if s.options.Shared != nil {
		run = s.options.Shared
	}
	p, _ := run.Keep(processKey(s.identity), func() (any, func(), error) {
		p := &process{options: &s.options, turn: semaphore.NewWeighted(1)}
		return p, p.close, nil
	})
	return p.(*process)
}

func (p *process) close() {
	_ = p.turn.Acquire(context.Background(), 1)
	defer p.turn.Release(1)
	p.closed = true
	if p.now != nil {
		p.now.close(nil)
	}
}

// session is the living one, or a new one.
func (v *visit) session(ctx context.Context) (*session, error) {
	if v.turn.Acquire(ctx, 1) != nil {
		return nil, context.Cause(ctx)
	}
	defer v.turn.Release(1)
	switch {
	case v.closed:
		return nil, record.Errorf(record.Internal, "the server %q was asked for after the run's end", v.options.Name)
	case v.starts == 2 && v.last.dead():
		return nil, record.Errorf(record.Tool, "the server %q died again: %s", v.options.Name, v.last.why)
	}
	var err error
	if v.now == nil || v.now.dead() {
		if v.now, err = open(ctx, v.options); err == nil {
			v.tools.CompareAndSwap(nil, &v.now.tools)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if v.now != v.last {
		v.last, v.starts = v.now, v.starts+1
	}
	return v.now, err
}

// call calls a tool, again on another session where that is safe: the server had forgotten the session and did nothing, or the tool
// is pure.
func (v *visit) call(ctx context.Context, name string, arguments json.RawMessage, pure bool) (tool.Result, error) {
	for {
		s, err := v.session(ctx)
		if err != nil {
			return tool.Result{}, faulty(ctx, err)
		}
		answer, err := s.call(ctx, name, arguments)
		switch {
		case err == nil:
			return result(answer)
		case ctx.Err() != nil || !s.dead():
			return tool.Result{}, faulty(ctx, err)
		case !pure && !errors.Is(err, sdk.ErrSessionMissing):
			return tool.Result{}, record.Errorf(record.Tool, "the server %q died during the call: %s", v.options.Name, s.why)
		}
	}
}

// faulty is the error of a call that failed: the end of the context, or to the agent an error of the tool, whatever it is.
func faulty(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return record.Errorf(record.Tool, "%s", message(err))
}
