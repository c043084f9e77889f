//go:build unix

package external

import (
	"os/exec"
	"syscall"
)

// inGroup is a program that its process group alone holds.
func inGroup(argv []string) *held {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = attributes()
	return &held{cmd: cmd}
}

// killGroup kills the program and every child that stayed in its group.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil && cmd.Process.Pid > 0 {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // most often nobody is left
	}
}
