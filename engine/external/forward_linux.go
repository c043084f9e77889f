package external

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/agentbench/agentbench/engine/external/confine"
)

// Forward is the first process within a sandbox. It runs a program with its own standard
// streams and environment, hands signals on to it, reaps its orphans, and gives its exit
// status, or 128 and the number of its signal. Meanwhile what connects to the address
// listen is connected to the unix socket; "" is for no address. Without a program it
// only tries whether it could listen, and fails where it could change the machine. An error comes with the statuses 125 to 127, as those of shells do.
func Forward(listen, socket string, argv []string) (status int, err error) {
	const missing = 127
	if listen != "" {
		listener, err := net.Listen("tcp", listen)
		if err != nil {
			return confine.Failed, err
		}
		defer listener.Close()
		go accept(listener, socket)
	}
	if len(argv) == 0 {
		if kernel, err := os.OpenFile("/proc/sys/kernel/core_pattern", os.O_WRONLY, 0); err == nil {
			kernel.Close()
			return confine.Failed, errors.New("programs could write to /proc/sys, which belongs to the machine")
		}
		return 0, nil
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return missing, err
	}
	return confine.Supervise(append([]string{path}, argv[1:]...), func() {})
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
