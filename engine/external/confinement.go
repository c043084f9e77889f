package external

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// Confinement gives programs a PID namespace, where the system allows it. Then none of their
// children outlives them or us, and they see no process but their own: our environment holds
// keys, and that of who started us may. Elsewhere their process group is all that is ended with
// them. The zero value is ready; it serves many programs, and finds out about the system when it
// is first asked.
type Confinement struct {
	// Off does without namespaces.
	Off bool

	once    sync.Once
	kind    namespace
	missing string
	started atomic.Int64
}

// namespace is how a PID namespace can be had; the zero value is not at all. In each of them
// programs cannot read our environment: a user namespace alone shows what is outside of it, but
// neither environments nor memory.
type namespace struct {
	user bool // within a user namespace
	proc bool // with a /proc of its own
}

// namespaces are those that are tried, the best first.
var namespaces = []namespace{{proc: true}, {user: true, proc: true}, {user: true}}

func (c *Confinement) namespace() namespace {
	if c == nil {
		return namespace{}
	}
	c.once.Do(func() {
		if c.missing = "namespaces are switched off"; !c.Off {
			c.find()
		}
		if c.missing != "" {
			hideMemory()
		}
	})
	return c.kind
}

func (c *Confinement) find() {
	for _, kind := range namespaces {
		err := c.try(kind)
		if err == nil {
			c.kind, c.missing = kind, ""
			return
		}
		c.missing = err.Error()
	}
}

// Missing is why programs have no namespace: they can then read the environment of what started
// us, as far as their user may, and leave processes behind. "": they have one.
func (c *Confinement) Missing() string {
	c.namespace()
	return c.missing
}

// firstID is behind which process id a namespace counts: far from those of the
// namespaces before it and of other processes of ours, and below the least limit
// that systems have.
func (c *Confinement) firstID() int {
	const least, most, apart, processesApart = 300, 32_000, 97, 7919
	n := c.started.Add(1)
	return least + int((n*apart+int64(os.Getpid())*processesApart)%(most-least))
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
