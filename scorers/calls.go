package scorers

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
)

// calls are the tool calls up to where the subject stands, in their order. Those that delegates made stand behind the
// one that handed over the task, where they are wanted, as calls of its step.
func (s *subject) calls(delegates bool) []stop.ToolCallFields {
	var all []stop.ToolCallFields
	for n := range s.seen {
		made, _ := stop.IterationField(&s.run.Iterations[n], n+1, "tool_calls").([]any)
		for _, call := range made {
			all = appendCall(all, call.(stop.ToolCallFields), delegates)
		}
	}
	return all
}

func appendCall(all []stop.ToolCallFields, call stop.ToolCallFields, delegates bool) []stop.ToolCallFields {
	all = append(all, call)
	if !delegates || call.Delegated == nil {
		return all
	}
	for i := range call.Delegated.Iterations {
		made := call.Delegated.Iterations[i].ToolCalls
		for j := range made {
			all = appendCall(all, stop.ToolCallFields{ToolCall: &made[j], Iteration: call.Iteration, Step: call.Step}, true)
		}
	}
	return all
}

// wanted are the tools that a scorer is about: those declared, else those of the target.
func (c *compiler) wanted() func(s *subject) []string {
	if declared := c.spec.Tools; declared != nil {
		c.made.needsTarget = false
		return func(*subject) []string { return declared }
	}
	return func(s *subject) []string { return textsOf(s.target) }
}

// counted are the calls that a scorer is about, in their order: those of the tools declared, of all where none is.
func (c *compiler) counted() func(s *subject) []stop.ToolCallFields {
	tools, delegates := c.spec.Tools, c.spec.Delegates
	return func(s *subject) []stop.ToolCallFields {
		calls := s.calls(delegates)
		if tools == nil {
			return calls
		}
		return slices.DeleteFunc(calls, func(call stop.ToolCallFields) bool { return !slices.Contains(tools, call.Tool) })
	}
}

// made are the names of the tools that were really used: not those of calls that could not be made.
func made(calls []stop.ToolCallFields) []string {
	var names []string
	for _, call := range calls {
		if call.Error == nil || call.Error.Class != record.BadCall {
			names = append(names, call.Tool)
		}
	}
	return names
}

// sequence is what was called, as an answer shows it.
func sequence(names []string) string {
	if len(names) == 0 {
		return "no calls"
	}
	return short(strings.Join(names, ", "), maxAnswer)
}

// distinct are the names without those that stood before.
func distinct(names []string) []string {
	var kept []string
	for _, name := range names {
		if !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	return kept
}
