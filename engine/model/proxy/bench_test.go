package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/model"
)

// A request of about the size that codex sends in the middle of a run.
func longBody(n int) string {
	said := make([]string, 41)
	for i := range said {
		said[i] = strings.Repeat("A line of what a tool has printed, or of a file.\n", 20)
	}
	said[0] = strings.Repeat(string(rune('a'+n%26)), 10)
	return body(model.Chat, "x", true, said...)
}

// latency is how long the server takes to answer, which is little for one of a coding agent.
const latency = time.Second

// BenchmarkOverhead has 64 programs, each of which makes one call after the other. What is told is
// how much later than the server's own latency the last byte is there, without the proxy and with it.
func BenchmarkOverhead(b *testing.B) {
	m := behind(b, model.Chat, http.HandlerFunc(answerLate))
	direct := httptest.NewServer(http.HandlerFunc(answerLate))
	defer direct.Close()
	through := opened(b, Run{Models: named(m)})
	for _, c := range []struct {
		name string
		to   func(int) *Session
	}{
		{"direct", func(int) *Session { return &Session{BaseURL: direct.URL} }},
		{"proxy", func(int) *Session {
			s, err := through.server.Open(b.Context(), through.run)
			must(b, err)
			return s
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			const programs = 64
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: programs}}
			defer client.CloseIdleConnections()
			var mu sync.Mutex
			var late, opened []time.Duration
			var together sync.WaitGroup
			for n := range programs {
				s := c.to(n)
				together.Go(func() {
					time.Sleep(time.Duration(n) * latency / programs) // programs do not call at the same moment
					asked := longBody(n)
					for call := range max(2, b.N/programs) {
						took, err := s.timed(client, asked)
						if err != nil {
							b.Error(err)
							return
						}
						mu.Lock()
						late = append(late, took-latency)
						if call > 0 {
							opened = append(opened, took-latency)
						}
						mu.Unlock()
					}
				})
			}
			together.Wait()
			at := func(late []time.Duration, share float64) float64 {
				slices.Sort(late)
				return float64(late[int(share*float64(len(late)-1))].Microseconds())
			}
			b.ReportMetric(at(late, 0.5), "p50-µs")
			b.ReportMetric(at(late, 0.99), "p99-µs")
			b.ReportMetric(at(opened, 0.99), "p99-µs-connected") // without the first call of each program, which connects
			b.ReportMetric(0, "ns/op")
		})
	}
}

func answerLate(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	time.Sleep(latency)
	streaming(w, pieces[model.Chat][0], pieces[model.Chat][1])
}

// timed is how long a call takes, to its last byte.
func (s *Session) timed(client *http.Client, asked string) (time.Duration, error) {
	request, err := http.NewRequest("POST", s.BaseURL+"/v1/chat/completions", strings.NewReader(asked))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+s.Token)
	start := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return time.Since(start), err
}

// BenchmarkRead reads a request and makes its sums.
func BenchmarkRead(b *testing.B) {
	asked := []byte(longBody(0))
	b.SetBytes(int64(len(asked)))
	for b.Loop() {
		if a, wrong := read(model.Chat, nil, asked, &known[0], []string{"/tmp/run"}); a == nil {
			b.Fatal(wrong)
		}
	}
}

// must ends a test at an error.
func must(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
