package external

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/agentbench/agentbench/engine/external/confine"
)

// stopping is how long the processes of a program may take until all are stopped.
const stopping = 10 * time.Second

// processes are a program and what it starts. A namespace holds them where control is set, else a container, else a
// process group, which its processes may leave.
type processes struct {
	cmd       *exec.Cmd
	control   *os.File // takes orders, see package confine
	theirs    *os.File // the other end of control, until the start
	container *container
}

func (p *Program) processes() (*processes, error) {
	path, err := p.find()
	if err != nil {
		return nil, err
	}
	ps := &processes{cmd: exec.Command(path, p.Argv[1:]...), container: p.container}
	ps.cmd.Args[0], ps.cmd.SysProcAttr = p.Argv[0], session()
	if kind := p.Confinement.namespace(); kind != (namespace{}) && p.container == nil { // an engine of containers names processes by their ids
		if err := startable(p.Dir, path); err != nil {
			return nil, err
		}
		if ps, err = p.Confinement.within(kind, append([]string{path}, p.Argv[1:]...)...); err != nil {
			return nil, err
		}
	}
	ps.cmd.Dir, ps.cmd.Env, ps.cmd.WaitDelay = p.Dir, p.Env, drain
	if p.Env == nil {
		ps.cmd.Env = []string{} // nil would be ours
	}
	return ps, nil
}

func (ps *processes) start() error {
	err := ps.cmd.Start()
	if ps.theirs != nil {
		ps.theirs.Close()
	}
	if starting, ok := errors.AsType[*fs.PathError](err); ok && starting.Path == confine.Path {
		return notNow("the system refused a namespace this time", err)
	}
	return err
}

// wait waits for the program, and ends what is left of it. The error is how the program ended.
func (ps *processes) wait() error {
	err := ps.cmd.Wait()
	if ps.control == nil { // else nothing is left
		killGroup(ps.cmd)
	}
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		return nil
	case !failed:
		return err
	}
	n := exit.ExitCode()
	if ps.container != nil && (n < 0 || n > 128) {
		ps.container.remove() // its program has not ended by itself
	}
	if n -= 128; n >= 1 && n <= 31 && (ps.container != nil || ps.control != nil) {
		return signalled(n)
	}
	return err
}

// signalled is the error of a program that died of a signal within a namespace: 128 is added to its number.
type signalled syscall.Signal

func (s signalled) Error() string { return "signal: " + syscall.Signal(s).String() }

// release gives up everything but the program.
func (ps *processes) release() {
	for _, file := range []*os.File{ps.control, ps.theirs} {
		if file != nil {
			file.Close()
		}
	}
}

// stop stops all processes; it returns when none of them begins another system call.
func (ps *processes) stop() error {
	switch {
	case ps.container != nil:
		return ps.container.tell("pause", ps.container.name)
	case ps.control != nil:
		return ps.order(confine.Stop)
	}
	return stopGroup(ps.cmd)
}

// resume lets them run on. They may have been killed.
func (ps *processes) resume() {
	switch {
	case ps.container != nil:
		_ = ps.container.tell("unpause", ps.container.name)
	case ps.control != nil:
		_ = ps.order(confine.Continue)
	default:
		resumeGroup(ps.cmd)
	}
}

// order gives an order, and waits until it is done. It fails once the program has ended.
func (ps *processes) order(what byte) error {
	_ = ps.control.SetDeadline(time.Now().Add(stopping))
	_, err := ps.control.Write([]byte{what})
	if err == nil {
		_, err = ps.control.Read([]byte{what})
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}
