package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sashabaranov/go-openai"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/record"
)

// completion is what is read of an answer, whole or made of a stream. The type of
// go-openai would refuse whole answers for a number that is written in another way.
type completion struct {
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Tier    loose    `json:"service_tier"`
	Usage   reported `json:"usage"`
}

type choice struct {
	Index   wire.Count `json:"index"`
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
	if raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		c.text = string(raw[1 : len(raw)-1]) // most texts: they stand for themselves
		return nil
	}
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
		Reported: wire.Reported(counted, c.Usage.raw...),
	}
	switch {
	case choice.Finish == "" || choice.Finish == "null":
		return nil, &record.Error{Class: record.Incomplete, Message: "the answer has no finish_reason: it was cut off"}
	case made.Text == "" && said.Refusal != "":
		made.Usage = m.usage(&c.Usage, request.InputTokens(), model.EstimateTokens(len(said.Refusal)))
		return made, &record.Error{Class: record.ContentFilter, Message: "the model refused: " + wire.Shorten(said.Refusal)}
	case made.Text == "" && made.ToolCalls == nil && choice.Finish == string(openai.FinishReasonStop) && !said.Content.some:
		return nil, &record.Error{Class: record.BadResponse, Message: "the answer's message has no content"}
	}
	made.Usage = m.usage(&c.Usage, request.InputTokens(), model.EstimateTokens(made.Bytes()))
	return made, nil
}

// completionOf decodes an answer; nil: it is none. Most are read without encoding/json.
func completionOf(answer []byte) *completion {
	c := &completion{}
	if json.Valid(answer) && wire.Fields(answer, c.field) {
		return c
	}
	c = &completion{}
	if json.Unmarshal(answer, c) != nil {
		return nil
	}
	return c
}

func (c *completion) field(name []byte) any {
	switch string(name) {
	case "model":
		return &c.Model
	case "choices":
		return c.readChoices
	case "service_tier":
		return &c.Tier
	case "usage":
		return &c.Usage
	}
	return nil
}

func (c *completion) readChoices(list []byte) (ok bool) {
	if list[0] != '[' || c.Choices != nil {
		return false
	}
	for element := range wire.Elements(list) {
		c.Choices = append(c.Choices, choice{})
		if !wire.Fields(element, c.Choices[len(c.Choices)-1].field) {
			return false
		}
	}
	return true
}

func (c *choice) field(name []byte) any {
	switch string(name) {
	case "index":
		return &c.Index
	case "message":
		return func(value []byte) bool { return wire.Fields(value, c.Message.field) }
	case "finish_reason":
		return &c.Finish
	}
	return nil
}

func (s *said) field(name []byte) any {
	switch string(name) {
	case "content":
		return &s.Content
	case "refusal":
		return &s.Refusal
	case "reasoning_content":
		return &s.ReasoningContent
	case "reasoning":
		return &s.Reasoning
	case "tool_calls":
		return &s.ToolCalls
	}
	return nil
}

// read decodes an answer that was not streamed, or gives the error. The bytes are not kept.
func read(from *wire.Answer) (*completion, *record.Error) {
	answer := from.Body
	from.Body = nil
	c := completionOf(answer)
	if c == nil {
		return nil, &record.Error{Class: record.BadResponse, Message: wire.Unreadable(answer)}
	}
	if len(c.Choices) > 0 {
		return c, nil
	}
	if told := wire.Tell(answer); told.Message != "" {
		return nil, &record.Error{Class: cmp.Or(told.Class(), record.BadResponse), Message: "status 200 with an error: " + told.Message}
	}
	return c, nil
}

// fold makes one whole answer of a stream of events, so that both kinds of
// answers are read alike. What is not a whole answer is a *record.Error, or the
// reader's error.
func fold(from *bufio.Reader) (*completion, error) {
	var f folded
	for !f.done {
		line, err := wire.ReadLine(from)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if failed := f.line(bytes.TrimRight(line, "\r\n")); failed != nil {
			return nil, failed
		}
		if err != nil {
			break
		}
	}
	if failed := f.incomplete(); failed != nil {
		return nil, failed
	}
	return f.answer(), nil
}

// folded is what a stream has told so far.
type folded struct {
	event   string // the name of the event that is being read
	pending []byte // data that are no JSON yet
	done    bool   // [DONE] came

	chosen   bool // a choice came
	spoken   bool // content came, if only an empty one
	text     wire.Text
	thinking wire.Text
	refusal  wire.Text
	calls    calls
	finish   string
	model    loose
	tier     loose
	usage    reported
}

// chunk is one event of a stream.
type chunk struct {
	Choices []struct {
		Index wire.Count `json:"index"`
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
	Usage *reported       `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// line takes one line: a field of an event, a comment, or the end of an event.
func (f *folded) line(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case len(line) == 0:
		f.event = ""
		if f.pending != nil {
			return wire.Broken(f.pending)
		}
	case string(name) == "event":
		f.event = string(value)
	case string(name) == "data":
		return f.data(value)
	}
	return nil
}

// data takes the data of an event as soon as they are whole, for there are
// servers that leave out the empty line.
func (f *folded) data(text []byte) error {
	if string(bytes.TrimSpace(text)) == "[DONE]" {
		f.done = true
		if f.pending != nil {
			return wire.Broken(f.pending)
		}
		return nil
	}
	if f.pending != nil {
		text = append(append(f.pending, '\n'), text...)
	}
	var c chunk
	err := json.Unmarshal(text, &c)
	switch {
	case f.event == "error", err == nil && isSet(c.Error):
		return wire.ToldInStream(text)
	case err == nil:
		f.pending = nil
		f.add(&c)
	case isSyntax(err):
		f.pending = bytes.Clone(text) // a line is read over by the next
	default:
		return wire.Broken(text)
	}
	return nil
}

func isSyntax(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax)
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// add takes a chunk; of several choices that of index 0.
func (f *folded) add(c *chunk) {
	f.model, f.tier = cmp.Or(c.Model, f.model), cmp.Or(c.Tier, f.tier)
	if c.Usage != nil {
		f.usage.raise(c.Usage)
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index.Known && choice.Index.N != 0 {
			continue
		}
		f.chosen = true
		if choice.Delta.Content != nil {
			f.spoken = true
			f.text.Add(*choice.Delta.Content)
		}
		f.thinking.Add(string(cmp.Or(choice.Delta.ReasoningContent, choice.Delta.Reasoning)))
		f.refusal.Add(choice.Delta.Refusal)
		for i := range choice.Delta.ToolCalls {
			f.calls.add(&choice.Delta.ToolCalls[i])
		}
		f.finish = cmp.Or(choice.Finish, f.finish)
	}
}

// incomplete says what a stream that has ended lacks.
func (f *folded) incomplete() error {
	switch {
	case f.pending != nil:
		return &record.Error{Class: record.Incomplete, Message: "the stream ended inside an event"}
	case f.finish == "" && (f.chosen || !f.done):
		return &record.Error{Class: record.Incomplete, Message: "the stream ended without a finish_reason: the answer was cut off"}
	}
	return nil
}

// answer is what the server would have sent without streaming.
func (f *folded) answer() *completion {
	if !f.chosen {
		return &completion{}
	}
	message := said{
		Content: content{f.text.String(), f.spoken}, Refusal: f.refusal.String(),
		ReasoningContent: loose(f.thinking.String()), ToolCalls: f.calls.whole(),
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
