package cache

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// program takes an answer, and notes when each part came.
type program struct {
	start  time.Time
	status int
	header http.Header
	parts  []string
	at     []time.Duration
	last   int // so many parts had come when it was told that the last one comes
}

func (p *program) Begin(status int, header map[string][]string) { p.status, p.header = status, header }
func (p *program) Last()                                        { p.last = len(p.parts) }
func (p *program) Write(b []byte) (int, error) {
	p.parts, p.at = append(p.parts, string(b)), append(p.at, time.Since(p.start))
	return len(b), nil
}

// asks is a request of a program, and the program.
func asks(what string, nth int, stream bool) (*model.Request, *program) {
	p := &program{start: time.Now()}
	raw := &model.Raw{Protocol: model.Chat, Sum: [32]byte{what[0]}, Nth: nth, Stream: stream, Answer: p}
	return &model.Request{Raw: raw, Draw: model.Draw{Task: "t", Trial: 1}}, p
}

// streamed answers a program in parts, each after a while.
type streamed struct {
	parts  []string
	after  time.Duration
	made   int
	change func(*model.Reply)
}

func (m *streamed) Call(_ context.Context, request *model.Request) (*model.Reply, error) {
	m.made++
	start := time.Now()
	header := http.Header{"Content-Type": {"text/event-stream"}, "X-Request-Id": {"1"}}
	raw := &model.RawAnswer{Status: 200, Header: header}
	for i, part := range m.parts {
		time.Sleep(m.after)
		if i == 0 {
			raw.FirstByte = time.Since(start)
			request.Raw.Answer.Begin(200, header)
		}
		raw.Body = append(raw.Body, part...)
		_, _ = request.Raw.Answer.Write([]byte(part))
	}
	reply := &model.Reply{
		Text: "a", ToolCalls: []model.ToolCall{{ID: "1", Name: "ls", Arguments: "{}"}}, Finish: "tool_calls", Duration: time.Since(start), Raw: raw,
		Usage: record.Usage{Calls: 1, InputTokens: 3, OutputTokens: 4},
	}
	if m.change != nil {
		m.change(reply)
	}
	return reply, nil
}

// An answer to a program comes again as it once came, when it once came.
func TestAnAnswerToAProgramIsGivenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		inner := &streamed{parts: []string{"data: 1\n\n", "data: 2\n\n", "data: [DONE]\n\n"}, after: time.Second}
		wrapped := Wrap(inner, Open(dir, Options{}), Identity{Model: "m"}, On)
		first, live := asks("x", 0, true)
		if _, err := wrapped.Call(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		again, replayed := asks("x", 0, true)
		reply, err := Wrap(inner, Open(dir, Options{}), Identity{Model: "m"}, On).Call(t.Context(), again)
		must(t, err)
		if !slices.Equal(live.parts, replayed.parts) || !slices.Equal(live.at, replayed.at) || replayed.last != 2 || replayed.status != 200 ||
			replayed.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("live %q at %v, again %q at %v, last %d", live.parts, live.at, replayed.parts, replayed.at, replayed.last)
		}
		if inner.made != 1 || !reply.Cached || reply.Duration != 3*time.Second || reply.Raw.FirstByte != time.Second ||
			reply.ToolCalls[0].Name != "ls" || reply.Usage.OutputTokens != 4 {
			t.Errorf("%d calls, %+v", inner.made, reply)
		}
	})
}

// Which one an equal request is the proxy knows: the cache does not count it.
func TestEqualRequestsOfAProgram(t *testing.T) {
	inner := &streamed{parts: []string{"{}"}}
	ctx := WithRun(t.Context())
	wrapped := Wrap(inner, Open(t.TempDir(), Options{}), Identity{Model: "m"}, On)
	for i, want := range []struct{ nth, made int }{{0, 1}, {1, 2}, {0, 2}, {1, 2}, {2, 3}} {
		request, _ := asks("x", want.nth, false)
		if _, err := wrapped.Call(ctx, request); err != nil || inner.made != want.made {
			t.Errorf("call %d: %d were made, %v", i+1, inner.made, err)
		}
	}
	other, _ := asks("y", 0, false)
	if _, err := wrapped.Call(ctx, other); err != nil || inner.made != 4 {
		t.Errorf("%d were made, %v", inner.made, err)
	}
}

func TestAnswersToProgramsThatAreNotKept(t *testing.T) {
	for name, change := range map[string]func(*model.Reply){
		"too long": func(r *model.Reply) { r.Raw.Body = nil },
		"broken":   func(r *model.Reply) { r.Raw.Broken = true },
		"filtered": func(r *model.Reply) { r.Finish = "content_filter" },
	} {
		inner := &streamed{parts: []string{"{}"}, change: change}
		wrapped := Wrap(inner, Open(t.TempDir(), Options{}), Identity{Model: "m"}, On)
		for range 2 {
			request, _ := asks("x", 0, false)
			if _, err := wrapped.Call(t.Context(), request); err != nil {
				t.Fatal(err)
			}
		}
		if inner.made != 2 {
			t.Errorf("%s: %d calls were made", name, inner.made)
		}
	}
	inner := &streamed{parts: []string{"a secret"}}
	store := Open(t.TempDir(), Options{Redact: func(text string) string { return strings.ReplaceAll(text, "secret", "*") }})
	request, _ := asks("x", 0, false)
	if _, err := Wrap(inner, store, Identity{Model: "m"}, On).Call(t.Context(), request); err != nil || store.Stats().Stored != 0 {
		t.Errorf("a secret was stored: %v", err)
	}
}

// A program that ends while it waits for an answer is not waited for.
func TestAProgramEndsWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrapped := Wrap(&streamed{parts: []string{"data: 1\n\n", "data: 2\n\n"}, after: time.Hour}, Open(t.TempDir(), Options{}), Identity{Model: "m"}, On)
		request, _ := asks("x", 0, true)
		if _, err := wrapped.Call(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
		defer cancel()
		again, p := asks("x", 0, true)
		if _, err := wrapped.Call(ctx, again); err != context.DeadlineExceeded || len(p.parts) != 1 {
			t.Errorf("got %v after %q", err, p.parts)
		}
	})
}

// The parts of a long answer are all of it, and not too many.
func TestPartsOfAnAnswer(t *testing.T) {
	event := func(n int) string { return "data: " + strings.Repeat("x", n) + "\n\n" }
	for _, raw := range []string{"", "{}", event(1), event(1) + event(2), event(1) + "data: cut", strings.Repeat(event(10), 5000), event(1) + event(1<<20)} {
		e := &Entry{Raw: []byte(raw), FirstByte: time.Second, Duration: time.Minute}
		all := e.parts(true)
		text, last := "", time.Duration(0)
		for _, part := range all {
			if part.at < last {
				t.Errorf("a part at %v comes after one at %v", part.at, last)
			}
			text, last = text+string(part.text), part.at
		}
		if text != raw || len(all) > mostParts+1 || last != time.Minute {
			t.Errorf("%.20q: %d parts, the last at %v", raw, len(all), last)
		}
		if whole := e.parts(false); len(whole) != 1 || whole[0].at != time.Minute {
			t.Errorf("%.20q, no stream: %d parts", raw, len(whole))
		}
	}
}
