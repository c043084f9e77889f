package replay

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// iterationOf is an iteration whose texts are hashes: equal where the texts are, so
// that what only compares them decides alike. Its tool calls have no times. It is valid
// until the room is used again.
func iterationOf(room *Room, s *record.Signals, sig *record.IterationSignals) record.Iteration {
	it := record.Iteration{
		N: sig.N, Phase: sig.Phase, Strategy: sig.Strategy, Request: sig.Request, Skipped: sig.Skipped, Cut: sig.Cut,
		Start: sig.Start, End: sig.End, Untimed: sig.Untimed, Working: sig.Working,
		Steps: room.steps.take(sig.Steps), ToolCalls: room.toolCalls.take(sig.ToolCalls), Calls: room.calls.take(len(sig.Calls)),
	}
	for i := range it.Calls {
		callOf(&it.Calls[i], &sig.Calls[i])
	}
	if len(it.ToolCalls) > 0 {
		it.ToolCalls[0].Tool = sig.Tools // the first stands for their set
	}
	if sig.Output != "" {
		it.Output = strconv.AppendQuote(room.outputs.take(len(sig.Output) + len(`""`))[:0], sig.Output)
	}
	if sig.Evaluated {
		it.Evaluation = &room.evaluations.take(1)[0]
		*it.Evaluation = record.Evaluation{Confidence: sig.Confidence, Passed: sig.Passed, Checks: checksOf(s.Checks, sig.Checks)}
	}
	if sig.Tree != "" {
		it.Workspace = &record.Workspace{Tree: sig.Tree}
	}
	if sig.Ended != "" {
		it.Ended = &record.Ended{Reason: sig.Ended, Tool: sig.EndedBy}
	}
	if sig.Error != "" {
		it.Fail(&record.Error{Class: sig.Error, Message: sig.ErrorHash})
	}
	return it
}

func callOf(call *record.Call, c *record.CallSignals) {
	*call = record.Call{
		Role: c.Role, Model: c.Model, Request: c.Request, Usage: c.Usage, Reserved: c.Reserved, Charged: c.Charged,
		Start: c.Start, Duration: c.Duration, Waited: c.Waited,
		Conversation: c.Conversation, Kind: c.Kind, Step: c.Step, Arrived: c.Arrived, FirstByte: c.FirstByte, Ended: c.Ended,
	}
	if c.Error != "" {
		call.Error = &record.Error{Class: c.Error}
	}
}

func checksOf(heads []record.CheckHead, marks record.Marks) []record.Check {
	var checks []record.Check
	for i := range heads {
		if passed, judged := marks.Passed(i); judged {
			checks = append(checks, record.Check{Name: heads[i].Name, Weight: heads[i].Weight, Passed: passed})
		}
	}
	return checks
}

// textsOf are the texts that the decisions of a loop read, sorted.
func textsOf(l *spec.Loop) []string {
	texts := map[string]bool{}
	for _, e := range decisions(l) {
		for _, path := range readsOf(e) {
			if !inSignals(path) {
				texts[path] = true
			}
		}
	}
	if s := l.Guards.Stagnation; s != nil && !s.Window.Off && s.Signature != "" && s.Signature != "calls" {
		texts["the tool calls, for guards.stagnation.signature"] = true
	}
	if why := looksAtSteps(l); why != "" {
		texts["the steps, as "+why] = true
	}
	var sorted []string
	for path := range texts {
		sorted = append(sorted, path)
	}
	slices.Sort(sorted)
	return sorted
}

// decisions are the expressions by which a loop decides.
func decisions(l *spec.Loop) []*spec.Expr {
	all := conditionsOf(l.Terminate.Any)
	for i := range l.Phases {
		all = append(all, l.Phases[i].Until)
	}
	for i := range l.Guards.Repeated {
		all = append(all, l.Guards.Repeated[i].Of)
	}
	for i := range l.Guards.Consecutive {
		all = append(all, l.Guards.Consecutive[i].When)
	}
	if l.OnError != nil {
		all = append(all, l.OnError.ContinueIf)
	}
	return slices.DeleteFunc(all, func(e *spec.Expr) bool { return e == nil })
}

func conditionsOf(conditions []spec.Condition) []*spec.Expr {
	var all []*spec.Expr
	for i := range conditions {
		c := &conditions[i]
		if c.Off {
			continue
		}
		all = append(all, c.When, c.Repeated.Of, c.Consecutive.When)
		all = append(all, conditionsOf(c.Nested)...)
	}
	return all
}

// inSignals reports whether signals have what an expression reads.
func inSignals(path string) bool {
	variable, rest, _ := strings.Cut(path, ".")
	switch variable {
	case "task", "param", "iteration", "phase", "strategy", "confidence", "passed", "elapsed", "usage", "since_improvement", "iteration_tool_calls", "steps":
		return true
	case "best", "previous":
		switch rest {
		case "confidence", "iteration", "passed", "elapsed", "duration", "phase", "strategy", "steps":
			return true
		}
	case "checks":
		return strings.HasSuffix(rest, ".passed")
	}
	return false
}

// Reads are the variables and paths that a loop decides by.
func Reads(l *spec.Loop) []string {
	var reads []string
	for _, e := range decisions(l) {
		reads = append(reads, readsOf(e)...)
	}
	return reads
}

// ReadsParameters reports whether anything reads a parameter by which a loop sends,
// judges or decides.
func ReadsParameters(l *spec.Loop) bool {
	return readsAny(append(Reads(l), pathReads(l)...), []string{"param"})
}
