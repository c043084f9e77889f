//go:build !unix

package external

import "os/exec"

// inGroup does nothing: there are no process groups here, and only the program
// itself is killed.
func inGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
