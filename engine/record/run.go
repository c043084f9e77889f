// Package record writes and reads result folders. Create or Resume a Journal and append runs and scores to it; ReadRuns,
// ReadLight and ReadScores read them. A Run is the trajectory of one (configuration, task, trial) with its outcome.
//
// The stages of the data, in order: a Run is appended to records.jsonl as it
// finishes, and its Scores to scores.jsonl; a Manifest says under which spec they
// came to be. A light run is one without its texts.
package record

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Version is the schema version of everything this package writes.
const Version = 1

// Run is the record of one run: one line of records.jsonl.
type Run struct {
	Version       int    `json:"v"`
	ID            string `json:"run"`
	Configuration string `json:"configuration"`
	Task          string `json:"task"`
	Trial         int    `json:"trial"` // from 1
	// Cluster is the group of tasks that the run's task is of, as the suite
	// declares it: results of one group depend on each other. "" is the task alone.
	Cluster string `json:"cluster,omitempty"`
	// Group is the group of tasks, as the suite groups them, of which metrics are
	// told as well; "" is none.
	Group string `json:"group,omitempty"`
	// Images are those of the task. Their content is not recorded.
	Images []Image `json:"images,omitempty"`
	// Seed is the state of the folder with which the run began, where it has one.
	Seed string `json:"seed,omitempty"`
	// Loop is the hash of the resolved loop that made the run.
	Loop       string      `json:"loop,omitempty"`
	Outcome    Outcome     `json:"outcome"`
	Iterations []Iteration `json:"iterations"`
	// Usage is what the agent used; Judging what the evaluations inside the
	// loop used. The run's usage is their sum, and User.
	Usage   Usage `json:"usage"`
	Judging Usage `json:"judging,omitzero"`
	// User is what the one who answers the agent used, where that is a model.
	User Usage `json:"user,omitzero"`
	// Elapsed is the as-if time of the run: the durations of its calls and
	// programs and what was waited for them, not agentbench's own work.
	Elapsed time.Duration `json:"elapsed_ns"`
	// Untimed means that the elapsed time is unknown, and Elapsed no more than a lower
	// bound: the run comes from a log without its times.
	Untimed bool `json:"untimed,omitempty"`
	// Next is the request at which the run ended: the agent had nothing more to
	// give, a hard budget had no room for it, or the evaluation was cut; nil: it
	// ended otherwise.
	Next *Next `json:"next,omitempty"`
	// Servers are those whose tools the agent could use, as they told of them.
	Servers []ToolServer `json:"servers,omitempty"`
	// Simulated means that a simulated model had a part in the run.
	Simulated bool `json:"simulated,omitempty"`
	// Extra is what the log of another tool has of the run beyond all this: an object.
	Extra json.RawMessage `json:"extra,omitempty"`
	// Volatile is left out where records are compared byte for byte.
	Volatile Volatile `json:"volatile,omitzero"`
}

// Image is a picture that models were shown with the prompt.
type Image struct {
	Name   string `json:"name"` // its path as the data set has it, or how its data: URL begins
	SHA256 string `json:"sha256,omitempty"`
}

// Volatile is what two equal runs may differ in.
type Volatile struct {
	Started time.Time     `json:"started,omitzero"`
	Wall    time.Duration `json:"wall_ns,omitempty"`
	Waited  time.Duration `json:"waited_ns,omitempty"` // rate limits and back-off
	Cached  int           `json:"cached,omitempty"`    // calls answered from the cache
}

// Total is the usage of the agent, of the evaluations and of the user together.
func (r *Run) Total() Usage { return r.Usage.Plus(r.Judging).Plus(r.User) }

// Output is the output that the run returns, nil when it returns none.
func (r *Run) Output() json.RawMessage {
	if r.Outcome.Returned < 1 || r.Outcome.Returned > len(r.Iterations) {
		return nil
	}
	return r.Iterations[r.Outcome.Returned-1].Output
}

// Iteration is one pass of a loop: execute, evaluate, adapt.
type Iteration struct {
	N        int    `json:"n"` // from 1
	Phase    string `json:"phase,omitempty"`
	Strategy string `json:"strategy,omitempty"`
	// Request is the hash of what the agent was sent.
	Request string `json:"request,omitempty"`
	// Output is JSON: a string where the agent replies text.
	Output json.RawMessage `json:"output,omitempty"`
	// NotUTF8 means that the agent wrote bytes that are not UTF-8: Output has U+FFFD
	// in their places, OutputB64 is what was written.
	NotUTF8    bool        `json:"not_utf8,omitempty"`
	OutputB64  []byte      `json:"output_b64,omitempty"`
	Thinking   string      `json:"thinking,omitempty"`
	Evaluation *Evaluation `json:"evaluation,omitempty"` // nil: not evaluated
	Calls      []Call      `json:"calls,omitempty"`
	ToolCalls  []ToolCall  `json:"tool_calls,omitempty"`
	// Prompt is what the iteration began with, and Steps is what followed, where
	// the agent converses: it has tools, delegates, memory or a user. Together
	// with ToolCalls they are the conversation, whole and in its order, whatever
	// part of it was sent.
	Prompt string `json:"prompt,omitempty"`
	Steps  []Step `json:"steps,omitempty"`
	// Ended is set where the agent ended the run by itself.
	Ended *Ended `json:"ended,omitempty"`
	// Error is set where the iteration failed, and with it Confidence, which is then
	// 0: see Fail.
	Error      *Error   `json:"error,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`
	// Workspace is the state in which the iteration left the run's folder, where it has one.
	Workspace *Workspace `json:"workspace,omitempty"`
	// Skipped means that the loop does not evaluate in this phase: conditions,
	// guards and best pass over the iteration.
	Skipped bool `json:"skipped,omitempty"`
	// Cut names what cancelled the iteration in flight: a timeout, a budget, a
	// signal. A cut iteration has no evaluation and is never best, unless it has a
	// workspace: what it left there is evaluated, and counts.
	Cut string `json:"cut,omitempty"`
	// Start and End are as-if times since the start of the run.
	Start time.Duration `json:"start_ns"`
	End   time.Duration `json:"end_ns"`
	// Untimed means that End is unknown, and no more than a lower bound.
	Untimed bool `json:"untimed,omitempty"`
	// Working is the part of End-Start that was not waited for rate limits.
	Working time.Duration `json:"working_ns,omitempty"`
	// Adaptation is what changes for the next iteration; empty at the last.
	Adaptation string `json:"adaptation,omitempty"`
	// Extra is what the log of another tool has of the iteration beyond all this: an object.
	Extra json.RawMessage `json:"extra,omitempty"`
	// Digest is what records and light runs have; nil of a run that is whole.
	Digest *Digest `json:"digest,omitempty"`
}

// Fail makes the iteration one that failed, and so has the confidence 0; nil: it
// did not fail.
func (it *Iteration) Fail(err *Error) {
	it.Error, it.Confidence = err, nil
	if err != nil {
		it.Confidence = new(float64)
	}
}

// SpentByUser is what the user used who answered the agent.
func (it *Iteration) SpentByUser() (user Usage) {
	for i := range it.Calls {
		if it.Calls[i].Role == RoleUser {
			user = user.Plus(it.Calls[i].Usage)
		}
	}
	return user
}

// Evaluated reports whether there is an evaluation to go by: one that conditions,
// scores and the choice of the best may read.
func (it *Iteration) Evaluated() bool {
	return it.Evaluation != nil && it.Error == nil && !it.Lost() && !it.Skipped
}

// Lost reports whether the iteration was cut, and left nothing that counts: it has no
// workspace, or what is there was not evaluated.
func (it *Iteration) Lost() bool {
	return it.Cut != "" && (it.Workspace == nil || it.Evaluation == nil && !it.Skipped)
}

// StepCount is how many steps the iteration has: turns of an agent that converses, or
// calls of a program that are steps.
func (it *Iteration) StepCount() int {
	if !it.OfProgram() {
		return len(it.Steps)
	}
	steps := 0
	for i := range it.Calls {
		if c := &it.Calls[i]; c.Step > 0 && c.Role == RoleAgent {
			steps++
		}
	}
	return steps
}

// OfProgram reports whether a program executed the iteration that called models of the suite.
func (it *Iteration) OfProgram() bool {
	for i := range it.Calls {
		if c := &it.Calls[i]; c.Conversation != "" && c.Role == RoleAgent {
			return true
		}
	}
	return false
}

// ToolsUnknown reports whether a program executed the iteration whose record does not have what the answers to its calls asked for.
func (it *Iteration) ToolsUnknown() bool {
	if len(it.Steps) > 0 {
		return false
	}
	for i := range it.Calls {
		if c := &it.Calls[i]; c.Role == RoleAgent && c.Kind.IsStep() && c.Ended > 0 && c.Error == nil && (it.Cut == "" || c.Ended <= it.End) {
			return true
		}
	}
	return false
}

// MainStepCount is how many of its steps are of the main conversation of a program.
func (it *Iteration) MainStepCount() (steps int) {
	for i := range it.Calls {
		if c := &it.Calls[i]; c.Step > 0 && c.Kind == MainCall && c.Role == RoleAgent {
			steps++
		}
	}
	return steps
}

// Spent is what the iteration used: the agent's part, tool calls included, and
// the part of the evaluation.
func (it *Iteration) Spent() (agent, judging Usage) {
	for i := range it.Calls {
		switch it.Calls[i].Role {
		case RoleJudge:
			judging = judging.Plus(it.Calls[i].Usage)
		case RoleUser:
		default:
			agent = agent.Plus(it.Calls[i].Usage)
		}
	}
	agent.ToolCalls += int64(len(it.ToolCalls))
	return agent, judging
}

// Total is what the iteration used in all: agent, evaluation and user.
func (it *Iteration) Total() Usage {
	agent, judging := it.Spent()
	return agent.Plus(judging).Plus(it.SpentByUser())
}

// Step is one turn of a conversing agent: a reply of the model, the tools that it
// called, and what the user answered where it called none.
type Step struct {
	Text     string `json:"text,omitempty"` // of the reply, with the calls that are written in it
	Thinking string `json:"thinking,omitempty"`
	// Blocks are the reply in its provider's own form, where text and calls are not all that has to be sent back:
	// signed thinking, encrypted reasoning. A JSON array.
	Blocks json.RawMessage `json:"blocks,omitempty"`
	Call   int             `json:"call"`            // place of the model's call among the iteration's Calls, from 1
	Tools  int             `json:"tools,omitempty"` // so many of the iteration's ToolCalls are of this step, in their order
	// Pruned is how many of the conversation's messages were left out of what was
	// sent.
	Pruned int    `json:"pruned,omitempty"`
	User   string `json:"user,omitempty"` // what the user answered
	// Unanswered is the hash of the request to which the model that plays the user
	// had nothing more to give. That is no call.
	Unanswered string `json:"unanswered,omitempty"`
}

// Workspace is a state of a run's folder. Paths are those that differ from the seed, in
// their order.
type Workspace struct {
	Tree       string   `json:"tree"`            // names the state in the store of the result folder
	Reset      bool     `json:"reset,omitempty"` // the iteration began with the seed again
	Changed    []string `json:"changed,omitempty"`
	Added      []string `json:"added,omitempty"`
	Deleted    []string `json:"deleted,omitempty"`
	Insertions int      `json:"insertions,omitempty"` // lines
	Deletions  int      `json:"deletions,omitempty"`
	Diff       string   `json:"diff,omitempty"`
	Truncated  bool     `json:"truncated,omitempty"` // the diff is longer than what is here
	// Left are paths that the state does not have, or not as they were, and why.
	Left []string `json:"left_out,omitempty"`
}

// Field is what expressions see of a state; that of a run without a folder is empty.
func (w *Workspace) Field(name string) any {
	if w == nil {
		w = &Workspace{}
	}
	paths := func(texts []string) []any {
		list := make([]any, len(texts))
		for i, text := range texts {
			list[i] = text
		}
		return list
	}
	switch name {
	case "changed":
		return paths(w.Changed)
	case "added":
		return paths(w.Added)
	case "deleted":
		return paths(w.Deleted)
	case "insertions":
		return int64(w.Insertions)
	case "deletions":
		return int64(w.Deletions)
	case "diff":
		return w.Diff
	case "truncated":
		return w.Truncated
	}
	return nil
}

// Evaluation is the judgement of an iteration inside the loop.
type Evaluation struct {
	Confidence   float64  `json:"confidence"`
	Passed       bool     `json:"passed"`
	Feedback     string   `json:"feedback,omitempty"`
	Improvements []string `json:"improvements,omitempty"`
	Checks       []Check  `json:"checks,omitempty"` // in the order declared
	// Fault says what was wrong with the reply or the evaluation itself, for
	// example a reply that is not JSON.
	Fault string `json:"fault,omitempty"`
}

// Check is the result of one declared check.
type Check struct {
	Name     string  `json:"name"`
	Passed   bool    `json:"passed"`
	Weight   float64 `json:"weight,omitempty"` // 0 means 1
	Feedback string  `json:"feedback,omitempty"`
	Error    string  `json:"error,omitempty"` // the expression's error; the check then fails
}

// Share is the weighted share of the checks that passed, 0 without checks.
func Share(checks []Check) float64 {
	var passed, all float64
	for i := range checks {
		weight := checks[i].Weight
		weight = cmp.Or(weight, 1)
		all += weight
		if checks[i].Passed {
			passed += weight
		}
	}
	if all == 0 {
		return 0
	}
	return passed / all
}

// Next is a request that was not answered, and is no call.
type Next struct {
	Role     Role   `json:"role,omitempty"` // whose call it would have been; "": the agent's
	Phase    string `json:"phase,omitempty"`
	Strategy string `json:"strategy,omitempty"`
	// Request is the hash of what would have been sent.
	Request  string `json:"request,omitempty"`
	Reserved *Usage `json:"reserved,omitempty"` // under a hard budget
	// Kind, Conversation and Arrived are those of the call of a program that was refused.
	Kind         CallKind      `json:"kind,omitempty"`
	Conversation string        `json:"conversation,omitempty"`
	Arrived      time.Duration `json:"arrived_ns,omitempty"`
}

// Role tells whose call it was.
type Role string

// The roles.
const (
	RoleAgent   Role = "agent"
	RoleJudge   Role = "judge"   // a model or a program that evaluates inside the loop
	RoleProgram Role = "program" // an agent that is a program
	RoleHTTP    Role = "http"    // an agent that is an endpoint
	RoleA2A     Role = "a2a"     // an agent that is a remote agent
	RoleUser    Role = "user"    // a model that answers the agent as its user
	// RoleDelegate is a call of any of these that another agent made, to which the
	// run's own handed a task.
	RoleDelegate Role = "delegate"
)

// Call is one request to a model, or one run of a program.
type Call struct {
	Role  Role   `json:"role"`
	Model string `json:"model,omitempty"` // the name in the suite
	// Delegate is the name of the delegate that made the call.
	Delegate string `json:"delegate,omitempty"`
	// Answered is what the server says has answered, where it is not the model
	// that was asked for.
	Answered string `json:"answered,omitempty"`
	// Tier is the service tier that the provider reports, "": none, or the usual one.
	Tier string `json:"tier,omitempty"`
	// Reported is what the provider reports of the usage beyond Usage: a JSON object of numbers by their names, those
	// of nested objects joined by dots.
	Reported json.RawMessage `json:"reported,omitempty"`
	// Request is the hash of what was sent.
	Request  string        `json:"request,omitempty"`
	Usage    Usage         `json:"usage"`
	Reserved *Usage        `json:"reserved,omitempty"`  // under a hard budget, and of every call of a program
	Charged  *Usage        `json:"charged,omitempty"`   // by a hard budget, or of a program's call, where it is not Usage
	Start    time.Duration `json:"start_ns"`            // as-if, since the start of the run
	Duration time.Duration `json:"duration_ns"`         // as-if
	Waited   time.Duration `json:"waited_ns,omitempty"` // for rate limits, beside Duration
	Attempts int           `json:"attempts,omitempty"`  // requests sent; 0 means 1
	Unsent   int           `json:"unsent,omitempty"`    // of these, those of which no byte reached a server
	Cached   bool          `json:"cached,omitempty"`
	Finish   string        `json:"finish,omitempty"` // the model's finish reason
	Stderr   string        `json:"stderr,omitempty"` // a program's
	// Exit is the exit code of a program that ended by itself; for a signal 128 and its number.
	Exit int `json:"exit,omitempty"`
	// Version is what a program that called models named itself: the User-Agent of its first call in the iteration.
	Version string `json:"version,omitempty"`
	// Conversation is that of the program that made the call: main, or a name such as sub1; "": no program did.
	Conversation string `json:"conversation,omitempty"`
	// Kind says what the call of a program is for.
	Kind CallKind `json:"kind,omitempty"`
	// Step is the number of the step that the call is, over all conversations of the run, from 1; 0: it is none, such as one that its
	// server refused as too long.
	Step int `json:"step,omitempty"`
	// Arrived, FirstByte and Ended are when the call of a program arrived, when its answer began and when it was over: as-if, since
	// the start of the run. No two of a run are equal. 0: that did not happen.
	Arrived   time.Duration `json:"arrived_ns,omitempty"`
	FirstByte time.Duration `json:"first_byte_ns,omitempty"`
	Ended     time.Duration `json:"ended_ns,omitempty"`
	// Stdout is a program's where the output does not tell it whole: the program
	// failed, or wrote bytes that are not UTF-8.
	Stdout string `json:"stdout,omitempty"`
	Error  *Error `json:"error,omitempty"`
	// Tree is the state of the run's folder when the call of a program arrived; "": it
	// was not kept.
	Tree string `json:"tree,omitempty"`
	// InputCost is what the input of a program's call costs at least.
	InputCost Money `json:"input_pusd,omitempty"`
}

// ChargedToRun is what a hard budget of the run was charged for the call; nothing where it was reserved in none.
func (c *Call) ChargedToRun() Usage {
	switch {
	case c.Charged != nil:
		return *c.Charged
	case c.Reserved != nil:
		return c.Usage
	}
	return Usage{}
}

// CutAt is the call of a program as it stands when it is cancelled in flight.
func (c *Call) CutAt(at time.Duration) Call {
	cut := Call{
		Role: c.Role, Model: c.Model, Request: c.Request, Usage: c.Usage, Reserved: c.Reserved, InputCost: c.InputCost, Start: c.Start,
		Conversation: c.Conversation, Kind: c.Kind, Step: c.Step, Arrived: c.Arrived, Tree: c.Tree,
	}
	if c.FirstByte <= at {
		cut.FirstByte = c.FirstByte
	}
	cut.Lose()
	return cut
}

// Lose makes the usage of a program's call one that nobody will know: at least its input was used, and at most what was
// reserved for it, else what it used where it was not cancelled. Both are estimates where the input is one.
func (c *Call) Lose() {
	most := c.Usage.AtMost()
	if c.Charged = c.Reserved; c.Reserved != nil {
		most = *c.Reserved
	}
	c.Usage = Usage{
		Calls: 1, Cut: 1, Estimated: most.Estimated, InputTokens: most.InputTokens, Unpriced: most.Unpriced, Cost: min(c.InputCost, most.Cost),
		OpenTokens: most.OutputTokens, OpenCost: max(0, most.Cost-c.InputCost),
	}
}

// CallKind says what a program makes a call for.
type CallKind string

// The kinds. A call of the first two is a step, unless its server refuses it as too long.
const (
	MainCall  CallKind = "main"  // its own work
	AgentCall CallKind = "agent" // the work of a sub-agent
	SideCall  CallKind = "side"  // titles, compaction, summaries
	RetryCall CallKind = "retry" // the latest call of the conversation once more, which had no complete answer
)

// IsStep reports whether a call of the kind is a step when it arrives.
func (k CallKind) IsStep() bool { return k == MainCall || k == AgentCall }

// ToolCall is one use of a tool, or one task handed to a delegate.
type ToolCall struct {
	// Tool is the name that was called; "" where a call could not be read.
	Tool   string `json:"tool"`
	ID     string `json:"id,omitempty"`     // that the model gave a native call
	Server string `json:"server,omitempty"` // of MCP, that the tool is of
	// Arguments are JSON: a string with what the model wrote where that is not JSON.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Result is JSON: a string where the tool gave a text. It may come with an
	// error, of which it is then what the tool gave before. A call has neither that
	// was in flight when its iteration was cut.
	Result json.RawMessage `json:"result,omitempty"`
	// ResultB64 is what the tool wrote where that is not UTF-8: Result has U+FFFD in
	// its places.
	ResultB64 []byte        `json:"result_b64,omitempty"`
	Start     time.Duration `json:"start_ns"`
	Duration  time.Duration `json:"duration_ns"`
	Waited    time.Duration `json:"waited_ns,omitempty"` // part of Duration: for rate limits and the like
	Error     *Error        `json:"error,omitempty"`
	// Cached means that a pure tool was not asked: its answer to the same arguments
	// was known.
	Cached   bool `json:"cached,omitempty"`
	Attempts int  `json:"attempts,omitempty"` // 0 means 1
	// Delegate is the name of the delegate that the task was handed to; Delegated
	// is its own run, where it is a loop. The calls of that run stand among those
	// of the iteration, too, and are counted there.
	Delegate  string `json:"delegate,omitempty"`
	Delegated *Run   `json:"delegated,omitempty"`
}

// ToolServer is a server of tools, as it told of itself to a run.
type ToolServer struct {
	Name  string       `json:"name"`
	Tools []ServerTool `json:"tools"`
}

// ServerTool is a tool that a server told of.
type ServerTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema
}

// Ended tells how an agent ended its run.
type Ended struct {
	// Reason is final_response, tool_ended, question_asked, capability, agent_ended,
	// gave_up or user_ended.
	Reason string `json:"reason"`
	// Tool is the name of the tool whose result it was, "" where no tool ended it.
	Tool   string          `json:"tool,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
}

// Trace is what an agent that converses would do with the replies, the results
// and the user's answers of a recorded iteration.
type Trace struct {
	// Requests are the hashes of what its model would be sent, one for each step.
	// They may be fewer than the recorded steps: it would have made no more. There
	// is one more where it would continue, or would ask again a user or model that had nothing
	// more to give.
	Requests []string
	// Over means that it would make no step after these.
	Over bool
	// Output is what it would give in place of an answer because it used up its steps,
	// nil: it did not. Fault is why that is not the JSON that it should be.
	Output json.RawMessage
	Fault  string
	// Why says what else would differ after the last of Requests, "": nothing.
	Why string
}

// WithoutVolatile is the run without what two equal runs may differ in: when it ran, how
// often requests were sent and how long they waited, what came from the cache
// and what was paid, and so for the runs of delegates. Records are compared in this form, sorted by id.
func (r *Run) WithoutVolatile() *Run {
	same := *r
	same.Volatile = Volatile{}
	same.Iterations = slices.Clone(r.Iterations)
	for i := range same.Iterations {
		it := &same.Iterations[i]
		it.Calls, it.ToolCalls = slices.Clone(it.Calls), slices.Clone(it.ToolCalls)
		for c := range it.Calls {
			call := &it.Calls[c]
			call.Waited, call.Attempts, call.Unsent, call.Cached = 0, 0, 0, false
		}
		for t := range it.ToolCalls {
			used := &it.ToolCalls[t]
			used.Attempts, used.Cached = 0, false
			if used.Delegated != nil {
				used.Delegated = used.Delegated.WithoutVolatile()
			}
		}
	}
	return &same
}
