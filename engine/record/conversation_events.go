package record

import (
	"cmp"
	"slices"
	"time"
)

// converses says that the iteration is a conversation.
func (it *Iteration) converses() bool { return it.Prompt != "" || len(it.Steps) > 0 }

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

func conversationEvents(it *Iteration) []Event {
	events, before := beginning(it), 0
	for i := range it.Steps {
		events = append(events, stepEvents(it, i, before)...)
		before += it.Steps[i].Tools
	}
	if before < len(it.ToolCalls) { // of a step that has no reply in the record
		events = append(events, toolEvents(it.ToolCalls[before:], len(it.Steps)+1, before+1, it.Cut != "")...)
	}
	return events
}

func beginning(it *Iteration) []Event {
	return []Event{{Type: IterationStarted, At: it.Start}, {Type: UserMessage, At: it.Start, Text: it.Prompt}}
}

// stepEvents are those of one step, before which the iteration called so many
// tools.
func stepEvents(it *Iteration, at, before int) []Event {
	step := &it.Steps[at]
	response := Event{Type: AgentResponse, Step: at + 1, At: it.Start, Text: step.Text, Thinking: step.Thinking, Pruned: step.Pruned}
	if call := it.call(step.Call); call != nil {
		response.At, response.Usage = call.Start+call.Duration, &call.Usage
	}
	first := min(before, len(it.ToolCalls))
	made := it.ToolCalls[first:min(first+step.Tools, len(it.ToolCalls))]
	cut := it.Cut != "" && at == len(it.Steps)-1
	events := append([]Event{response}, toolEvents(made, at+1, before+1, cut)...)
	if step.User != "" {
		events = append(events, Event{Type: UserMessage, Step: at + 1, At: max(response.At, it.userAnswered(at)), Text: step.User})
	}
	return events
}

// call is one of the iteration's calls, from 1; nil where there is none.
func (it *Iteration) call(n int) *Call {
	if n < 1 || n > len(it.Calls) {
		return nil
	}
	return &it.Calls[n-1]
}

// userAnswered is when the model that plays the user had answered a step; 0 where
// none does.
func (it *Iteration) userAnswered(step int) (at time.Duration) {
	until := len(it.Calls)
	if step+1 < len(it.Steps) {
		until = min(until, it.Steps[step+1].Call-1)
	}
	for n := max(0, it.Steps[step].Call); n < until; n++ {
		if c := &it.Calls[n]; c.Role == RoleUser {
			at = c.Start + c.Duration
		}
	}
	return at
}

// toolEvents are in the order of time: the calls of one step may overlap. First
// is the number of the first call, 0 where nobody converses. Cut says that calls
// without a result were in flight when the iteration was cut.
func toolEvents(calls []ToolCall, step, first int, cut bool) []Event {
	events := make([]Event, 0, 2*len(calls))
	for i := range calls {
		c := &calls[i]
		called, returned := eventsOf(c)
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

// eventsOf are what is told of a call of a tool, or of a task that is handed over.
func eventsOf(c *ToolCall) (called, returned Event) {
	called = Event{Type: ToolCalled, At: c.Start, Tool: c.Tool, Arguments: c.Arguments}
	returned = Event{Type: ToolReturned, At: c.Start + c.Duration, Tool: c.Tool, Result: c.Result, Error: c.Error, Cached: c.Cached}
	if c.Delegate == "" {
		return called, returned
	}
	called.Type, called.Tool, called.Delegate = DelegationRequested, "", c.Delegate
	returned.Type, returned.Tool, returned.Delegate = DelegationReturned, "", c.Delegate
	if c.Delegated != nil {
		used := c.Delegated.Total()
		returned.Usage = &used
	}
	return called, returned
}
