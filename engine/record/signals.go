package record

import (
	"bytes"
	"time"
)

// Signals is a run without its texts: what reports, replay and tune go by.
type Signals struct {
	Version       int
	ID            string
	Configuration string
	Task          string
	Trial         int
	Cluster       string
	Group         string
	Loop          string
	Seed          string
	Outcome       Outcome // an error keeps its class, not its message
	Usage         Usage
	Judging       Usage
	User          Usage
	Elapsed       time.Duration
	Untimed       bool // Elapsed is unknown
	Next          *Next
	Simulated     bool
	// Checks are the checks of all iterations, in the order they first occur.
	Checks     []CheckHead
	Iterations []IterationSignals
}

// Total is the usage of the agent, of the evaluations and of the user together.
func (s *Signals) Total() Usage { return s.Usage.Plus(s.Judging).Plus(s.User) }

// CheckHead is what is the same for a check at every iteration.
type CheckHead struct {
	Name   string
	Weight float64 // 0 means 1
}

// IterationSignals is an iteration without its texts.
type IterationSignals struct {
	N        int
	Phase    string
	Strategy string
	// Request is the hash of what the agent was sent.
	Request string
	// Output is the hash of the output (OutputHash), Tools the toolSet of the tool calls.
	Output    string
	Tools     string
	ToolCalls int
	Steps     int // of a conversing agent
	// Confidence, Passed, Checks and Fault mean something where Evaluated is set.
	Evaluated  bool
	Confidence float64
	Passed     bool
	Checks     Marks
	Fault      bool // the reply or the evaluation was faulty
	Skipped    bool
	Cut        string
	Tree       string // of the workspace
	Ended      string // the reason, where the agent ended the run
	EndedBy    string // the tool that did
	// Error is the class of the iteration's error, ErrorHash tells equal errors
	// from different ones. Both are empty where the iteration did not fail.
	Error     ErrorClass
	ErrorHash string
	Calls     []CallSignals
	Start     time.Duration
	End       time.Duration
	Untimed   bool // End is unknown
	Working   time.Duration
}

// Spent is what the iteration used, as Iteration.Spent.
func (it *IterationSignals) Spent() (agent, judging Usage) {
	for i := range it.Calls {
		switch it.Calls[i].Role {
		case RoleJudge:
			judging = judging.Plus(it.Calls[i].Usage)
		case RoleUser:
		default:
			agent = agent.Plus(it.Calls[i].Usage)
		}
	}
	agent.ToolCalls += int64(it.ToolCalls)
	return agent, judging
}

// Total is what the iteration used in all, as Iteration.Total.
func (it *IterationSignals) Total() (all Usage) {
	for i := range it.Calls {
		all = all.Plus(it.Calls[i].Usage)
	}
	all.ToolCalls += int64(it.ToolCalls)
	return all
}

// CallSignals is a call without its texts.
type CallSignals struct {
	Role     Role
	Model    string
	Answered string // by another model
	Version  string // of a program
	Request  string
	Usage    Usage
	Reserved *Usage
	Charged  *Usage
	Start    time.Duration
	Duration time.Duration
	Waited   time.Duration
	Error    ErrorClass

	Conversation string
	Kind         CallKind
	Step         int
	Arrived      time.Duration
	FirstByte    time.Duration
	Ended        time.Duration
	Kept         bool // the state of the workspace that it found
}

// Marks are the results of an iteration's checks, one character for each of
// Signals.Checks: '1' passed, '0' failed, '-' not judged. Checks past the end
// were not judged.
type Marks string

// Passed tells the result of the i-th check, and whether it was judged.
func (m Marks) Passed(i int) (passed, judged bool) {
	if i >= len(m) || m[i] == '-' {
		return false, false
	}
	return m[i] == '1', true
}

// Signals is the run without its texts.
func (r *Run) Signals() Signals {
	s := Signals{
		Version: r.Version, ID: r.ID, Configuration: r.Configuration, Task: r.Task, Trial: r.Trial,
		Cluster: r.Cluster, Group: r.Group, Loop: r.Loop, Seed: r.Seed, Outcome: r.Outcome, Usage: r.Usage, Judging: r.Judging, User: r.User,
		Elapsed: r.Elapsed, Untimed: r.Untimed, Next: r.Next, Simulated: r.Simulated,
	}
	if e := r.Outcome.Error; e != nil {
		s.Outcome.Error = &Error{Class: e.Class}
	}
	if len(r.Iterations) > 0 {
		s.Iterations = make([]IterationSignals, len(r.Iterations))
	}
	for i := range r.Iterations {
		it := &r.Iterations[i]
		sig := &s.Iterations[i]
		*sig = IterationSignals{
			N: it.N, Phase: it.Phase, Strategy: it.Strategy, Request: it.Request,
			Output: it.OutputHash(), Tools: toolSet(it.ToolCalls), ToolCalls: len(it.ToolCalls), Steps: it.StepCount(),
			Skipped: it.Skipped, Cut: it.Cut, Start: it.Start, End: it.End, Untimed: it.Untimed, Working: it.Working,
		}
		if len(it.Calls) > 0 {
			sig.Calls = make([]CallSignals, len(it.Calls))
		}
		for c := range it.Calls {
			c, call := &it.Calls[c], &sig.Calls[c]
			*call = CallSignals{
				Role: c.Role, Model: c.Model, Answered: c.Answered, Version: c.Version, Request: c.Request, Usage: c.Usage,
				Reserved: c.Reserved, Charged: c.Charged, Start: c.Start, Duration: c.Duration, Waited: c.Waited,
				Conversation: c.Conversation, Kind: c.Kind, Step: c.Step, Arrived: c.Arrived, FirstByte: c.FirstByte, Ended: c.Ended,
				Kept: c.Tree != "",
			}
			if c.Error != nil {
				call.Error = c.Error.Class
			}
		}
		if e := it.Evaluation; e != nil {
			sig.Evaluated, sig.Confidence, sig.Passed, sig.Fault = true, e.Confidence, e.Passed, e.Fault != ""
			sig.Checks = s.mark(e.Checks)
		}
		if it.Workspace != nil {
			sig.Tree = it.Workspace.Tree
		}
		if it.Ended != nil {
			sig.Ended, sig.EndedBy = it.Ended.Reason, it.Ended.Tool
		}
		if it.Error != nil {
			sig.Error, sig.ErrorHash = it.Error.Class, hash([]byte(it.Error.Error()))
		}
	}
	return s
}

// mark gives the results of checks, and adds those that are new to s.Checks. Checks of one
// name and weight have heads of their own.
func (s *Signals) mark(checks []Check) Marks {
	if len(checks) == 0 {
		return ""
	}
	marks := bytes.Repeat([]byte{'-'}, len(s.Checks))
	for i := range checks {
		head, at := CheckHead{Name: checks[i].Name, Weight: checks[i].Weight}, 0
		for at < len(marks) && (marks[at] != '-' || s.Checks[at] != head) {
			at++
		}
		if at == len(marks) {
			s.Checks, marks = append(s.Checks, head), append(marks, '-')
		}
		marks[at] = '0'
		if checks[i].Passed {
			marks[at] = '1'
		}
	}
	return Marks(marks)
}
