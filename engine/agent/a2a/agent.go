package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/external"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/tool"
	"github.com/agentbench/agentbench/spec"
)

// Agent is a remote agent that executes iterations. Those of one run are one
// conversation with it, as long as the agent knows conversations.
type Agent struct {
	Client *Client
	Spec   *spec.Agent // of the stage, overrides applied
}

// Execute sends the prompt and takes the answer as the output. A question
// ends the run: no user is there to answer it.
func (a *Agent) Execute(ctx context.Context, turn *agent.Turn) (agent.Result, error) {
	said := words(turn)
	result := agent.Result{Request: a.Client.Hash(said)}
	conversation := a.Client.conversation(ctx)
	answer, call, err := a.Client.asked(ctx, said, *conversation.Load())
	if call != nil {
		call.Role = record.RoleA2A
		result.Calls = []record.Call{*call}
	}
	if err != nil {
		return result, err
	}
	if answer.Context != "" { // without it, the answer is of the conversation before
		conversation.Store(&answer.Context)
	}
	result.SetReply(answer.reply(a.Spec.Reply), a.Spec.Reply)
	if answer.Asks() {
		result.Ended = &record.Ended{Reason: string(record.ReasonQuestionAsked), Output: result.Output}
		return result, nil
	}
	result.Ended, err = agent.FinalResponse(ctx, a.Spec, turn.Scope, &result)
	return result, err
}

// Sends is the hash of what the agent would be sent.
func (a *Agent) Sends(turn *agent.Turn) (hash string, err error) {
	return a.Client.Hash(words(turn)), nil
}

// words are what the agent is sent: the prompt, or the task's input where the loop
// has none.
func words(turn *agent.Turn) string {
	if turn.Prompt != "" {
		return turn.Prompt
	}
	if text, ok := turn.Task.Input.(string); ok {
		return text
	}
	return fmt.Sprint(turn.Task.Input)
}

// asked sends a task and makes the record of the call, which is nil where a budget
// had no room for it. How many calls the agent makes itself is unknown.
func (c *Client) asked(ctx context.Context, text, conversation string) (Answer, *record.Call, error) {
	settle, reserved, err := pace.BudgetCall(ctx, c.options.Budget)
	if err != nil {
		return Answer{}, nil, err
	}
	unsent := false
	defer func() { settle(unsent) }()
	watched, sending := external.Watch(ctx)
	answer, took, err := c.Send(watched, text, conversation)
	unsent = err != nil && !sending.Began()
	call := &record.Call{
		Model: c.address.Host, Request: c.Hash(text), Usage: record.Usage{Calls: 1, Unreported: 1}, Reserved: reserved, Duration: took,
	}
	if err == nil && answer.Text == "" {
		err = record.Errorf(record.NoAnswer, "the remote agent's answer is empty")
	}
	errors.As(err, &call.Error)
	return answer, call, err
}

// reply is the text of an answer; where it is to be JSON and one part of it is
// data, that is.
func (a *Answer) reply(want spec.Reply) string {
	if want == spec.ReplyJSON && len(a.Data) == 1 {
		return string(a.Data[0])
	}
	return a.Text
}

// conversationKey is the agent: clients of several phases speak to one.
type conversationKey struct{ address string }

// conversation is the name that the agent gave its conversation with the context's run;
// outside of a run every task begins a new one.
func (c *Client) conversation(ctx context.Context) *atomic.Pointer[string] {
	kept, _ := tool.RunOf(ctx).Keep(conversationKey{c.options.Address}, func() (any, func(), error) {
		name := new(atomic.Pointer[string])
		name.Store(new(string))
		return name, nil, nil
	})
	return kept.(*atomic.Pointer[string])
}

// Answer is what a remote agent made of a task so far: a message, or a task.
type Answer struct {
	State   string            // as 0.3 writes it, such as completed or input-required
	Text    string            // all of it as text; data stands in it as JSON
	Data    []json.RawMessage // the parts that are data
	Prose   bool              // there are parts that are not
	Context string            // the conversation, "" where the agent has none
	Task    string            // "" where the answer is a message
}

// The states of a task.
const (
	completed     = "completed"
	inputRequired = "input-required"
	authRequired  = "auth-required"
	canceled      = "canceled"
	failedState   = "failed"
	rejected      = "rejected"
)

// Asks reports whether the answer is a question.
func (a *Answer) Asks() bool { return a.State == inputRequired }

// pending reports whether the task has not ended.
func (a *Answer) pending() bool {
	switch a.State {
	case completed, inputRequired, authRequired, canceled, failedState, rejected:
		return false
	}
	return true
}

// failed is the error of a task that ended without an answer.
func (a *Answer) failed() error {
	because := ""
	if text := shorten(a.Text); text != "" {
		because = ": " + text
	}
	switch a.State {
	case failedState:
		return record.Errorf(record.Program, "the remote agent failed%s", because)
	case rejected:
		return record.Errorf(record.Program, "the remote agent rejected the task%s", because)
	case canceled:
		return record.Errorf(record.Incomplete, "the remote agent's task was cancelled%s", because)
	case authRequired:
		return record.Errorf(record.Auth, "the remote agent wants to know who asks%s", because)
	}
	return nil
}

// result is a message or a task: 0.3 gives either itself, 1.0 as the member of
// that name.
type result struct {
	Message *message `json:"message"`
	Task    *task    `json:"task"`
	task
	Parts     []part `json:"parts"`
	MessageID string `json:"messageId"`
}

type task struct {
	ID        string     `json:"id"`
	ContextID string     `json:"contextId"`
	Status    *status    `json:"status"`
	Artifacts []artifact `json:"artifacts"`
	History   []message  `json:"history"`
}

type status struct {
	State   string   `json:"state"`
	Message *message `json:"message"`
}

type artifact struct {
	Parts []part `json:"parts"`
}

type message struct {
	Role      string `json:"role"`
	Parts     []part `json:"parts"`
	ContextID string `json:"contextId"`
}

// part is a text, data or a file, which 0.3 puts one level deeper.
type part struct {
	Text *string         `json:"text"`
	Data json.RawMessage `json:"data"`
	File *struct {
		Name  string `json:"name"`
		URI   string `json:"uri"`
		Bytes string `json:"bytes"`
	} `json:"file"`
	Filename string `json:"filename"`
	URL      string `json:"url"`
	Raw      string `json:"raw"`
}

// readAnswer reads the result of send or get in either wire.
func readAnswer(text json.RawMessage) (Answer, error) {
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		return Answer{}, record.Errorf(record.BadResponse, "the remote agent's answer is not what the protocol promises: %v", err)
	}
	switch {
	case r.Task != nil:
		return r.Task.answer()
	case r.Message != nil:
		return r.Message.answer(), nil
	case r.Status != nil:
		return r.task.answer()
	case r.Parts != nil || r.MessageID != "":
		m := message{Parts: r.Parts, ContextID: r.ContextID}
		return m.answer(), nil
	}
	return Answer{}, record.Errorf(record.BadResponse, "the remote agent's answer is neither a message nor a task: %s", shorten(string(text)))
}

func (m *message) answer() Answer {
	a := Answer{State: completed, Context: m.ContextID}
	a.Text = a.read(m.Parts)
	return a
}

// answer is what a task made; of one that made nothing, the message of
// its state, and without one the agent's last message.
func (t *task) answer() (Answer, error) {
	if t.Status == nil || t.ID == "" {
		return Answer{}, record.Errorf(record.BadResponse, "the remote agent's task has no id or no status")
	}
	a := Answer{State: stateOf(t.Status.State), Context: t.ContextID, Task: t.ID}
	if a.State == completed {
		var all []string // of very many artifacts, perhaps
		for i := range t.Artifacts {
			if text := a.read(t.Artifacts[i].Parts); text != "" {
				all = append(all, text)
			}
		}
		a.Text = strings.Join(all, "\n\n")
	}
	if a.Text == "" && t.Status.Message != nil {
		a.Text = a.read(t.Status.Message.Parts)
	}
	if a.Text == "" && !a.pending() {
		for _, said := range slices.Backward(t.History) {
			if said.Role == "agent" || said.Role == "ROLE_AGENT" {
				a.Text = a.read(said.Parts)
				break
			}
		}
	}
	return a, nil
}

// stateOf writes a state as 0.3 does.
func stateOf(state string) string {
	state = strings.ToLower(strings.TrimPrefix(state, "TASK_STATE_"))
	return strings.ReplaceAll(state, "_", "-")
}

// read is an artifact or a message as text: its texts as they stand, for they may
// be pieces of one, data and files on lines of their own.
func (a *Answer) read(parts []part) string {
	var b strings.Builder
	own := true // what follows begins a line
	for i := range parts {
		p := &parts[i]
		text, apart := p.text()
		if b.Len() > 0 && (apart || own) && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(text)
		own = apart
		if p.isData() {
			a.Data = append(a.Data, p.Data)
		} else {
			a.Prose = true
		}
	}
	return b.String()
}

func (p *part) isData() bool { return p.Text == nil && len(p.Data) > 0 }

// text is a part as text, and whether it stands apart from its neighbours.
func (p *part) text() (text string, apart bool) {
	switch {
	case p.Text != nil:
		return *p.Text, false
	case p.isData():
		var compact bytes.Buffer
		_ = json.Compact(&compact, p.Data) // it was read as JSON
		return compact.String(), true
	case p.File != nil:
		return fileText(p.File.Name, p.File.URI, len(p.File.Bytes)), true
	}
	return fileText(p.Filename, p.URL, len(p.Raw)), true
}

// fileText tells of a file, whose contents are not for a text.
func fileText(name, address string, encoded int) string {
	if address != "" {
		return strings.TrimSpace("[file " + name + " " + address + "]")
	}
	return fmt.Sprintf("[file %s, %d bytes]", name, encoded/4*3)
}

// Delegate is a remote agent as a tool, to which another agent hands tasks. Every task is a
// conversation of its own. A question is an answer: the other agent can hand the task
// over again with what was missing. A failure of the remote agent is an error of the tool.
func (c *Client) Delegate(name, description string) tool.Tool {
	return tool.Tool{Definition: tool.Delegation(name, description), Use: func(ctx context.Context, use *tool.Use) (tool.Result, error) {
		answer, call, err := c.asked(ctx, use.Handed(), "")
		if call == nil {
			return tool.Result{}, err
		}
		call.Role, call.Delegate = record.RoleDelegate, name
		result := tool.Result{Duration: call.Duration, Calls: []record.Call{*call}}
		var failed *record.Error
		if errors.As(err, &failed) {
			return result, record.Errorf(record.Tool, "%v", failed)
		}
		if err == nil {
			result.Content = answer.content()
		}
		return result, err
	}}
}

// content is data where the answer is nothing else, and text otherwise.
func (a *Answer) content() json.RawMessage {
	if len(a.Data) == 1 && !a.Prose {
		return a.Data[0]
	}
	return tool.Text(a.Text)
}
