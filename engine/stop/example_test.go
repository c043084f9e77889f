package stop_test

import (
	"fmt"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// A loop continues until one of its conditions or guards holds.
func Example() {
	files := fstest.MapFS{"l.yaml": {Data: []byte(`
loop: l
agent: {model: m}
prompt: Go on.
evaluate: {confidence: "double(output)"}
terminate: {confidence: {threshold: 0.8}, max_iterations: 5}
`)}}
	doc, faults := spec.LoadFS(files, "l.yaml", spec.Options{})
	if faults != nil {
		fmt.Println(faults)
		return
	}
	history := stop.Compile(doc.Loop).Start(&spec.Task{ID: "a"}, nil)
	for n, confidence := range []float64{0.5, 0.7, 0.9} {
		it := &record.Iteration{N: n + 1, Evaluation: &record.Evaluation{Confidence: confidence}}
		if d := history.Fold(it); d.Stop {
			fmt.Println("stop after", n+1, "because of", d.Outcome.Reason)
		} else {
			fmt.Println("continue after", n+1)
		}
	}
	// Output:
	// continue after 1
	// continue after 2
	// stop after 3 because of confidence
}
