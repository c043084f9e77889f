package mockserver

import (
	"bufio"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// raw is all that a server sends until it closes the connection.
func raw(t *testing.T, fault, body string) string {
	t.Helper()
	schedule, err := ParseSchedule(fault)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(New(Options{Schedule: schedule, Now: fixed}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	request := "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
	if _, err := conn.Write([]byte(request + strconv.Itoa(len(body)) + "\r\n\r\n" + body)); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	_, err = bufio.NewReader(conn).WriteTo(&all)
	if err != nil {
		return all.String() + "<" + err.Error()[strings.LastIndex(err.Error(), ": ")+2:] + ">"
	}
	return all.String()
}

// What the faults put on the wire; TestMockFaults of the client says what it
// makes of them.
func TestF20_StreamsAreCut(t *testing.T) {
	for kind, c := range map[string]struct{ has, hasNot, ends string }{
		"cut":       {`"delta"`, `"finish_reason":"stop"`, "\r\n0\r\n\r\n"},
		"cut-frame": {`"delta"`, `"finish_reason":"stop"`, "\r\n0\r\n\r\n"},
		"cut-reset": {`"delta"`, `"finish_reason":"stop"`, "<connection reset by peer>"},
		"cut-event": {"event: error\ndata: {\"error\"", "[DONE]", "0\r\n\r\n"},
		"cut-error": {"data: {\"error\"", "event:", "0\r\n\r\n"},
		"cut-json":  {"Content-Type: application/json", "data:", "}\n"},
		"no-finish": {"[DONE]", `"finish_reason":"stop"`, "0\r\n\r\n"},
		"half-json": {"[DONE]", `"finish_reason":"stop"`, "0\r\n\r\n"},
		"no-space":  {"\ndata:{", "data: ", "0\r\n\r\n"},
		"crlf":      {"}\r\n\r\n", "}\n", "0\r\n\r\n"},
	} {
		got := raw(t, kind, streaming(asking("a rather long message that makes chunks")))
		if !strings.Contains(got, c.has) || strings.Contains(got, c.hasNot) || !strings.HasSuffix(got, c.ends) {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

// A whole answer breaks off inside the length that it promised.
func TestF20_WholeAnswersAreCut(t *testing.T) {
	for _, kind := range []string{"cut", "cut-frame", "cut-event", "cut-error", "cut-json"} {
		head, body, _ := strings.Cut(raw(t, kind, asking("x")), "\r\n\r\n")
		_, promised, _ := strings.Cut(head, "Content-Length: ")
		promised, _, _ = strings.Cut(promised, "\r\n")
		if n, err := strconv.Atoi(promised); err != nil || len(body) == 0 || len(body) > n/2+1 {
			t.Errorf("%s: %d of %s bytes", kind, len(body), promised)
		}
	}
}

func TestF16_Connections(t *testing.T) {
	if got := raw(t, "close", asking("x")); got != "" {
		t.Errorf("close: %q", got)
	}
	if got := raw(t, "reset", asking("x")); got != "<connection reset by peer>" {
		t.Errorf("reset: %q", got)
	}
}

func TestF10_F13_WhatRefusalsSayOfTryingAgain(t *testing.T) {
	for fault, want := range map[string]string{
		"429:retry-after=2":           "Retry-After: 2\r\n",
		"429:retry-after=abc":         "Retry-After: abc\r\n",
		"429:retry-after=-3":          "Retry-After: -3\r\n",
		"429:retry-after=1.5:form=ms": "Retry-After-Ms: 1500\r\n",
		"503:retry-after=2:form=date": "Retry-After: Fri, 02 Jan 2026 03:04:07 GMT\r\n",
		"500:should-retry=false":      "X-Should-Retry: false\r\n",
		"429:reset=20s":               "X-Ratelimit-Reset-Requests: 20s\r\n",
		"502:body=html":               "<h1>502 Bad Gateway</h1>",
		"502:body=empty":              "Content-Length: 0\r\n",
		"quota:retry-after=2":         "Retry-After: 2\r\n",
		"redirect":                    "Location: http://localhost/v1/chat/completions\r\n",
	} {
		if got := raw(t, fault, asking("x")); !strings.Contains(got, want) {
			t.Errorf("%s: %q", fault, got)
		}
	}
}

func TestF23_SizesAreKept(t *testing.T) {
	for kind, least := range map[string]int{"huge": 300_000, "huge-error": 300_000, "huge-header": 300_000} {
		if got := len(raw(t, kind+":size=300KB", asking("x"))); got < least || got > 320_000 {
			t.Errorf("%s: %d bytes", kind, got)
		}
	}
	if got := len(raw(t, "gzip-bomb:size=10MB", asking("x"))); got > 100_000 {
		t.Errorf("gzip-bomb: %d bytes", got)
	}
}

// Every kind stands in the table of the manual, with what the client makes of it.
func TestTheManualListsAllKinds(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/mock.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range Kinds() {
		class := string(kind.Class)
		if class == "" {
			class = "a reply"
		}
		if kind.Name == transient {
			class = "any of them"
		}
		row := "| `" + kind.Name + "` | " + kind.About + " | " + class + " | " + kind.Row + " |"
		if !strings.Contains(string(manual), row+"\n") {
			t.Errorf("docs/mock.md lacks the row\n%s", row)
		}
	}
}

func TestAnyStatusIsAKind(t *testing.T) {
	for _, status := range []int{418, 451, 500, 529, 599} {
		schedule, err := ParseSchedule(strconv.Itoa(status))
		if err != nil {
			t.Fatal(err)
		}
		if w := ask(New(Options{Schedule: schedule}), asking("x")); w.Code != status {
			t.Errorf("got %d, want %d (%s)", w.Code, status, http.StatusText(status))
		}
	}
}
