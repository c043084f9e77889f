package proxy

import (
	"io"
	"net/http"
	"strings"
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

func answerLate(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	time.Sleep(latency)
	streaming(w, pieces[model.Chat][0], pieces[model.Chat][1])
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
