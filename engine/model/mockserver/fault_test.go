package mockserver

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
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

func TestF10_FormsOfRetryAfter(t *testing.T) {
	for form, want := range map[Form][2]string{
		Seconds: {"Retry-After", "2"},
		"":      {"Retry-After", "2"},
		Millis:  {"Retry-After-Ms", "1500"},
		Date:    {"Retry-After", "Fri, 02 Jan 2026 03:04:07 GMT"},
		Silent:  {"Retry-After", ""},
	} {
		header := http.Header{}
		form.set(header, 1500*time.Millisecond, fixed())
		if header.Get(want[0]) != want[1] {
			t.Errorf("%s: %v", form, header)
		}
	}
}

func TestRateLimits(t *testing.T) {
	now := fixed()
	s := New(Options{Limits: Limits{Requests: 60, Tokens: 1200, Burst: 1.0 / 30}, Now: func() time.Time { return now }})
	header := func(w http.Header, name string) string { return w.Get("X-Ratelimit-" + name) }
	first, second, third := ask(s, asking("a")), ask(s, asking("b")), ask(s, asking("c"))
	if first.Code != 200 || second.Code != 200 || third.Code != 429 {
		t.Fatalf("statuses %d, %d, %d", first.Code, second.Code, third.Code)
	}
	if h := second.Header(); header(h, "Limit-Requests") != "60" || header(h, "Remaining-Requests") != "0" ||
		header(h, "Reset-Requests") != "2s" || header(h, "Limit-Tokens") != "1200" || header(h, "Remaining-Tokens") != "36" {
		t.Errorf("headers %v", h)
	}
	if third.Header().Get("Retry-After") != "1" {
		t.Errorf("headers %v", third.Header())
	}
	now = now.Add(time.Second)
	if w := ask(s, asking("c")); w.Code != 200 {
		t.Errorf("after the time asked for: status %d", w.Code)
	}
}

func TestTokensAreLimited(t *testing.T) {
	s := New(Options{Limits: Limits{Tokens: 100}, Now: fixed})
	body := `{"max_tokens":60,` + asking("a")[1:]
	if a, b := ask(s, body), ask(s, body); a.Code != 200 || b.Code != 429 {
		t.Errorf("statuses %d, %d", a.Code, b.Code)
	}
}

// However requests come, no more are admitted than the limit and the burst
// allow, and one that waits as long as it was asked to is admitted.
func TestTheLimitHolds(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		perMinute, start := rapid.IntRange(1, 600).Draw(t, "limit"), fixed()
		burst := rapid.Float64Range(0.01, 1).Draw(t, "burst")
		var l limiter
		l.reset(Limits{Requests: perMinute, Burst: burst, RetryAfter: Millis}, start)
		now, admitted := start, 0
		for _, gap := range rapid.SliceOf(rapid.IntRange(0, 500)).Draw(t, "gaps") {
			now = now.Add(time.Duration(gap) * time.Millisecond)
			header := http.Header{}
			if l.admit(openAI{}, 1, header, now) == nil {
				admitted++
				continue
			}
			wait, err := time.ParseDuration(header.Get("Retry-After-Ms") + "ms")
			if err != nil {
				t.Fatal(err)
			}
			now = now.Add(wait)
			if l.admit(openAI{}, 1, header, now) != nil {
				t.Fatalf("refused after waiting %v", wait)
			}
			admitted++
		}
		most := max(1, float64(perMinute)*burst) + now.Sub(start).Minutes()*float64(perMinute)
		if float64(admitted) > most+1e-6 {
			t.Fatalf("%d admitted, at most %.3f allowed", admitted, most)
		}
	})
}

// met are the kinds that so many requests meet.
func met(o Options, requests int) string {
	var f faults
	f.reset(&o)
	var kinds []string
	for i := range requests {
		kinds = append(kinds, f.next(&request{hash: uint64(i)}).Kind)
	}
	return strings.Join(kinds, " ")
}

func TestSchedules(t *testing.T) {
	for text, want := range map[string]string{
		"ok,ok,429:retry-after=2,cut": "ok ok 429 cut ok ok ok",
		"500*2, ok, repeat":           "500 500 ok 500 500 ok 500",
		"hang":                        "hang ok ok ok ok ok ok",
	} {
		schedule, err := ParseSchedule(text)
		if got := met(Options{Schedule: schedule}, 7); err != nil || got != want {
			t.Errorf("%s: %s (%v)", text, got, err)
		}
	}
}

func TestFaultsByCount(t *testing.T) {
	for text, want := range map[string]string{
		"every=3:500":          "ok ok 500 ok ok 500",
		"first=2:cut":          "cut cut ok ok ok ok",
		"at=2:reset":           "ok reset ok ok ok ok",
		"quota":                "quota quota quota quota quota quota",
		"every=2:500 at=4:cut": "ok 500 ok 500 ok 500", // the first that is due
		"at=4:cut every=2:500": "ok 500 ok cut ok 500",
	} {
		var o Options
		for _, part := range strings.Fields(text) {
			rated, err := ParseRated(part)
			if err != nil {
				t.Fatal(err)
			}
			o.Faults = append(o.Faults, rated)
		}
		if got := met(o, 6); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestFaultsByShare(t *testing.T) {
	for _, share := range []float64{0.01, 0.3, 1} {
		rated, err := ParseRated(fmt.Sprintf("share=%v:500", share))
		if err != nil {
			t.Fatal(err)
		}
		n := float64(strings.Count(met(Options{Faults: []Rated{rated}}, 10_000), "500"))
		if n < 10_000*share*0.7 || n > 10_000*share*1.3 {
			t.Errorf("share %v: %v of 10000", share, n)
		}
	}
}

func TestTransientFaultsComeInTurn(t *testing.T) {
	rated, err := ParseRated("every=2:transient")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(strings.ReplaceAll(met(Options{Faults: []Rated{rated}}, 2*len(transients())), "ok ", ""))
	if !slices.Equal(got, transients()) || len(got) < 20 || slices.Contains(got, "401") || slices.Contains(got, "hang") {
		t.Errorf("got %v", got)
	}
}

func TestFaultsThatAreNone(t *testing.T) {
	for text, says := range map[string]string{
		"":              `unknown fault ""`,
		"429:retry=2":   `the fault 429 has no option "retry", only retry-after`,
		"cut:by=2s":     `the fault cut has no option "by": it has none`,
		"hagn":          "did you mean hang?",
		"200":           `unknown fault "200"`,
		"slow:by=-2s":   "by is a duration",
		"huge:size=big": "is not a size",
		"huge:size=1PB": "is not a size",
		"429:form=days": "a form of Retry-After is one of",
		"500:body=png":  "body is one of api, html, empty",
		"every=0:500":   "want a number of at least 1",
		"share=1.5:500": "want a share above 0, at most 1",
		"share=NaN:500": "want a share above 0, at most 1",
		"often=2:500":   "says not when",
	} {
		if _, err := ParseRated(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, says := range map[string]string{"ok*0": "how often is a number", "ok,": `unknown fault ""`, "repeat": `unknown fault "repeat"`, "repeat,ok": `unknown fault "repeat"`} {
		if _, err := ParseSchedule(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzSchedules(f *testing.F) {
	f.Add("ok*2,429:retry-after=2:form=ms,cut,repeat")
	f.Add("slow:by=1s,huge:size=1KB")
	f.Fuzz(func(t *testing.T, text string) {
		schedule, err := ParseSchedule(text)
		if err == nil && (len(schedule.Steps) == 0 || slices.ContainsFunc(schedule.Steps, func(f Fault) bool { return f.kind == nil })) {
			t.Errorf("%+v", schedule)
		}
	})
}
