package external

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agentbench/agentbench/engine/external/confine"
)

// Rights that the first process of a user namespace needs to set it up. They mean
// nothing outside of it.
const (
	capSysAdmin          = 21
	capCheckpointRestore = 40
)

// held is a program in what holds its processes.
type held struct {
	cmd       *exec.Cmd
	namespace namespace
	container *container // nil: it starts none
	group     *group     // nil: there is none
	// lifeline is a socket to its keeper, see confine.Command. nil: there is no keeper,
	// but the process group alone.
	lifeline *os.File
	theirs   []*os.File // what is passed on
	begun    bool       // the keeper has started the program
	asked    bool       // the keeper owes an answer
	// already are the processes that had stopped before freeze stopped the others; nil: it
	// stopped none. stopped are those that it stopped one by one.
	already map[int]bool
	stopped []int
}

// keeps reports whether a keeper holds programs: one that kills what is left of them,
// also when we are killed.
func (c *Confinement) keeps() bool { return c != nil }

// hold is a program that starts in namespaces, or below a keeper alone. Without a
// program it only tries them.
func (c *Confinement) hold(kind namespace, engine *container, argv ...string) (*held, error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	if err := syscall.SetNonblock(ends[1], false); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	h := &held{
		namespace: kind, container: engine,
		lifeline: os.NewFile(uintptr(ends[0]), "lifeline"), theirs: []*os.File{os.NewFile(uintptr(ends[1]), "lifeline")},
	}
	inUserSpace := kind.user
	as := confine.Command{Hide: kind.proc, Root: inUserSpace && os.Getuid() == 0, Whole: !inUserSpace, Argv: argv}
	if kind.pid {
		as.First = c.firstID()
	}
	if engine != nil {
		as.Last = engine.removal()
	}
	if len(argv) > 0 && engine == nil { // an engine has groups of its own
		if h.group, err = c.groups.make(); err != nil {
			h.release()
			return nil, notNow("making a control group", err)
		}
		if h.group != nil {
			as.Group = h.group.version
			h.theirs = append(h.theirs, h.group.files...)
		}
	}
	h.cmd = exec.Command(confine.Path)
	h.cmd.Args, h.cmd.ExtraFiles = as.Args(), h.theirs
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if kind.pid {
		h.cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID
	}
	if kind.proc {
		h.cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNS
	}
	if inUserSpace {
		h.cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		h.cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		h.cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		h.cmd.SysProcAttr.AmbientCaps = []uintptr{capSysAdmin, capCheckpointRestore}
	}
	return h, nil
}

func (h *held) start() error {
	h.cmd.WaitDelay = drain
	err := h.cmd.Start()
	for _, file := range h.theirs {
		file.Close()
	}
	h.theirs = nil
	return err
}

// kill kills all processes of the program. It may be called when they have ended.
func (h *held) kill() {
	switch {
	case h.lifeline == nil:
		killGroup(h.cmd)
	case h.namespace.pid:
		_ = h.cmd.Process.Kill() // and the kernel all of the namespace
		h.group.kill()
	default:
		_ = h.cmd.Process.Signal(syscall.SIGCONT) // a program may have stopped its keeper
		h.lifeline.Close()
		time.AfterFunc(keeping, func() { // it has stopped its keeper again
			_ = h.cmd.Process.Kill()
		})
	}
}

// keeping is how long a keeper may take to end everything, an engine of containers
// included.
const keeping = 30 * time.Second

// afterwards ends what is left of a program that has ended.
func (h *held) afterwards() {
	if h.lifeline == nil || !h.namespace.pid {
		killGroup(h.cmd) // its children
	}
	h.group.kill()
}

// release gives up everything but the program.
func (h *held) release() {
	for _, file := range h.theirs {
		file.Close()
	}
	if h.lifeline != nil {
		h.lifeline.Close()
	}
	h.group.remove()
}

// refused reports whether a namespace could not be had this time.
func refused(err error) bool {
	var starting *fs.PathError
	return errors.As(err, &starting) && starting.Path == confine.Path
}

func (c *Confinement) try(kind namespace) error {
	h, err := c.hold(kind, nil)
	if err != nil {
		return err
	}
	defer h.release()
	var said bytes.Buffer
	h.cmd.Stderr, h.cmd.Env = &said, []string{}
	if err = h.start(); err == nil {
		late := time.AfterFunc(10*time.Second, h.kill)
		err = h.cmd.Wait()
		late.Stop()
	}
	var starting *fs.PathError
	switch {
	case err == nil:
		return nil
	case refused(err) && errors.As(err, &starting):
		return fmt.Errorf("the system refuses a namespace: %w", starting.Err)
	}
	return errors.New(cmp.Or(strings.TrimPrefix(errorLine(said.String()), "agentbench: "), err.Error()))
}

// outlived is why what a program starts may outlive it where there is no namespace.
func (c *Confinement) outlived() string {
	const without = "there is no PID namespace for programs"
	if c == nil {
		return without + ": what leaves a program's process group is not ended with it"
	}
	if g, err := c.groups.make(); err == nil && g != nil {
		defer g.remove()
		if g.version == confine.GroupV2 {
			return ""
		}
	}
	return without + ", and no control group that can be killed as a whole: a program can kill what is to end its processes"
}

// ourLimits tells an engine of containers to leave the limits as they are: not everybody
// may raise them. Podman lowers its own of processes to as many as there can be.
func ourLimits() (args []string) {
	const processes = 6 // RLIMIT_NPROC
	most := map[int]uint64{syscall.RLIMIT_NOFILE: 1 << 20, processes: 32768}
	if text, err := os.ReadFile("/proc/sys/kernel/pid_max"); err == nil {
		if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
			most[processes] = n
		}
	}
	for name, resource := range map[string]int{"nofile": syscall.RLIMIT_NOFILE, "nproc": processes} {
		var limit syscall.Rlimit
		if syscall.Getrlimit(resource, &limit) == nil {
			args = append(args, "--ulimit", fmt.Sprintf("%s=%d:%d", name, min(limit.Cur, most[resource]), min(limit.Max, most[resource])))
		}
	}
	return args
}
