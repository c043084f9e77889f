//go:build race

package processtest

import (
	"os"
	"syscall"
)

const raceEnabled = true

// exitAtOnce begins the process again so that it, and what it starts, does not
// sleep for a second before it exits, as processes with a race detector do: the
// scripts start a thousand of them.
func exitAtOnce() {
	self, err := os.Executable()
	if err != nil || os.Getenv("GORACE") != "" {
		return
	}
	_ = syscall.Exec(self, os.Args, append(os.Environ(), "GORACE=atexit_sleep_ms=0")) // where that fails, it sleeps
}
