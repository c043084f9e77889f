package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"
)

// EventType says what happened.
type EventType string

// The events of a run, in their order. What is in brackets comes once for
// each iteration, in round ones as often as it applies. Every event has run,
// event and at_ns; those of an iteration have iteration, phase and strategy.
//
//	run_started            configuration, task, trial
//	[iteration_started     thinking: what an agent thought that does not converse
//	 (tool_called)         tool, arguments
//	 (tool_returned)       tool, result or error
//	 (call_arrived)        conversation, kind, step: a program calls a model
//	 (call_ended)          conversation, kind, step, usage, error
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
	CallArrived         EventType = "call_arrived"
	CallEnded           EventType = "call_ended"
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
		DelegationReturned, CallArrived, CallEnded, Message, IterationFailed, Evaluated, Adapted, IterationCompleted, TurnCompleted,
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

	// Conversation and Kind are those of a program's call; Step is its place among the steps of the run.
	Conversation string   `json:"conversation,omitempty"`
	Kind         CallKind `json:"kind,omitempty"`
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
	Steps       int            `json:"steps,omitempty"` // of a conversing agent or of programs, over all iterations
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

// StepEvents are the events of a step of r.Iterations[i], from 0; the first
// step's begin with those of the iteration's start. Of the run, only its id and
// that iteration up to the step are read, so they can be made as soon as the step
// is whole. Those of all steps are what IterationEvents begins with.
func StepEvents(r *Run, i, step int) []Event {
	it := &r.Iterations[i]
	var events []Event
	if step == 0 {
		events = beginning(it)
	}
	before := 0
	for _, s := range it.Steps[:step] {
		before += s.Tools
	}
	return inIteration(r, it, append(events, stepEvents(it, step, before)...))
}

func beginning(it *Iteration) []Event {
	return []Event{{Type: IterationStarted, At: it.Start}, {Type: UserMessage, At: it.Start, Text: it.Prompt}}
}

// stepEvents are those of one step, before which the iteration called so many
// tools.
func stepEvents(it *Iteration, at, before int) []Event {
	step := &it.Steps[at]
	response := Event{Type: AgentResponse, Step: at + 1, At: it.Start, Text: step.Text, Thinking: step.Thinking, Pruned: step.Pruned}
	if step.Call >= 1 && step.Call <= len(it.Calls) {
		call := &it.Calls[step.Call-1]
		response.At, response.Usage = call.Start+call.Duration, &call.Usage
	}
	first := min(before, len(it.ToolCalls))
	made := it.ToolCalls[first:min(first+step.Tools, len(it.ToolCalls))]
	cut := it.Cut != "" && at == len(it.Steps)-1
	events := append([]Event{response}, toolEvents(made, at+1, before+1, cut)...)
	if step.User == "" {
		return events
	}
	answer := Event{Type: UserMessage, Step: at + 1, At: response.At, Text: step.User}
	until := len(it.Calls) // of the model that plays the user, if one does
	if at+1 < len(it.Steps) {
		until = min(until, it.Steps[at+1].Call-1)
	}
	for n := max(0, step.Call); n < until; n++ {
		if c := &it.Calls[n]; c.Role == RoleUser {
			answer.At = max(response.At, c.Start+c.Duration)
		}
	}
	return append(events, answer)
}

// toolEvents are in the order of time: the calls of one step may overlap. First
// is the number of the first call, 0 where the agent does not converse. With cut, calls
// without a result were in flight when the iteration was cut.
func toolEvents(calls []ToolCall, step, first int, cut bool) []Event {
	events := make([]Event, 0, 2*len(calls))
	for i := range calls {
		c := &calls[i]
		called := Event{Type: ToolCalled, At: c.Start, Tool: c.Tool, Arguments: c.Arguments}
		returned := Event{Type: ToolReturned, At: c.Start + c.Duration, Tool: c.Tool, Result: c.Result, Error: c.Error, Cached: c.Cached}
		if c.Delegate != "" { // a task that is handed over
			called.Type, called.Tool, called.Delegate = DelegationRequested, "", c.Delegate
			returned.Type, returned.Tool, returned.Delegate = DelegationReturned, "", c.Delegate
			if c.Delegated != nil {
				returned.Usage = new(c.Delegated.Total())
			}
		}
		if first > 0 {
			called.Step, called.Call, called.Server = step, first+i, c.Server
			returned.Step, returned.Call, returned.Server = step, first+i, c.Server
		}
		if events = append(events, called); !cut || c.Result != nil || c.Error != nil {
			events = append(events, returned)
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

// programEvents are those of the calls that a program makes, and of the tools that it uses for them, in the order of time: they may
// overlap. One in flight when the iteration was cut has no end.
func programEvents(it *Iteration) (events []Event) {
	said, before := map[int]*Step{}, 0
	for i := range it.Steps {
		s := &it.Steps[i]
		said[s.Call] = s
		first := min(before, len(it.ToolCalls))
		used := toolEvents(it.ToolCalls[first:min(first+s.Tools, len(it.ToolCalls))], i+1, before+1, true)
		if before += s.Tools; s.Call >= 1 && s.Call <= len(it.Calls) {
			for e := range used {
				used[e].Step, used[e].Conversation = it.Calls[s.Call-1].Step, it.Calls[s.Call-1].Conversation
			}
		}
		events = append(events, used...)
	}
	for i := range it.Calls {
		c := &it.Calls[i]
		if c.Conversation == "" {
			continue
		}
		arrived := Event{Type: CallArrived, At: c.Arrived, Conversation: c.Conversation, Kind: c.Kind, Step: c.Step}
		if events = append(events, arrived); c.Ended > 0 {
			ended := arrived
			ended.Type, ended.At, ended.Usage, ended.Error = CallEnded, c.Ended, &c.Usage, c.Error
			if s := said[i+1]; s != nil {
				ended.Text, ended.Thinking = s.Text, s.Thinking
			}
			events = append(events, ended)
		}
	}
	// at one moment a tool returns, the call that tells of it arrives, another one ends, and the tools that it asks for begin
	order := []EventType{ToolReturned, CallArrived, CallEnded, ToolCalled}
	slices.SortStableFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(slices.Index(order, a.Type), slices.Index(order, b.Type)))
	})
	return events
}

// Events derives the events of a run from its record, in their order: StartEvents,
// the IterationEvents of each iteration, EndEvents.
func Events(r *Run) iter.Seq[Event] {
	parts := [][]Event{StartEvents(r)}
	for i := range r.Iterations {
		parts = append(parts, IterationEvents(r, i))
	}
	return slices.Values(slices.Concat(append(parts, EndEvents(r))...))
}

// StartEvents are the events before the first iteration. Of the run, only its
// id, configuration, task and trial are read.
func StartEvents(r *Run) []Event {
	return []Event{{Type: RunStarted, Run: r.ID, Configuration: r.Configuration, Task: r.Task, Trial: r.Trial}}
}

// IterationEvents are the events of r.Iterations[i]. Of the run, only its id and
// that iteration are read, so they can be made as soon as the iteration ended
// and its adaptation is known.
func IterationEvents(r *Run, i int) []Event {
	it := &r.Iterations[i]
	var events []Event
	switch {
	case it.OfProgram():
		events = append([]Event{{Type: IterationStarted, At: it.Start}}, programEvents(it)...)
	case it.Prompt != "" || len(it.Steps) > 0: // a conversation
		events = beginning(it)
		before := 0
		for i := range it.Steps {
			events = append(events, stepEvents(it, i, before)...)
			before += it.Steps[i].Tools
		}
		if before < len(it.ToolCalls) { // of a step that has no reply in the record
			events = append(events, toolEvents(it.ToolCalls[before:], len(it.Steps)+1, before+1, it.Cut != "")...)
		}
	default:
		events = append([]Event{{Type: IterationStarted, At: it.Start, Thinking: it.Thinking}}, toolEvents(it.ToolCalls, 0, 0, false)...)
	}
	if len(it.Output) > 0 {
		events = append(events, Event{Type: Message, At: it.answered(), Output: it.Output})
	}
	if it.Error != nil || it.Cut != "" {
		events = append(events, Event{Type: IterationFailed, At: it.End, Error: it.Error, Cut: it.Cut, Confidence: it.Confidence})
	}
	if e := it.Evaluation; e != nil {
		events = append(events, Event{Type: Evaluated, At: it.End, Confidence: &e.Confidence, Passed: &e.Passed, Feedback: e.Feedback})
	}
	if it.Adaptation != "" {
		events = append(events, Event{Type: Adapted, At: it.End, Adaptation: it.Adaptation})
	}
	usage, judging := it.Spent()
	completed := Event{Type: IterationCompleted, At: it.End, Usage: &usage, Latency: it.End - it.Start}
	if judging != (Usage{}) {
		completed.Judging = &judging
	}
	if user := it.SpentByUser(); user != (Usage{}) {
		completed.User = &user
	}
	return inIteration(r, it, append(events, completed))
}

// inIteration notes in events to which iteration they belong.
func inIteration(r *Run, it *Iteration, events []Event) []Event {
	for e := range events {
		events[e].Run, events[e].Iteration = r.ID, it.N
		events[e].Phase, events[e].Strategy = it.Phase, it.Strategy
	}
	return events
}

// answered is when the agent had given its output: after the last call that was
// not the evaluation's.
func (it *Iteration) answered() time.Duration {
	at := it.Start
	for i := range it.Calls {
		if c := &it.Calls[i]; c.Role != RoleJudge {
			at = max(at, c.Start+c.Duration)
		}
	}
	for i := range it.ToolCalls {
		at = max(at, it.ToolCalls[i].Start+it.ToolCalls[i].Duration)
	}
	return at
}

// EndEvents are the events after the last iteration, the same three on every way
// out.
func EndEvents(r *Run) []Event {
	iterations, success, steps, plural := len(r.Iterations), r.Outcome.Success, 0, "s"
	for i := range r.Iterations {
		steps += r.Iterations[i].StepCount()
	}
	if iterations == 1 {
		plural = ""
	}
	episode := EpisodeFailed
	switch {
	case success:
		episode = EpisodeSuccess
	case r.Outcome.Counts() && r.Output() != nil:
		episode = EpisodePartial
	}
	confidence := 0.0 // of the last iteration that was evaluated or failed
	for _, it := range slices.Backward(r.Iterations) {
		if it.Error == nil && it.Evaluation != nil {
			confidence = it.Evaluation.Confidence
		}
		if it.Error != nil || it.Evaluation != nil {
			break
		}
	}
	return []Event{
		{Type: TurnCompleted, Run: r.ID, At: r.Elapsed, Iterations: &iterations, Steps: steps},
		{Type: EpisodeRecorded, Run: r.ID, At: r.Elapsed, Action: r.Configuration, Outcome: episode, Confidence: &confidence,
			Description: fmt.Sprintf("task %s, trial %d: %d iteration%s, ended by %s", r.Task, r.Trial, iterations, plural, r.Outcome.Reason)},
		{Type: AgentEnded, Run: r.ID, At: r.Elapsed, Reason: r.Outcome.Reason, Class: r.Outcome.Class,
			Success: &success, Output: r.Output(), Error: r.Outcome.Error, Payload: r.payload()},
	}
}

// payload is nil where the run ended by design or by its agent, but for the
// maximum of iterations: it is a limit, not an answer.
func (r *Run) payload() *Payload {
	o := &r.Outcome
	maximum := o.Reason == ReasonMaxIterations || o.Reason == ReasonAbsolute
	if !maximum && o.Error == nil && (o.Class == ByCondition || o.Class == ByAgent) {
		return nil
	}
	p := &Payload{Error: o.limits(), Used: o.Used, Limit: o.Limit, Stagnation: o.Reason == ReasonStagnation}
	switch {
	case o.Error != nil:
		p.Error = o.Error.Error()
	case maximum:
		p.Used = float64(len(r.Iterations))
		p.Limit = cmp.Or(o.Limit, p.Used)
		p.Error = fmt.Sprintf("reached the maximum of iterations (%.0f)", p.Limit)
	}
	return p
}

// limits says which guard ended a run, and what was used of its limit where the record
// has that.
func (o *Outcome) limits() string {
	found := map[Reason]string{
		ReasonStagnation: "the same tool calls again and again", ReasonRepeatedOutput: "the output of an earlier iteration again",
		ReasonRepeated: "the same value again and again", ReasonConsecutive: "the expression was true in a row",
		ReasonDegradation: "the confidence fell from iteration to iteration",
	}[o.Reason]
	spent := map[Reason]string{ReasonBudgetTokens: "%.0f of %.0f tokens used", ReasonBudgetCalls: "%.0f of %.0f calls made", ReasonBudgetCost: "$%.6g of $%.6g spent"}[o.Reason]
	switch {
	case found != "" && (o.Limit == 0 || o.Reason == ReasonRepeatedOutput):
		return found
	case found != "":
		return fmt.Sprintf("%s (%.0f times)", found, o.Used)
	case spent == "" || o.Limit == 0:
		return "stopped by " + string(o.Reason)
	case o.Used < o.Limit:
		return fmt.Sprintf(spent+", no room for another call", o.Used, o.Limit)
	}
	return fmt.Sprintf(spent, o.Used, o.Limit)
}
