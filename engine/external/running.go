package external

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// Running is a program that was started. It is safe for concurrent use. Whoever has
// started it waits for it, or kills it.
type Running struct {
	program        *Program
	ctx            context.Context
	cancel         context.CancelCauseFunc
	stdout, stderr *capture
	begun          chan struct{} // closed when the program runs
	over           chan struct{} // closed when it has ended and its children are killed
	ended          error         // set before over is closed
	processes      *processes    // set before begun is closed, as clock is
	clock          *clock
}

// Start starts the program; it runs until it ends, its time is over or the context is.
func (p *Program) Start(ctx context.Context, stdin []byte) (*Running, error) {
	stdout := newCapture(cmp.Or(p.MaxOutput, defaultMaxOutput))
	r := p.launch(ctx, bytes.NewReader(stdin), stdout, p.Timeout, func() {})
	r.stdout = stdout
	if !r.hasBegun() {
		return nil, r.whyNot(ctx)
	}
	return r, nil
}

// launch starts the program and its owner, and returns when it runs or has not
// started. started is called once the program has its files. A limit below 0 is none.
func (p *Program) launch(ctx context.Context, stdin io.Reader, stdout io.Writer, limit time.Duration, started func()) *Running {
	r := &Running{program: p, stderr: newCapture(maxStderr), begun: make(chan struct{}), over: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	go func() {
		defer close(r.over)
		r.ended = r.run(stdin, stdout, limit, started)
		r.cancel(errOver)
	}()
	select {
	case <-r.begun:
	case <-r.over:
	}
	return r
}

// run owns the program from its start to its end. It stays on its thread: the system
// kills the program when the thread that started it ends.
func (r *Running) run(stdin io.Reader, stdout io.Writer, limit time.Duration, started func()) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ps, err := r.program.processes()
	if err != nil {
		return err
	}
	defer ps.release()
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	ps.cmd.Stdin, ps.cmd.Stdout, ps.cmd.Stderr = stdin, stdout, r.stderr
	if err := ps.start(); err != nil {
		return err
	}
	started()
	r.processes, r.clock = ps, startClock(limit, func() { r.cancel(errTime) })
	close(r.begun)
	defer context.AfterFunc(r.ctx, func() { killGroup(ps.cmd) })()
	err = ps.wait()
	r.clock.pause()
	return err
}

// The causes of the end of a program's context that are ours: its time is over, and it
// has ended by itself.
var errTime, errOver = errors.New("its time is over"), errors.New("it has ended")

func (r *Running) hasBegun() bool {
	select {
	case <-r.begun: // and may have ended
		return true
	default:
		return false
	}
}

// whyNot is why the program of a context did not start.
func (r *Running) whyNot(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.program.explain(r.ended, string(r.stderr.Bytes()))
}

// Done is closed when the program has ended and nothing of it is left.
func (r *Running) Done() <-chan struct{} { return r.over }

// Wait waits for the end of the program and of all its children. Errors are
// *record.Error, the context's cause and that of Kill; what was left so far is given
// with them.
func (r *Running) Wait() (Finished, error) {
	<-r.over
	p := r.program
	done := Finished{Stdout: r.stdout.Bytes(), Stderr: string(r.stderr.Bytes())}
	done.Duration = r.clock.ran
	why := context.Cause(r.ctx)
	limit := p.Timeout
	switch {
	case errors.Is(why, errTime):
		done.Duration = limit
		return done, record.Errorf(record.Program, "%s took longer than %v and was killed", p.called(), limit)
	case why != errOver:
		return done, why
	case r.ended != nil:
		done.Exit = exitCode(r.ended)
		return done, p.explain(r.ended, done.Stderr)
	case r.stdout.Cut() > 0 && !p.Cuts:
		return done, record.Errorf(record.Program, "%s wrote %d bytes; %d are allowed", p.called(), r.stdout.total, cmp.Or(p.MaxOutput, defaultMaxOutput))
	}
	return done, nil
}

func exitCode(err error) int {
	if died, ok := errors.AsType[signalled](err); ok {
		return 128 + int(died)
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 0
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// Kill kills the program with all its children, and returns when nothing of it is left. The
// cause is the error of Wait; nil: context.Canceled. A program that has ended stays as it ended.
func (r *Running) Kill(cause error) {
	r.cancel(cause)
	<-r.over
}

// Freeze stops all processes of the program until Thaw: none of them begins another system
// call, but where a process group alone holds them, those that left it run on. That time is
// not the program's. Where it fails, some may be stopped. A program that has ended stands still.
func (r *Running) Freeze() error {
	select {
	case <-r.over:
		return nil
	default:
	}
	r.clock.pause()
	if err := r.processes.stop(); err != nil {
		return record.Errorf(record.Internal, "stopping %s: %v", r.program.called(), err)
	}
	return nil
}

// Thaw lets the program run on.
func (r *Running) Thaw() {
	select {
	case <-r.over: // its process ids may be others' by now
	default:
		r.processes.resume()
		r.clock.resume()
	}
}

// clock is the time of a program, which stands still while the program does.
type clock struct {
	limit time.Duration
	timer *time.Timer // nil: there is no limit

	mu    sync.Mutex
	since time.Time // zero: it stands still
	ran   time.Duration
}

// startClock calls late once the limit is over; below 0 it never is.
func startClock(limit time.Duration, late func()) *clock {
	c := &clock{limit: limit, since: time.Now()}
	if limit > 0 {
		c.timer = time.AfterFunc(limit, late)
	}
	return c
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return
	}
	c.ran, c.since = c.ran+time.Since(c.since), time.Time{}
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.since.IsZero() {
		return
	}
	c.since = time.Now()
	if c.timer != nil {
		c.timer.Reset(max(c.limit-c.ran, 0))
	}
}
