package record

import (
	"errors"
	"fmt"
	"syscall"
)

// Status tells how a run ended, apart from whether its loop believed in it.
type Status string

// The statuses.
const (
	Completed Status = "completed" // a condition, a guard or the agent ended it
	Failed    Status = "failed"    // the agent failed; the run counts
	Faulted   Status = "fault"     // infrastructure failed; the run is excluded and retried on resume
	Cancelled Status = "cancelled" // a signal or the suite's budget; retried on resume
)

// Outcome is how a run ended and what it returns.
type Outcome struct {
	Status Status `json:"status"`
	Reason Reason `json:"reason"`
	Class  Class  `json:"class"`
	// Fired is the name of the condition or guard that decided.
	Fired string `json:"fired,omitempty"`
	// Held are the names of all leaves that held at the stop, in order.
	Held []string `json:"held,omitempty"`
	// Success is what the loop believed. Scores say what was true.
	Success bool `json:"success"`
	// Returned is the iteration whose output is returned, from 1; 0: none.
	Returned int `json:"returned,omitempty"`
	// Limit is that of the guard or the maximum that decided, and Used how much of
	// it was used: times, iterations, tokens, calls or USD. 0: something else did.
	Used  float64 `json:"used,omitempty"`
	Limit float64 `json:"limit,omitempty"`
	Error *Error  `json:"error,omitempty"`
}

// Counts reports whether the run belongs into metrics.
func (o *Outcome) Counts() bool { return o.Status.counts() }

func (s Status) counts() bool { return s == Completed || s == Failed }

// Reason is why a run stopped: one of a closed list, or "when:" and the name of
// the condition.
type Reason string

// The reasons, in the order of decision where one exists.
const (
	ReasonCancelled           Reason = "cancelled"
	ReasonSuiteBudget         Reason = "suite_budget"
	ReasonError               Reason = "error"
	ReasonPassed              Reason = "passed"
	ReasonChecklistComplete   Reason = "checklist_complete"
	ReasonStrategySucceeded   Reason = "strategy_succeeded"
	ReasonFinalResponse       Reason = "final_response"
	ReasonToolEnded           Reason = "tool_ended"
	ReasonQuestionAsked       Reason = "question_asked"
	ReasonCapability          Reason = "capability"
	ReasonAgentEnded          Reason = "agent_ended"
	ReasonGaveUp              Reason = "gave_up" // the agent ended the run, and the best iteration counts
	ReasonUserEnded           Reason = "user_ended"
	ReasonConfidence          Reason = "confidence"
	ReasonRepeated            Reason = "repeated"
	ReasonConsecutive         Reason = "consecutive"
	ReasonNoImprovement       Reason = "no_improvement"
	ReasonTimeout             Reason = "timeout"
	ReasonStrategiesExhausted Reason = "strategies_exhausted"
	ReasonPhasesComplete      Reason = "phases_complete"
	ReasonMaxIterations       Reason = "max_iterations"
	ReasonCircuitBreaker      Reason = "circuit_breaker"
	ReasonStagnation          Reason = "stagnation"
	ReasonRepeatedOutput      Reason = "repeated_output"
	ReasonDegradation         Reason = "degradation"
	ReasonBudgetTokens        Reason = "budget_tokens"
	ReasonBudgetCalls         Reason = "budget_calls"
	ReasonBudgetCost          Reason = "budget_cost"
	ReasonBudgetSteps         Reason = "budget_steps"
	ReasonAbsolute            Reason = "absolute_max_iterations"
)

// ReasonMaxSteps cuts an iteration of a program, after which the run goes on. It ends runs of other tools: by a limit that counts
// other things than iterations.
const ReasonMaxSteps Reason = "max_steps"

// The reasons that only logs of other tools tell.
const (
	ReasonTooManyErrors Reason = "too_many_errors"
	ReasonEnvironment   Reason = "environment_error"
	ReasonUnknown       Reason = "unknown" // the log does not say what cut the run
)

// ReasonWhen is the reason of a `when` condition of that name.
func ReasonWhen(name string) Reason { return Reason("when:" + name) }

// Class groups reasons.
type Class string

// The classes.
const (
	ByCondition Class = "condition"
	ByGuard     Class = "guard"
	ByAgent     Class = "agent"
	ByBudget    Class = "budget"
	ByFault     Class = "fault"
	ByUnknown   Class = "unknown" // the log of another tool does not say
)

// ErrorClass says what kind of thing went wrong.
type ErrorClass string

// The error classes. Those of the first group are faults of the infrastructure:
// the run is excluded from metrics and retried on resume. Those of the second
// are failures of the agent: the run counts.
const (
	RateLimit      ErrorClass = "rate_limit"
	Quota          ErrorClass = "quota"
	Server         ErrorClass = "server"
	Network        ErrorClass = "network"
	CallTimeout    ErrorClass = "timeout"
	Auth           ErrorClass = "auth"
	InvalidRequest ErrorClass = "invalid_request"
	Incomplete     ErrorClass = "incomplete"
	BadResponse    ErrorClass = "bad_response"
	Exhausted      ErrorClass = "exhausted"   // a script ran out of answers
	Internal       ErrorClass = "internal"    // a panic, a fault of agentbench
	Resources      ErrorClass = "resources"   // this machine has none left: file descriptors
	Expression     ErrorClass = "expression"  // of a condition or a prompt
	Setup          ErrorClass = "setup"       // a workspace could not be made, or its state not be kept
	Unstarted      ErrorClass = "tool_server" // a server of tools did not start

	ContextLength ErrorClass = "context_length"
	ContentFilter ErrorClass = "content_filter"
	Program       ErrorClass = "program"   // exit other than 0
	Tool          ErrorClass = "tool"      // a tool failed, or gave nothing in time
	BadCall       ErrorClass = "bad_call"  // a tool call that cannot be made: unknown, unreadable, wrong arguments
	NoAnswer      ErrorClass = "no_answer" // an empty reply
	Unjudged      ErrorClass = "unjudged"  // confidence, passed or feedback could not be evaluated on the output
)

// ErrorClasses are all of them.
var ErrorClasses = []ErrorClass{
	RateLimit, Quota, Server, Network, CallTimeout, Auth, InvalidRequest, Incomplete, BadResponse, Exhausted, Internal, Resources, Expression, Setup, Unstarted,
	ContextLength, ContentFilter, Program, Tool, BadCall, NoAnswer, Unjudged,
}

// Fault reports whether errors of the class are the infrastructure's.
func (c ErrorClass) Fault() bool {
	switch c {
	case ContextLength, ContentFilter, Program, Tool, BadCall, NoAnswer, Unjudged:
		return false
	}
	return true
}

// Infrastructure reports whether errors of the class end the run in which they
// occur: all faults but that of an expression in a prompt or a command, which
// fails its iteration only.
func (c ErrorClass) Infrastructure() bool { return c.Fault() && c != Expression }

// OutOfFiles is the error of what could not be done because no file descriptor was
// left, which is no fault of a server or a program; nil where err is another one.
func OutOfFiles(err error) *Error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return &Error{Class: Resources, Message: "agentbench has no file descriptor left: " + err.Error()}
	}
	return nil
}

// Error is an error as a record has it.
type Error struct {
	Class   ErrorClass `json:"class"`
	Message string     `json:"message"`
}

// Error makes it usable as a Go error.
func (e *Error) Error() string { return string(e.Class) + ": " + e.Message }

// Errorf is an error of a class with a formatted message.
func Errorf(class ErrorClass, format string, args ...any) *Error {
	return &Error{Class: class, Message: fmt.Sprintf(format, args...)}
}
