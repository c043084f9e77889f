package agent

import (
	"context"
	"errors"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/spec"
)

// step makes one step: a reply, what it calls, and what the user answers. Over
// says that no other one follows.
func (t *talk) step(ctx context.Context) (over bool, err error) {
	reply, err := t.ask(ctx)
	if errors.Is(err, model.ErrEnded) && len(t.result.Steps) > 0 {
		t.left(err)
		return true, nil
	}
	if err != nil {
		return false, err
	}
	over, err = t.act(ctx, reply)
	if err != nil {
		return false, err
	}
	if !over && len(t.result.Steps) >= t.maxSteps() {
		t.exhaust()
		over = true
	}
	over = t.after(over)
	if !over && ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return over, nil
}

// ask makes the model's call.
func (t *talk) ask(ctx context.Context) (*model.Reply, error) {
	request, pruned := t.request()
	hash := request.Hash(t.ModelName)
	if len(t.result.Steps) == 0 {
		t.result.Request = hash
	}
	reply, call, err := trace.Ask(ctx, model.Asked{
		Model: t.Model, Name: t.ModelName, Role: record.RoleAgent, Hash: hash,
		Request: request, Timeout: t.Spec.Timeout, Calls: t.turn.Calls,
	})
	t.add(call)
	if err == nil {
		err = unusable(reply)
	}
	if err != nil {
		return nil, err
	}
	t.result.Steps = append(t.result.Steps, record.Step{
		Text: reply.Text, Thinking: t.dialect().Thinking(reply), Call: len(t.result.Calls), Pruned: pruned,
	})
	return reply, nil
}

// add puts down a call that was made, if one was, and the time that it took.
func (t *talk) add(call *record.Call) {
	if call == nil {
		return
	}
	call.Start = t.result.Took
	t.result.Took += call.Duration + call.Waited
	t.result.Waited += call.Waited
	t.result.Calls = append(t.result.Calls, *call)
}

// act does what a reply says.
func (t *talk) act(ctx context.Context, reply *model.Reply) (over bool, err error) {
	calls := t.dialect().Read(reply)
	final, err := t.final(ctx, reply.Text)
	switch {
	case err != nil || final:
		return final, err
	case len(calls) == 0:
		over, err = t.say(ctx, reply.Text, reply.Finish)
	case t.late():
		return true, nil
	default:
		over, err = t.use(ctx, calls)
	}
	if err == nil {
		t.follow(t.last(), t.ofLast())
	}
	return over, err
}

// last is the newest step, and ofLast its tool calls.
func (t *talk) last() *record.Step { return &t.result.Steps[len(t.result.Steps)-1] }

func (t *talk) ofLast() []record.ToolCall {
	return t.result.ToolCalls[len(t.result.ToolCalls)-t.last().Tools:]
}

// final says whether a reply is the structured final response, which ends the
// run whatever it calls.
func (t *talk) final(ctx context.Context, text string) (bool, error) {
	if t.Spec.FinalResponse == nil || blank(text) {
		return false, nil
	}
	var said Result
	said.SetReply(text, t.Spec.Reply)
	ended, err := FinalResponse(ctx, t.Spec, t.turn.Scope, &said)
	if err != nil || ended == nil {
		return false, err
	}
	t.result.Output, t.result.Value, t.result.Fault, t.result.Ended = said.Output, said.Value, "", ended
	return true, nil
}

// say gives the user what the agent says, which is the output where nobody
// answers it.
func (t *talk) say(ctx context.Context, text, finish string) (over bool, err error) {
	t.result.reply(text, finish, t.Spec.Reply)
	if t.User == nil || len(t.result.Steps) >= t.maxSteps() || t.late() {
		return true, nil
	}
	t.heard(Line{Text: text})
	answer, err := t.User.Answer(ctx, t.listener())
	t.add(answer.Call)
	if err != nil {
		return false, err
	}
	t.last().User, t.last().Unanswered = answer.Text, answer.Unanswered
	return answer.Over || answer.Text == "", nil
}

// listener is what the user heard.
func (t *talk) listener() *Heard {
	return &Heard{Turn: t.turn, Lines: t.lines, Turns: t.turns, All: t.all}
}

// late cuts the iteration where a timeout of the loop has passed as-if: what
// would follow does not begin.
func (t *talk) late() bool {
	late := t.turn.Late != nil && t.turn.Late(t.result.Took, t.result.Waited)
	if late {
		t.result.Cut = record.ReasonTimeout
	}
	return late
}

// after tells of a whole step.
func (t *talk) after(over bool) bool {
	if t.turn.AfterStep == nil {
		return over
	}
	if cut := t.turn.AfterStep(&t.result); cut != "" && !over {
		t.result.Cut = cut
		return true
	}
	return over
}

// left ends the run: whoever is behind the model has nothing more to give. What
// it said last is the output.
func (t *talk) left(err error) {
	request, _ := t.request()
	t.result.Unanswered = &record.Next{Request: request.Hash(t.ModelName)}
	if unanswered, ok := errors.AsType[*model.Unanswered](err); ok {
		t.result.Unanswered.Reserved = &unanswered.Reserved
	}
	if t.result.Output == nil && !blank(t.last().Text) {
		t.result.reply(t.last().Text, "", t.Spec.Reply)
	}
	t.result.Ended = &record.Ended{Reason: string(record.ReasonAgentEnded), Output: t.result.Output}
}

// exhaust ends an iteration that used up its steps.
func (t *talk) exhaust() {
	said := exhausted(t.maxSteps())
	t.result.setText(said)
	if t.Spec.Reply == spec.ReplyJSON {
		t.result.Fault = said
	}
}

// silence takes back what was said before something went wrong.
func (t *talk) silence() {
	t.result.Output, t.result.Value, t.result.Fault, t.result.Ended = nil, nil, "", nil
}
