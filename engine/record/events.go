package record

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// Events derives the events of a run from its record, in their order: StartEvents,
// the IterationEvents of each iteration, EndEvents.
func Events(r *Run) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		parts := [][]Event{StartEvents(r)}
		for i := range r.Iterations {
			parts = append(parts, IterationEvents(r, i))
		}
		for _, part := range append(parts, EndEvents(r)) {
			for _, e := range part {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// StartEvents are the events before the first iteration. Of the run, only its
// id, configuration, task and trial are read.
func StartEvents(r *Run) []Event {
	return []Event{{
		Type: RunStarted, Run: r.ID, Configuration: r.Configuration, Task: r.Task, Trial: r.Trial,
	}}
}

// IterationEvents are the events of r.Iterations[i]. Of the run, only its id and
// that iteration are read, so they can be made as soon as the iteration ended
// and its adaptation is known.
func IterationEvents(r *Run, i int) []Event {
	it := &r.Iterations[i]
	var events []Event
	if it.converses() {
		events = conversationEvents(it)
	} else {
		events = append([]Event{{Type: IterationStarted, At: it.Start, Thinking: it.Thinking}}, toolEvents(it.ToolCalls, 0, 0, false)...)
	}
	events = append(events, resultEvents(it)...)
	return inIteration(r, it, append(events, completed(it)))
}

// inIteration says of events to which iteration they belong.
func inIteration(r *Run, it *Iteration, events []Event) []Event {
	for e := range events {
		events[e].Run, events[e].Iteration = r.ID, it.N
		events[e].Phase, events[e].Strategy = it.Phase, it.Strategy
	}
	return events
}

func resultEvents(it *Iteration) []Event {
	var events []Event
	if len(it.Output) > 0 {
		events = append(events, Event{Type: Message, At: it.answered(), Output: it.Output})
	}
	if it.Error != nil || it.Cut != "" {
		events = append(events, Event{Type: IterationFailed, At: it.End, Error: it.Error, Cut: it.Cut, Confidence: it.Confidence})
	}
	if e := it.Evaluation; e != nil {
		events = append(events, Event{Type: Evaluated, At: it.End,
			Confidence: &e.Confidence, Passed: &e.Passed, Feedback: e.Feedback})
	}
	if it.Adaptation != "" {
		events = append(events, Event{Type: Adapted, At: it.End, Adaptation: it.Adaptation})
	}
	return events
}

func completed(it *Iteration) Event {
	usage, judging := it.Spent()
	e := Event{Type: IterationCompleted, At: it.End, Usage: &usage, Latency: it.End - it.Start}
	if judging != (Usage{}) {
		e.Judging = &judging
	}
	if user := it.SpentByUser(); user != (Usage{}) {
		e.User = &user
	}
	return e
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
	iterations, confidence := len(r.Iterations), r.lastConfidence()
	success := r.Outcome.Success
	return []Event{
		{Type: TurnCompleted, Run: r.ID, At: r.Elapsed, Iterations: &iterations},
		{Type: EpisodeRecorded, Run: r.ID, At: r.Elapsed, Action: r.Configuration,
			Description: r.describe(), Outcome: r.episode(), Confidence: &confidence},
		{Type: AgentEnded, Run: r.ID, At: r.Elapsed, Reason: r.Outcome.Reason, Class: r.Outcome.Class,
			Success: &success, Output: r.Output(), Error: r.Outcome.Error, Payload: r.payload()},
	}
}

func (r *Run) describe() string {
	plural := "s"
	if len(r.Iterations) == 1 {
		plural = ""
	}
	return fmt.Sprintf("task %s, trial %d: %d iteration%s, ended by %s",
		r.Task, r.Trial, len(r.Iterations), plural, r.Outcome.Reason)
}

func (r *Run) episode() EpisodeOutcome {
	switch {
	case r.Outcome.Success:
		return EpisodeSuccess
	case r.Outcome.Counts() && r.Output() != nil:
		return EpisodePartial
	}
	return EpisodeFailed
}

// lastConfidence is that of the last iteration that was evaluated or failed, 0
// where there is none.
func (r *Run) lastConfidence() float64 {
	for _, it := range slices.Backward(r.Iterations) {
		switch {
		case it.Error != nil:
			return 0
		case it.Evaluation != nil:
			return it.Evaluation.Confidence
		}
	}
	return 0
}

// payload is nil where the run ended by design or by its agent, but for the
// maximum of iterations: it is a limit, not an answer.
func (r *Run) payload() *Payload {
	n := len(r.Iterations)
	switch reason := r.Outcome.Reason; {
	case reason == ReasonMaxIterations || reason == ReasonAbsolute:
		return &Payload{Error: fmt.Sprintf("reached the maximum of iterations (%d)", n), Limit: n}
	case reason == ReasonStagnation:
		return &Payload{Error: "the same tool calls again and again", Stagnation: true}
	case r.Outcome.Error != nil:
		return &Payload{Error: r.Outcome.Error.Error()}
	case r.Outcome.Class != ByCondition && r.Outcome.Class != ByAgent:
		return &Payload{Error: "stopped by " + string(reason)}
	}
	return nil
}
