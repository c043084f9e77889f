package tool

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

func computed(t *testing.T, text string) *Computed {
	t.Helper()
	program, faults := expr.Tool().Compile(text, expr.WantAny)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return &Computed{Defined: Definition{Name: "t"}, Expression: &spec.Expr{Program: program}}
}

func TestAnExpressionIsATool(t *testing.T) {
	vars := expr.NewObject(1)
	vars.Set("rate", 1.5)
	use := Use{Arguments: []byte(`{"a": 2, "b": {"c": [1]}, "n": "x"}`), Task: &spec.Task{ID: "task-1", Input: "in", Vars: vars}, Number: 3}
	for text, want := range map[string]string{
		`args.a * 2.0`:                 `4`,
		`args`:                         `{"a":2,"b":{"c":[1]},"n":"x"}`,
		`args.n + "\n"`:                `"x\n"`,
		`task.id + task.input`:         `"task-1in"`,
		`args.a * task.vars.rate`:      `3`,
		`call`:                         `3`,
		`[args.a, null, true]`:         `[2,null,true]`,
		`"{\"error\": \"a text\"}"`:    `"{\"error\": \"a text\"}"`,
		`{"temperature": args.b.c[0]}`: `{"temperature":1}`,
		`call > 2 ? "late" : "early"`:  `"late"`,
	} {
		result, err := computed(t, text).Use(t.Context(), &use)
		if err != nil || string(result.Content) != want || result.Duration != 0 || result.Ended != nil {
			t.Errorf("%s: got %s, %v; want %s", text, result.Content, err, want)
		}
	}
}

func TestAnExpressionMayEndTheRunOrFail(t *testing.T) {
	ends := computed(t, `{"end": "capability", "output": args.x}`)
	result, err := ends.Use(t.Context(), &Use{Arguments: []byte(`{"x": [1]}`)})
	if err != nil || result.Ended == nil || result.Ended.Reason != "capability" || string(result.Ended.Output) != "[1]" {
		t.Errorf("got %+v, %v", result, err)
	}
	for text, want := range map[string]string{
		`{"error": "the record is locked"}`: "the record is locked",
		`args.missing`:                      "missing",
		`1.0 / 0.0`:                         "",
		`[1][args.size() + 5]`:              "the list has no element 5",
	} {
		_, err := computed(t, text).Use(t.Context(), &Use{})
		failed, ok := errors.AsType[*record.Error](err)
		if !ok || failed.Class != record.Tool || !strings.Contains(failed.Message, want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// The target is not for tools: they stand inside the loop.
func TestAnExpressionDoesNotSeeTheTarget(t *testing.T) {
	if _, faults := expr.Tool().Compile(`task.target`, expr.WantAny); len(faults) == 0 {
		t.Error("it compiles")
	}
}

func BenchmarkUse(b *testing.B) {
	program, faults := expr.Tool().Compile(`args.a * 2.0`, expr.WantAny)
	if len(faults) > 0 {
		b.Fatal(faults)
	}
	c := &Computed{Expression: &spec.Expr{Program: program}}
	use := &Use{Arguments: []byte(`{"a": 2}`), Task: &spec.Task{}}
	for b.Loop() {
		if _, err := c.Use(b.Context(), use); err != nil {
			b.Fatal(err)
		}
	}
}
