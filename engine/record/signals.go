package record

import (
	"bytes"
	"fmt"
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
	// Output is the hash of the output (OutputHash), Tools the ToolSet of the tool calls.
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
	Request  string        `json:"request,omitempty"`
	Usage    Usage         `json:"usage"`
	Reserved *Usage        `json:"reserved,omitempty"`
	Charged  *Usage        `json:"charged,omitempty"`
	Start    time.Duration `json:"start_ns"`
	Duration time.Duration `json:"duration_ns"`
	Waited   time.Duration `json:"waited_ns,omitempty"`
	Error    ErrorClass    `json:"error,omitempty"`
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
		Cluster: r.Cluster, Group: r.Group, Loop: r.Loop, Outcome: r.Outcome, Usage: r.Usage, Judging: r.Judging, User: r.User, Elapsed: r.Elapsed, Untimed: r.Untimed,
		Next: r.Next, Simulated: r.Simulated, Iterations: make([]IterationSignals, len(r.Iterations)),
	}
	if e := r.Outcome.Error; e != nil {
		s.Outcome.Error = &Error{Class: e.Class}
	}
	for i := range r.Iterations {
		s.Iterations[i] = s.reduce(&r.Iterations[i])
	}
	return s
}

// reduce leaves the texts of an iteration out, and adds its checks that are new
// to s.Checks.
func (s *Signals) reduce(it *Iteration) IterationSignals {
	sig := IterationSignals{
		N: it.N, Phase: it.Phase, Strategy: it.Strategy, Request: it.Request,
		Output: it.OutputHash(), Tools: ToolSet(it.ToolCalls), ToolCalls: len(it.ToolCalls), Steps: len(it.Steps),
		Skipped: it.Skipped, Cut: it.Cut, Calls: callSignals(it.Calls),
		Start: it.Start, End: it.End, Untimed: it.Untimed, Working: it.Working,
	}
	if e := it.Evaluation; e != nil {
		sig.Evaluated, sig.Confidence, sig.Passed, sig.Fault = true, e.Confidence, e.Passed, e.Fault != ""
		sig.Checks = s.mark(e.Checks)
	}
	if it.Ended != nil {
		sig.Ended, sig.EndedBy = it.Ended.Reason, it.Ended.Tool
	}
	if it.Error != nil {
		sig.Error, sig.ErrorHash = it.Error.Class, hash([]byte(it.Error.Error()))
	}
	return sig
}

func callSignals(calls []Call) []CallSignals {
	if len(calls) == 0 {
		return nil
	}
	signals := make([]CallSignals, len(calls))
	for i := range calls {
		c := &calls[i]
		signals[i] = CallSignals{
			Role: c.Role, Model: c.Model, Answered: c.Answered, Request: c.Request, Usage: c.Usage,
			Reserved: c.Reserved, Charged: c.Charged, Start: c.Start, Duration: c.Duration, Waited: c.Waited,
		}
		if c.Error != nil {
			signals[i].Error = c.Error.Class
		}
	}
	return signals
}

func (s *Signals) mark(checks []Check) Marks {
	if len(checks) == 0 {
		return ""
	}
	marks := bytes.Repeat([]byte{'-'}, len(s.Checks))
	for i := range checks {
		at := s.place(&checks[i], marks)
		if at == len(marks) {
			s.Checks = append(s.Checks, CheckHead{Name: checks[i].Name, Weight: checks[i].Weight})
			marks = append(marks, '-')
		}
		marks[at] = '0'
		if checks[i].Passed {
			marks[at] = '1'
		}
	}
	return Marks(marks)
}

// place is the index of a check's head, or len(marks) where it has none that is
// not marked yet.
func (s *Signals) place(check *Check, marks []byte) int {
	head := CheckHead{Name: check.Name, Weight: check.Weight}
	for i := range marks {
		if marks[i] == '-' && s.Checks[i] == head {
			return i
		}
	}
	return len(marks)
}

// readSignals reads what writer.signals wrote.
func (r *reader) readSignals(text []byte) (*Signals, error) {
	r.begin(text)
	s := &Signals{}
	r.signals(s)
	return s, r.end()
}

// readHead reads the front part of a record or of signals and leaves the rest:
// version, id, bytes and status. The result is valid until the next one.
func (r *reader) readHead(text []byte) (*Signals, error) {
	r.begin(text)
	r.head = Signals{}
	s := &r.head
	for key := range r.object() {
		if r.ofHead(key, s) {
			continue
		}
		switch string(key) {
		case "outcome":
			s.Outcome.Status = r.status()
			return s, r.err
		default:
			r.pass()
		}
	}
	r.fail()
	return nil, r.err
}

func (r *reader) signals(s *Signals) {
	for key := range r.object() {
		if r.ofHead(key, s) || r.ofRun(key, s) {
			continue
		}
		switch string(key) {
		case "outcome":
			r.outcome(&s.Outcome)
		case "next":
			s.Next = r.nextRequest()
		case "checks":
			for range r.list() {
				s.Checks = append(s.Checks, r.checkHead())
			}
		case "iterations":
			s.Iterations = listed(r, &r.iterations, r.iteration)
		default:
			r.pass()
		}
	}
}

// ofHead reads a member that records and signals begin with, if it is one.
func (r *reader) ofHead(key []byte, s *Signals) bool {
	switch string(key) {
	case "v":
		s.Version = int(r.integer())
	case "run":
		s.ID = r.string()
	case "bytes":
		s.Bytes = r.integer()
	default:
		return false
	}
	return true
}

// ofRun reads a member that signals and the lines of baselines have alike, if it
// is one.
func (r *reader) ofRun(key []byte, s *Signals) bool {
	switch string(key) {
	case "configuration":
		s.Configuration = r.name()
	case "task":
		s.Task = r.string()
	case "trial":
		s.Trial = int(r.integer())
	case "cluster":
		s.Cluster = r.name()
	case "group":
		s.Group = r.name()
	case "loop":
		s.Loop = r.name()
	case "usage":
		r.usage(&s.Usage)
	case "judging":
		r.usage(&s.Judging)
	case "user":
		r.usage(&s.User)
	case "elapsed_ns":
		s.Elapsed = r.duration()
	case "untimed":
		s.Untimed = r.boolean()
	case "simulated":
		s.Simulated = r.boolean()
	default:
		return false
	}
	return true
}

// listed reads a list into memory of its own; kept is room that is used again.
func listed[E any](r *reader, kept *[]E, element func() E) []E {
	*kept = (*kept)[:0]
	for range r.list() {
		*kept = append(*kept, element())
	}
	return cloned(*kept)
}

func (r *reader) duration() time.Duration { return time.Duration(r.integer()) }

func (r *reader) outcome(o *Outcome) {
	for key := range r.object() {
		if r.ofOutcome(key, o) {
			continue
		}
		switch string(key) {
		case "held":
			for range r.list() {
				o.Held = append(o.Held, r.name())
			}
		case "used":
			o.Used = r.number()
		case "limit":
			o.Limit = r.number()
		case "error":
			o.Error = r.failure()
		default:
			r.pass()
		}
	}
}

// ofOutcome reads a member that outcomes and the lines of baselines have alike,
// if it is one.
func (r *reader) ofOutcome(key []byte, o *Outcome) bool {
	switch string(key) {
	case "status":
		o.Status = Status(r.name())
	case "reason":
		o.Reason = Reason(r.name())
	case "class":
		o.Class = Class(r.name())
	case "fired":
		o.Fired = r.name()
	case "success":
		o.Success = r.boolean()
	case "returned":
		o.Returned = int(r.integer())
	default:
		return false
	}
	return true
}

func (r *reader) failure() *Error {
	e := &Error{}
	for key := range r.object() {
		switch string(key) {
		case "class":
			e.Class = ErrorClass(r.name())
		case "message":
			e.Message = r.string()
		default:
			r.pass()
		}
	}
	return e
}

func (r *reader) nextRequest() *Next {
	n := &Next{}
	for key := range r.object() {
		switch string(key) {
		case "role":
			n.Role = Role(r.name())
		case "phase":
			n.Phase = r.name()
		case "strategy":
			n.Strategy = r.name()
		case "request":
			n.Request = r.string()
		case "reserved":
			n.Reserved = &Usage{}
			r.usage(n.Reserved)
		default:
			r.pass()
		}
	}
	return n
}

func (r *reader) usage(u *Usage) {
	for key := range r.object() {
		switch string(key) {
		case "calls":
			u.Calls = r.integer()
		case "input_tokens":
			u.InputTokens = r.integer()
		case "cached_tokens":
			u.CachedTokens = r.integer()
		case "output_tokens":
			u.OutputTokens = r.integer()
		case "reasoning_tokens":
			u.ReasoningTokens = r.integer()
		case "tool_calls":
			u.ToolCalls = r.integer()
		case "cost_pusd":
			u.Cost = Money(r.integer())
		case "unpriced":
			u.Unpriced = r.integer()
		case "estimated":
			u.Estimated = r.integer()
		case "uncounted":
			u.Uncounted = r.integer()
		case "unreported":
			u.Unreported = r.integer()
		default:
			r.pass()
		}
	}
}

func (r *reader) checkHead() CheckHead {
	var c CheckHead
	for key := range r.object() {
		switch string(key) {
		case "name":
			c.Name = r.name()
		case "weight":
			c.Weight = r.number()
		default:
			r.pass()
		}
	}
	return c
}

// status reads an outcome up to its status, which is its first member.
func (r *reader) status() Status {
	r.expect('{')
	if string(r.quoted()) != "status" {
		r.fail()
	}
	r.expect(':')
	return Status(r.name())
}

// cloned has the length and capacity of the list; it is nil for an empty one.
func cloned[E any](list []E) []E {
	if len(list) == 0 {
		return nil
	}
	own := make([]E, len(list))
	copy(own, list)
	return own
}

func (r *reader) iteration() IterationSignals {
	var it IterationSignals
	for key := range r.object() {
		if r.ofEvaluation(key, &it) || r.ofEnd(key, &it) {
			continue
		}
		switch string(key) {
		case "n":
			it.N = int(r.integer())
		case "phase":
			it.Phase = r.name()
		case "strategy":
			it.Strategy = r.name()
		case "request":
			it.Request = r.string()
		case "output":
			it.Output = r.string()
		case "tools":
			it.Tools = r.string()
		case "tool_calls":
			it.ToolCalls = int(r.integer())
		case "steps":
			it.Steps = int(r.integer())
		case "calls":
			it.Calls = listed(r, &r.calls, r.call)
		default:
			r.pass()
		}
	}
	return it
}

// ofEvaluation reads how good an iteration is, if the member says it.
func (r *reader) ofEvaluation(key []byte, it *IterationSignals) bool {
	switch string(key) {
	case "evaluated":
		it.Evaluated = r.boolean()
	case "confidence":
		it.Confidence = r.number()
	case "passed":
		it.Passed = r.boolean()
	case "checks":
		it.Checks = Marks(r.name())
	case "fault":
		it.Fault = r.boolean()
	case "skipped":
		it.Skipped = r.boolean()
	default:
		return false
	}
	return true
}

// ofEnd reads how an iteration ended, and when, if the member says it.
func (r *reader) ofEnd(key []byte, it *IterationSignals) bool {
	switch string(key) {
	case "cut":
		it.Cut = r.name()
	case "ended":
		it.Ended = r.name()
	case "ended_by":
		it.EndedBy = r.name()
	case "error":
		it.Error = ErrorClass(r.name())
	case "error_hash":
		it.ErrorHash = r.name()
	case "start_ns":
		it.Start = r.duration()
	case "end_ns":
		it.End = r.duration()
	case "untimed":
		it.Untimed = r.boolean()
	case "working_ns":
		it.Working = r.duration()
	default:
		return false
	}
	return true
}

func (r *reader) call() CallSignals {
	var c CallSignals
	for key := range r.object() {
		switch string(key) {
		case "role":
			c.Role = Role(r.name())
		case "model":
			c.Model = r.name()
		case "answered":
			c.Answered = r.string()
		case "request":
			c.Request = r.string()
		case "usage":
			r.usage(&c.Usage)
		case "reserved":
			c.Reserved = &Usage{}
			r.usage(c.Reserved)
		case "charged":
			c.Charged = &Usage{}
			r.usage(c.Charged)
		case "start_ns":
			c.Start = r.duration()
		case "duration_ns":
			c.Duration = r.duration()
		case "waited_ns":
			c.Waited = r.duration()
		case "error":
			c.Error = ErrorClass(r.name())
		default:
			r.pass()
		}
	}
	return c
}

// appendSignals appends the signals as a line.
func appendSignals(dst []byte, s *Signals) ([]byte, error) {
	w := writer{to: append(dst, lineHead...)}
	w.signals(s)
	if w.err != nil {
		return nil, fmt.Errorf("the signals of run %s cannot be written: %w", s.ID, w.err)
	}
	line, err := seal(w.to, len(dst))
	if err != nil {
		return nil, fmt.Errorf("the signals of run %s cannot be written: %w", s.ID, err)
	}
	return line, nil
}

func (w *writer) signals(s *Signals) {
	w.open()
	w.integer("v", int64(s.Version))
	w.string("run", s.ID)
	w.maybeInteger("bytes", s.Bytes)
	w.string("configuration", s.Configuration)
	w.string("task", s.Task)
	w.integer("trial", int64(s.Trial))
	w.maybeString("cluster", s.Cluster)
	w.maybeString("group", s.Group)
	w.maybeString("loop", s.Loop)
	w.key("outcome")
	w.outcome(&s.Outcome)
	w.key("usage")
	w.usage(&s.Usage)
	if s.Judging != (Usage{}) {
		w.key("judging")
		w.usage(&s.Judging)
	}
	if s.User != (Usage{}) {
		w.key("user")
		w.usage(&s.User)
	}
	w.integer("elapsed_ns", int64(s.Elapsed))
	w.maybeTrue("untimed", s.Untimed)
	if s.Next != nil {
		w.key("next")
		w.nextRequest(s.Next)
	}
	w.maybeTrue("simulated", s.Simulated)
	if len(s.Checks) > 0 {
		w.list("checks", len(s.Checks), func(i int) { w.checkHead(&s.Checks[i]) })
	}
	w.list("iterations", len(s.Iterations), func(i int) { w.iteration(&s.Iterations[i]) })
	w.close()
}

func (w *writer) outcome(o *Outcome) {
	w.open()
	w.string("status", string(o.Status))
	w.string("reason", string(o.Reason))
	w.string("class", string(o.Class))
	w.maybeString("fired", o.Fired)
	if len(o.Held) > 0 {
		w.list("held", len(o.Held), func(i int) { w.to = appendString(w.to, o.Held[i]) })
	}
	w.boolean("success", o.Success)
	w.maybeInteger("returned", int64(o.Returned))
	w.maybeNumber("used", o.Used)
	w.maybeNumber("limit", o.Limit)
	if o.Error != nil {
		w.key("error")
		w.open()
		w.string("class", string(o.Error.Class))
		w.string("message", o.Error.Message)
		w.close()
	}
	w.close()
}

func (w *writer) nextRequest(n *Next) {
	w.open()
	w.maybeString("role", string(n.Role))
	w.maybeString("phase", n.Phase)
	w.maybeString("strategy", n.Strategy)
	w.maybeString("request", n.Request)
	if n.Reserved != nil {
		w.key("reserved")
		w.usage(n.Reserved)
	}
	w.close()
}

func (w *writer) usage(u *Usage) {
	w.open()
	w.maybeInteger("calls", u.Calls)
	w.maybeInteger("input_tokens", u.InputTokens)
	w.maybeInteger("cached_tokens", u.CachedTokens)
	w.maybeInteger("output_tokens", u.OutputTokens)
	w.maybeInteger("reasoning_tokens", u.ReasoningTokens)
	w.maybeInteger("tool_calls", u.ToolCalls)
	w.maybeInteger("cost_pusd", int64(u.Cost))
	w.maybeInteger("unpriced", u.Unpriced)
	w.maybeInteger("estimated", u.Estimated)
	w.maybeInteger("uncounted", u.Uncounted)
	w.maybeInteger("unreported", u.Unreported)
	w.close()
}

func (w *writer) checkHead(c *CheckHead) {
	w.open()
	w.string("name", c.Name)
	w.maybeNumber("weight", c.Weight)
	w.close()
}

func (w *writer) iteration(it *IterationSignals) {
	w.open()
	w.integer("n", int64(it.N))
	w.maybeString("phase", it.Phase)
	w.maybeString("strategy", it.Strategy)
	w.maybeString("request", it.Request)
	w.maybeString("output", it.Output)
	w.maybeString("tools", it.Tools)
	w.maybeInteger("tool_calls", int64(it.ToolCalls))
	w.maybeInteger("steps", int64(it.Steps))
	w.maybeTrue("evaluated", it.Evaluated)
	w.maybeNumber("confidence", it.Confidence)
	w.maybeTrue("passed", it.Passed)
	w.maybeString("checks", string(it.Checks))
	w.maybeTrue("fault", it.Fault)
	w.maybeTrue("skipped", it.Skipped)
	w.maybeString("cut", it.Cut)
	w.maybeString("ended", it.Ended)
	w.maybeString("ended_by", it.EndedBy)
	w.maybeString("error", string(it.Error))
	w.maybeString("error_hash", it.ErrorHash)
	if len(it.Calls) > 0 {
		w.list("calls", len(it.Calls), func(i int) { w.call(&it.Calls[i]) })
	}
	w.integer("start_ns", int64(it.Start))
	w.integer("end_ns", int64(it.End))
	w.maybeTrue("untimed", it.Untimed)
	w.maybeInteger("working_ns", int64(it.Working))
	w.close()
}

func (w *writer) call(c *CallSignals) {
	w.open()
	w.string("role", string(c.Role))
	w.maybeString("model", c.Model)
	w.maybeString("answered", c.Answered)
	w.maybeString("request", c.Request)
	w.key("usage")
	w.usage(&c.Usage)
	if c.Reserved != nil {
		w.key("reserved")
		w.usage(c.Reserved)
	}
	if c.Charged != nil {
		w.key("charged")
		w.usage(c.Charged)
	}
	w.integer("start_ns", int64(c.Start))
	w.integer("duration_ns", int64(c.Duration))
	w.maybeInteger("waited_ns", int64(c.Waited))
	w.maybeString("error", string(c.Error))
	w.close()
}
