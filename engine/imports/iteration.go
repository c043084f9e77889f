package imports

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// begun is where an iteration begins and ends in the entries of a run.
type begun struct {
	entry any
	after []any
}

// parts divides the entries of a run into iterations.
func parts(m *spec.ImportedIterations, s *scope) ([]begun, error) {
	entries, err := list(m.Of, s)
	if err != nil {
		return nil, err
	}
	found := make([]begun, 0, len(entries))
	if m.Begin == nil {
		for _, entry := range entries {
			found = append(found, begun{entry: entry})
		}
		return found, nil
	}
	at := -1
	for i, entry := range entries {
		s.entry, s.i, s.after = entry, i, entries[i+1:]
		begins, _, err := truth(m.Begin, s)
		if err != nil {
			return nil, err
		}
		if !begins {
			continue
		}
		if at >= 0 {
			found[len(found)-1].after = entries[at+1 : i]
		}
		at = i
		found = append(found, begun{entry: entry})
	}
	if at >= 0 {
		found[len(found)-1].after = entries[at+1:]
	}
	return found, nil
}

// iteration makes an iteration of the entry that the scope stands at.
func (b *builder) iteration(s *scope, before time.Duration) (it record.Iteration, err error) {
	m := &b.mapping.Iterations
	it = record.Iteration{N: s.i + 1, Start: before}
	if it.Output, err = encoded(m.Output, s); err != nil {
		return it, err
	}
	if it.End, it.Untimed, err = b.ending(s, before); err != nil {
		return it, err
	}
	it.Working = it.End - it.Start
	if it.Evaluation, err = evaluation(m, s); err != nil {
		return it, err
	}
	failed, err := failure(m.Error, s)
	if err != nil {
		return it, err
	}
	if it.Fail(failed); failed != nil {
		it.Evaluation = nil
	}
	if it.ToolCalls, err = toolCalls(m, s); err != nil {
		return it, err
	}
	for i := range it.ToolCalls {
		it.ToolCalls[i].Start = it.End
	}
	used, err := b.inside.read(m.Usage, m.CostUSD, s)
	if err != nil || used.none() {
		return it, err
	}
	it.Calls = []record.Call{{
		Role: record.RoleAgent, Model: b.configuration, Usage: used.usage(used.callsOr(1)), Start: it.Start, Duration: it.Working,
	}}
	return it, nil
}

// ending is the time at which an iteration ended; where that is unknown, it is that
// of the iteration before. Of durations an unknown one makes all later ends unknown.
// Elapsed time that falls was measured anew, after a restart.
func (b *builder) ending(s *scope, before time.Duration) (end time.Duration, untimed bool, err error) {
	m := &b.mapping.Iterations
	if m.Elapsed == nil {
		took, known, err := span(m.Duration, s)
		b.lost = b.lost || !known
		return before + took, b.lost, err
	}
	elapsed, known, err := span(m.Elapsed, s)
	if err != nil || !known {
		return before, true, err
	}
	if elapsed < b.elapsed {
		b.restarts++
		b.elapsedBase = before
	}
	b.elapsed = elapsed
	return b.elapsedBase + elapsed, false, nil
}

// evaluation is nil where nothing was evaluated.
func evaluation(m *spec.ImportedIterations, s *scope) (*record.Evaluation, error) {
	confidence, evaluated, err := number(m.Confidence, s)
	if err != nil {
		return nil, err
	}
	passed, told, err := truth(m.Passed, s)
	if err != nil {
		return nil, err
	}
	if !evaluated && (m.Confidence != nil || !told) {
		return nil, nil
	}
	if m.Confidence == nil && passed {
		confidence = 1
	}
	feedback, err := text(m.Feedback, s)
	return &record.Evaluation{Confidence: confidence, Passed: passed, Feedback: feedback}, err
}

var errorClasses = []record.ErrorClass{
	record.RateLimit, record.Quota, record.Server, record.Network, record.CallTimeout, record.Auth, record.InvalidRequest,
	record.Incomplete, record.BadResponse, record.Exhausted, record.Internal, record.Expression,
	record.ContextLength, record.ContentFilter, record.Program, record.NoAnswer, record.Unjudged,
}

// failure is an error class, or an object with a class and a message. A text that
// is no class is the message of a program's error.
func failure(e *spec.Expr, s *scope) (*record.Error, error) {
	v, err := value(e, s)
	if err != nil || v == nil {
		return nil, err
	}
	class, message := v, any("")
	if object, ok := v.(*expr.Object); ok {
		class, _ = object.Get("class")
		message, _ = object.Get("message")
	}
	name, isText := class.(string)
	said, _ := message.(string)
	switch {
	case !isText || name == "":
		return nil, wrong(e, "want an error class, or {class, message}, got %s", describe(v))
	case slices.Contains(errorClasses, record.ErrorClass(name)):
		return &record.Error{Class: record.ErrorClass(name), Message: said}, nil
	}
	if said == "" {
		said = name
	}
	return &record.Error{Class: record.Program, Message: said}, nil
}

// toolCalls are the tool calls with their results, in order. There may be fewer
// results than calls; what is beyond the calls is nobody's result.
func toolCalls(m *spec.ImportedIterations, s *scope) ([]record.ToolCall, error) {
	called, err := list(m.ToolCalls, s)
	if err != nil || len(called) == 0 {
		return nil, err
	}
	results, err := list(m.Observations, s)
	if err != nil {
		return nil, err
	}
	calls := make([]record.ToolCall, len(called))
	for i, one := range called {
		object, ok := one.(*expr.Object)
		if !ok {
			return nil, wrong(m.ToolCalls, "want {name, arguments}, got %s", describe(one))
		}
		if calls[i], err = toolCall(m.ToolCalls, object); err != nil {
			return nil, err
		}
		if i < len(results) && results[i] != nil {
			if calls[i].Result, err = encode(results[i]); err != nil {
				return nil, err
			}
		}
	}
	return calls, nil
}

func toolCall(e *spec.Expr, object *expr.Object) (record.ToolCall, error) {
	named, _ := object.Get("name")
	tool, ok := named.(string)
	if !ok || tool == "" {
		return record.ToolCall{}, wrong(e, "a tool call without a name")
	}
	given, _ := object.Get("arguments")
	arguments, err := argumentsOf(given)
	return record.ToolCall{Tool: tool, Arguments: arguments}, err
}

// argumentsOf are arguments as JSON: many logs hold them as text.
func argumentsOf(given any) (json.RawMessage, error) {
	if given == nil {
		return nil, nil
	}
	if text, ok := given.(string); ok {
		if parsed, err := expr.ParseJSON([]byte(text)); err == nil {
			if object, ok := parsed.(*expr.Object); ok {
				return encode(object)
			}
		}
	}
	return encode(given)
}
