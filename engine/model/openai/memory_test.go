package openai

import (
	"errors"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
)

// heap is how much the process holds.
func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// F23, P12: an answer of 100 MB, or of the gigabytes of AGENTBENCH_HUGE, is
// given up at 32 MiB, and while it comes the process grows by at most twice that.
func TestF23_AHugeAnswerTakesLittleMemory(t *testing.T) {
	megabytes := 100
	if gigabytes, err := strconv.Atoi(os.Getenv("AGENTBENCH_HUGE")); err == nil {
		megabytes = 1000 * gigabytes
	}
	piece := []byte(strings.Repeat("a", 1<<20))
	for name, stream := range map[string]string{
		"whole": `{"choices":[{"message":{"content":"`, "streamed": `data: {"choices":[{"delta":{"content":"`, "an error": "",
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var most uint64
			runtime.GC()
			before := heap()
			address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if name == "an error" {
					w.WriteHeader(500)
				}
				_, _ = io.WriteString(w, stream)
				for range megabytes {
					if _, err := w.Write(piece); err != nil {
						return
					}
					mu.Lock()
					most = max(most, heap())
					mu.Unlock()
				}
			}))
			_, err := connect(t, Options{BaseURL: address, Stream: name == "streamed"}).Call(t.Context(), hello())
			var failed *record.Error
			if !errors.As(err, &failed) || failed.Class != record.BadResponse || !strings.Contains(failed.Message, "more than 33554432 bytes") {
				t.Errorf("got %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if most = max(most, heap()); most > before+2*DefaultMaxResponse {
				t.Errorf("the process grew by %d MiB", (most-before)>>20)
			}
			t.Logf("grew by %d MiB", (int64(most)-int64(before))>>20)
		})
	}
}
