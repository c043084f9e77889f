package external

import (
	"errors"
	"os/exec"
	"syscall"
)

// session is nothing: there are no process groups here, and only the program itself is killed.
func session() *syscall.SysProcAttr { return nil }

func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Kill() // it may have ended
	}
}

func stopGroup(*exec.Cmd) error { return errors.New("this system does not stop programs") }
func resumeGroup(*exec.Cmd)     {}
