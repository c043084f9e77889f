// Package record decides what a run leaves behind: the trajectory of one
// (configuration, task, trial), its outcome, its scores, and how these are
// written to and read from a result folder.
//
// The stages of the data, in order: a Run is appended to records.jsonl as it
// finishes, its Signals (the same run without texts) to signals.jsonl and its
// Scores to scores.jsonl; a Manifest says under which spec they came to be.
// The package uses the standard library only.
package record

import (
	"encoding/json"
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
	// Untimed says that the elapsed time is unknown, and Elapsed no more than a lower
	// bound: the run comes from a log without its times.
	Untimed bool `json:"untimed,omitempty"`
	// Next is the request at which the run ended: the agent had nothing more to
	// give, a hard budget had no room for it, or the evaluation was cut; nil: it
	// ended otherwise.
	Next *Next `json:"next,omitempty"`
	// Servers are those whose tools the agent could use, as they told of them.
	Servers []ToolServer `json:"servers,omitempty"`
	// Simulated says that a simulated model had a part in the run.
	Simulated bool `json:"simulated,omitempty"`
	// Volatile is left out where records are compared byte for byte.
	Volatile Volatile `json:"volatile,omitzero"`
}

// Volatile is what two equal runs may differ in.
type Volatile struct {
	Started  time.Time     `json:"started,omitzero"`
	Wall     time.Duration `json:"wall_ns,omitempty"`
	Waited   time.Duration `json:"waited_ns,omitempty"` // rate limits and back-off
	Attempts int           `json:"attempts,omitempty"`  // requests sent, retries included
	Cached   int           `json:"cached,omitempty"`    // calls answered from the cache
	Paid     Usage         `json:"paid,omitzero"`       // what was really spent
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
	// NotUTF8 says that the agent wrote bytes that are not UTF-8: Output has U+FFFD
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
	// Skipped says that the loop does not evaluate in this phase: conditions,
	// guards and best pass over the iteration.
	Skipped bool `json:"skipped,omitempty"`
	// Cut names what cancelled the iteration in flight: a timeout, a budget, a
	// signal. A cut iteration has no evaluation and is never best.
	Cut string `json:"cut,omitempty"`
	// Start and End are as-if times since the start of the run.
	Start time.Duration `json:"start_ns"`
	End   time.Duration `json:"end_ns"`
	// Untimed says that End is unknown, and no more than a lower bound.
	Untimed bool `json:"untimed,omitempty"`
	// Working is the part of End-Start that was not waited for rate limits.
	Working time.Duration `json:"working_ns,omitempty"`
	// Adaptation is what changes for the next iteration; empty at the last.
	Adaptation string `json:"adaptation,omitempty"`
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

// Evaluated says that there is an evaluation to go by: one that conditions,
// scores and the choice of the best may read.
func (it *Iteration) Evaluated() bool {
	return it.Evaluation != nil && it.Error == nil && it.Cut == "" && !it.Skipped
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
	Call     int    `json:"call"`            // place of the model's call among the iteration's Calls, from 1
	Tools    int    `json:"tools,omitempty"` // so many of the iteration's ToolCalls are of this step, in their order
	// Pruned is how many of the conversation's messages were left out of what was
	// sent.
	Pruned int    `json:"pruned,omitempty"`
	User   string `json:"user,omitempty"` // what the user answered
	// Unanswered is the hash of the request to which the model that plays the user
	// had nothing more to give. That is no call.
	Unanswered string `json:"unanswered,omitempty"`
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
		if weight == 0 {
			weight = 1
		}
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
	// Request is the hash of what was sent.
	Request  string        `json:"request,omitempty"`
	Usage    Usage         `json:"usage"`
	Reserved *Usage        `json:"reserved,omitempty"`  // under a hard budget
	Charged  *Usage        `json:"charged,omitempty"`   // by a hard budget, where it is not Usage
	Start    time.Duration `json:"start_ns"`            // as-if, since the start of the run
	Duration time.Duration `json:"duration_ns"`         // as-if
	Waited   time.Duration `json:"waited_ns,omitempty"` // for rate limits, beside Duration
	Attempts int           `json:"attempts,omitempty"`  // requests sent; 0 means 1
	Unsent   int           `json:"unsent,omitempty"`    // of these, those of which no byte reached a server
	Cached   bool          `json:"cached,omitempty"`
	Finish   string        `json:"finish,omitempty"` // the model's finish reason
	Stderr   string        `json:"stderr,omitempty"` // a program's
	// Stdout is a program's where the output does not tell it whole: the program
	// failed, or wrote bytes that are not UTF-8.
	Stdout string `json:"stdout,omitempty"`
	Error  *Error `json:"error,omitempty"`
}

// ToolCall is one use of a tool, or one task handed to a delegate.
type ToolCall struct {
	// Tool is the name that was called; "" where a call could not be read.
	Tool   string `json:"tool"`
	ID     string `json:"id,omitempty"`     // that the model gave a native call
	Server string `json:"server,omitempty"` // of MCP, that the tool is of
	// Arguments are JSON: a string with what the model wrote where that is none.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Result is JSON: a string where the tool gave a text. It may stand beside an
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
	// Cached says that a pure tool was not asked: its answer to the same arguments
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
