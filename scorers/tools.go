package scorers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/scorers/textual"
	"github.com/agentbench/agentbench/spec/expr"
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

// ofTools is a scorer of tool calls: it needs to know them.
func ofTools(of func(c *compiler) comparison) func(c *compiler) comparison {
	return func(c *compiler) comparison {
		compare := of(c)
		if compare == nil {
			return nil
		}
		return func(ctx context.Context, s *subject) verdict {
			for n := range s.seen {
				if s.run.Iterations[n].ToolsUnknown() {
					return verdict{unscored: "the record does not have the tools that the program used"}
				}
			}
			return compare(ctx, s)
		}
	}
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

func sequence(names []string) string {
	if len(names) == 0 {
		return "no calls"
	}
	return short(strings.Join(names, ", "), maxAnswer)
}

func distinct(names []string) []string {
	var kept []string
	for _, name := range names {
		if !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	return kept
}

// toolArgs holds where the expression does for one of the calls; with every it is the share of the calls for which it
// does. A call on which it cannot be evaluated, for want of an argument, is one for which it does not hold.
func toolArgs(c *compiler) comparison {
	if c.spec.Expr == nil {
		c.fault("", "a scorer of type tool_args needs expr")
		return nil
	}
	program, counted, every := c.compiled(c.spec.Expr, expr.ToolCall(expr.Any), expr.WantBool), c.counted(), c.spec.Every
	return func(ctx context.Context, s *subject) verdict {
		calls := counted(s)
		holding, whyNot := holds(ctx, program, s, calls)
		v := verdict{answer: fmt.Sprintf("%d of %d", holding, len(calls))}
		switch {
		case every:
			v.value = share(holding, len(calls))
		case holding > 0:
			v.value = 1
		case len(calls) == 0:
			whyNot = "it was not called"
		}
		if v.value < 1 {
			v.explanation = whyNot
		}
		return v
	}
}

// holds counts the calls for which a program does, and tells of the first for which it does not.
func holds(ctx context.Context, program *expr.Program, s *subject, calls []stop.ToolCallFields) (holding int, whyNot string) {
	for i := range calls {
		yes, err := program.Bool(ctx, &callScope{s, calls[i]})
		switch {
		case yes && err == nil:
			holding++
		case whyNot == "":
			whyNot = fmt.Sprintf("call %d, %s(%s)", i+1, quoted(calls[i].Tool), short(string(calls[i].Arguments), maxQuoted))
			if err != nil {
				whyNot += ": " + err.Error()
			}
			whyNot = short(whyNot, maxAnswer)
		}
	}
	return holding, whyNot
}

type callScope struct {
	*subject
	call stop.ToolCallFields
}

func (s *callScope) Lookup(name string) (any, bool) {
	if name == "call" {
		return s.call, true
	}
	return s.subject.Lookup(name)
}

// toolCallCount holds where so many calls were made, of the tools declared or of all.
func toolCallCount(c *compiler) comparison {
	counted, within := c.counted(), c.within()
	return func(_ context.Context, s *subject) verdict { return within(len(counted(s))) }
}

func (c *compiler) within() func(n int) verdict {
	least, most, exactly := c.spec.Min, c.spec.Max, c.spec.Equals
	if least == nil && most == nil && exactly == nil {
		c.fault("", "a scorer of type %s needs min, max or equals", c.spec.Type)
	}
	return func(n int) verdict {
		v := verdict{value: 1, answer: fmt.Sprint(n)}
		switch {
		case exactly != nil && n != *exactly:
			v.value, v.explanation = 0, fmt.Sprintf("want %d, got %d", *exactly, n)
		case least != nil && n < *least:
			v.value, v.explanation = 0, fmt.Sprintf("want at least %d, got %d", *least, n)
		case most != nil && n > *most:
			v.value, v.explanation = 0, fmt.Sprintf("want at most %d, got %d", *most, n)
		}
		return v
	}
}

// toolOrder is the share of the tools that were called in the order wanted, whatever was called between them; with
// exactly the calls are to be these and no others.
func toolOrder(c *compiler) comparison {
	wanted, delegates, exactly := c.wanted(), c.spec.Delegates, c.spec.Exactly
	return func(_ context.Context, s *subject) verdict {
		want, got := wanted(s), made(s.calls(delegates))
		v := verdict{value: share(textual.Subsequence(want, got), len(want)), answer: sequence(got)}
		if exactly && !slices.Equal(want, got) {
			v.value = 0
		}
		if v.value < 1 {
			v.explanation = differs(sequence(want), v.answer)
		}
		return v
	}
}

// toolsCalled is the share of the tools that were called at least once.
func toolsCalled(c *compiler) comparison {
	wanted, delegates := c.wanted(), c.spec.Delegates
	return func(_ context.Context, s *subject) verdict {
		all, got := distinct(wanted(s)), distinct(made(s.calls(delegates)))
		missing := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(got, name) })
		v := verdict{value: share(len(all)-len(missing), len(all)), answer: sequence(got)}
		if len(missing) > 0 {
			v.explanation = short("not called: "+strings.Join(missing, ", "), maxAnswer)
		}
		return v
	}
}

// share is a part of a whole; of nothing it is all.
func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// toolsNotCalled holds where the agent tried none of the tools.
func toolsNotCalled(c *compiler) comparison {
	forbidden, delegates := c.wanted(), c.spec.Delegates
	return func(_ context.Context, s *subject) verdict {
		calls, not := s.calls(delegates), forbidden(s)
		var got []string
		for _, call := range calls {
			got = append(got, call.Tool)
		}
		v := verdict{value: 1, answer: sequence(distinct(got))}
		for _, call := range calls {
			if slices.Contains(not, call.Tool) {
				v.value, v.explanation = 0, fmt.Sprintf("%s was called in iteration %d", quoted(call.Tool), call.Iteration)
				break
			}
		}
		return v
	}
}

// noRepeatedCalls holds where no tool was called twice with the same arguments; the order of keys, and how numbers are
// written, make no difference.
func noRepeatedCalls(c *compiler) comparison {
	counted := c.counted()
	return func(_ context.Context, s *subject) verdict {
		calls := counted(s)
		v := verdict{value: 1, answer: fmt.Sprint(len(calls))}
		seen := make(map[string]int, len(calls))
		for _, call := range calls {
			key := call.Tool + "\x00" + string(record.Canonical(call.Arguments))
			if seen[key]++; seen[key] == 2 {
				v.value = 0
				v.explanation = fmt.Sprintf("%s(%s) is repeated in iteration %d", quoted(call.Tool), short(string(call.Arguments), maxQuoted), call.Iteration)
				break
			}
		}
		return v
	}
}
