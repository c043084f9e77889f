package external

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// What comes before the first byte of a request never reached a server, and what
// comes after it may have, whatever the error says.
func TestF16_WhatNeverReachedAServer(t *testing.T) {
	long := strings.Repeat("x", 8<<20)
	for name, c := range map[string]struct {
		at    func(t *testing.T, transport *http.Transport) (url string)
		body  string
		began bool
	}{
		"refused":                           {at: nobody},
		"the name is not found":             {at: noName},
		"a certificate that nobody knows":   {at: unknownCertificate},
		"no TLS at all":                     {at: noTLS},
		"closed inside the handshake":       {at: closedHandshake},
		"reset before a byte was sent":      {at: resetFirst},
		"the proxy is refused":              {at: noProxy},
		"cancelled while it was dialled":    {at: neverDialled},
		"reset when the request was there":  {at: after(func(in *bufio.Reader) { _, _ = http.ReadRequest(in) }), began: true},
		"reset after one byte":              {at: after(func(in *bufio.Reader) { _, _ = in.ReadByte() }), began: true},
		"reset inside of a long body":       {at: after(func(in *bufio.Reader) { _, _ = io.CopyN(io.Discard, in, 1000) }), body: long, began: true},
		"a transport that does not tell it": {at: silentTransport, began: true},
	} {
		t.Run(name, func(t *testing.T) {
			transport := NewClient().Transport.(*http.Transport)
			defer transport.CloseIdleConnections()
			address := c.at(t, transport)
			ctx, sending := Watch(t.Context())
			if name == "cancelled while it was dialled" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				dial := transport.DialContext
				transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
					cancel()
					<-ctx.Done()
					return dial(ctx, network, address)
				}
			}
			var via http.RoundTripper = transport
			if name == "a transport that does not tell it" {
				via = mute{}
			}
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("{}"+c.body))
			if err != nil {
				t.Fatal(err)
			}
			response, err := via.RoundTrip(request)
			if err == nil {
				response.Body.Close()
				t.Fatalf("status %d", response.StatusCode)
			}
			if sending.Began() != c.began {
				t.Errorf("began %v, after %v", sending.Began(), err)
			}
		})
	}
	if (*Sending)(nil).Began() {
		t.Error("a request that was never made has begun")
	}
}

// A connection that was used before, and closed, counts from where it is taken on.
func TestF16_ConnectionsThatAreKept(t *testing.T) {
	served := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if served++; served > 1 {
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	client := NewClient()
	defer client.CloseIdleConnections()
	for _, fails := range []bool{false, true} {
		ctx, sending := Watch(t.Context())
		request, _ := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("{}"))
		response, err := client.Do(request)
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
		if (err != nil) != fails || !sending.Began() {
			t.Errorf("%v, began %v", err, sending.Began())
		}
	}
}

// mute fails without a word of what it did.
type mute struct{}

func (mute) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

func silentTransport(*testing.T, *http.Transport) string { return "http://127.0.0.1:1" }

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func nobody(t *testing.T, _ *http.Transport) string {
	l := listener(t)
	l.Close()
	return "http://" + l.Addr().String()
}

func noProxy(t *testing.T, transport *http.Transport) string {
	at := nobody(t, nil)
	transport.Proxy = func(r *http.Request) (*url.URL, error) { return r.URL.Parse(at) }
	return "https://model.test"
}

func neverDialled(t *testing.T, _ *http.Transport) string {
	return "http://" + listener(t).Addr().String()
}

// noName has a server of names that knows none.
func noName(t *testing.T, transport *http.Transport) string {
	names, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { names.Close() })
	go func() {
		for message := make([]byte, 512); ; {
			n, from, err := names.ReadFrom(message)
			if err != nil {
				return
			}
			const answerNameError = 0x8183
			binary.BigEndian.PutUint16(message[2:], answerNameError)
			_, _ = names.WriteTo(message[:n], from)
		}
	}()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", names.LocalAddr().String())
	}}
	transport.DialContext = Counting((&net.Dialer{Resolver: resolver}).DialContext)
	return "http://model.example."
}

func unknownCertificate(t *testing.T, _ *http.Transport) string {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

func noTLS(t *testing.T, _ *http.Transport) string {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http:", "https:", 1)
}

func closedHandshake(t *testing.T, _ *http.Transport) string {
	return strings.Replace(after(func(in *bufio.Reader) { _, _ = in.ReadByte() })(t, nil), "http:", "https:", 1)
}

// resetFirst resets each connection, and lets the client go on once it has.
func resetFirst(t *testing.T, transport *http.Transport) string {
	l, done := listener(t), make(chan struct{})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			reset(conn)
			done <- struct{}{}
		}
	}()
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		<-done
		return conn, err
	}
	return "http://" + l.Addr().String()
}

// after resets a connection when so much of it was read.
func after(read func(*bufio.Reader)) func(*testing.T, *http.Transport) string {
	return func(t *testing.T, _ *http.Transport) string {
		l := listener(t)
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				read(bufio.NewReaderSize(conn, 16))
				reset(conn)
			}
		}()
		return "http://" + l.Addr().String()
	}
}

func reset(conn net.Conn) {
	_ = conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}
