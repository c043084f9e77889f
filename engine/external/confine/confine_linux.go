package confine

import (
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// name is how the copy is called, and what it recognizes itself by.
const name = "agentbench-confined"

// It runs before main, and then does not return, in the copy alone.
var _ = enter()

func enter() bool {
	if len(os.Args) < 3 || os.Args[0] != name || os.Getpid() != 1 {
		return false
	}
	c, err := parse(os.Args[1:])
	if err != nil {
		return false
	}
	syscall.Exit(c.run()) // at once: os.Exit would wait for a second under the race detector
	return true
}

// Args is the command line of the copy, its name included.
func (c *Command) Args() []string {
	flags := "-"
	for _, flag := range []struct {
		set  bool
		name string
	}{{c.Hide, "h"}, {c.Root, "r"}, {c.Whole, "w"}} {
		if flag.set {
			flags += flag.name
		}
	}
	return append([]string{name, flags, strconv.Itoa(c.First)}, c.Argv...)
}

// parse is the inverse of Args, without the name.
func parse(args []string) (c Command, err error) {
	c.First, err = strconv.Atoi(args[1])
	c.Hide, c.Root, c.Whole = strings.Contains(args[0], "h"), strings.Contains(args[0], "r"), strings.Contains(args[0], "w")
	c.Argv = args[2:]
	return c, err
}

// control is the socket of the copy.
const control = 3

// run is the life of the copy; it gives its exit status.
func (c *Command) run() int {
	syscall.CloseOnExec(control)
	if err := c.prepare(); err != nil {
		return failed(Failed, err)
	}
	if len(c.Argv) == 0 {
		return 0
	}
	status, err := Supervise(c.Argv, func() { go obey() })
	if err != nil {
		return failed(status, err)
	}
	return status
}

// obey does what it is ordered.
func obey() {
	order := make([]byte, 1)
	for {
		n, err := syscall.Read(control, order)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil || n == 0:
			return
		case order[0] == Stop:
			_ = syscall.Kill(-1, syscall.SIGSTOP)
		case order[0] == Continue:
			_ = syscall.Kill(-1, syscall.SIGCONT)
		}
		_, _ = syscall.Write(control, order)
	}
}

// Supervise runs a program, by its path, with our environment and standard streams, which it then has alone. begun is
// called once it runs. Signals are handed on to it and its process group, and orphans are reaped. It gives the
// program's exit status, or 128 and the number of its signal, as shells do; an error comes with Unusable or Failed.
func Supervise(argv []string, begun func()) (status int, err error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	child, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env: syscall.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return Unusable, os.NewSyscallError("exec "+argv[0], err)
	}
	release()
	begun()
	go func() {
		for s := range signals {
			_ = syscall.Kill(-child, s.(syscall.Signal)) // it may have ended
		}
	}()
	for {
		var ended syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ended, 0, nil)
		switch {
		case err == syscall.EINTR || err == nil && pid != child:
		case err != nil:
			return Failed, os.NewSyscallError("wait", err)
		case ended.Signaled():
			return 128 + int(ended.Signal()), nil
		default:
			return ended.ExitStatus(), nil
		}
	}
}

// release lets go of the program's streams: who reads them waits for the program's
// end of them, not for ours.
func release() {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	for stream := range 3 {
		if err == nil {
			_ = syscall.Dup3(null, stream, 0) // closes it
		} else {
			_ = syscall.Close(stream)
		}
	}
}

func failed(status int, err error) int {
	_, _ = os.Stderr.WriteString("agentbench: " + err.Error() + "\n") // nothing else can be said
	return status
}

// prepare makes the namespace what the program is to see. What it takes away is
// taken from this thread, which starts the program: initialization has one alone.
func (c *Command) prepare() error {
	if c.Hide {
		if err := c.hide(); err != nil {
			return err
		}
	}
	// Programs name files by their process id and share folders, so that each
	// namespace counts from elsewhere.
	if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(c.First)), 0); err != nil {
		return err
	}
	if c.Whole {
		return nil
	}
	return c.drop()
}

// hide replaces every /proc there is by one of this namespace. In a user namespace the old ones are covered, for a new
// one has to be made while an old one is seen; elsewhere they are taken away.
func (c *Command) hide() error {
	places, err := mounted("proc")
	if err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SLAVE, ""); err != nil {
		return os.NewSyscallError("mount /", err)
	}
	if c.Whole {
		for _, place := range slices.Backward(places) {
			_ = syscall.Unmount(place, syscall.MNT_DETACH) // what is left is seen below
		}
		places = []string{"/proc"}
	}
	for _, place := range places {
		if err := syscall.Mount("proc", place, "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
			return os.NewSyscallError("mount "+place, err)
		}
	}
	if now, err := mounted("proc"); c.Whole && (err != nil || len(now) != 1) {
		return os.NewSyscallError("unmount /proc", syscall.EBUSY)
	}
	return nil
}

// mounted is where file systems of a kind are mounted, in the order in which they
// were.
func mounted(kind string) (places []string, err error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(table)) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if len(fields) > 4 && strings.HasPrefix(after, kind+" ") {
			places = append(places, octal.Replace(fields[4]))
		}
	}
	return places, nil
}

// octal resolves the escapes of mountinfo.
var octal = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// drop gives up the rights of the user namespace: who had them could take the new
// /proc away and see the old one beneath.
func (c *Command) drop() error {
	if c.Root {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_ADMIN, 0, 0, 0); err != nil {
			return os.NewSyscallError("prctl", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	var none [2]unix.CapUserData // version 3 has two words of each set
	return os.NewSyscallError("capset", unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]))
}
