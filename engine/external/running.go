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

// freezing is how long the processes of a program may take until all stand still.
const freezing = 10 * time.Second

// Running is a program that was started. It is safe for concurrent use. Whoever has
// started it waits for it, or kills it.
type Running struct {
	program        *Program
	ctx            context.Context
	cancel         context.CancelCauseFunc
	stdout, stderr *capture
	held           *held         // set before begun is closed
	begun          chan struct{} // closed when the program runs
	over           chan struct{} // closed when it has ended and its children are killed
	ended          error         // set before over is
	clock          *clock        // set before begun is closed
	turn           chan struct{} // full while the program is frozen
	thawing        sync.Mutex
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
// started. started is called once the program has its files.
func (p *Program) launch(ctx context.Context, stdin io.Reader, stdout io.Writer, limit time.Duration, started func()) *Running {
	r := &Running{
		program: p, stderr: newCapture(maxStderr),
		begun: make(chan struct{}), over: make(chan struct{}), turn: make(chan struct{}, 1),
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	go func() {
		defer close(r.over)
		r.ended = p.start(func(h *held) error {
			h.cmd.Stdin, h.cmd.Stdout, h.cmd.Stderr = stdin, stdout, r.stderr
			return r.run(h, limit, started)
		})
		r.cancel(errOver)
	}()
	select {
	case <-r.begun:
	case <-r.over:
	}
	return r
}

// run owns the program from its start to its end. It stays on its thread: a system may
// tie the child to the thread that started it, and kill it when that ends.
func (r *Running) run(h *held, limit time.Duration, started func()) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer h.release()
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	if err := h.start(); err != nil {
		return err
	}
	started()
	r.held, r.clock = h, startClock(r.program.now, limit, func() { r.cancel(errTime) })
	close(r.begun)
	killing := context.AfterFunc(r.ctx, h.kill)
	err := h.cmd.Wait()
	r.clock.stop()
	killing()
	h.afterwards()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
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
	done.Duration, done.Frozen = r.clock.times()
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

// Kill kills the program with all its children, frozen or not, and returns when nothing
// of it is left. The cause is the error of Wait; nil: context.Canceled. A program that
// has ended stays as it ended.
func (r *Running) Kill(cause error) {
	r.cancel(cause)
	<-r.over
}

// Freeze lets all processes of the program stand still until Thaw, and returns when all
// do: then none of them changes a file. It fails where that takes longer than the
// context or 10 seconds; then they run on. The time until Thaw is not the program's. A
// program that has ended stands still. One that is frozen is frozen again after Thaw.
func (r *Running) Freeze(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, freezing)
	defer cancel()
	select {
	case r.turn <- struct{}{}:
	default:
		select {
		case r.turn <- struct{}{}:
		case <-r.over:
			return nil
		case <-ctx.Done():
			return record.Errorf(record.Internal, "freezing %s: it is frozen already", r.program.called())
		}
	}
	r.clock.pause()
	err := r.held.freeze(ctx)
	select {
	case <-r.over:
		return nil // whatever failed, nothing runs
	default:
	}
	if err != nil {
		r.Thaw()
		return record.Errorf(record.Internal, "freezing %s: %v", r.program.called(), err)
	}
	return nil
}

// Thaw lets a frozen program run on.
func (r *Running) Thaw() {
	r.thawing.Lock()
	defer r.thawing.Unlock()
	if len(r.turn) == 0 {
		return // it is not frozen
	}
	select {
	case <-r.over: // its process ids may be others' by now
	default:
		r.held.thaw()
	}
	r.clock.resume()
	<-r.turn
}

// clock is the time of a program, which stands still while the program does.
type clock struct {
	now   func() time.Time
	timer *time.Timer // nil: there is no limit

	mu         sync.Mutex
	begin, end time.Time
	left       time.Duration // until the limit, at the last start of the timer
	started    time.Time     // the timer, by the system's clock
	paused     time.Time     // zero: it runs
	frozen     time.Duration
}

// startClock calls late once the limit is over; below 0 it never is.
func startClock(now func() time.Time, limit time.Duration, late func()) *clock {
	c := &clock{now: now, begin: now(), left: limit, started: time.Now()}
	if limit > 0 {
		c.timer = time.AfterFunc(limit, late)
	}
	return c
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = c.now()
	if c.timer != nil && c.timer.Stop() {
		c.left -= time.Since(c.started)
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused.IsZero() {
		return
	}
	c.frozen += c.now().Sub(c.paused)
	c.paused = time.Time{}
	if c.timer != nil && c.end.IsZero() {
		c.started = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = c.now()
	if !c.paused.IsZero() {
		c.frozen += c.end.Sub(c.paused)
		c.paused = time.Time{}
	}
	if c.timer != nil {
		c.timer.Stop()
	}
}

// times are how long the program ran and how long it was frozen.
func (c *clock) times() (ran, frozen time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end.Sub(c.begin) - c.frozen, c.frozen
}
