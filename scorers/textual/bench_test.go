package textual

import (
	"strings"
	"testing"
)

// Texts of 1 KB that have much in common, but neither beginning nor end.
var (
	first  = strings.Repeat("The quick brown fox, 7 times, jumps over the lazy dog. ", 19)
	second = "x " + strings.Repeat("The quick brown dog, 7 times, jumps over a lazy fox. ", 19) + "y"
)

func benchmark(b *testing.B, f func(a, b string)) {
	for b.Loop() {
		f(first, second)
	}
}

func BenchmarkJaroWinkler(b *testing.B) { benchmark(b, func(a, c string) { JaroWinkler(a, c) }) }
func BenchmarkF1(b *testing.B)          { benchmark(b, func(a, c string) { F1(a, c) }) }
func BenchmarkRouge2(b *testing.B)      { benchmark(b, func(a, c string) { RougeN(a, c, 2) }) }
func BenchmarkBLEU(b *testing.B)        { benchmark(b, func(a, c string) { BLEU(a, c) }) }
