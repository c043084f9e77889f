//go:build unix

package external

import (
	"os/exec"
	"syscall"
)

// session is a session of the program's own, without a terminal: it is the first process group in it.
func session() *syscall.SysProcAttr { return mortal(&syscall.SysProcAttr{Setsid: true}) }

func killGroup(cmd *exec.Cmd)       { _ = signalGroup(cmd, syscall.SIGKILL) } // an error means that all have ended
func stopGroup(cmd *exec.Cmd) error { return signalGroup(cmd, syscall.SIGSTOP) }
func resumeGroup(cmd *exec.Cmd)     { _ = signalGroup(cmd, syscall.SIGCONT) }

// signalGroup signals the program and every child that stayed in its group.
func signalGroup(cmd *exec.Cmd, s syscall.Signal) error {
	if cmd.Process == nil || cmd.Process.Pid <= 0 {
		return nil
	}
	return syscall.Kill(-cmd.Process.Pid, s)
}
