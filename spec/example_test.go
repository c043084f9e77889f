package spec_test

import (
	"fmt"
	"testing/fstest"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

var greetLoop = &fstest.MapFile{Data: []byte(`
loop: greet
agent: {model: m}
prompt: Greet {{ task.input }}.
terminate: {max_iterations: 3}
`)}

// A suite is loaded with the loops that it names; a sweep becomes configurations.
func ExampleLoadFS() {
	files := fstest.MapFS{"greet.loop.yaml": greetLoop, "suite.yaml": {Data: []byte(`
suite: greetings
tasks: [{id: ada, input: Ada}]
models: {m: {provider: script, responses: [Hello], price: free}}
configurations:
  - {name: limits, loop: greet.loop.yaml, sweep: {terminate.max_iterations: [1, 3]}}
`)}}
	doc, faults := spec.LoadFS(files, "suite.yaml", spec.Options{})
	if faults != nil {
		fmt.Println(faults)
		return
	}
	for _, c := range doc.Suite.Resolved {
		limit, _, _ := c.Loop.EffectiveMax()
		fmt.Println(c.Name, limit)
	}
	// Output:
	// limits@max_iterations=1 1
	// limits@max_iterations=3 3
}

// All mistakes of a file are found at once, each with its place and a hint.
func ExampleLoadFS_mistakes() {
	files := fstest.MapFS{"greet.loop.yaml": {Data: []byte("loop: greet\nagent: {modell: m}\nprompt: Hi\nterminate: {max_iteration: 3}\n")}}
	_, faults := spec.LoadFS(files, "greet.loop.yaml", spec.Options{})
	for _, f := range faults {
		fmt.Printf("%d:%d %s (%s)\n", f.Pos.Line, f.Pos.Col, f.What, f.Hint)
	}
	// Output:
	// 2:9 unknown key "modell" (did you mean "model"?)
	// 4:13 unknown condition "max_iteration" (did you mean "max_iterations"?)
}

// A parameter that is set gives another loop, and is checked like one in the file.
func ExampleLoop_With() {
	doc, _ := spec.LoadFS(fstest.MapFS{"greet.loop.yaml": greetLoop}, "greet.loop.yaml", spec.Options{})
	set := func(limit int) spec.Assignment {
		return spec.Assignment{Path: "terminate.max_iterations", Value: source.New(nil, limit)}
	}
	looser, _ := doc.Loop.With(set(5))
	limit, _, _ := looser.EffectiveMax()
	_, faults := doc.Loop.With(set(-1))
	fmt.Println(limit, len(faults))
	// Output: 5 1
}
