package external

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// Forward is the first process within a sandbox. It runs a program with its own standard
// streams and environment, hands signals on to it, reaps its orphans, and gives its exit
// status, or 128 and the number of its signal. Meanwhile what connects to the address
// listen is connected to the unix socket; "" is for no address. Without a program it
// only tries whether it could listen, and fails where it could change the machine. An error comes with the statuses 125 to 127, as those of shells do.
func Forward(listen, socket string, argv []string) (status int, err error) {
	const failed, unusable, missing = 125, 126, 127
	if listen != "" {
		listener, err := net.Listen("tcp", listen)
		if err != nil {
			return failed, err
		}
		defer listener.Close()
		go accept(listener, socket)
	}
	if len(argv) == 0 {
		if kernel, err := os.OpenFile("/proc/sys/kernel/core_pattern", os.O_WRONLY, 0); err == nil {
			kernel.Close()
			return failed, errors.New("programs could write to /proc/sys, which belongs to the machine")
		}
		return 0, nil
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return missing, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	child, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return unusable, &os.PathError{Op: "exec", Path: path, Err: err}
	}
	letGo()
	go func() {
		for s := range signals {
			_ = syscall.Kill(child, s.(syscall.Signal)) // it may have ended
		}
	}()
	for {
		var ended syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ended, 0, nil)
		switch {
		case err == syscall.EINTR || err == nil && pid != child:
		case err != nil:
			return failed, os.NewSyscallError("wait", err)
		case ended.Signaled():
			return 128 + int(ended.Signal()), nil
		default:
			return ended.ExitStatus(), nil
		}
	}
}

// letGo gives up the standard streams: who reads them waits for the program's end of
// them, not for ours.
func letGo() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer null.Close()
	for stream := range 3 {
		_ = syscall.Dup3(int(null.Fd()), stream, 0)
	}
}

func accept(listener net.Listener, socket string) {
	for {
		conn, err := listener.Accept()
		switch {
		case err == nil:
			go connect(conn.(*net.TCPConn), socket)
		case errors.Is(err, net.ErrClosed):
			return
		default: // no file descriptor is left
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// connect copies in each direction until that ends. A client sees a reset where there is
// nothing to connect it to, and where the connection breaks: that is no end of an answer.
func connect(client *net.TCPConn, socket string) {
	defer client.Close()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		_ = client.SetLinger(0)
		return
	}
	server := conn.(*net.UnixConn)
	defer server.Close()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(server, client)
		_ = server.CloseWrite()
	}()
	if _, err := io.Copy(client, server); err != nil {
		_ = client.SetLinger(0)
		_ = client.Close() // and with it what is sent
	} else {
		_ = client.CloseWrite()
	}
	<-sent
}
