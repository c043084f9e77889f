package external

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// Sending tells of the requests of a context whether any byte of them may have
// reached a server. A connection that was refused, a name that does not exist and
// a TLS handshake that failed come before the first byte of a request.
type Sending struct {
	mu    sync.Mutex
	asked bool // for a connection; a transport that does not tell so tells nothing
	uses  []use
}

// use is a connection that was taken for a request, and how much had been written
// to it before. A nil connection is one whose bytes are not counted.
type use struct {
	on     *counted
	before int64
}

// Watch watches the requests that are made with the context that it returns.
func Watch(ctx context.Context) (context.Context, *Sending) {
	s := &Sending{}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: s.ask, GotConn: s.got}), s
}

func (s *Sending) ask(string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = true
}

func (s *Sending) got(info httptrace.GotConnInfo) {
	u := use{on: countedBeneath(info.Conn)}
	if u.on != nil {
		u.before = u.on.written.Load()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses = append(s.uses, u)
}

// Began reports whether a byte of a request may have been sent. It is certain that
// none was where no connection was ever there for one, or where nothing has been
// written to any since; requests that share a connection count for each other. The
// nil Sending is that of a request that was never made.
func (s *Sending) Began() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked {
		return true
	}
	for _, u := range s.uses {
		if u.on == nil || u.on.written.Load() > u.before {
			return true
		}
	}
	return false
}

// Counting makes a transport's DialContext count what is written, which Began
// reads; without it every connection that is there counts as written to.
func Counting(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &counted{Conn: conn}, nil
	}
}

// counted is a connection that counts the bytes that the system took for it.
type counted struct {
	net.Conn
	written atomic.Int64
}

// Write implements net.Conn.
func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// countedBeneath finds the counted connection beneath one of TLS; nil: none is.
func countedBeneath(conn net.Conn) *counted {
	for {
		switch c := conn.(type) {
		case *counted:
			return c
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}
