package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/agent/dialect"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/engine/trace"
	"github.com/agentbench/agentbench/spec"
)

// Conversation is an agent that converses with a model within an iteration: it
// calls tools, hands tasks to delegates, remembers earlier iterations, or is
// answered by a user.
//
// What it sends is a function of the turn and of the iteration's record so far,
// so that Retrace can compute it for any recorded iteration.
type Conversation struct {
	Model     model.Model // nil: it can only compute what it would send
	ModelName string      // in the suite
	Spec      *spec.Agent // of the stage, overrides applied
	MaxSteps  int         // model calls of an iteration; 0: 5
	Tools     *Toolbox    // nil: none
	User      *User       // nil: none
}

// Execute converses until the model calls no tool, or something ends it.
func (c *Conversation) Execute(ctx context.Context, turn *Turn) (Result, error) {
	set, asked, err := c.Tools.open(ctx, turn.Servers)
	if err != nil {
		return Result{Servers: asked}, err
	}
	t := c.begin(turn, set.Definitions())
	t.set, t.result.Servers = set, asked
	for over := false; !over && err == nil; {
		over, err = t.step(ctx)
	}
	if err != nil { // what was said before something went wrong is not the output
		t.result.Output, t.result.Value, t.result.Fault, t.result.Ended = nil, nil, "", nil
	}
	return t.result, err
}

func (c *Conversation) dialect() dialect.Dialect { return dialect.Dialect(c.Spec.ToolCalls) }

func (c *Conversation) maxSteps() int { return cmp.Or(c.MaxSteps, 5) }

// talk is the conversation of one iteration as far as it got, live or again.
type talk struct {
	*Conversation
	turn      *Turn
	set       *tool.Set // nil in a retrace
	defined   []tool.Definition
	presented []dialect.Tool // as the dialect writes them
	tools     []model.Tool
	prelude   prelude // of steps that are not warned

	// The messages of earlier iterations and of this one; those of each inner list
	// are kept or left out together.
	earlier, current [][]model.Message

	public Heard // where there is a user

	result Result
}

func (c *Conversation) begin(turn *Turn, defined []tool.Definition) *talk {
	t := &talk{Conversation: c, turn: turn, public: Heard{Turn: turn}, defined: defined, presented: make([]dialect.Tool, len(defined))}
	for i := range defined {
		d := &defined[i]
		t.presented[i] = dialect.Tool{
			Tool:   model.Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters},
			Server: d.Server, Delegate: d.Delegate,
		}
	}
	t.tools = c.dialect().Tools(t.presented)
	t.prelude = t.before(0)
	if c.Spec.Memory != nil {
		t.remember()
	}
	t.result.Prompt = turn.Prompt
	t.current = c.dialect().Turns(turn.Prompt, nil, nil)
	first := t.current
	if len(t.earlier) > 0 {
		first = t.earlier
	}
	first[0][0].Images = turn.Images
	t.heard(Line{User: true, Text: turn.Prompt})
	return t
}

// prelude is what is sent whatever was said.
type prelude struct {
	system []model.Message
	tokens int64 // with the tools
}

// before is the prelude that warns of so many steps that remain; 0: of none.
func (t *talk) before(remaining int) (p prelude) {
	parts := dialect.Parts{Instructions: t.turn.System, Tools: t.presented, Remaining: remaining}
	if system := t.dialect().System(parts); system != "" {
		p.system = []model.Message{{Role: "system", Text: system}}
	}
	p.tokens = (&model.Request{Messages: p.system, Tools: t.tools}).InputTokens()
	return p
}

// remember takes what was said in earlier iterations, and what their user heard. Those in
// which the model did not reply at all left nothing behind.
func (t *talk) remember() {
	for i := range t.turn.Earlier {
		it := &t.turn.Earlier[i]
		if len(it.Steps) == 0 || it.OfProgram() {
			continue
		}
		t.earlier = append(t.earlier, t.dialect().Turns(it.Prompt, it.Steps, it.ToolCalls)...)
		if t.User == nil {
			continue
		}
		t.heard(Line{User: true, Text: it.Prompt})
		calls := it.ToolCalls
		for j := range it.Steps {
			step := &it.Steps[j]
			of := calls[:min(step.Tools, len(calls))]
			calls = calls[len(of):]
			if text, said := t.said(step, of); said {
				t.heard(Line{Text: text})
			}
			if step.User != "" {
				t.heard(Line{User: true, Text: step.User})
				t.public.All++
			}
		}
	}
}

func (t *talk) heard(line Line) {
	if t.User != nil {
		t.public.Lines = append(t.public.Lines, line)
	}
}

// said is what a step says to the user: a reply that calls nothing, or the result of a
// tool that converses.
func (t *talk) said(step *record.Step, calls []record.ToolCall) (text string, said bool) {
	if step.Tools == 0 {
		return step.Text, true
	}
	for i := range calls {
		if c := &calls[i]; c.Error == nil && t.definition(c.Tool).Converses {
			return textOf(c.Result), true
		}
	}
	return "", false
}

// definition is that of the tool of a name, the zero one where there is none.
func (t *talk) definition(name string) tool.Definition {
	i := slices.IndexFunc(t.defined, func(d tool.Definition) bool { return d.Name == name })
	if i < 0 {
		return tool.Definition{}
	}
	return t.defined[i]
}

// request is what is sent next, and how many messages are left out of it.
func (t *talk) request() (request *model.Request, pruned int) {
	request = t.turn.request(t.Spec, t.ModelName)
	request.Tools = t.tools
	// A block in the text is not JSON: only a reply that calls nothing has to be.
	request.JSON = t.Spec.Reply == spec.ReplyJSON && len(t.tools) == len(t.defined)
	if len(t.tools) > 0 {
		request.ToolChoice = t.Spec.ToolChoice
	}
	// How many steps are left, the next one included: in this iteration, or in the run
	// where each iteration is one step.
	left, before := t.maxSteps()-len(t.result.Steps), t.prelude
	if t.Spec.StepsOnce(t.User != nil) {
		left = t.turn.Remaining
	}
	if left > 0 && left <= t.Spec.WarnRemaining {
		before = t.before(left)
	}
	most := int64(0)
	if t.Spec.Memory != nil {
		most = int64(t.Spec.Memory.MaxTokens)
	}
	kept, pruned := window(t.earlier, t.current, before.tokens, most)
	request.Messages = slices.Concat(before.system, kept)
	return request, pruned
}

func (t *talk) follow(step *record.Step, calls []record.ToolCall) {
	t.current = append(t.current, t.dialect().Step(step, calls, len(t.result.ToolCalls)-len(calls))...)
	if step.User != "" {
		t.heard(Line{User: true, Text: step.User})
		t.public.Turns++
		t.public.All++
	}
}

// window is the part of a conversation that is sent, all of which stays in the record, and
// how many messages are left out, so that with the fixed tokens, those of the
// system prompt and the tools, they are estimated at most tokens; 0: all are
// sent.
//
// Earlier are the turns of the iterations before, current those of the iteration
// in progress, which begin with its prompt. A turn is left out as a whole: half an exchange
// means nothing. The prompt and the newest turn always stay,
// whatever they take; of the others the newest that fit without a gap.
func window(earlier, current [][]model.Message, fixed, most int64) (kept []model.Message, pruned int) {
	if most <= 0 {
		return slices.Concat(slices.Concat(earlier, current)...), 0
	}
	prompt := current[:min(1, len(current))]
	since := current[len(prompt):]
	open := since[max(0, len(since)-1):]
	left := room{left: most - fixed, bytes: textBytes(prompt) + textBytes(open)}

	since = since[:len(since)-len(open)]
	from := left.newest(since)
	before := len(earlier)
	if from == 0 {
		before = left.newest(earlier)
	}
	for _, turn := range slices.Concat(earlier[:before], since[:from]) {
		pruned += len(turn)
	}
	return slices.Concat(slices.Concat(earlier[before:], prompt, since[from:], open)...), pruned
}

// room is what turns may still take.
type room struct {
	left  int64 // tokens
	bytes int   // of what stays already
}

// newest is the place from which on all turns fit.
func (r *room) newest(turns [][]model.Message) (from int) {
	for from = len(turns); from > 0; from-- {
		more := textBytes(turns[from-1 : from])
		if model.EstimateTokens(r.bytes+more) > r.left {
			return from
		}
		r.bytes += more
	}
	return 0
}

func textBytes(turns [][]model.Message) (n int) {
	for _, turn := range turns {
		for i := range turn {
			n += turn[i].Bytes()
		}
	}
	return n
}

// step makes one step: a reply, what it calls, and what the user answers. Over
// reports that no other one follows.
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
	if t.turn.AfterStep != nil {
		if cut := t.turn.AfterStep(&t.result); cut != "" && !over {
			t.result.Cut, over = cut, true
		}
	}
	if !over && ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return over, nil
}

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
		Text: reply.Text, Thinking: t.dialect().Thinking(reply), Blocks: reply.Blocks, Call: len(t.result.Calls), Pruned: pruned,
	})
	return reply, nil
}

// add records a call, if one was made, and the time that it took.
func (t *talk) add(call *record.Call) {
	if call == nil {
		return
	}
	call.Start = t.result.Took
	t.result.Took += call.Duration + call.Waited
	t.result.Waited += call.Waited
	t.result.Calls = append(t.result.Calls, *call)
}

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

// final reports whether a reply is the structured final response, which ends the
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

// say gives the user what the agent says, which is the output where no answer
// follows.
func (t *talk) say(ctx context.Context, text, finish string) (over bool, err error) {
	t.result.reply(text, finish, t.Spec.Reply)
	if t.User == nil || len(t.result.Steps) >= t.maxSteps() || t.late() {
		return true, nil
	}
	t.heard(Line{Text: text})
	answer, err := t.User.Answer(ctx, &t.public)
	t.add(answer.Call)
	if err != nil {
		return false, err
	}
	t.last().User, t.last().Unanswered = answer.Text, answer.Unanswered
	return answer.Over || answer.Text == "", nil
}

// late cuts the iteration where a timeout of the loop has passed in virtual time: what
// would follow does not begin.
func (t *talk) late() bool {
	late := t.turn.Late != nil && t.turn.Late(t.result.Took, t.result.Waited)
	if late {
		t.result.Cut = record.ReasonTimeout
	}
	return late
}

// left ends the run: the model has nothing more to give. What it said last is the output.
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

func (t *talk) exhaust() {
	said := fmt.Sprintf("Reached maximum reasoning steps (%d)", t.maxSteps())
	t.result.setText(said)
	if t.Spec.Reply == spec.ReplyJSON {
		t.result.Fault = said
	}
}
