package scorers

import (
	"context"
	"testing"
)

func benchmark(b *testing.B, scorer, target string, outputs ...string) {
	s := set(b, "- {name: s, "+scorer+"}")
	t, r := task(b, target), run(outputs...)
	b.ReportAllocs()
	for b.Loop() {
		if scores := s.Score(context.Background(), t, r); scores[0].Value != 1 {
			b.Fatal(shownAll(scores))
		}
	}
}

func BenchmarkExact(b *testing.B)   { benchmark(b, "type: exact", `"Paris"`, `"Paris"`) }
func BenchmarkNumeric(b *testing.B) { benchmark(b, "type: numeric", `18`, `"$ 18.00"`) }
