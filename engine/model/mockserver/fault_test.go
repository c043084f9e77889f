package mockserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model/wire/wiretest"
)

var must = wiretest.Must

func parse(t testing.TB, faults ...string) (all []Fault) {
	t.Helper()
	all, err := ParseFaults(faults...)
	must(t, err)
	return all
}

// raw is all that a server sends until it closes the connection.
func raw(t *testing.T, fault, path, body string) string {
	t.Helper()
	server := httptest.NewServer(New(Options{Faults: parse(t, fault), Now: fixed}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	must(t, err)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	if _, err = bufio.NewReader(conn).WriteTo(&all); err != nil {
		return all.String() + "<" + err.Error()[strings.LastIndex(err.Error(), ": ")+2:] + ">"
	}
	return all.String()
}

// What the faults put on the wire, in each protocol. The tests of package wire say what our clients make of them.
func TestFaultsInEachProtocol(t *testing.T) {
	ends := map[string]string{chatPath: "[DONE]", responsesPath: "response.completed", messagesPath: "message_stop"}
	lists := map[string]string{chatPath: `"choices":7`, responsesPath: `"output":7`, messagesPath: `"content":7`}
	stops := map[string]string{chatPath: `"finish_reason":"content_filter"`, responsesPath: `"reason":"content_filter"`, messagesPath: `"stop_reason":"refusal"`}
	overloaded := map[string]string{chatPath: `"type":"server_error"`, responsesPath: `"type":"server_error"`, messagesPath: `"type":"overloaded_error"`}
	for _, path := range paths {
		for _, c := range []struct{ fault, whole, stream string }{ // what the answer has
			{"reset", "<connection reset by peer>", "<connection reset by peer>"},
			{"429", "HTTP/1.1 429 Too Many Requests", "HTTP/1.1 429 Too Many Requests"},
			{"429:retry-after=2", "\r\nRetry-After: 2\r\n", "\r\nRetry-After: 2\r\n"},
			{"529", overloaded[path], overloaded[path]},
			{"418", `"message":"I'm a teapot"`, `"message":"I'm a teapot"`},
			{"wrong-type", lists[path], lists[path]},
			{"refusal", stops[path], stops[path]},
			{"half-json", "Content-Length: ", ends[path]},
			{"cut", "Content-Length: ", "\r\n0\r\n\r\n"},
		} {
			for _, more := range []string{"", streamed} {
				got, want := raw(t, c.fault, path, asking(path, "a rather long message that makes chunks", more)), c.whole
				if more != "" {
					want = c.stream
				}
				if !strings.Contains(got, want) || c.fault != "429:retry-after=2" && strings.Contains(got, "Retry-After") {
					t.Errorf("%s, %s%s: %s\nwant %s", path, c.fault, more, got, want)
				}
				head, body, _ := strings.Cut(got, "\r\n\r\n")
				switch {
				case c.fault == "cut" && more != "" && strings.Contains(body, ends[path]):
					t.Errorf("%s: the stream is whole: %s", path, body)
				case c.fault == "half-json" && more == "" && json.Valid([]byte(body)):
					t.Errorf("%s: the JSON is whole: %s", path, body)
				case more == "" && (c.fault == "cut" || c.fault == "half-json"):
					if promised := promise(head); (len(body) < promised) != (c.fault == "cut") || body == "" {
						t.Errorf("%s, %s: %d of %d bytes", path, c.fault, len(body), promised)
					}
				}
			}
		}
	}
}

// promise is the length that a header announces.
func promise(head string) int {
	_, length, _ := strings.Cut(head, "Content-Length: ")
	length, _, _ = strings.Cut(length, "\r\n")
	n, _ := strconv.Atoi(length) // 0: none is announced
	return n
}

func TestSlowAndStall(t *testing.T) {
	for fault, want := range map[string]time.Duration{"slow": 5 * time.Second, "slow:by=20ms": 20 * time.Millisecond, "stall": 30 * time.Second} {
		for _, more := range []string{"", streamed} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				w, start := httptest.NewRecorder(), time.Now()
				r := httptest.NewRequest("POST", chatPath, strings.NewReader(asking(chatPath, "x", more))).WithContext(ctx)
				New(Options{Faults: parse(t, fault)}).ServeHTTP(w, r)
				if took := time.Since(start); took != want || w.Body.Len() == 0 || !w.Flushed && fault == "stall" {
					t.Errorf("%s: took %v: %s", fault, took, w.Body)
				}
			})
		}
	}
}

func TestWhenFaultsAreDue(t *testing.T) {
	for text, want := range map[string]string{
		"every=3:500":          "ok ok 500 ok ok 500",
		"first=2:cut":          "cut cut ok ok ok ok",
		"at=2:reset":           "ok reset ok ok ok ok",
		"402":                  "402 402 402 402 402 402",
		"every=2:500 at=4:cut": "ok 500 ok 500 ok 500", // the first that is due
		"at=4:cut every=2:500": "ok 500 ok cut ok 500",
		"share=1:empty":        "empty empty empty empty empty empty",
	} {
		s := New(Options{Faults: parse(t, strings.Fields(text)...)})
		var got []string
		for i := range 6 {
			kind := s.fault(&turn{id: strconv.Itoa(i)}).Kind
			if kind == "" {
				kind = "ok"
			}
			got = append(got, kind)
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// A request that comes again is another draw: a retry may succeed.
func TestFaultsByShare(t *testing.T) {
	for _, share := range []float64{0.01, 0.3} {
		s := New(Options{Faults: []Fault{{Kind: empty, Share: share}}})
		for range 10_000 {
			s.fault(&turn{id: s.identify([32]byte{})})
		}
		if n := float64(s.Stats().Faults[empty]); n < 10_000*share*0.7 || n > 10_000*share*1.3 {
			t.Errorf("share %v: %v of 10000", share, n)
		}
	}
}

func TestFaultsThatAreNone(t *testing.T) {
	for text, says := range map[string]string{
		"":                  `unknown fault ""`,
		"429:retry=2":       `the fault 429 has no option "retry"`,
		"429:retry-after=a": "retry-after is a number of seconds",
		"cut:by=2s":         `the fault cut has no option "by"`,
		"stal":              "did you mean stall?",
		"200":               `unknown fault "200"`,
		"slow:by=-2s":       "by is a duration",
		"every=0:500":       "want a number of at least 1",
		"share=1.5:500":     "want a share above 0, at most 1",
		"share=NaN:500":     "want a share above 0, at most 1",
		"often=2:500":       "want every=N, first=N, at=N or share=P",
		"every=2":           `unknown fault ""`,
	} {
		if _, err := ParseFaults(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
