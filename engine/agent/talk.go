package agent

import (
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/agent/dialect"
	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

// talk is the conversation of one iteration as far as it got, live or again.
type talk struct {
	*Conversation
	turn      *Turn
	set       *tool.Set // nil where nothing is used
	defined   []tool.Definition
	presented []dialect.Tool // as the dialect writes them
	tools     []model.Tool
	prelude   prelude // of steps that are not warned

	// The messages of earlier iterations and of this one; those of each inner list
	// stand or fall together.
	earlier, current [][]model.Message

	lines []Line // what was said without tools, where there is a user
	turns int    // of the user in this iteration
	all   int    // of the user in the conversation

	result Result
}

// begin prepares the first request of a turn.
func (c *Conversation) begin(turn *Turn, defined []tool.Definition) *talk {
	t := &talk{Conversation: c, turn: turn, defined: defined, presented: make([]dialect.Tool, len(defined))}
	for i := range defined {
		d := &defined[i]
		t.presented[i] = dialect.Tool{
			Tool:   model.Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters},
			Server: d.Server, Delegate: d.Delegate,
		}
	}
	t.tools = c.dialect().Tools(t.presented)
	t.prelude = t.told(0)
	if c.Spec.Memory != nil {
		t.remember()
	}
	t.result.Prompt = turn.Prompt
	t.current = c.dialect().Turns(turn.Prompt, nil, nil)
	t.heard(Line{User: true, Text: turn.Prompt})
	return t
}

// prelude is what is sent whatever was said.
type prelude struct {
	system []model.Message
	tokens int64 // with the tools
}

// told is the prelude that tells of so many steps that remain; 0: of none.
func (t *talk) told(remaining int) (p prelude) {
	parts := dialect.Parts{Instructions: t.turn.System, Tools: t.presented, Remaining: remaining}
	if system := t.dialect().System(parts); system != "" {
		p.system = []model.Message{{Role: "system", Text: system}}
	}
	p.tokens = (&model.Request{Messages: p.system, Tools: t.tools}).InputTokens()
	return p
}

// remaining is how many steps the model is told that it has left, the next one
// included: in this iteration, or in the run where each iteration is one step. 0:
// it is not told.
func (t *talk) remaining() int {
	left := t.maxSteps() - len(t.result.Steps)
	if t.Spec.StepsOnce(t.User != nil) {
		left = t.turn.Remaining
	}
	if left > t.Spec.WarnRemaining {
		return 0
	}
	return left
}

// remember takes what was said in earlier iterations. Where nothing was, because
// the model did not reply at all, they left nothing behind.
func (t *talk) remember() {
	for i := range t.turn.Earlier {
		it := &t.turn.Earlier[i]
		if len(it.Steps) == 0 {
			continue
		}
		t.earlier = append(t.earlier, t.dialect().Turns(it.Prompt, it.Steps, it.ToolCalls)...)
		if t.User != nil {
			t.overhear(it)
		}
	}
}

// overhear takes what the user heard of an earlier iteration.
func (t *talk) overhear(it *record.Iteration) {
	t.heard(Line{User: true, Text: it.Prompt})
	calls := it.ToolCalls
	for i := range it.Steps {
		step := &it.Steps[i]
		of := calls[:min(step.Tools, len(calls))]
		calls = calls[len(of):]
		if text, said := t.said(step, of); said {
			t.heard(Line{Text: text})
		}
		if step.User != "" {
			t.heard(Line{User: true, Text: step.User})
			t.all++
		}
	}
}

func (t *talk) heard(line Line) {
	if t.User != nil {
		t.lines = append(t.lines, line)
	}
}

// said is what a step says to the user: a reply that calls nothing, or what a
// tool says that converses.
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
	request = &model.Request{
		Tools:           t.tools,
		Temperature:     t.Spec.Temperature,
		TopP:            t.Spec.TopP,
		Seed:            t.Spec.Seed,
		MaxOutputTokens: t.Spec.MaxOutputTokens,
		// A block in the text is no JSON: only what calls nothing is held to it.
		JSON: t.Spec.Reply == spec.ReplyJSON && len(t.tools) == len(t.defined),
		Draw: model.Draw{
			Task: t.turn.Task.ID, Trial: t.turn.Trial, Call: t.turn.Calls[t.ModelName],
			Iteration: t.turn.Iteration, Of: spec.JudgedTask{Task: t.turn.Task},
		},
	}
	if len(t.tools) > 0 {
		request.ToolChoice = t.Spec.ToolChoice
	}
	before := t.prelude
	if left := t.remaining(); left > 0 {
		before = t.told(left)
	}
	kept, pruned := Window(t.earlier, t.current, before.tokens, t.most())
	request.Messages = slices.Concat(before.system, kept)
	return request, pruned
}

// most are the tokens that may be sent; 0: as many as there are.
func (t *talk) most() int64 {
	if t.Spec.Memory == nil {
		return 0
	}
	return int64(t.Spec.Memory.MaxTokens)
}

// follow takes a whole step into the conversation.
func (t *talk) follow(step *record.Step, calls []record.ToolCall) {
	t.current = append(t.current, t.dialect().Step(step, calls, len(t.result.ToolCalls)-len(calls))...)
	if step.User != "" {
		t.heard(Line{User: true, Text: step.User})
		t.turns++
		t.all++
	}
}

// exhausted is the output of an agent that used up its steps.
func exhausted(steps int) string { return fmt.Sprintf("Reached maximum reasoning steps (%d)", steps) }
