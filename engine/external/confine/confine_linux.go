package confine

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// Path is where a process finds itself.
const Path = "/proc/self/exe"

// name is how the copy is called, and what it recognizes itself by.
const name = "agentbench-confined"

// It runs before main, and then does not return, in the copy alone.
var _ = enter()

func enter() bool {
	if len(os.Args) < 5 || os.Args[0] != name {
		return false
	}
	c, ok := parse(os.Args[1:])
	if !ok || c.First > 0 && os.Getpid() != 1 {
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
	args := []string{name, flags, strconv.Itoa(c.First), strconv.Itoa(int(c.Group)), strconv.Itoa(len(c.Last))}
	return append(append(args, c.Last...), c.Argv...)
}

// parse is the inverse of Args, without the name.
func parse(args []string) (c Command, ok bool) {
	first, err1 := strconv.Atoi(args[1])
	group, err2 := strconv.Atoi(args[2])
	last, err3 := strconv.Atoi(args[3])
	rest := args[4:]
	if err1 != nil || err2 != nil || err3 != nil || last < 0 || last > len(rest) {
		return c, false
	}
	return Command{
		Hide: strings.Contains(args[0], "h"), Root: strings.Contains(args[0], "r"), Whole: strings.Contains(args[0], "w"),
		First: first, Group: Group(group), Last: rest[:last], Argv: rest[last:],
	}, true
}

// The files of the copy.
const (
	lifeline = 3 + iota
	itsGroup
	ourGroup
	groupSwitch
)

// run is the life of the copy; it gives its exit status.
func (c *Command) run() int {
	forwarded := make(chan os.Signal, 8)
	signal.Notify(forwarded, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	for file := lifeline; file <= groupSwitch; file++ {
		syscall.CloseOnExec(file) // they are not for the program
	}
	if err := c.prepare(); err != nil {
		return failed(Failed, err)
	}
	if len(c.Argv) == 0 {
		return 0
	}
	child, status, err := c.start()
	if err != nil {
		return failed(status, err)
	}
	release()
	answer()
	go func() {
		for s := range forwarded {
			_ = syscall.Kill(-child, s.(syscall.Signal)) // it may have ended
		}
	}()
	k := &keeper{Command: c}
	go func() {
		k.listen()
		k.end()
	}()
	status = wait(child)
	k.finish(status)
	return status
}

// start starts the program, in its group from its first moment on: the copy enters the
// group for as long as that takes.
func (c *Command) start() (child, status int, err error) {
	if c.Group != NoGroup {
		if _, err := syscall.Write(itsGroup, []byte("0")); err != nil {
			return 0, Failed, os.NewSyscallError("entering a control group", err)
		}
	}
	child, err = syscall.ForkExec(c.Argv[0], c.Argv, &syscall.ProcAttr{
		Env: syscall.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return 0, Unusable, os.NewSyscallError("exec "+c.Argv[0], err)
	}
	if c.Group != NoGroup {
		if _, err := syscall.Write(ourGroup, []byte("0")); err != nil {
			return 0, Failed, os.NewSyscallError("leaving a control group", err)
		}
	}
	return child, 0, nil
}

func failed(status int, err error) int {
	_, _ = os.Stderr.WriteString("agentbench: " + err.Error() + "\n") // nothing else can be said
	return status
}

// prepare makes the namespace what the program is to see. What it takes away is
// taken from this thread, which starts the program: initialization has one alone.
func (c *Command) prepare() error {
	if c.First == 0 {
		if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
			return os.NewSyscallError("prctl", errno)
		}
		return nil
	}
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

// hide replaces every /proc there is by one of this namespace. The new one has to
// be made while an old one is seen: a user namespace may have no more than it sees.
func (c *Command) hide() error {
	places, err := mounted("proc")
	if err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SLAVE, ""); err != nil {
		return os.NewSyscallError("mount /", err)
	}
	if !c.Whole {
		for _, place := range places {
			if err := syscall.Mount("proc", place, "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
				return os.NewSyscallError("mount "+place, err)
			}
		}
		return nil
	}
	made, err := makeProc()
	if err != nil {
		return err
	}
	for i := len(places) - 1; i >= 0; i-- {
		_ = syscall.Unmount(places[i], syscall.MNT_DETACH) // what is left is seen below
	}
	if err := attach(made, "/proc"); err != nil {
		return err
	}
	if now, err := mounted("proc"); err != nil || len(now) != 1 {
		return os.NewSyscallError("unmount /proc", syscall.EBUSY)
	}
	return nil
}

// Of linux/mount.h, and the numbers of calls, which all systems share.
const (
	sysMoveMount       = 429
	sysFsopen          = 430
	sysFsconfig        = 431
	sysFsmount         = 432
	fsconfigCreate     = 6
	mountNosuid        = 0x2
	mountNodev         = 0x4
	mountNoexec        = 0x8
	closeOnExec        = 1
	moveMountEmptyPath = 0x4
)

// makeProc makes a /proc that is mounted nowhere.
func makeProc() (fd uintptr, err error) {
	kind, _ := syscall.BytePtrFromString("proc")
	system, _, errno := syscall.Syscall(sysFsopen, uintptr(unsafe.Pointer(kind)), closeOnExec, 0)
	if errno != 0 {
		return 0, os.NewSyscallError("fsopen proc", errno)
	}
	if _, _, errno := syscall.Syscall6(sysFsconfig, system, fsconfigCreate, 0, 0, 0, 0); errno != 0 {
		return 0, os.NewSyscallError("fsconfig proc", errno)
	}
	fd, _, errno = syscall.Syscall(sysFsmount, system, closeOnExec, mountNosuid|mountNodev|mountNoexec)
	if errno != 0 {
		return 0, os.NewSyscallError("fsmount proc", errno)
	}
	return fd, nil
}

// attach mounts what makeProc made.
func attach(fd uintptr, place string) error {
	here := int32(-100) // AT_FDCWD
	from, _ := syscall.BytePtrFromString("")
	to, err := syscall.BytePtrFromString(place)
	if err != nil {
		return err
	}
	if _, _, errno := syscall.Syscall6(sysMoveMount, fd, uintptr(unsafe.Pointer(from)), uintptr(here), uintptr(unsafe.Pointer(to)), moveMountEmptyPath, 0); errno != 0 {
		return os.NewSyscallError("mount "+place, errno)
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
			places = append(places, unescaped(fields[4]))
		}
	}
	return places, nil
}

// unescaped is a path without the octal escapes of mountinfo.
func unescaped(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+3 < len(path) {
			if n, err := strconv.ParseUint(path[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

// Of linux/capability.h and linux/prctl.h.
const (
	capSysAdmin         = 21
	capabilityVersion3  = 0x20080522
	prCapbsetDrop       = 24
	prSetChildSubreaper = 36
	prCapAmbient        = 47
	prCapAmbientClear   = 4
)

// drop gives up the rights of the user namespace: who had them could take the new
// /proc away and see the old one beneath.
func (c *Command) drop() error {
	if c.Root {
		if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prCapbsetDrop, capSysAdmin, 0); errno != 0 {
			return os.NewSyscallError("prctl", errno)
		}
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prCapAmbient, prCapAmbientClear, 0, 0, 0, 0); errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	header := struct {
		version uint32
		pid     int32
	}{version: capabilityVersion3}
	var none [2]struct{ effective, permitted, inheritable uint32 }
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0); errno != 0 {
		return os.NewSyscallError("capset", errno)
	}
	return nil
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

// wait reaps everything that ends until the program does, and gives its exit
// status, or 128 and the number of its signal, as shells do. When the first
// process of a namespace ends, the kernel kills all others in it.
func wait(child int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR || err == nil && pid != child:
		case err != nil:
			return Failed
		case status.Signaled():
			return 128 + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}
