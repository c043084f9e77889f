package record_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// exampleRun is a run of one iteration that passed.
func exampleRun(task string) *record.Run {
	usage := record.Usage{Calls: 1, InputTokens: 120, OutputTokens: 30, Cost: 2_000_000_000}
	return &record.Run{
		Version: record.Version, ID: record.RunID("default", task, 1), Configuration: "default", Task: task, Trial: 1,
		Outcome: record.Outcome{Status: record.Completed, Reason: record.ReasonPassed, Class: record.ByCondition, Success: true, Returned: 1},
		Iterations: []record.Iteration{{
			N: 1, Output: json.RawMessage(`"Paris"`), End: time.Second,
			Evaluation: &record.Evaluation{Confidence: 0.9, Passed: true},
			Calls:      []record.Call{{Role: record.RoleAgent, Model: "small", Usage: usage, Duration: time.Second}},
		}},
		Usage: usage, Elapsed: time.Second,
	}
}

// exampleFolder is a result folder with two runs and a score of each.
func exampleFolder() string {
	home, err := os.MkdirTemp("", "record")
	if err != nil {
		panic(err)
	}
	dir := filepath.Join(home, "results")
	journal, err := record.Create(dir, record.Manifest{Suite: "capitals", Tasks: 2, Trials: 1, Scorers: []string{"exact"}}, record.Options{})
	if err != nil {
		panic(err)
	}
	for i, task := range []string{"france", "peru"} {
		run := exampleRun(task)
		err = errors.Join(err, journal.Append(run, []record.Score{{Name: "exact", Value: float64(1 - i)}}, nil))
	}
	if err = errors.Join(err, journal.Close()); err != nil {
		panic(err)
	}
	return dir
}

// A result folder is written by a journal, and read as what is needed of it.
func ExampleCreate() {
	home, err := os.MkdirTemp("", "record")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	dir := filepath.Join(home, "results")
	journal, err := record.Create(dir, record.Manifest{Suite: "capitals", Tasks: 1, Trials: 1}, record.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	onDisk := func(err error) { fmt.Println("on the disk:", err == nil) }
	if err := journal.Append(exampleRun("france"), nil, onDisk); err != nil {
		fmt.Println(err)
	}
	if err := journal.Close(); err != nil {
		fmt.Println(err)
	}
	run, err := record.Find(dir, "default/france/1")
	fmt.Println(string(run.Output()), run.Outcome.Reason, err)
	// Output:
	// on the disk: true
	// "Paris" passed <nil>
}

// Reports read runs without their texts, and scores.
func ExampleOpen() {
	dir := exampleFolder()
	defer os.RemoveAll(filepath.Dir(dir))
	results, err := record.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	for run, err := range results.Runs() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %d iteration, %.3f USD\n", run.ID, len(run.Iterations), run.Total().Cost.Dollars())
	}
	for score, err := range results.Scores() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %s %v\n", score.Run, score.Name, score.Value)
	}
	// Output:
	// default/france/1: 1 iteration, 0.002 USD
	// default/peru/1: 1 iteration, 0.002 USD
	// default/france/1: exact 1
	// default/peru/1: exact 0
}

// After a crash a folder is resumed: what was half written is cut off, and the runs
// that are safe are told.
func ExampleResume() {
	dir := exampleFolder()
	defer os.RemoveAll(filepath.Dir(dir))
	records := filepath.Join(dir, "records.jsonl")
	info, err := os.Stat(records)
	if err == nil {
		err = os.Truncate(records, info.Size()-10)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	journal, found, err := record.Resume(dir, record.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer journal.Close()
	_, france := found.Finished["default/france/1"]
	_, peru := found.Finished["default/peru/1"]
	fmt.Println(france, peru)
	// Output: true false
}

// The events of a run are derived from its record.
func ExampleEvents() {
	for event := range record.Events(exampleRun("france")) {
		fmt.Println(event.Type, event.At)
	}
	// Output:
	// run_started 0s
	// iteration_started 0s
	// message 1s
	// evaluated 1s
	// iteration_completed 1s
	// turn_completed 1s
	// episode 1s
	// agent_ended 1s
}
