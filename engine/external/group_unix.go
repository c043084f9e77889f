//go:build unix

package external

import (
	"os/exec"
	"syscall"
)

func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error {
		killGroup(cmd)
		return nil
	}
}

// killGroup kills the program and every child that stayed in its group.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil && cmd.Process.Pid > 0 {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // most often nobody is left
	}
}
