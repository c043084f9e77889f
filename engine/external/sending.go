package external

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
)

// Sending knows whether any byte of the requests of a context may have reached a server. A connection that was refused, a
// name that does not exist and a TLS handshake that failed come before the first byte of a request.
type Sending struct {
	state atomic.Int32
}

// The states of a request. A transport without such traces never asks for a connection.
const (
	untraced int32 = iota
	asking
	connected
	answered // by a server, and what follows does not take that back
)

// Watch watches the requests that are made with the context that it returns, one after the other. A transport asks for
// another connection only where no server has worked on the request; a caller, only where one has answered.
func Watch(ctx context.Context) (context.Context, *Sending) {
	s := &Sending{}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { s.become(asking) },
		GotConn: func(httptrace.GotConnInfo) { s.become(connected) },

		GotFirstResponseByte: func() { s.become(answered) },
	}), s
}

func (s *Sending) become(state int32) {
	if s.state.Load() != answered {
		s.state.Store(state)
	}
}

// Began reports whether a byte of the request may have been sent. It is certain that none was where the last
// connection was never there, and no server has answered. The nil Sending is that of a request that was never made.
func (s *Sending) Began() bool { return s != nil && s.state.Load() != asking }
