package spec

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

const benchLoop = `loop: l
pattern: confidence
agent: {model: m, reply: json, temperature: 0.2}
prompt: |
  Analyse this {{ task.vars.kind }} interview, at most {{ param.max_iterations }} times.
  {{ task.input }}
  {{ feedback == "" ? "" : "Improve on the previous attempt: " + feedback }}
evaluate:
  checks:
    - {name: strengths, expr: size(output.strengths) >= 2, feedback: more strengths}
    - {name: detail, expr: size(output.detail) >= 200, feedback: more detail}
terminate:
  confidence: {threshold: 0.85, min_iterations: 1}
  max_iterations: 3
  timeout: 60s
  no_improvement: {patience: 2}
  when: usage.cost_usd > 0.05
`

// BenchmarkCheck is `check` of a suite with 10,000 inline tasks; the goal is half a second.
func BenchmarkCheck(b *testing.B) {
	var suite strings.Builder
	suite.WriteString("suite: s\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml}]\ntasks:\n")
	for i := range 10_000 {
		fmt.Fprintf(&suite, "  - id: task %d\n    input: What is %d + %d?\n    target: %d\n    vars: {kind: sum, level: %d}\n    metadata: {source: made up}\n", i, i, i, 2*i, i%5)
	}
	files := fstest.MapFS{"suite.yaml": {Data: []byte(suite.String())}, "l.yaml": {Data: []byte(benchLoop)}}
	for b.Loop() {
		d, faults := LoadFS(files, "suite.yaml", Options{})
		if faults.Err() != nil {
			b.Fatal(faults)
		}
		if n, faults := d.CountTasks(); n != 10_000 || faults.Err() != nil {
			b.Fatal(n, faults)
		}
	}
}

// BenchmarkSweep loads a sweep of 1,000 configurations; the goal is a second.
func BenchmarkSweep(b *testing.B) {
	list := func(n int, format string) string {
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprintf(format, i+1)
		}
		return "[" + strings.Join(values, ", ") + "]"
	}
	suite := "suite: s\ntasks: [{input: x}]\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations:\n  - name: sweep\n    loop: l.yaml\n    sweep:\n" +
		"      terminate.max_iterations: " + list(10, "%d") + "\n      terminate.confidence.threshold: " + list(10, "0.%02d") +
		"\n      terminate.no_improvement.patience: " + list(10, "%d") + "\n"
	files := fstest.MapFS{"suite.yaml": {Data: []byte(suite)}, "l.yaml": {Data: []byte(benchLoop)}}
	for b.Loop() {
		d, faults := LoadFS(files, "suite.yaml", Options{})
		if faults.Err() != nil || len(d.Suite.Resolved) != 1000 {
			b.Fatal(faults)
		}
	}
}

// BenchmarkCountTasks streams 100,000 rows.
func BenchmarkCountTasks(b *testing.B) {
	var tasks strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&tasks, `{"id": "task %d", "input": "What is %d + %d?", "target": %d}`+"\n", i, i, i, 2*i)
	}
	files := fstest.MapFS{
		"suite.yaml": {Data: []byte("suite: s\ntasks: t.jsonl\nmodels: {m: {provider: script, responses: [a]}}\nconfigurations: [{name: a, loop: l.yaml}]\n")},
		"l.yaml":     {Data: []byte(benchLoop)}, "t.jsonl": {Data: []byte(tasks.String())},
	}
	d, faults := LoadFS(files, "suite.yaml", Options{})
	if faults.Err() != nil {
		b.Fatal(faults)
	}
	b.ReportAllocs()
	for b.Loop() {
		if n, faults := d.CountTasks(); n != 100_000 || faults.Err() != nil {
			b.Fatal(n, faults)
		}
	}
}
