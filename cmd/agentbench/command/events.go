package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// eventWriter writes the events of all runs, one JSON object a line, as they
// happen. The events of a run stand in their order; those of others between them.
type eventWriter struct {
	mu    sync.Mutex
	out   *bufio.Writer
	close func() error
	err   error // the first one; nothing is written after it
}

// openEvents opens a file for events, "-" for stdout.
func (p *program) openEvents(path string) (*eventWriter, error) {
	if path == "-" {
		return newEventWriter(p.out, func() error { return nil }), nil
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		return nil, exit.Usage("remove it, or name another file", "--events %s: the file exists and is not empty", path)
	}
	// Only for writing and without waiting, so that a named pipe without a reader
	// is noticed.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, 0o644)
	switch {
	case errors.Is(err, syscall.ENXIO):
		return nil, exit.With(exit.NotMeasured, "start its reader first", "--events %s: the pipe has no reader", path)
	case err != nil:
		return nil, exit.With(exit.NotMeasured, "name a file that can be written to", "opening the file for events: %w", err)
	}
	hiding := p.secrets.Writer(f)
	return newEventWriter(hiding, func() error { return errors.Join(hiding.Flush(), f.Close()) }), nil
}

func newEventWriter(w io.Writer, closing func() error) *eventWriter {
	return &eventWriter{out: bufio.NewWriter(w), close: closing}
}

// write takes an event from any goroutine. Those who follow a run see at once
// how it starts, how each step and iteration ends, and how the run does.
func (e *eventWriter) write(event record.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return
	}
	line, err := jsonLine(event)
	if err == nil {
		_, err = e.out.Write(line)
	}
	e.err = err
	switch event.Type {
	case record.RunStarted, record.UserMessage, record.AgentResponse, record.ToolReturned, record.DelegationReturned,
		record.IterationCompleted, record.AgentEnded:
		e.flush()
	}
}

func (e *eventWriter) flush() {
	if err := e.out.Flush(); e.err == nil {
		e.err = err
	}
}

// end gives the first error of all writes.
func (e *eventWriter) end() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.flush()
	if err := e.close(); e.err == nil {
		e.err = err
	}
	return e.err
}

// trace lets the runs of a suite be traced, where the environment asks for it. That traces
// cannot be sent fails nothing: it is only told.
func (p *program) trace(ctx context.Context, s *spec.Suite) (context.Context, func()) {
	return engine.StartTracing(ctx, s, engine.TraceOptions{Getenv: p.env, Version: version(), Secrets: p.secrets, Warn: func(err error) {
		p.interject(fmt.Sprintf("agentbench: warning: traces: %v", err))
	}})
}
