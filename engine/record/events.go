package record

import (
	"cmp"
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
	iterations, confidence, steps := len(r.Iterations), r.lastConfidence(), 0
	for i := range r.Iterations {
		steps += len(r.Iterations[i].Steps)
	}
	success := r.Outcome.Success
	return []Event{
		{Type: TurnCompleted, Run: r.ID, At: r.Elapsed, Iterations: &iterations, Steps: steps},
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

// limits says which guard ended a run.
func (o *Outcome) limits() string {
	switch o.Reason {
	case ReasonBudgetTokens, ReasonBudgetCalls, ReasonBudgetCost:
		return o.spent()
	case ReasonStagnation:
		return "the same tool calls again and again" + o.times()
	case ReasonRepeatedOutput:
		return "the output of an earlier iteration again"
	case ReasonRepeated:
		return "the same value again and again" + o.times()
	case ReasonConsecutive:
		return "the expression was true in a row" + o.times()
	case ReasonDegradation:
		return "the confidence fell from iteration to iteration" + o.times()
	}
	return "stopped by " + string(o.Reason)
}

// times is how often something was found, "" in records that do not tell.
func (o *Outcome) times() string {
	if o.Limit == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.0f times)", o.Used)
}

// spent says what of a budget was used.
func (o *Outcome) spent() string {
	units := map[Reason]string{ReasonBudgetTokens: "%.0f of %.0f tokens used", ReasonBudgetCalls: "%.0f of %.0f calls made", ReasonBudgetCost: "$%.6g of $%.6g spent"}
	switch {
	case o.Limit == 0:
		return "stopped by " + string(o.Reason)
	case o.Used < o.Limit:
		return fmt.Sprintf(units[o.Reason]+", no room for another call", o.Used, o.Limit)
	}
	return fmt.Sprintf(units[o.Reason], o.Used, o.Limit)
}
