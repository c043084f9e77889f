package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Confinement decides what programs are locked into so that none of their
// children outlives them: a PID namespace of their own where the system allows
// it, a process group everywhere. Only the namespace holds children that start a
// session of their own. The zero value is ready; it serves many programs, and
// finds out about the system when the first one starts.
type Confinement struct {
	// Off leaves it at the process group.
	Off bool

	once    sync.Once
	kind    namespace
	started atomic.Int64
}

// namespace is how a PID namespace can be had; "" is not at all.
type namespace string

const (
	noNamespace   namespace = ""
	privileged    namespace = "pid"
	withUserSpace namespace = "user"
)

// shellPath is the first process of a namespace. Not the program itself: signals
// that it sends to itself would be lost on the first process, and it would have
// to reap orphans. It ends with the program's status, and all others with it;
// what it says of the program's end is not the program's.
//
// The programs of several namespaces share folders, and many name files by
// their process id, so each namespace begins to count somewhere else.
const (
	shellPath   = "/bin/sh"
	shellScript = `{ echo "$0" >/proc/sys/kernel/ns_last_pid; } 2>/dev/null; exec 3>&2 2>/dev/null; (exec "$@" 2>&3 3>&-); exit $?`
)

// namespace says how programs get one.
func (c *Confinement) namespace() namespace {
	if c == nil || c.Off {
		return noNamespace
	}
	c.once.Do(func() {
		for _, kind := range []namespace{privileged, withUserSpace} {
			if c.works(kind) {
				c.kind = kind
				return
			}
		}
	})
	return c.kind
}

// works tries a namespace: it must be there, and count from where it is told to.
func (c *Confinement) works(kind namespace) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	first := c.firstID()
	cmd := confined(ctx, kind, first, shellPath, "-c", "echo $$")
	if cmd == nil {
		return false
	}
	var said strings.Builder
	cmd.Stdout, cmd.Env = &said, []string{}
	return runLocked(cmd, func() {}) == nil && strings.TrimSpace(said.String()) == strconv.Itoa(first+1)
}

// firstID is behind which process id a namespace counts: far from those of the
// namespaces before it and of other processes of ours, and below the least limit
// that systems have.
func (c *Confinement) firstID() int {
	const least, most, apart, processesApart = 300, 32_000, 97, 7919
	n := c.started.Add(1)
	return least + int((n*apart+int64(os.Getpid())*processesApart)%(most-least))
}

// startable finds the faults that a shell would report in its own way.
func startable(dir, path string) error {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return &fs.PathError{Op: "exec", Path: path, Err: fs.ErrPermission}
	}
	return nil
}

// refused says whether a namespace could not be had this time.
func refused(err error) bool {
	var starting *fs.PathError
	return err != nil && errors.As(err, &starting) && starting.Path == shellPath
}

// signalled is the error of a program that died of a signal within a namespace.
type signalled syscall.Signal

func (s signalled) Error() string { return "signal: " + syscall.Signal(s).String() }

// afterShell is how the program ended that a shell waited for: shells add 128 to
// the number of a signal.
func afterShell(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if n := exit.ExitCode() - 128; n >= 1 && n <= 31 {
			return signalled(n)
		}
	}
	return err
}
