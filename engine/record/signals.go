package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Signals is a run without its texts: what reports, replay and tune go by.
type Signals struct {
	Version       int           `json:"v"`
	ID            string        `json:"run"`
	Configuration string        `json:"configuration"`
	Task          string        `json:"task"`
	Trial         int           `json:"trial"`
	Cluster       string        `json:"cluster"`
	Group         string        `json:"group"`
	Loop          string        `json:"loop"`
	Seed          string        `json:"seed"`
	Outcome       Outcome       `json:"outcome"` // an error keeps its class, not its message
	Usage         Usage         `json:"usage"`
	Judging       Usage         `json:"judging"`
	User          Usage         `json:"user"`
	Elapsed       time.Duration `json:"elapsed_ns"`
	Untimed       bool          `json:"untimed"` // Elapsed is unknown
	Next          *Next         `json:"next"`
	Simulated     bool          `json:"simulated"`
	// Checks are the checks of all iterations, in the order they first occur.
	Checks     []CheckHead        `json:"-"`
	Iterations []IterationSignals `json:"-"`
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
	N        int    `json:"n"`
	Phase    string `json:"phase"`
	Strategy string `json:"strategy"`
	// Request is the hash of what the agent was sent.
	Request string `json:"request"`
	// Output is the hash of the output (OutputHash), Tools the toolSet of the tool calls.
	Output    string `json:"-"`
	Tools     string `json:"-"`
	ToolCalls int    `json:"-"`
	Steps     int    `json:"-"` // of a conversing agent
	// Confidence, Passed, Checks and Fault mean something where Evaluated is set.
	Evaluated  bool    `json:"-"`
	Confidence float64 `json:"-"`
	Passed     bool    `json:"-"`
	Checks     Marks   `json:"-"`
	Fault      bool    `json:"-"` // the reply or the evaluation was faulty
	Skipped    bool    `json:"skipped"`
	Cut        string  `json:"cut"`
	Tree       string  `json:"-"` // of the workspace
	Ended      string  `json:"-"` // the reason, where the agent ended the run
	EndedBy    string  `json:"-"` // the tool that did
	// Error is the class of the iteration's error, ErrorHash tells equal errors
	// from different ones. Both are empty where the iteration did not fail.
	Error     ErrorClass    `json:"-"`
	ErrorHash string        `json:"-"`
	Calls     []CallSignals `json:"-"`
	Start     time.Duration `json:"start_ns"`
	End       time.Duration `json:"end_ns"`
	Untimed   bool          `json:"untimed"` // End is unknown
	Working   time.Duration `json:"working_ns"`
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
	Model    string        `json:"model"`
	Answered string        `json:"answered"` // by another model
	Version  string        `json:"version"`  // of a program
	Request  string        `json:"request"`
	Usage    Usage         `json:"usage"`
	Reserved *Usage        `json:"reserved"`
	Charged  *Usage        `json:"charged"`
	Start    time.Duration `json:"start_ns"`
	Duration time.Duration `json:"duration_ns"`
	Waited   time.Duration `json:"waited_ns"`
	Error    ErrorClass    `json:"-"`

	Conversation string        `json:"conversation"`
	Kind         CallKind      `json:"kind"`
	Step         int           `json:"step"`
	Arrived      time.Duration `json:"arrived_ns"`
	FirstByte    time.Duration `json:"first_byte_ns"`
	Ended        time.Duration `json:"ended_ns"`
	Kept         bool          `json:"-"` // the state of the workspace that it found
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

// lightRun is what signals are made of: a record without its texts, but for those that are hashed.
type lightRun struct {
	Signals
	Iterations []lightIteration `json:"iterations"`
}

type lightIteration struct {
	IterationSignals
	Output     outputHash      `json:"output"`
	NotUTF8    bool            `json:"not_utf8"`
	OutputB64  []byte          `json:"output_b64"`
	Evaluation *Evaluation     `json:"evaluation"`
	Calls      []lightCall     `json:"calls"`
	ToolCalls  []lightToolCall `json:"tool_calls"`
	Steps      []struct{}      `json:"steps"`
	Error      *Error          `json:"error"`
	Ended      struct {
		Reason string `json:"reason"`
		Tool   string `json:"tool"`
	} `json:"ended"`
	Workspace struct {
		Tree string `json:"tree"`
	} `json:"workspace"`
}

type lightCall struct {
	CallSignals
	Error *Error `json:"error"`
	Tree  string `json:"tree"`
}

type lightToolCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// outputHash is the OutputHash of an output, which is not kept when it is read.
type outputHash string

// UnmarshalJSONFrom reads an output.
func (h *outputHash) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	output, err := d.ReadValue()
	*h = outputHash(OutputHash(json.RawMessage(output)))
	return err
}

// Signals is the run without its texts.
func (r *Run) Signals() Signals {
	light := lightRun{
		Signals: Signals{
			Version: r.Version, ID: r.ID, Configuration: r.Configuration, Task: r.Task, Trial: r.Trial,
			Cluster: r.Cluster, Group: r.Group, Loop: r.Loop, Seed: r.Seed, Outcome: r.Outcome, Usage: r.Usage, Judging: r.Judging, User: r.User,
			Elapsed: r.Elapsed, Untimed: r.Untimed, Next: r.Next, Simulated: r.Simulated,
		},
		Iterations: make([]lightIteration, len(r.Iterations)),
	}
	for i := range r.Iterations {
		light.Iterations[i] = r.Iterations[i].light()
	}
	return light.signals()
}

func (it *Iteration) light() lightIteration {
	light := lightIteration{
		IterationSignals: IterationSignals{
			N: it.N, Phase: it.Phase, Strategy: it.Strategy, Request: it.Request,
			Skipped: it.Skipped, Cut: it.Cut, Start: it.Start, End: it.End, Untimed: it.Untimed, Working: it.Working,
		},
		Output: outputHash(OutputHash(it.Output)), NotUTF8: it.NotUTF8, OutputB64: it.OutputB64, Evaluation: it.Evaluation,
		Calls: make([]lightCall, len(it.Calls)), ToolCalls: make([]lightToolCall, len(it.ToolCalls)), Steps: make([]struct{}, len(it.Steps)), Error: it.Error,
	}
	for i := range it.Calls {
		c := &it.Calls[i]
		light.Calls[i] = lightCall{Error: c.Error, Tree: c.Tree, CallSignals: CallSignals{
			Role: c.Role, Model: c.Model, Answered: c.Answered, Version: c.Version, Request: c.Request, Usage: c.Usage,
			Reserved: c.Reserved, Charged: c.Charged, Start: c.Start, Duration: c.Duration, Waited: c.Waited,
			Conversation: c.Conversation, Kind: c.Kind, Step: c.Step, Arrived: c.Arrived, FirstByte: c.FirstByte, Ended: c.Ended,
		}}
	}
	for i := range it.ToolCalls {
		light.ToolCalls[i] = lightToolCall{it.ToolCalls[i].Tool, it.ToolCalls[i].Arguments}
	}
	if it.Ended != nil {
		light.Ended.Reason, light.Ended.Tool = it.Ended.Reason, it.Ended.Tool
	}
	if it.Workspace != nil {
		light.Workspace.Tree = it.Workspace.Tree
	}
	return light
}

// signals are those of a run that share no memory with it.
func (r *lightRun) signals() Signals {
	s := r.Signals
	if e := s.Outcome.Error; e != nil {
		s.Outcome.Error = &Error{Class: e.Class}
	}
	if len(r.Iterations) > 0 {
		s.Iterations = make([]IterationSignals, len(r.Iterations))
	}
	for i := range r.Iterations {
		it := &r.Iterations[i]
		sig := it.IterationSignals
		sig.Output, sig.Tools, sig.ToolCalls = string(it.Output), toolSet(it.ToolCalls), len(it.ToolCalls)
		if it.NotUTF8 {
			sig.Output = hash(it.OutputB64)
		}
		sig.Calls, sig.Steps = it.calls()
		sig.Ended, sig.EndedBy, sig.Tree = it.Ended.Reason, it.Ended.Tool, it.Workspace.Tree
		if e := it.Evaluation; e != nil {
			sig.Evaluated, sig.Confidence, sig.Passed, sig.Fault = true, e.Confidence, e.Passed, e.Fault != ""
			sig.Checks = s.mark(e.Checks)
		}
		if it.Error != nil {
			sig.Error, sig.ErrorHash = it.Error.Class, hash([]byte(it.Error.Error()))
		}
		s.Iterations[i] = sig
	}
	return s
}

// calls are those of the iteration, and how many steps it has; see [Iteration.StepCount].
func (it *lightIteration) calls() (calls []CallSignals, steps int) {
	if len(it.Calls) == 0 {
		return nil, len(it.Steps)
	}
	calls = make([]CallSignals, len(it.Calls))
	ofProgram := false
	for i := range it.Calls {
		c := &it.Calls[i]
		calls[i] = c.CallSignals
		calls[i].Kept = c.Tree != ""
		if c.Error != nil {
			calls[i].Error = c.Error.Class
		}
		if c.Role == RoleAgent {
			ofProgram = ofProgram || c.Conversation != ""
			if c.Step > 0 {
				steps++
			}
		}
	}
	if !ofProgram {
		steps = len(it.Steps)
	}
	return calls, steps
}

var lightRuns = sync.Pool{New: func() any { return &lightRun{} }}

// signalsOf reads a record without its texts. One that has texts that are not UTF-8 is read whole.
func signalsOf(object []byte) (*Signals, error) {
	if bytes.Contains(object, []byte(badByte)) {
		run, err := runOf(object)
		if err != nil {
			return nil, err
		}
		return new(run.Signals()), nil
	}
	light := lightRuns.Get().(*lightRun)
	defer lightRuns.Put(light)
	clear(light.Iterations)
	*light = lightRun{Iterations: light.Iterations[:0]}
	if err := decode(object, light); err != nil {
		return nil, err
	}
	s := light.signals()
	return &s, cmp.Or(knownVersion(s.Version), s.impossible())
}

// impossible is as that of a run.
func (s *Signals) impossible() error {
	if err := cmp.Or(validTrial(s.Trial), negative(s.Elapsed, s.Usage, s.Judging, s.User), noneReturned(s.Outcome.Returned, len(s.Iterations))); err != nil {
		return err
	}
	for i := range s.Iterations {
		for c := range s.Iterations[i].Calls {
			if call := &s.Iterations[i].Calls[c]; call.Usage.negative() || call.Duration < 0 {
				return errNegative
			}
		}
	}
	return nil
}

// toolSet tells equal sets of tool calls from different ones, whatever their
// order and that of the keys in their arguments: a hash of the sorted (tool,
// arguments) pairs. It is "" for no calls.
func toolSet(calls []lightToolCall) string {
	if len(calls) == 0 {
		return ""
	}
	pairs := make([][]byte, len(calls))
	for i := range calls {
		pairs[i] = strconv.AppendQuote(nil, calls[i].Tool)
		pairs[i] = append(pairs[i], Canonical(calls[i].Arguments)...)
	}
	slices.SortFunc(pairs, bytes.Compare)
	return hash(bytes.Join(pairs, []byte{'\n'}))
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
