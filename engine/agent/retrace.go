package agent

import (
	"context"
	"fmt"

	"github.com/agentbench/agentbench/engine/record"
)

// Retrace computes what the agent would send at each step of a recorded iteration,
// given the recorded replies, results and answers of the user,
// and whether it would be done after them. It makes no call. The error is
// that of an expression.
func (c *Conversation) Retrace(ctx context.Context, turn *Turn, recorded *record.Iteration) (trace record.Trace, err error) {
	defined, err := c.Tools.defined(turn.Servers)
	if err != nil {
		return trace, err
	}
	r := &retrace{talk: c.begin(turn, defined), recorded: recorded}
	for i := range recorded.Steps {
		r.send()
		if err := r.step(ctx, i); err != nil || r.trace.Over || r.trace.Why != "" {
			return r.trace, err
		}
	}
	r.send()
	r.trace.Over = r.ranDry()
	return r.trace, nil
}

// retrace is a recorded conversation as far as it was followed.
type retrace struct {
	*talk
	recorded *record.Iteration
	trace    record.Trace
}

func (r *retrace) send() {
	request, _ := r.request()
	r.trace.Requests = append(r.trace.Requests, request.Hash(r.ModelName))
}

// ranDry reports whether the model had nothing more to give.
func (r *retrace) ranDry() bool {
	return len(r.recorded.Steps) > 0 && r.recorded.Ended != nil && r.recorded.Ended.Reason == string(record.ReasonAgentEnded)
}

func (r *retrace) step(ctx context.Context, i int) error {
	step := r.recorded.Steps[i]
	step.User = ""
	calls := r.recorded.ToolCalls[len(r.result.ToolCalls):]
	calls = calls[:min(step.Tools, len(calls))]
	r.result.Steps = append(r.result.Steps, step)
	r.result.ToolCalls = append(r.result.ToolCalls, calls...)
	final, err := r.final(ctx, step.Text)
	if err != nil {
		return err
	}
	if final {
		r.over(i)
		return nil
	}
	if text, said := r.said(&step, calls); r.ends(i, calls) {
		r.over(i)
	} else if said {
		err = r.answer(ctx, i, text)
	}
	r.follow(r.last(), calls)
	switch {
	case r.trace.Over && i == len(r.recorded.Steps)-1 && r.ranDry():
		r.trace.Over, r.trace.Why = false, fmt.Sprintf("it would not ask again after step %d", i+1)
	case !r.trace.Over && len(r.result.Steps) >= r.maxSteps():
		r.exhaust()
		r.trace.Over, r.trace.Output, r.trace.Fault = true, r.result.Output, r.result.Fault
	}
	return err
}

// over ends the conversation with a step, after which the user is not asked.
func (r *retrace) over(i int) {
	r.trace.Over = true
	if r.recorded.Steps[i].User != "" || r.answered(i) != nil {
		r.trace.Why = fmt.Sprintf("it would not ask the user after step %d", i+1)
	}
}

// ends reports whether one of a step's calls ends the run: because it always does,
// or because it did.
func (r *retrace) ends(i int, calls []record.ToolCall) bool {
	if len(calls) > 0 && i == len(r.recorded.Steps)-1 && r.recorded.Ended != nil {
		return r.recorded.Ended.Reason != string(record.ReasonAgentEnded)
	}
	for i := range calls {
		if calls[i].Error == nil && r.definition(calls[i].Tool).Breaks != "" {
			return true
		}
	}
	return false
}

func (r *retrace) answer(ctx context.Context, i int, text string) error {
	if r.User == nil || len(r.result.Steps) >= r.maxSteps() {
		r.over(i)
		return nil
	}
	r.heard(Line{Text: text})
	said := &r.recorded.Steps[i]
	recorded := Answer{Text: said.User, Unanswered: said.Unanswered, Call: r.answered(i)}
	answer, why, err := r.User.Again(ctx, &r.public, recorded)
	if why != "" {
		if r.recorded.Cut != "" && i == len(r.recorded.Steps)-1 && recorded == (Answer{}) {
			// Something cut the iteration before the user answered: all that is known
			// is that the user would have been asked.
			return nil
		}
		why = fmt.Sprintf("at step %d %s", i+1, why)
	}
	r.last().User, r.trace.Why = answer.Text, why
	r.trace.Over = why == "" && (answer.Over || answer.Text == "")
	return err
}

// answered is the call of a recorded step's user, nil where there is none.
func (r *retrace) answered(i int) *record.Call {
	until := len(r.recorded.Calls)
	if i+1 < len(r.recorded.Steps) {
		until = r.recorded.Steps[i+1].Call - 1
	}
	for at := r.recorded.Steps[i].Call; at < until && at < len(r.recorded.Calls); at++ {
		if r.recorded.Calls[at].Role == record.RoleUser {
			return &r.recorded.Calls[at]
		}
	}
	return nil
}
