package process

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// capCheckpointRestore lets the shell say from where the namespace counts. It
// means nothing outside of the user namespace that it is given in.
const capCheckpointRestore = 40

// confined is a program that starts in a namespace which counts from behind the
// first process id.
func confined(ctx context.Context, kind namespace, first int, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, shellPath, append([]string{"-c", shellScript, strconv.Itoa(first)}, argv...)...)
	inGroup(cmd)
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID
	if kind == withUserSpace {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{capCheckpointRestore}
	}
	return cmd
}
