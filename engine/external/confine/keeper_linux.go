package confine

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// keeper ends what a program leaves.
type keeper struct {
	*Command
	last sync.Once
}

// How long the last command may take, and what else an engine of containers does once
// its command has ended.
const (
	mostLast  = 20 * time.Second
	mostGrace = 5 * time.Second
)

// listen does what it is told until the other end of the lifeline is closed.
func (k *keeper) listen() {
	told := make([]byte, 1)
	for {
		n, err := syscall.Read(lifeline, told)
		switch {
		case err == syscall.EINTR:
		case err != nil || n == 0:
			return
		case told[0] == Stop:
			if k.First > 0 {
				_ = syscall.Kill(-1, syscall.SIGSTOP)
			}
			answer()
		}
	}
}

// answer says that something is done. Nobody may be listening any more.
func answer() { _, _ = syscall.Write(lifeline, []byte{'.'}) }

// end ends all of the program, which runs. It returns only where there is no namespace.
func (k *keeper) end() {
	k.runLast()
	if k.First > 0 {
		_ = syscall.Kill(-1, syscall.SIGKILL)
		k.thaw()
		syscall.Exit(Failed) // the kernel ends the namespace with its first process
	}
	for {
		k.kill() // until finish has reaped all
		time.Sleep(time.Millisecond)
	}
}

// finish ends what the program has left behind. In a namespace the kernel does. The last
// command runs where a signal ended the program, which then has not cleaned up itself.
func (k *keeper) finish(status int) {
	grace := time.Now()
	if len(k.Last) > 0 {
		if status > 128 {
			k.runLast()
		}
		grace = grace.Add(mostGrace)
	}
	if k.First > 0 {
		_ = syscall.Kill(-1, syscall.SIGKILL)
		k.thaw() // what stood still would not die
		return
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.ECHILD:
			return
		case pid == 0:
			if !time.Now().Before(grace) {
				k.kill()
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// kill kills everything below this process and in its group. What was started
// meanwhile is left for the next time.
func (k *keeper) kill() {
	if k.Group == GroupV2 {
		_, _ = syscall.Write(groupSwitch, []byte("1"))
	}
	for _, pid := range Descendants(os.Getpid()) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	k.thaw()
}

// thaw lets what stands still in a group of version 1 die of what killed it.
func (k *keeper) thaw() {
	if k.Group == GroupV1 {
		_, _ = syscall.Write(groupSwitch, []byte("THAWED"))
	}
}

// runLast runs the last command, once.
func (k *keeper) runLast() {
	k.last.Do(func() {
		if len(k.Last) == 0 {
			return
		}
		null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		stream := uintptr(null)
		pid, err := syscall.ForkExec(k.Last[0], k.Last, &syscall.ProcAttr{
			Env: syscall.Environ(), Files: []uintptr{stream, stream, stream}, Sys: &syscall.SysProcAttr{Setpgid: true},
		})
		if err != nil {
			return
		}
		// Whoever waits for the program reaps it.
		for late := time.Now().Add(mostLast); time.Now().Before(late); time.Sleep(2 * time.Millisecond) {
			var status syscall.WaitStatus
			if n, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); n == pid || err == syscall.ECHILD {
				return
			}
		}
	})
}

// Descendants are the processes below one, parents before their children. Where they
// are not stopped, some may be missing. Orphans are below the process that they were
// handed to.
func Descendants(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		tasks := "/proc/" + strconv.Itoa(all[i]) + "/task"
		threads, _ := os.ReadDir(tasks) // it may have ended
		for _, thread := range threads {
			children, _ := os.ReadFile(tasks + "/" + thread.Name() + "/children")
			for child := range strings.FieldsSeq(string(children)) {
				if id, err := strconv.Atoi(child); err == nil {
					all = append(all, id)
				}
			}
		}
	}
	return all[1:]
}
