package replay

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/spec"
)

// textsOf are the texts that the decisions of a loop read, sorted.
func textsOf(l *spec.Loop) []string {
	texts := map[string]bool{}
	for _, e := range decisions(l) {
		for _, path := range readsOf(e) {
			if !inLightRuns(path) {
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

// inLightRuns reports whether light runs have what an expression reads.
func inLightRuns(path string) bool {
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
