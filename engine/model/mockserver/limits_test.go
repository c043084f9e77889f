package mockserver

import (
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentbench/agentbench/engine/propertytest"
)

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
// allow, and one that waits as long as it was told to is admitted.
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
			if l.admit(1, header, now) == nil {
				admitted++
				continue
			}
			wait, err := time.ParseDuration(header.Get("Retry-After-Ms") + "ms")
			if err != nil {
				t.Fatal(err)
			}
			now = now.Add(wait)
			if l.admit(1, header, now) != nil {
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
