package openai

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/mockserver"
	"github.com/agentbench/agentbench/engine/record"
)

// mocked is a server that shows one fault and has one reply.
func mocked(t *testing.T, fault string) *mockserver.Server {
	t.Helper()
	rated, err := mockserver.ParseRated(fault)
	if err != nil {
		t.Fatal(err)
	}
	return mockserver.New(mockserver.Options{
		Rules:  []mockserver.Rule{mockserver.Texts("a reply of several chunks, so that streams have something to cut")},
		Faults: []mockserver.Rated{rated},
	})
}

// patience is what the client of these tests waits, by a clock that does not
// pass in earnest.
const patience = 30 * time.Second

// F10 to F26: each fault that the mock server knows is, to this client, of the
// class that its manual tells, or is accepted.
func TestF10_F26_MockFaults(t *testing.T) {
	for _, kind := range mockserver.Kinds() {
		if kind.Name == "transient" { // stands for others
			continue
		}
		t.Run(kind.Name, func(t *testing.T) { showFault(t, kind, false) })
		t.Run(kind.Name+"/streamed", func(t *testing.T) { showFault(t, kind, true) })
	}
}

func showFault(t *testing.T, kind mockserver.Kind, stream bool) {
	fault := kind.Name
	if len(kind.Options) > 0 && kind.Options[0] == "size" {
		fault += ":size=2MB"
	}
	if kind.Name == "reset" || kind.Name == "cut-reset" { // only TCP knows resets
		address := serve(t, mocked(t, fault))
		judge(t, kind, connect(t, Options{BaseURL: address + "/v1", Stream: stream}))
		return
	}
	synctest.Test(t, func(t *testing.T) {
		transport, stop := pipes(mocked(t, fault))
		defer stop()
		judge(t, kind, connect(t, Options{
			BaseURL: "http://mock/v1", Transport: transport, Timeout: patience, MaxResponse: 1 << 20, Stream: stream,
		}))
	})
}

// judge makes a call and holds what comes of it to what the kind promises.
func judge(t *testing.T, kind mockserver.Kind, m *Model) {
	t.Helper()
	start := time.Now()
	reply, err := m.Call(t.Context(), hello())
	if took := time.Since(start); took > patience+time.Second {
		t.Errorf("the call took %v", took)
	}
	if kind.Class == "" {
		accepted(t, kind, reply, err)
		return
	}
	var failed *record.Error
	if !errors.As(err, &failed) || failed.Class != kind.Class {
		t.Errorf("got %+v, %v; want class %s", reply, err, kind.Class)
		return
	}
	withoutSecrets(t, err.Error())
}

func accepted(t *testing.T, kind mockserver.Kind, reply *model.Reply, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("not accepted: %v", err)
		return
	}
	if reply.Finish == "" || reply.Text == "" && kind.Name != "empty" || reply.Text == "another" {
		t.Errorf("got %+v", reply)
	}
	readable := kind.Row != "F24" || kind.Name == "usage-decimals" || kind.Name == "usage-strings"
	if estimated := reply.Usage.Estimated > 0; estimated == readable {
		t.Errorf("usage %+v", reply.Usage)
	}
}

// pipes is a server within this process, and a transport that reaches it: both
// live by the clock of the test.
func pipes(handler http.Handler) (*http.Transport, func()) {
	listener := &pipeListener{arrived: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(listener) })
	transport := NewTransport()
	transport.Proxy = nil
	transport.DialContext = listener.dial
	return transport, func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		served.Wait()
	}
}

// pipeListener accepts pipes instead of connections.
type pipeListener struct {
	arrived chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.arrived <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.arrived:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// What the mock server asks of the client on refusals arrives.
func TestF10_MockTellsWhenToComeBack(t *testing.T) {
	for _, form := range []mockserver.Form{mockserver.Seconds, mockserver.Millis, mockserver.Date, mockserver.Silent} {
		server := httptest.NewServer(mockserver.New(mockserver.Options{
			Limits: mockserver.Limits{Requests: 6, Burst: 1.0 / 6, RetryAfter: form}, Now: fixed,
		}))
		m := connect(t, Options{BaseURL: server.URL + "/v1", Now: fixed})
		if _, err := m.Call(t.Context(), hello()); err != nil {
			t.Fatal(err)
		}
		const want = 10 * time.Second // which the silent one tells by its limits' headers
		_, err := m.Call(t.Context(), hello())
		var failed *model.CallError
		if !errors.As(err, &failed) || failed.Status != 429 || failed.RetryAfter != want {
			t.Errorf("%s: %+v", form, failed)
		}
		server.Close()
	}
}
