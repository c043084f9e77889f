package mockserver

import "testing"

// BenchmarkAnswer is what an answer costs the server itself.
func BenchmarkAnswer(b *testing.B) {
	for name, body := range map[string]string{"whole": asking("hello"), "stream": streaming(asking("hello"))} {
		b.Run(name, func(b *testing.B) {
			s := New(Options{Latency: Latency{Sigma: 0.5}, Limits: Limits{Requests: 1 << 30}})
			b.ReportAllocs()
			for b.Loop() {
				if w := ask(s, body); w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
