package external

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// serve answers on the loopback, and gives an endpoint for it.
func serve(t *testing.T, handler http.HandlerFunc) *Endpoint {
	t.Helper()
	server := httptest.NewServer(handler)
	client := NewClient()
	t.Cleanup(func() {
		client.CloseIdleConnections()
		server.Close()
	})
	return &Endpoint{URL: server.URL, Client: client}
}

func TestWhatIsPosted(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("X-Key")+" "+string(body))
	})
	e.Headers = map[string]string{"x-key": "k"}
	answer, err := e.Post(t.Context(), 0, []byte(`{"a":1}`))
	if err != nil || string(answer.Body) != `POST application/json k {"a":1}` || answer.Duration <= 0 {
		t.Errorf("got %s, %v", answer.Body, err)
	}
}

func TestFailures(t *testing.T) {
	elsewhere := serve(t, func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was asked with %q", r.URL, r.Header.Get("X-Key"))
	})
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    record.Error
	}{
		"no key":      {status(401, "who are you?"), record.Error{Class: record.Auth, Message: "HTTP 401: who are you?"}},
		"not allowed": {status(403, ""), record.Error{Class: record.Auth, Message: "HTTP 403"}},
		"not there":   {status(404, "<h1>\n no </h1>"), record.Error{Class: record.InvalidRequest, Message: "HTTP 404: <h1> no </h1>"}},
		"too slow":    {status(408, ""), record.Error{Class: record.CallTimeout, Message: "HTTP 408"}},
		"too often":   {status(429, "slow down"), record.Error{Class: record.RateLimit, Message: "HTTP 429: slow down"}},
		"broken":      {status(500, "a\xffb"), record.Error{Class: record.Server, Message: "HTTP 500: a\uFFFDb"}},
		"long":        {status(503, strings.Repeat("no ", 1000)), record.Error{Class: record.Server, Message: "HTTP 503: " + strings.Repeat("no ", 99) + "no …"}},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, record.Error{Class: record.BadResponse, Message: "HTTP 307: it sends to " + strings.TrimPrefix(elsewhere.URL, "http://") + ", where nothing is posted"}},
		"not modified":    {status(304, ""), record.Error{Class: record.BadResponse, Message: "HTTP 304"}},
		"the line breaks": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, record.Error{Class: record.Network, Message: "EOF"}},
		"half an answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		}, record.Error{Class: record.Network, Message: "the answer broke off after 4 bytes: unexpected EOF"}},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for range maxAnswer/1024 + 1 {
				_, _ = io.WriteString(w, strings.Repeat("x", 1024))
			}
		}, record.Error{Class: record.BadResponse, Message: "the answer has more than 8388608 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, c.handler)
			e.Headers = map[string]string{"X-Key": "CANARY"}
			_, err := e.Post(t.Context(), 0, []byte("{}"))
			if failed, ok := errors.AsType[*record.Error](err); !ok || *failed != c.want {
				t.Errorf("got %v, want %v", err, &c.want)
			}
		})
	}
}

func TestTheSameHostMayForward(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+" "+string(body))
	})
	if answer, err := e.Post(t.Context(), 0, []byte("{}")); err != nil || string(answer.Body) != "POST /there {}" {
		t.Errorf("got %s, %v", answer.Body, err)
	}
}

// An address that may hold a key is never told.
func TestNobodyIsThere(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	e := &Endpoint{URL: server.URL + "/?key=CANARY", Client: NewClient()}
	_, err := e.Post(t.Context(), 0, nil)
	if failed, ok := errors.AsType[*record.Error](err); !ok || failed.Class != record.Network || strings.Contains(err.Error(), "CANARY") || !strings.Contains(err.Error(), "cannot connect to "+server.URL+": connection refused. Is the server running?") {
		t.Errorf("got %v", err)
	}
	e.URL = "http://[::1/?key=CANARY"
	if _, err := e.Post(t.Context(), 0, nil); err == nil || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("got %v", err)
	}
}

// hanging never answers.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestAnEndpointThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Endpoint{URL: "http://127.0.0.1/", Client: &http.Client{Transport: hanging{}}}
		answer, err := e.Post(t.Context(), 3*time.Second, []byte("{}"))
		want := record.Error{Class: record.CallTimeout, Message: "the endpoint took longer than 3s"}
		if failed, ok := errors.AsType[*record.Error](err); !ok || *failed != want || answer.Duration != 3*time.Second {
			t.Errorf("got %v after %v", err, answer.Duration)
		}
		over := errors.New("the run is over")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(over) })
		if _, err := e.Post(ctx, 3*time.Second, []byte("{}")); !errors.Is(err, over) {
			t.Errorf("got %v", err)
		}
	})
}

// Where there was no connection, nothing reached a server; where there was one, something
// may have, whatever the error says.
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
			must(t, err)
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

// What a server has answered stays sent, whatever happens to what follows.
func TestF16_WhatFollowsAnAnswer(t *testing.T) {
	ctx, sending := Watch(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for range 2 {
		request, _ := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("{}"))
		if response, err := NewClient().Do(request); err == nil {
			response.Body.Close()
		}
		server.Close()
	}
	if !sending.Began() {
		t.Error("it has not begun")
	}
}

// mute fails without a word of what it did.
type mute struct{}

func (mute) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

func silentTransport(*testing.T, *http.Transport) string { return "http://127.0.0.1:1" }

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
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
	must(t, err)
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
	transport.DialContext = (&net.Dialer{Resolver: resolver}).DialContext
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
