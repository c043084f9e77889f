// Package process decides how a program is run: bytes on its standard input,
// bytes from its standard output, in a process group, and where possible a PID
// namespace, of its own that is killed as a whole, with a small environment that
// holds no keys.
package external

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
)

// The limits of a program where it declares none.
const (
	DefaultTimeout   = 10 * time.Minute
	DefaultMaxOutput = 256 << 10
	maxStderr        = 16 << 10
	// DefaultFarewell is how long a session's program may take to end by itself
	// once its input is over.
	DefaultFarewell = 2 * time.Second
	// drain is how long pipes may stay open after the program ended, for
	// children that hold them.
	drain = 500 * time.Millisecond
)

// Program is how a program is run.
type Program struct {
	Argv      []string
	Dir       string        // relative programs and files are looked up here
	Env       []string      // the whole environment, see Environment; nil: empty
	Timeout   time.Duration // 0: DefaultTimeout; below 0: as long as the context
	MaxOutput int           // bytes of standard output; 0: DefaultMaxOutput
	// Cuts leaves too much output at its head and tail; otherwise it is a failure.
	Cuts     bool
	Called   string           // what errors call it; "": the program and its name
	Farewell time.Duration    // of a session; 0: DefaultFarewell
	Now      func() time.Time // nil: time.Now
	// Confinement holds the program's children; nil: its process group alone does.
	Confinement *Confinement
}

// Finished is what a program left.
type Finished struct {
	Stdout   []byte // head and tail where there was too much
	Stderr   string // likewise; not always UTF-8
	Duration time.Duration
}

// Run runs the program to its end, or kills it with all its children. Errors
// are *record.Error and the context's cause; what was left so far is given with
// them.
func (p *Program) Run(ctx context.Context, stdin []byte) (Finished, error) {
	running, limit, cancel := p.limited(ctx)
	defer cancel()
	stdout, stderr := newCapture(p.maxOutput()), newCapture(maxStderr)
	begin := p.now()
	err := p.run(running, stdin, stdout, stderr)
	done := Finished{Stdout: stdout.Bytes(), Stderr: string(stderr.Bytes()), Duration: p.now().Sub(begin)}
	switch {
	case ctx.Err() != nil:
		return done, context.Cause(ctx)
	case running.Err() != nil:
		done.Duration = limit
		return done, failure(record.Program, "%s took longer than %v and was killed", p.called(), limit)
	case err != nil:
		return done, p.explain(err, done.Stderr)
	case stdout.Cut() > 0 && !p.Cuts:
		return done, failure(record.Program, "%s wrote %d bytes; %d are allowed", p.called(), stdout.total, p.maxOutput())
	}
	return done, nil
}

// limited is the context within which the program runs.
func (p *Program) limited(ctx context.Context) (context.Context, time.Duration, context.CancelFunc) {
	if p.Timeout < 0 {
		running, cancel := context.WithCancel(ctx)
		return running, 0, cancel
	}
	limit := cmp.Or(p.Timeout, DefaultTimeout)
	running, cancel := context.WithTimeout(ctx, limit)
	return running, limit, cancel
}

func (p *Program) called() string {
	if p.Called != "" {
		return p.Called
	}
	return fmt.Sprintf("the program %q", p.Argv[0])
}

// run runs the program once.
func (p *Program) run(ctx context.Context, stdin []byte, stdout, stderr io.Writer) error {
	return p.start(ctx, func(cmd *exec.Cmd) error {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), stdout, stderr
		return runLocked(cmd, func() {})
	})
}

// start gives run what starts the program, in a namespace where it can; run may
// be given a second one where that was refused.
func (p *Program) start(ctx context.Context, run func(*exec.Cmd) error) error {
	path, err := p.find()
	if err != nil {
		return err
	}
	if kind := p.Confinement.namespace(); kind != noNamespace {
		if err := startable(p.Dir, path); err != nil {
			return err
		}
		argv := append([]string{path}, p.Argv[1:]...)
		err := run(p.placed(confined(ctx, kind, p.Confinement.firstID(), argv...)))
		if !refused(err) {
			return afterConfined(err)
		}
		if kind.hides() {
			return unhidden(err)
		}
	}
	cmd := exec.CommandContext(ctx, path, p.Argv[1:]...)
	cmd.Args[0] = p.Argv[0]
	inGroup(cmd)
	return run(p.placed(cmd))
}

// placed gives the command its folder and its environment.
func (p *Program) placed(cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir, cmd.Env = p.Dir, p.Env
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would be ours
	}
	return cmd
}

// runLocked stays on its thread: a system may tie the child to the thread that
// started it, and kill it when that ends.
func runLocked(cmd *exec.Cmd, started func()) error {
	cmd.WaitDelay = drain
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return err
	}
	started()
	err := cmd.Wait()
	killGroup(cmd) // what it left behind
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

func (p *Program) explain(err error, stderr string) error {
	var exit *exec.ExitError
	var died signalled
	var known *record.Error
	name := p.called()
	if ours := record.OutOfFiles(err); ours != nil {
		return ours
	}
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &exit), errors.As(err, &died):
		message := fmt.Sprintf("%s failed: %s", name, err)
		if line := lastLine(stderr); line != "" {
			message += ": " + line
		}
		return &record.Error{Class: record.Program, Message: message}
	case errors.Is(err, exec.ErrNotFound):
		return failure(record.InvalidRequest, "%s was not found; is it installed and on PATH?", name)
	case errors.Is(err, fs.ErrNotExist):
		return failure(record.InvalidRequest, "%s was not found; a path is relative to the folder of the file that names it", name)
	case errors.Is(err, fs.ErrPermission):
		return failure(record.InvalidRequest, "%s may not be executed; is it marked as executable?", name)
	}
	return failure(record.InvalidRequest, "%s did not start: %v", name, err)
}

func failure(class record.ErrorClass, format string, args ...any) error {
	return &record.Error{Class: class, Message: fmt.Sprintf(format, args...)}
}

// lastLine is where programs say what was wrong.
func lastLine(text string) string {
	text = strings.TrimSpace(validUTF8([]byte(text)))
	line := text[strings.LastIndexByte(text, '\n')+1:]
	const most = 300
	if len(line) > most {
		line = strings.TrimSpace(secret.Prefix(line, most)) + " …"
	}
	return line
}

func validUTF8(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

func (p *Program) maxOutput() int {
	if p.MaxOutput > 0 {
		return p.MaxOutput
	}
	return DefaultMaxOutput
}

func (p *Program) farewell() time.Duration {
	if p.Farewell > 0 {
		return p.Farewell
	}
	return DefaultFarewell
}

func (p *Program) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}
