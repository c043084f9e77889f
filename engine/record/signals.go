package record

import (
	"bytes"
	"slices"
	"time"
)

// Signals is a run without its texts: what reports, replay and tune read. It is
// one line of signals.jsonl and can always be made again from the record.
type Signals struct {
	Version int    `json:"v"`
	ID      string `json:"run"`
	// Bytes is the length of the record's line in records.jsonl, its line feed
	// included; 0 where the signals were not read from, or for, a file.
	Bytes         int64         `json:"bytes,omitempty"`
	Configuration string        `json:"configuration"`
	Task          string        `json:"task"`
	Trial         int           `json:"trial"`
	Cluster       string        `json:"cluster,omitempty"`
	Group         string        `json:"group,omitempty"`
	Loop          string        `json:"loop,omitempty"`
	Seed          string        `json:"seed,omitempty"`
	Outcome       Outcome       `json:"outcome"` // an error keeps its class, not its message
	Usage         Usage         `json:"usage"`
	Judging       Usage         `json:"judging,omitzero"`
	User          Usage         `json:"user,omitzero"`
	Elapsed       time.Duration `json:"elapsed_ns"`
	Untimed       bool          `json:"untimed,omitempty"` // Elapsed is unknown
	Next          *Next         `json:"next,omitempty"`
	Simulated     bool          `json:"simulated,omitempty"`
	// Checks are the checks of all iterations, in the order they first occur.
	Checks     []CheckHead        `json:"checks,omitempty"`
	Iterations []IterationSignals `json:"iterations"`
}

// Total is the usage of the agent, of the evaluations and of the user together.
func (s *Signals) Total() Usage { return s.Usage.Plus(s.Judging).Plus(s.User) }

// CheckHead is what is the same for a check at every iteration.
type CheckHead struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight,omitempty"` // 0 means 1
}

// IterationSignals is an iteration without its texts.
type IterationSignals struct {
	N        int    `json:"n"`
	Phase    string `json:"phase,omitempty"`
	Strategy string `json:"strategy,omitempty"`
	// Request is the hash of what the agent was sent.
	Request string `json:"request,omitempty"`
	// Output is the hash of the output (OutputHash), Tools the toolSet of the tool calls.
	Output    string `json:"output,omitempty"`
	Tools     string `json:"tools,omitempty"`
	ToolCalls int    `json:"tool_calls,omitempty"`
	Steps     int    `json:"steps,omitempty"` // of a conversing agent
	// Confidence, Passed, Checks and Fault mean something where Evaluated is set.
	Evaluated  bool    `json:"evaluated,omitempty"`
	Confidence float64 `json:"confidence,omitempty"`
	Passed     bool    `json:"passed,omitempty"`
	Checks     Marks   `json:"checks,omitempty"`
	Fault      bool    `json:"fault,omitempty"` // the reply or the evaluation was faulty
	Skipped    bool    `json:"skipped,omitempty"`
	Cut        string  `json:"cut,omitempty"`
	Tree       string  `json:"tree,omitempty"`     // of the workspace
	Ended      string  `json:"ended,omitempty"`    // the reason, where the agent ended the run
	EndedBy    string  `json:"ended_by,omitempty"` // the tool that did
	// Error is the class of the iteration's error, ErrorHash tells equal errors
	// from different ones. Both are empty where the iteration did not fail.
	Error     ErrorClass    `json:"error,omitempty"`
	ErrorHash string        `json:"error_hash,omitempty"`
	Calls     []CallSignals `json:"calls,omitempty"`
	Start     time.Duration `json:"start_ns"`
	End       time.Duration `json:"end_ns"`
	Untimed   bool          `json:"untimed,omitempty"` // End is unknown
	Working   time.Duration `json:"working_ns,omitempty"`
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
	Role     Role          `json:"role"`
	Model    string        `json:"model,omitempty"`
	Answered string        `json:"answered,omitempty"` // by another model
	Version  string        `json:"version,omitempty"`  // of a program
	Request  string        `json:"request,omitempty"`
	Usage    Usage         `json:"usage"`
	Reserved *Usage        `json:"reserved,omitempty"`
	Charged  *Usage        `json:"charged,omitempty"`
	Start    time.Duration `json:"start_ns"`
	Duration time.Duration `json:"duration_ns"`
	Waited   time.Duration `json:"waited_ns,omitempty"`
	Error    ErrorClass    `json:"error,omitempty"`

	Conversation string        `json:"conversation,omitempty"`
	Kind         CallKind      `json:"kind,omitempty"`
	Step         int           `json:"step,omitempty"`
	Arrived      time.Duration `json:"arrived_ns,omitempty"`
	FirstByte    time.Duration `json:"first_byte_ns,omitempty"`
	Ended        time.Duration `json:"ended_ns,omitempty"`
	Kept         bool          `json:"kept,omitempty"` // the state of the workspace that it found
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
	var s Signals
	s.fill(r)
	return s
}

// fill makes them the signals of a run. It uses the memory of the iterations that they had.
func (s *Signals) fill(r *Run) {
	*s = Signals{
		Version: r.Version, ID: r.ID, Configuration: r.Configuration, Task: r.Task, Trial: r.Trial,
		Cluster: r.Cluster, Group: r.Group, Loop: r.Loop, Seed: r.Seed, Outcome: r.Outcome, Usage: r.Usage, Judging: r.Judging, User: r.User, Elapsed: r.Elapsed, Untimed: r.Untimed,
		Next: r.Next, Simulated: r.Simulated, Iterations: resized(s.Iterations, len(r.Iterations)),
	}
	if e := r.Outcome.Error; e != nil {
		s.Outcome.Error = &Error{Class: e.Class}
	}
	for i := range r.Iterations {
		it := &r.Iterations[i]
		sig := &s.Iterations[i]
		*sig = IterationSignals{
			N: it.N, Phase: it.Phase, Strategy: it.Strategy, Request: it.Request,
			Output: it.OutputHash(), Tools: toolSet(it.ToolCalls), ToolCalls: len(it.ToolCalls), Steps: it.StepCount(),
			Skipped: it.Skipped, Cut: it.Cut, Start: it.Start, End: it.End, Untimed: it.Untimed, Working: it.Working,
			Calls: resized(sig.Calls, len(it.Calls)),
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
}

// forget leaves nothing but the memory of the iterations and their calls.
func (s *Signals) forget() {
	iterations := s.Iterations[:cap(s.Iterations)]
	for i := range iterations {
		calls := iterations[i].Calls[:cap(iterations[i].Calls)]
		clear(calls)
		iterations[i] = IterationSignals{Calls: calls[:0]}
	}
	*s = Signals{Iterations: iterations[:0]}
}

// resized is a list of that length, whatever is in it.
func resized[T any](list []T, n int) []T { return slices.Grow(list[:0], n)[:n] }

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
