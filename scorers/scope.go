package scorers

import (
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
)

// Lookup gives expressions their variables: a subject is an expr.Scope.
func (s *subject) Lookup(name string) (any, bool) {
	switch name {
	case "task":
		return spec.JudgedTask{Task: s.task}, s.task != nil
	case "target":
		return s.target, true
	case "value":
		return s.value, true
	case "output":
		return s.output(s.n), true
	case "best":
		if best := s.best(); best > 0 {
			return iterationFields{s, best}, true
		}
		return nil, true
	case "iterations":
		return iterationList{s}, true
	case "usage":
		return stop.UsageFields{Usage: s.used()}, true
	case "stop":
		return stopFields{&s.run.Outcome}, true
	}
	return nil, false
}

type stopFields struct{ *record.Outcome }

func (f stopFields) Field(name string) any {
	switch name {
	case "reason":
		return string(f.Reason)
	case "class":
		return string(f.Class)
	case "name":
		return f.Fired
	case "success":
		return f.Success
	case "status":
		return string(f.Status)
	}
	return nil
}

// iterationList are the iterations seen.
type iterationList struct{ *subject }

func (l iterationList) Len() int     { return l.seen }
func (l iterationList) At(i int) any { return iterationFields{l.subject, i + 1} }

// iterationFields is iteration n as expressions see it, with the fields of the loop's history.
type iterationFields struct {
	*subject
	n int
}

func (f iterationFields) Field(name string) any {
	if name == "output" {
		return f.output(f.n)
	}
	return stop.IterationField(&f.run.Iterations[f.n-1], f.n, name)
}
