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

func BenchmarkLevenshtein(b *testing.B) {
	for b.Loop() {
		if _, err := Levenshtein(first, second); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRougeL(b *testing.B) {
	for b.Loop() {
		if _, err := RougeL(first, second); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmark(b *testing.B, f func(a, b string)) {
	for b.Loop() {
		f(first, second)
	}
}

func BenchmarkJaroWinkler(b *testing.B) { benchmark(b, func(a, c string) { JaroWinkler(a, c) }) }
func BenchmarkF1(b *testing.B)          { benchmark(b, func(a, c string) { F1(a, c) }) }
func BenchmarkRouge2(b *testing.B)      { benchmark(b, func(a, c string) { RougeN(a, c, 2) }) }
func BenchmarkBLEU(b *testing.B)        { benchmark(b, func(a, c string) { BLEU(a, c) }) }

// The longest that is compared at all: texts of 16 KiB that share nothing but letters, and 1 MiB for what is linear.
func BenchmarkLongestLevenshtein(b *testing.B) {
	x, y := strings.Repeat("ab", 1<<13), strings.Repeat("ba", 1<<13)
	x, y = "c"+x[2:]+"d", "e"+y[2:]+"f"
	for b.Loop() {
		if _, err := Levenshtein(x, y); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLongestBLEU(b *testing.B) {
	x, y := strings.Repeat(first, 1000), strings.Repeat(second, 1000)
	for b.Loop() {
		BLEU(x, y)
	}
}
