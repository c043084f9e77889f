package external

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// Confinement decides what programs are locked into, so that none of their
// children outlives them, and so that they see no process but their own: our
// environment holds keys, and that of who started us may. That takes a PID
// namespace with a /proc of its own, where the system allows it. Without that
// /proc the namespace still holds children that start a session of their own; without
// a namespace a keeper does, which orphans are handed to, and a control group. The zero
// value is ready; it serves many programs, and finds out about the system when it is
// first asked.
type Confinement struct {
	// Off does without namespaces.
	Off bool

	once    sync.Once
	kind    namespace
	exposed string
	started atomic.Int64
	groups  groups
}

// namespace is how a PID namespace can be had; the zero value is not at all.
type namespace struct {
	pid  bool
	user bool // within a user namespace
	proc bool // with a /proc of its own
}

// hides reports whether programs in it cannot read our environment. A user
// namespace alone is enough for that: the kernel shows what is outside of it, but
// neither environments nor memory.
func (n namespace) hides() bool { return n.proc || n.user }

// namespaces are those that are tried, the best first.
var namespaces = []namespace{{pid: true, proc: true}, {pid: true, user: true, proc: true}, {pid: true}, {pid: true, user: true}}

func (c *Confinement) namespace() namespace {
	if c == nil {
		return namespace{}
	}
	c.once.Do(func() {
		if c.Off {
			c.exposed = "namespaces are switched off"
			return
		}
		for _, kind := range namespaces {
			err := c.try(kind)
			if err == nil {
				c.kind = kind
				break
			}
			if kind.hides() {
				c.exposed = err.Error()
			}
		}
		if c.kind.hides() {
			c.exposed = ""
		}
	})
	return c.kind
}

// Exposed is why programs can read the environment of this process, and of those
// that started it, as far as their user may; "" where they cannot.
func (c *Confinement) Exposed() string {
	c.namespace()
	return c.exposed
}

// Outlived is why what programs start may outlive them, or us; "" where it cannot.
func (c *Confinement) Outlived() string {
	if c.namespace().pid {
		return ""
	}
	return c.outlived()
}

// firstID is behind which process id a namespace counts: far from those of the
// namespaces before it and of other processes of ours, and below the least limit
// that systems have.
func (c *Confinement) firstID() int {
	const least, most, apart, processesApart = 300, 32_000, 97, 7919
	n := c.started.Add(1)
	return least + int((n*apart+int64(os.Getpid())*processesApart)%(most-least))
}

// Beside is a command for a program that works in another folder: words that name files
// in this one are their whole paths. In "", no file is.
func Beside(folder string, argv []string) []string {
	beside := slices.Clone(argv)
	for i, word := range argv {
		if folder == "" || !filepath.IsLocal(filepath.FromSlash(word)) || i == 0 && filepath.Base(word) == word {
			continue
		}
		path, err := filepath.Abs(filepath.Join(folder, filepath.FromSlash(word)))
		if info, missing := os.Stat(path); err == nil && missing == nil && info.Mode().IsRegular() {
			beside[i] = path
		}
	}
	return beside
}

// startable finds the faults that would be reported in another way from within a
// namespace.
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

// signalled is the error of a program that died of a signal within a namespace.
type signalled syscall.Signal

func (s signalled) Error() string { return "signal: " + syscall.Signal(s).String() }

// afterConfined is how the program ended that a namespace held: 128 is added to
// the number of a signal.
func afterConfined(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if n := exit.ExitCode() - 128; n >= 1 && n <= 31 {
			return signalled(n)
		}
	}
	return err
}
