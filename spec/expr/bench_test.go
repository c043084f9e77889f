package expr

import (
	"context"
	"strings"
	"testing"
	"time"
)

// loopScope is a run after three iterations, as the loop would give it.
func loopScope() vars {
	iterations := []any{}
	for i := range 3 {
		iterations = append(iterations, record{"iteration": int64(i + 1), "phase": "execution", "strategy": "",
			"output": "an answer", "confidence": 0.5 + float64(i)/10, "passed": false, "feedback": "too short",
			"improvements": []any{"too short"}, "checks": NewObject(0), "failing": []any{}, "error": "", "elapsed": time.Second})
	}
	answer := NewObject(4)
	answer.Set("email", "somebody@example.org")
	answer.Set("strengths", []any{"clear", "specific"})
	answer.Set("detailed_feedback", strings.Repeat("good structure; ", 20))
	return vars{
		"task":      record{"id": "t1", "input": "Write a roadmap for Go", "vars": NewObject(0), "metadata": NewObject(0)},
		"iteration": int64(3), "phase": "execution", "strategy": "", "confidence": 0.7, "passed": false,
		"feedback": "too short", "improvements": []any{"too short"}, "history": iterations, "elapsed": 3 * time.Second,
		"best": iterations[2], "previous": iterations[1], "error": "", "since_improvement": int64(0),
		"usage":  record{"tokens": int64(900), "cost_usd": 0.06, "calls": int64(3)},
		"output": answer, "iteration_tool_calls": int64(0),
		"failing": []any{record{"name": "detail", "feedback": "needs more detail"}, record{"name": "years", "feedback": "0 to 59"}},
	}
}

func BenchmarkCondition(b *testing.B) {
	scope, ctx := loopScope(), context.Background()
	for name, src := range map[string]string{
		"confidence": `confidence >= 0.9 && iteration >= 2`,
		"usage":      `usage.cost_usd > 0.05`,
		"best":       `best != null && best.confidence > 0.5`,
		"history":    `history.exists(h, h.confidence > 0.9)`,
		"check_size": `size(output.strengths) >= 2`,
		"check_re":   `output.email.matches("^[^@]+@[^@]+[.][^@]+$")`,
		"check_loop": `output.strengths.all(s, size(s) > 3)`,
	} {
		program, faults := Evaluate(Any).Compile(src, WantBool)
		if program == nil {
			b.Fatal(src, faults)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := program.Bool(ctx, scope); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPrompt(b *testing.B) {
	scope, ctx := loopScope(), context.Background()
	for name, src := range map[string]string{
		"small":   "{{ task.input }}\n{{ feedback == \"\" ? \"\" : \"Improve on the previous attempt: \" + feedback }}",
		"failing": `{{ failing.map(c, "- " + c.name + ": " + c.feedback).join("\n") }}`,
	} {
		template, faults := Loop(Any).Template(src)
		if template == nil {
			b.Fatal(faults)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := template.Render(ctx, scope); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	env, err := NewEnv(loopVars(Any), Options{})
	must(b, err)
	for b.Loop() {
		env.programs.Clear()
		env.Compile(`confidence >= 0.9 && iteration >= 2`, WantBool)
	}
}

func BenchmarkNewEnv(b *testing.B) {
	for b.Loop() {
		if _, err := NewEnv(loopVars(Any), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseJSON(b *testing.B) {
	text := []byte(`{"overall_score": 7, "strengths": ["clear", "specific"], "improvements": ["numbers", "pace"],
		"detailed_feedback": "Good structure; say how large the effect was and how you measured it.\nName the alternatives.",
		"action_items": ["prepare two numbers"], "nested": {"a": 1.5, "b": null, "c": true}}`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseJSON(text); err != nil {
			b.Fatal(err)
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
