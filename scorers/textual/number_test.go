package textual

import (
	"math"
	"strconv"
	"testing"

	"github.com/agentbench/agentbench/engine/propertytest"
	"pgregory.net/rapid"
)

func TestNumbersInTexts(t *testing.T) {
	numbers := map[string]float64{
		"18": 18, " 18\n": 18, "+18": 18, "-18": -18, "\u221218": -18, "18.": 18, ".5": 0.5, "-.5": -0.5, "0018": 18,
		"1e3": 1000, "1E-3": 0.001, "1,234.50": 1234.5, "12,345,678": 12345678, "1,234e2": 123400,
		"$12": 12, "$ 12": 12, "-$12": -12, "$-12": -12, "$ -12": -12, "12 €": 12, "€12.50": 12.5, "\u00a512": 12, "12$": 12,
		"12%": 12, "12 %": 12, "-1.5%": -1.5, "0": 0, "-0": 0, "5e-324": 5e-324,
	}
	for s, want := range numbers {
		if got, ok := Number(s); !ok || got != want {
			t.Errorf("%q is %v, %v; want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{
		"", " ", "$", "%", "-", "+", ".", "e5", "x", "18 eggs", "about 18", "18x", "3/4", "1 234", "1,23", "1,2345", ",123", "1,",
		"1,,234", "1234,567", "1.234.567", "1.5,000", "0x12", "1_000", "inf", "Infinity", "NaN", "1e999", "--5", "+-5", "5-", "5-3", "1e", "1e+", "(12)",
		"½", "१२", "12:30", "1e5.5", "$$",
	} {
		if got, ok := Number(s); ok {
			t.Errorf("%q is %v; want no number", s, got)
		}
	}
}

func TestEveryWrittenNumberIsRead(t *testing.T) {
	propertytest.Check(t, func(t *rapid.T) {
		n := rapid.Float64().Draw(t, "n")
		if math.IsNaN(n) || math.IsInf(n, 0) {
			t.Skip()
		}
		format := rapid.SampledFrom([]byte("eg")).Draw(t, "format")
		s := strconv.FormatFloat(n, format, -1, 64)
		if got, ok := Number("$" + s + " "); !ok || got != n {
			t.Fatalf("%q is %v, %v", s, got, ok)
		}
	})
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1,234.5", "-$ 12%", "1e999", "\u2212.", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := Number(s); ok && (math.IsNaN(n) || math.IsInf(n, 0)) || !ok && n != 0 {
			t.Fatalf("%q is %v, %v", s, n, ok)
		}
	})
}
