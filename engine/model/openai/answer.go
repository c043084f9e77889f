package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/record"
)

// completion is what is read of an answer, whole or made of a stream. The type of
// go-openai would refuse whole answers for a number that is written in another way.
type completion struct {
	Model   string     `json:"model"`
	Choices []choice   `json:"choices"`
	Tier    loose      `json:"service_tier"`
	Usage   wire.Usage `json:"usage"`
}

type choice struct {
	Index   wire.Index `json:"index"`
	Message said       `json:"message"`
	Finish  string     `json:"finish_reason"`
}

// said is a message of the model.
type said struct {
	Content          content    `json:"content"`
	Refusal          string     `json:"refusal"`
	ReasoningContent loose      `json:"reasoning_content"`
	Reasoning        loose      `json:"reasoning"`
	ToolCalls        []toolCall `json:"tool_calls"`
}

// content is a message's text, which comes as text or in parts. None is not an
// empty one.
type content struct {
	text string
	some bool
}

// UnmarshalJSON takes text, a list of parts, or null.
func (c *content) UnmarshalJSON(raw []byte) error {
	c.some = !bytes.Equal(raw, []byte("null"))
	if raw[0] != '[' {
		return json.Unmarshal(raw, &c.text)
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		c.text += part.Text
	}
	return nil
}

// loose is a text that nothing depends on: a value of another type counts as none.
type loose string

// UnmarshalJSON takes anything.
func (l *loose) UnmarshalJSON(raw []byte) error {
	_ = json.Unmarshal(raw, (*string)(l))
	return nil
}

// chosen is the choice that counts: that of index 0, wherever it stands.
func (c *completion) chosen() *choice {
	for i := range c.Choices {
		if index := &c.Choices[i].Index; index.Known && index.N == 0 {
			return &c.Choices[i]
		}
	}
	return &c.Choices[0]
}

// reply makes a reply of an answer with status 200. An answer is complete only
// with a finish reason.
func (m *Model) reply(request *model.Request, c *completion) (*model.Reply, *record.Error) {
	if len(c.Choices) == 0 {
		return nil, &record.Error{Class: record.BadResponse, Message: "the answer has no choices"}
	}
	choice := c.chosen()
	said := &choice.Message
	made := &model.Reply{
		Text: said.Content.text, ToolCalls: callsOf(said.ToolCalls),
		Answered: m.line.AnsweredBy(c.Model), Finish: choice.Finish,
		Thinking: string(cmp.Or(said.ReasoningContent, said.Reasoning)),
		Tier:     tierOf(string(c.Tier)),
		Reported: c.Usage.Beyond(counted),
	}
	switch {
	case choice.Finish == "" || choice.Finish == "null":
		return nil, &record.Error{Class: record.Incomplete, Message: "the answer has no finish_reason: it was cut off"}
	case made.Text == "" && said.Refusal != "":
		made.Usage = m.usage(c.Usage, request.InputTokens(), model.EstimateTokens(len(said.Refusal)))
		return made, &record.Error{Class: record.ContentFilter, Message: "the model refused: " + wire.Shorten(said.Refusal)}
	case made.Text == "" && made.ToolCalls == nil && choice.Finish == string(openai.FinishReasonStop) && !said.Content.some:
		return nil, &record.Error{Class: record.BadResponse, Message: "the answer's message has no content"}
	}
	made.Usage = m.usage(c.Usage, request.InputTokens(), model.EstimateTokens(made.Bytes()))
	return made, nil
}

// fold makes one whole answer of a stream of events, so that both kinds of
// answers are read alike. What is not a whole answer is a *record.Error, or the
// reader's error.
func fold(from *bufio.Reader) (*completion, error) {
	var f folded
	if err := wire.Events(from, f.take); err != nil {
		return nil, err
	}
	if f.finish == "" && (f.chosen || !f.done) {
		return nil, &record.Error{Class: record.Incomplete, Message: "the stream ended without a finish_reason: the answer was cut off"}
	}
	return f.answer(), nil
}

// folded is what a stream has told so far.
type folded struct {
	done     bool     // [DONE] came
	chosen   bool     // a choice came
	spoken   bool     // content came, if only an empty one
	text     []string // in pieces, as the next ones
	thinking []string
	refusal  []string
	calls    calls
	finish   string
	model    loose
	tier     loose
	usage    wire.Usage
}

// chunk is one event of a stream.
type chunk struct {
	Choices []struct {
		Index wire.Index `json:"index"`
		Delta struct {
			Content          *string     `json:"content"`
			ReasoningContent loose       `json:"reasoning_content"`
			Reasoning        loose       `json:"reasoning"`
			Refusal          string      `json:"refusal"`
			ToolCalls        []callDelta `json:"tool_calls"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Model loose           `json:"model"`
	Tier  loose           `json:"service_tier"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// take takes an event.
func (f *folded) take(name string, data []byte) (last bool, err error) {
	if string(data) == "[DONE]" {
		f.done = true
		return true, nil
	}
	var c chunk
	err = json.Unmarshal(data, &c)
	switch {
	case name == "error", err == nil && wire.IsSet(c.Error):
		return false, wire.ToldInStream(data)
	case err != nil:
		return false, wire.Broken(data)
	}
	f.add(&c)
	return false, nil
}

// add takes a chunk; of several choices that of index 0.
func (f *folded) add(c *chunk) {
	f.model, f.tier = cmp.Or(c.Model, f.model), cmp.Or(c.Tier, f.tier)
	_ = f.usage.UnmarshalJSON(c.Usage)
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index.Known && choice.Index.N != 0 {
			continue
		}
		f.chosen = true
		if choice.Delta.Content != nil {
			f.spoken = true
			f.text = append(f.text, *choice.Delta.Content)
		}
		f.thinking = append(f.thinking, string(cmp.Or(choice.Delta.ReasoningContent, choice.Delta.Reasoning)))
		f.refusal = append(f.refusal, choice.Delta.Refusal)
		for i := range choice.Delta.ToolCalls {
			f.calls.add(&choice.Delta.ToolCalls[i])
		}
		f.finish = cmp.Or(choice.Finish, f.finish)
	}
}

// answer is what the server would have sent without streaming.
func (f *folded) answer() *completion {
	if !f.chosen {
		return &completion{}
	}
	message := said{
		Content: content{strings.Join(f.text, ""), f.spoken}, Refusal: strings.Join(f.refusal, ""),
		ReasoningContent: loose(strings.Join(f.thinking, "")), ToolCalls: f.calls.whole(),
	}
	return &completion{Model: string(f.model), Choices: []choice{{Message: message, Finish: f.finish}}, Tier: f.tier, Usage: f.usage}
}

// callDelta is the part of a tool call that an event holds.
type callDelta struct {
	Index    *int   `json:"index"` // of the call; there are servers that leave it out
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// calls are the tool calls of a stream so far.
type calls []*streamedCall

type streamedCall struct {
	index     int
	id, name  string
	arguments strings.Builder
}

// add takes a part. It belongs to the newest call of its index, unless it brings
// another ID: there are servers that give every call the index 0.
func (c *calls) add(part *callDelta) {
	call := c.of(part)
	call.id = cmp.Or(call.id, part.ID)
	if part.Function.Name != call.name { // else it only says again whose part it is
		call.name += part.Function.Name
	}
	call.arguments.WriteString(part.Function.Arguments)
}

func (c *calls) of(part *callDelta) *streamedCall {
	for _, call := range slices.Backward(*c) {
		if part.Index != nil && call.index != *part.Index {
			continue
		}
		if part.ID == "" || call.id == "" || part.ID == call.id {
			return call
		}
		break
	}
	begun := &streamedCall{index: len(*c)}
	if part.Index != nil {
		begun.index = *part.Index
	}
	*c = append(*c, begun)
	return begun
}

// whole are the calls as an answer has them, in the order of their indexes.
func (c calls) whole() []toolCall {
	slices.SortStableFunc(c, func(a, b *streamedCall) int { return cmp.Compare(a.index, b.index) })
	var all []toolCall
	for _, call := range c {
		all = append(all, toolCall{ID: call.id, Type: "function", Function: functionCall{call.name, call.arguments.String()}})
	}
	return all
}
