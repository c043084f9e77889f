package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing/fstest"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// A run that was recorded with a limit of three iterations answers for two, and only in
// part for five.
func ExampleReplay_Run() {
	files := fstest.MapFS{"l.yaml": {Data: []byte("loop: l\nagent: {model: m}\nprompt: Go on.\nmax_iterations: 3\n")}}
	doc, faults := spec.LoadFS(files, "l.yaml", spec.Options{})
	if faults != nil {
		fmt.Println(faults)
		return
	}
	run := &record.Run{Outcome: record.Outcome{Status: record.Completed, Reason: record.ReasonMaxIterations, Class: record.ByCondition, Returned: 3}}
	for n := 1; n <= 3; n++ {
		run.Iterations = append(run.Iterations, record.Iteration{N: n, Output: json.RawMessage(`"draft"`)})
	}
	for _, limit := range []int{2, 5} {
		target, _ := doc.Loop.With(spec.Assignment{Path: "max_iterations", Value: source.New(nil, limit)})
		result := replay.New(doc.Loop, target, replay.Options{}).Run(context.Background(), run, &spec.Task{ID: "a"})
		fmt.Println(limit, result.Verdict, "after", result.Iterations)
	}
	// Output:
	// 2 exact after 2
	// 5 censored after 3
}
