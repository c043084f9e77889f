package record

import (
	"encoding/json"
	"time"
)

// EventType says what happened.
type EventType string

// The events of a run, in their order. What stands in brackets comes once for
// each iteration, in round ones as often as it applies. Every event has run,
// event and at_ns; those of an iteration have iteration, phase and strategy.
//
//	run_started            configuration, task, trial
//	[iteration_started     thinking: what an agent thought that does not converse
//	 (tool_called)         tool, arguments
//	 (tool_returned)       tool, result or error
//	 (message)             output
//	 (failed)              error and confidence: the iteration failed; cut: it was cut
//	 (evaluated)           confidence, passed, feedback: the working memory of the iteration
//	 (adapted)             adaptation: what changes for the next iteration
//	 iteration_completed   usage, judging, user, latency_ns]
//	turn_completed         iterations, steps
//	episode                the final memory entry: action, description, outcome, confidence
//	agent_ended            reason, class, success, output, payload
//
// The last three come on every way out, once each. Where an agent converses,
// these come between the start of the iteration and its message, all but the
// first with their step:
//
//	user_message           text: the prompt
//	(agent_response        text, thinking, pruned, usage
//	 (tool_called)         call, server, tool, arguments
//	 (tool_returned)       call, server, tool, result or error, cached
//	 (delegation_requested) call, delegate, arguments
//	 (delegation_returned) call, delegate, result or error, usage
//	 (user_message)        text: the user's answer)
const (
	RunStarted          EventType = "run_started"
	IterationStarted    EventType = "iteration_started"
	UserMessage         EventType = "user_message"
	AgentResponse       EventType = "agent_response"
	ToolCalled          EventType = "tool_called"
	ToolReturned        EventType = "tool_returned"
	DelegationRequested EventType = "delegation_requested"
	DelegationReturned  EventType = "delegation_returned"
	Message             EventType = "message"
	IterationFailed     EventType = "failed"
	Evaluated           EventType = "evaluated"
	Adapted             EventType = "adapted"
	IterationCompleted  EventType = "iteration_completed"
	TurnCompleted       EventType = "turn_completed"
	EpisodeRecorded     EventType = "episode"
	AgentEnded          EventType = "agent_ended"
)

// EventTypes are all of them, in the order in which they first come in a run.
func EventTypes() []EventType {
	return []EventType{
		RunStarted, IterationStarted, UserMessage, AgentResponse, ToolCalled, ToolReturned, DelegationRequested,
		DelegationReturned, Message, IterationFailed, Evaluated, Adapted, IterationCompleted, TurnCompleted,
		EpisodeRecorded, AgentEnded,
	}
}

// Event is one thing that happened in a run. As JSON it is one line of the file
// that `--events` writes; EventType tells which fields which event has.
type Event struct {
	Type      EventType     `json:"event"`
	Run       string        `json:"run"`
	Iteration int           `json:"iteration,omitempty"` // from 1; 0 outside of iterations
	At        time.Duration `json:"at_ns"`               // as-if, since the start of the run
	Phase     string        `json:"phase,omitempty"`
	Strategy  string        `json:"strategy,omitempty"`

	Configuration string `json:"configuration,omitempty"`
	Task          string `json:"task,omitempty"`
	Trial         int    `json:"trial,omitempty"`

	// Step and Call are places in a conversing agent's iteration, from 1: among its
	// steps, and among its calls of tools and delegates.
	Step      int             `json:"step,omitempty"`
	Text      string          `json:"text,omitempty"`
	Thinking  string          `json:"thinking,omitempty"`
	Pruned    int             `json:"pruned,omitempty"` // messages that were not sent
	Call      int             `json:"call,omitempty"`
	Server    string          `json:"server,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Delegate  string          `json:"delegate,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Cached    bool            `json:"cached,omitempty"`
	Output    json.RawMessage `json:"output,omitempty"`
	Error     *Error          `json:"error,omitempty"`
	Cut       string          `json:"cut,omitempty"`

	Confidence *float64      `json:"confidence,omitempty"`
	Passed     *bool         `json:"passed,omitempty"`
	Feedback   string        `json:"feedback,omitempty"`
	Adaptation string        `json:"adaptation,omitempty"`
	Usage      *Usage        `json:"usage,omitempty"`   // the agent's, of the call or of the delegate
	Judging    *Usage        `json:"judging,omitempty"` // the evaluation's
	User       *Usage        `json:"user,omitempty"`    // of the one who answers the agent
	Latency    time.Duration `json:"latency_ns,omitempty"`

	Iterations  *int           `json:"iterations,omitempty"`
	Steps       int            `json:"steps,omitempty"` // of a conversing agent, over all iterations
	Action      string         `json:"action,omitempty"`
	Description string         `json:"description,omitempty"`
	Outcome     EpisodeOutcome `json:"outcome,omitempty"`
	Reason      Reason         `json:"reason,omitempty"`
	Class       Class          `json:"class,omitempty"`
	Success     *bool          `json:"success,omitempty"`
	Payload     *Payload       `json:"payload,omitempty"`
}

// EpisodeOutcome is how an episode is remembered.
type EpisodeOutcome string

// The outcomes: the loop succeeded; it did not, but returns an output; neither.
const (
	EpisodeSuccess EpisodeOutcome = "success"
	EpisodePartial EpisodeOutcome = "partial"
	EpisodeFailed  EpisodeOutcome = "failed"
)

// Payload is the structured error of a run that a limit, a guard or a fault
// ended. Used and Limit are those of the outcome.
type Payload struct {
	Error      string  `json:"error"`
	Used       float64 `json:"used,omitempty"`
	Limit      float64 `json:"limit,omitempty"`
	Stagnation bool    `json:"stagnation,omitempty"`
}
