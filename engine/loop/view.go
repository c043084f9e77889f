package loop

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec/expr"
)

// view is the scope of an evaluation's expressions: the loop's, and what the
// evaluation has found so far.
type view struct {
	expr.Scope
	output         any
	judge, command answer
	own            *float64 // what the agent's program said of its output
	one            bool     // tell only the first failing check
	checks         []record.Check

	confidence      float64
	confidenceKnown bool
	passed          bool
	passedKnown     bool
	feedback        string
}

// Lookup prefers what is known of this iteration. Until the checks are known
// the loop's are those of the last evaluation, and so on.
func (v *view) Lookup(name string) (any, bool) {
	switch name {
	case "output":
		return v.output, true
	case "judge":
		return v.judge.value, true
	case "command":
		return v.command.value, true
	}
	if value, ok := v.ofChecks(name); ok {
		return value, true
	}
	switch {
	case name == "confidence" && v.confidenceKnown:
		return v.confidence, true
	case name == "passed" && v.passedKnown:
		return v.passed, true
	}
	return v.Scope.Lookup(name)
}

func (v *view) ofChecks(name string) (any, bool) {
	if v.checks == nil {
		return nil, false
	}
	switch name {
	case "checks":
		return stop.ChecksByName(v.checks), true
	case "failing":
		list := []any{}
		for _, check := range v.failing() {
			list = append(list, stop.CheckFields{Check: check})
		}
		return list, true
	case "improvements":
		list := []any{}
		for _, text := range v.improvements() {
			list = append(list, text)
		}
		return list, true
	}
	return nil, false
}

func (v *view) setConfidence(confidence float64) {
	v.confidence, v.confidenceKnown = confidence, true
}

// failing are the failing checks that the next iteration is told of.
func (v *view) failing() []*record.Check {
	var failing []*record.Check
	for i := range v.checks {
		if v.checks[i].Passed {
			continue
		}
		failing = append(failing, &v.checks[i])
		if v.one {
			break
		}
	}
	return failing
}

// advice is the feedback of the failing checks.
func (v *view) advice() []string {
	var texts []string
	for _, check := range v.failing() {
		texts = append(texts, check.Feedback)
	}
	return texts
}

// improvements are the feedback of the failing checks, then what the program
// and the judge would improve.
func (v *view) improvements() []string {
	texts := v.advice()
	texts = append(texts, v.command.improvements...)
	return append(texts, v.judge.improvements...)
}
