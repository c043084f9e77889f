package source

import (
	"fmt"
	"strings"
	"testing"
)

type task struct {
	ID       string         `yaml:"id" need:"required"`
	Input    string         `yaml:"input"`
	Target   any            `yaml:"target"`
	Vars     map[string]any `yaml:"vars"`
	Metadata any            `yaml:"metadata"`
}

func manyTasks(n int) []byte {
	var b strings.Builder
	b.WriteString("tasks:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - id: task-%d\n    input: \"What is %d + 1? Think step by step and give the number only.\"\n"+
			"    target: %d\n    vars: {level: easy, topic: sums}\n    metadata: {row: %d}\n", i, i, i+1, i)
	}
	return []byte(b.String())
}

func BenchmarkParse10000Tasks(b *testing.B) {
	text := manyTasks(10_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, faults := Parse(NewFile("f", text)); faults != nil {
			b.Fatal(faults)
		}
	}
}

// What yaml.v3 alone takes: the floor of BenchmarkParse10000Tasks.
func BenchmarkParseFloor10000Tasks(b *testing.B) {
	text := manyTasks(10_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, faults := NewFile("f", text).document(); faults != nil {
			b.Fatal(faults)
		}
	}
}

func BenchmarkDecode10000Tasks(b *testing.B) {
	n, _ := Parse(NewFile("f", manyTasks(10_000)))
	b.ReportAllocs()
	for b.Loop() {
		var suite struct {
			Tasks []task `yaml:"tasks"`
		}
		if faults := Decode(n, &suite); faults != nil {
			b.Fatal(faults)
		}
	}
}
