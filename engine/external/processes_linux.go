package external

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentbench/agentbench/engine/external/confine"
)

// mortal lets the program die with the thread that starts it, should we be killed.
func mortal(as *syscall.SysProcAttr) *syscall.SysProcAttr {
	as.Pdeathsig = syscall.SIGKILL
	return as
}

// hideMemory hides our environment and memory from other processes of our user, root with all rights excepted.
func hideMemory() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// within is a program that starts in a namespace. Without a program it only tries to set that up.
func (c *Confinement) within(kind namespace, argv ...string) (*processes, error) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	if err := syscall.SetNonblock(ends[1], false); err != nil {
		_, _ = syscall.Close(ends[0]), syscall.Close(ends[1])
		return nil, os.NewSyscallError("fcntl", err)
	}
	copied := confine.Command{Hide: kind.proc, Root: kind.user && os.Getuid() == 0, Whole: !kind.user, First: c.firstID(), Argv: argv}
	ps := &processes{cmd: exec.Command(confine.Path), control: os.NewFile(uintptr(ends[0]), "control"), theirs: os.NewFile(uintptr(ends[1]), "control")}
	ps.cmd.Args, ps.cmd.ExtraFiles = copied.Args(), []*os.File{ps.theirs}
	as := session()
	as.Cloneflags = syscall.CLONE_NEWPID
	if kind.proc {
		as.Cloneflags |= syscall.CLONE_NEWNS
	}
	if kind.user {
		as.Cloneflags |= syscall.CLONE_NEWUSER
		as.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		as.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		as.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_CHECKPOINT_RESTORE} // to set it up; they mean nothing outside of it
	}
	ps.cmd.SysProcAttr = as
	return ps, nil
}

// try fails where the system gives no such namespace.
func (c *Confinement) try(kind namespace) error {
	runtime.LockOSThread() // see mortal
	defer runtime.UnlockOSThread()
	ps, err := c.within(kind)
	if err != nil {
		return err
	}
	defer ps.release()
	var said bytes.Buffer
	ps.cmd.Stderr, ps.cmd.Env = &said, []string{}
	if err = ps.cmd.Start(); err == nil {
		late := time.AfterFunc(10*time.Second, func() { killGroup(ps.cmd) })
		defer late.Stop()
		err = ps.cmd.Wait()
	}
	if starting, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("the system refuses a namespace: %w", starting.Err)
	}
	if err != nil {
		return errors.New(cmp.Or(strings.TrimPrefix(errorLine(said.String()), "agentbench: "), err.Error()))
	}
	return nil
}
