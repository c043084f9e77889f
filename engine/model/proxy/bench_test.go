package proxy

import (
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/model"
)

// A request of about the size that codex sends in the middle of a run.
func longBody() string {
	said := make([]string, 41)
	for i := range said {
		said[i] = strings.Repeat("A line of what a tool has printed, or of a file.\n", 20)
	}
	return body(model.Chat, "x", true, said...)
}

// BenchmarkRead reads a request and makes its sums.
func BenchmarkRead(b *testing.B) {
	asked := []byte(longBody())
	b.SetBytes(int64(len(asked)))
	for b.Loop() {
		if a, wrong := read(model.Chat, nil, asked, &known[0], []string{"/tmp/run"}); a == nil {
			b.Fatal(wrong)
		}
	}
}
