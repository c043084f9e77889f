//go:build !unix

package external

import "os/exec"

// inGroup is a program that nothing holds: there are no process groups here, and only
// the program itself is killed.
func inGroup(argv []string) *held { return &held{cmd: exec.Command(argv[0], argv[1:]...)} }

func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Kill() // it may have ended
	}
}
