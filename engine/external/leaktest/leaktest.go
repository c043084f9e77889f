// Package leaktest finds what programs leave behind: Alive counts the processes with a
// Mark in their arguments, OpenFiles the open files of the test, and Until waits for
// something that another process brings about.
//
// It is no stable API.
package leaktest

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// Mark is an argument by which the processes of one test are found. It is also less than a
// second, for sleep.
func Mark() string { return fmt.Sprintf("0.%d%d", os.Getpid(), time.Now().UnixNano()) }

// Alive counts the processes that have an argument. Zombies have none.
func Alive(t *testing.T, argument string) (n int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the table of processes is read from /proc")
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		line, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err == nil && bytes.Contains(line, []byte(argument)) {
			n++
		}
	}
	return n
}

// OpenFiles counts the open files of this process.
func OpenFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("open files are counted in /proc")
	}
	return len(entries)
}

// Until waits for something that another process brings about.
func Until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	late := time.After(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-late:
			t.Fatalf("timed out waiting until %s", what)
		case <-tick.C:
		}
	}
}
