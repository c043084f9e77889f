// Package coachtest has recorded runs of a coach of interviews, and candidates that
// differ from it, for the tests of the pages that tell of them.
//
// It is no stable API.
package coachtest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"testing"
	"testing/fstest"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
)

// coach is a loop that is recorded for six iterations at most.
const coach = "agent: {model: m}\nprompt: coach {{ task.input }}\nevaluate: {confidence: '0.5'}\n"

// Loop is a loop of a text without its head.
func Loop(t testing.TB, text string) *spec.Loop {
	t.Helper()
	doc, faults := spec.LoadFS(fstest.MapFS{"l.yaml": {Data: []byte("loop: l\n" + text)}}, "l.yaml", spec.Options{})
	if err := faults.Err(); err != nil {
		t.Fatal(err)
	}
	return doc.Loop
}

// draw is a number from 0 to 1 that depends on nothing but its arguments.
func draw(of ...any) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, of...)
	x := h.Sum64()
	x ^= x >> 31
	return float64((x*0x9e3779b97f4a7c15)>>11) / (1 << 53)
}

// coached is a run of the coach: its iterations get surer, and it stops when it is
// sure enough.
func coached(configuration, task string, trial, most int) sweep.Run {
	r := &record.Run{
		ID: record.RunID(configuration, task, trial), Configuration: configuration, Task: task, Trial: trial,
		Outcome: record.Outcome{Status: record.Completed, Reason: record.ReasonMaxIterations, Class: record.ByCondition, Fired: "max_iterations"},
	}
	right, quality := []float64{0}, []float64{0}
	hard := draw("hard", task)
	for n := 1; n <= most; n++ {
		confidence := min(1, 0.45+0.09*float64(n)*draw("confidence", task, trial, n)+0.35*(1-hard))
		used := record.Usage{Calls: 1, InputTokens: 900 + int64(100*n), OutputTokens: 200, Cost: 255_000_000}
		start := r.Elapsed
		took := time.Duration(1e9 + 2e9*draw("time", task, trial, n)).Round(time.Millisecond)
		r.Elapsed += took
		r.Iterations = append(r.Iterations, record.Iteration{
			N: n, Output: json.RawMessage(fmt.Sprintf("%q", fmt.Sprint(task, n))), Evaluation: &record.Evaluation{Confidence: confidence},
			Calls: []record.Call{{Role: record.RoleAgent, Model: "m", Start: start, Duration: took, Usage: used}},
			Start: start, End: r.Elapsed, Working: took,
		})
		r.Usage = r.Usage.Plus(used)
		is := 0.0
		if draw("right", task, trial, n) < 0.2+0.12*float64(n)-0.4*hard+0.5*(confidence-0.5) {
			is = 1
		}
		right, quality = append(right, is), append(quality, float64(int(confidence*20))/20)
		if quality[n] > quality[0] || n == 1 || confidence > r.Iterations[r.Outcome.Returned-1].Evaluation.Confidence {
			r.Outcome.Returned, right[0], quality[0] = n, is, quality[n]
		}
		if confidence >= 0.85 {
			r.Outcome.Reason, r.Outcome.Fired, r.Outcome.Success = record.ReasonConfidence, "confidence", true
			break
		}
	}
	return sweep.Run{Recorded: replay.Recorded{Run: r, Task: &spec.Task{ID: task, Input: "tell me"}}, Scores: [][]float64{right, quality}}
}

// Recording is the coach's runs of some tasks, two trials each.
func Recording(t testing.TB, tasks int) sweep.Recording {
	r := sweep.Recording{Configuration: "wide", Loop: Loop(t, coach+"terminate: {confidence: {threshold: 0.85}, max_iterations: 6}\n"), Scores: []string{"right", "quality"}}
	for task := range tasks {
		for trial := 1; trial <= 2; trial++ {
			r.Runs = append(r.Runs, coached("wide", fmt.Sprintf("interview-%02d", task+1), trial, 6))
		}
	}
	return r
}

// Settings are candidates that differ from the coach in a loop's text.
var Settings = []struct{ Name, Path, Value, Loop string }{
	{"max_iterations=3", "terminate.max_iterations", "3", coach + "terminate: {confidence: {threshold: 0.85}, max_iterations: 3}\n"},
	{"max_iterations=5", "terminate.max_iterations", "5", coach + "terminate: {confidence: {threshold: 0.85}, max_iterations: 5}\n"},
	{"max_iterations=9", "terminate.max_iterations", "9", coach + "terminate: {confidence: {threshold: 0.85}, max_iterations: 9}\n"},
	{"threshold=0.8", "terminate.confidence.threshold", "0.8", coach + "terminate: {confidence: {threshold: 0.8}, max_iterations: 6}\n"},
	{"prompt=short", "prompt", `"coach"`, "agent: {model: m}\nprompt: coach\nevaluate: {confidence: '0.5'}\nterminate: {confidence: {threshold: 0.85}, max_iterations: 6}\n"},
}

// Candidates are those of the settings.
func Candidates(t testing.TB) (all []sweep.Candidate) {
	for _, s := range Settings {
		var value any
		if err := json.Unmarshal([]byte(s.Value), &value); err != nil {
			t.Fatal(err)
		}
		all = append(all, sweep.Candidate{Name: s.Name, Loop: Loop(t, s.Loop), Params: []spec.Param{{Path: s.Path, Value: value}}})
	}
	return all
}

// Sweep holds candidates against recordings.
func Sweep(t testing.TB, candidates []sweep.Candidate, recordings ...sweep.Recording) *sweep.Sweep {
	t.Helper()
	s, err := sweep.New(recordings, candidates, sweep.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
