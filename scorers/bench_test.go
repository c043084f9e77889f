package scorers

import (
	"context"
	"strings"
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
func BenchmarkMath(b *testing.B) {
	benchmark(b, "type: math", `"3/4"`, `"So it is $\\boxed{\\frac{3}{4}}$."`)
}
func BenchmarkExtract(b *testing.B) {
	benchmark(b, `type: exact, extract: '(?m)^A: (.*)$'`, `18`, `"She sells 16 - 3 - 4 = 9.\nShe makes 9 * 2 = 18 every day.\nA: 18"`)
}
func BenchmarkCEL(b *testing.B) {
	benchmark(b, "type: cel, expr: output.overall_score >= 1 && output.overall_score <= 10", ``, `{"overall_score": 7}`)
}
func BenchmarkSchema(b *testing.B) {
	benchmark(b, "type: json_schema, schema: {type: object, required: [a], properties: {a: {type: integer}}}", ``, `{"a": 1}`)
}
func BenchmarkExactTenIterations(b *testing.B) {
	benchmark(b, "type: exact", `"Paris"`, strings.Split(strings.Repeat(`"Rome" `, 9)+`"Paris"`, " ")...)
}
