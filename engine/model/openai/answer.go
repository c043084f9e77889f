package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/sashabaranov/go-openai"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
)

// reply makes a reply of an answer with status 200. An answer is complete only
// with a finish reason.
func (m *Model) reply(request *model.Request, response *openai.ChatCompletionResponse, answer []byte) (*model.Reply, *record.Error) {
	if len(response.Choices) == 0 {
		return nil, withoutChoices(answer)
	}
	choice := &response.Choices[0]
	made := &model.Reply{
		Text: messageText(&choice.Message), ToolCalls: callsOf(choice.Message.ToolCalls),
		Answered: m.answeredBy(response.Model), Finish: string(choice.FinishReason),
	}
	more := droppedOf(answer, made.Text)
	switch {
	case choice.FinishReason == "" || choice.FinishReason == "null":
		return nil, &record.Error{Class: record.Incomplete, Message: "the answer has no finish_reason: it was cut off"}
	case made.Text == "" && choice.Message.Refusal != "":
		return nil, &record.Error{Class: record.ContentFilter, Message: "the model refused: " + shorten(choice.Message.Refusal)}
	case made.Text == "" && made.ToolCalls == nil && choice.FinishReason == openai.FinishReasonStop && !more.hasContent():
		return nil, &record.Error{Class: record.BadResponse, Message: "the answer's message has no content"}
	}
	made.Thinking = cmp.Or(choice.Message.ReasoningContent, more.reasoning())
	made.Usage = m.counted.usage(&response.Usage, more.Usage.CacheHits, request.InputTokens(), model.EstimateTokens(made.Bytes()))
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

// withoutChoices explains an answer that came with status 200 and is none.
func withoutChoices(answer []byte) *record.Error {
	if told := tell(answer); told.message != "" {
		class := record.BadResponse
		if known := told.class(); known != "" {
			class = known
		}
		return &record.Error{Class: class, Message: "status 200 with an error: " + told.message}
	}
	return &record.Error{Class: record.BadResponse, Message: "the answer has no choices"}
}

func messageText(message *openai.ChatCompletionMessage) string {
	text := message.Content
	for _, part := range message.MultiContent {
		text += part.Text
	}
	return text
}

// dropped is what go-openai does not read of an answer.
type dropped struct {
	Choices []struct {
		Message struct {
			Content   *json.RawMessage `json:"content"` // nil: none, which is not an empty one
			Reasoning string           `json:"reasoning"`
		} `json:"message"`
	} `json:"choices"`
	Usage struct {
		CacheHits int64 `json:"prompt_cache_hit_tokens"`
	} `json:"usage"`
}

// droppedOf reads an answer again if it holds any of it; only of one without text
// does it matter what the content is.
func droppedOf(answer []byte, text string) (d dropped) {
	if text == "" || bytes.Contains(answer, []byte(`"reasoning"`)) || bytes.Contains(answer, []byte(`"prompt_cache_hit_tokens"`)) {
		_ = json.Unmarshal(answer, &d) // what has another type counts as missing
	}
	return d
}

func (d *dropped) hasContent() bool { return len(d.Choices) > 0 && d.Choices[0].Message.Content != nil }

func (d *dropped) reasoning() string {
	if len(d.Choices) == 0 {
		return ""
	}
	return d.Choices[0].Message.Reasoning
}

// shorten keeps messages readable.
func shorten(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s … (%d bytes)", secret.Prefix(text, most), len(text))
}
