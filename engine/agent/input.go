// Package envelope decides what an agent that is no model is given for an
// iteration, and what of that which it writes is its output: programs and
// endpoints take and answer the same.

package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Task is a task as agents see it: without the target.
func Task(task *spec.Task) *expr.Object {
	o := expr.NewObject(4)
	o.Set("id", task.ID)
	o.Set("input", task.Input)
	o.Set("vars", task.Vars)
	o.Set("metadata", task.Metadata)
	return o
}

// Judged is what whoever judges an output reads of it: task, trial, iteration,
// output.
func Judged(task *expr.Object, trial, iteration int, output any) *expr.Object {
	o := expr.NewObject(4)
	o.Set("task", task)
	o.Set("trial", int64(trial))
	o.Set("iteration", int64(iteration))
	o.Set("output", output)
	return o
}

// Input is what an agent reads: task, trial, iteration, phase,
// strategy, system, prompt, feedback, improvements, previous (the iteration
// before this one: output, confidence, passed, error) and best (output,
// confidence, iteration), the last two null where there is none. What differs
// from one execution to the next, such as times, is not in it.
func Input(turn *Turn) ([]byte, error) {
	o := expr.NewObject(12)
	o.Set("task", Task(turn.Task))
	o.Set("trial", int64(turn.Trial))
	o.Set("iteration", int64(turn.Iteration))
	o.Set("phase", turn.Phase)
	o.Set("strategy", turn.Strategy)
	o.Set("system", turn.System)
	o.Set("prompt", turn.Prompt)
	o.Set("feedback", text(lookup(turn.Scope, "feedback")))
	o.Set("improvements", list(lookup(turn.Scope, "improvements")))
	o.Set("previous", previous(turn))
	o.Set("best", fields(lookup(turn.Scope, "best"), "output", "confidence", "iteration"))
	encoded, err := expr.AppendJSON(make([]byte, 0, 512), o)
	if err != nil {
		return nil, fmt.Errorf("writing what the agent is given: %w", err)
	}
	return encoded, nil
}

func previous(turn *Turn) any {
	if turn.Iteration <= 1 {
		return nil
	}
	o := expr.NewObject(4)
	for _, name := range []string{"output", "confidence", "passed", "error"} {
		o.Set(name, lookup(turn.Scope, name))
	}
	return o
}

func lookup(scope expr.Scope, name string) any {
	if scope == nil {
		return nil
	}
	value, _ := scope.Lookup(name)
	return value
}

// fields reads the named fields of a record, nil where there is none.
func fields(value any, names ...string) any {
	record, ok := value.(expr.Fields)
	if !ok {
		return nil
	}
	o := expr.NewObject(len(names))
	for _, name := range names {
		o.Set(name, record.Field(name))
	}
	return o
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

func list(value any) []any {
	items, _ := value.([]any)
	if items == nil {
		return []any{}
	}
	return items
}

// Hash identifies what is given to whom, as records name a request.
func Hash(to []string, given []byte) string {
	h := sha256.New()
	for _, part := range to {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(given)
	return hex.EncodeToString(h.Sum(nil)[:8])
}
