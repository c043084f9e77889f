package external

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"github.com/agentbench/agentbench/engine/external/confine"
)

// Rights that the first process of a user namespace needs to set it up. They mean
// nothing outside of it.
const (
	capSysAdmin          = 21
	capCheckpointRestore = 40
)

// confined is a program that starts in namespaces, which count from behind the
// first process id. Without a program it only tries them.
func confined(ctx context.Context, kind namespace, first int, argv ...string) *exec.Cmd {
	inUserSpace := kind.user
	as := confine.Command{Hide: kind.proc, Root: inUserSpace && os.Getuid() == 0, Whole: !inUserSpace, First: first, Argv: argv}
	cmd := exec.CommandContext(ctx, confine.Path)
	cmd.Args = as.Args()
	inGroup(cmd)
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID
	if kind.proc {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNS
	}
	if inUserSpace {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{capSysAdmin, capCheckpointRestore}
	}
	return cmd
}

// refused reports whether a namespace could not be had this time.
func refused(err error) bool {
	var starting *fs.PathError
	return errors.As(err, &starting) && starting.Path == confine.Path
}
