package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
	"github.com/sashabaranov/go-openai"
)

// completion is what is read of an answer, whole or made of a stream. The type of
// go-openai would refuse whole answers for a number that is written in another way.
type completion struct {
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
}

type choice struct {
	Index   count  `json:"index"`
	Message said   `json:"message"`
	Finish  string `json:"finish_reason"`
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
		if index := &c.Choices[i].Index; index.known && index.n == 0 {
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
		Answered: m.answeredBy(c.Model), Finish: choice.Finish,
		Thinking: string(cmp.Or(said.ReasoningContent, said.Reasoning)),
	}
	switch {
	case choice.Finish == "" || choice.Finish == "null":
		return nil, &record.Error{Class: record.Incomplete, Message: "the answer has no finish_reason: it was cut off"}
	case made.Text == "" && said.Refusal != "":
		return nil, &record.Error{Class: record.ContentFilter, Message: "the model refused: " + shorten(said.Refusal)}
	case made.Text == "" && made.ToolCalls == nil && choice.Finish == string(openai.FinishReasonStop) && !said.Content.some:
		return nil, &record.Error{Class: record.BadResponse, Message: "the answer's message has no content"}
	}
	made.Usage = m.counted.usage(c.Usage, request.InputTokens(), model.EstimateTokens(made.Bytes()))
	return made, nil
}

// answeredBy is the name that a server gives to what answered, "" where it is the
// one asked for.
func (m *Model) answeredBy(name string) string {
	if name == m.options.Name {
		return ""
	}
	return shorten(name)
}

// read is the answer of an exchange with status 200, or why it is none. What it
// was read from is not kept.
func (e *exchange) read() (*completion, *record.Error) {
	answer := e.answer
	e.answer = nil
	if e.folded != nil {
		return e.folded, nil
	}
	c := &completion{}
	if err := json.Unmarshal(answer, c); err != nil {
		return nil, &record.Error{Class: record.BadResponse, Message: unreadable(answer)}
	}
	if len(c.Choices) > 0 {
		return c, nil
	}
	if told := tell(answer); told.message != "" {
		return nil, &record.Error{Class: cmp.Or(told.class(), record.BadResponse), Message: "status 200 with an error: " + told.message}
	}
	return c, nil
}

// shorten keeps messages readable.
func shorten(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s … (%d bytes)", secret.Prefix(text, most), len(text))
}
