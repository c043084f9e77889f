package openai

import (
	"encoding/json"
	"fmt"

	"github.com/sashabaranov/go-openai"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

// mostTokens is more than any call can use; a server that reports more is not believed.
const mostTokens = 1 << 30

// reply makes a reply of an answer with status 200. An answer is complete only
// with a finish reason.
func (m *Model) reply(request *model.Request, response *openai.ChatCompletionResponse, answer []byte) (*model.Reply, *record.Error) {
	if len(response.Choices) == 0 {
		return nil, withoutChoices(answer)
	}
	choice := &response.Choices[0]
	text := messageText(&choice.Message)
	switch {
	case choice.FinishReason == "" || choice.FinishReason == "null":
		return nil, &record.Error{Class: record.Incomplete, Message: "the answer has no finish_reason: it was cut off"}
	case text == "" && choice.Message.Refusal != "":
		return nil, &record.Error{Class: record.ContentFilter, Message: "the model refused: " + shorten(choice.Message.Refusal)}
	case text == "" && choice.FinishReason == openai.FinishReasonStop && !hasContent(answer):
		return nil, &record.Error{Class: record.BadResponse, Message: "the answer's message has no content"}
	}
	return &model.Reply{
		Text:     text,
		Thinking: choice.Message.ReasoningContent,
		Finish:   string(choice.FinishReason),
		Usage:    usage(request, &response.Usage, len(text)+len(choice.Message.ReasoningContent)),
	}, nil
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

// hasContent tells an empty content from none, which go-openai does not.
func hasContent(answer []byte) bool {
	var raw struct {
		Choices []struct {
			Message struct {
				Content *json.RawMessage `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if json.Unmarshal(answer, &raw) != nil || len(raw.Choices) == 0 {
		return false
	}
	return raw.Choices[0].Message.Content != nil
}

// usage believes the server where what it says can be; else it estimates.
func usage(request *model.Request, said *openai.Usage, characters int) record.Usage {
	used := record.Usage{
		Calls:        1,
		InputTokens:  int64(said.PromptTokens),
		OutputTokens: int64(said.CompletionTokens),
	}
	if !plausible(used.InputTokens) || used.OutputTokens < 0 || used.OutputTokens > mostTokens ||
		used.OutputTokens == 0 && characters > 0 {
		used.InputTokens, used.OutputTokens = request.InputTokens(), model.EstimateTokens(characters)
		used.Estimated = 1
		return used
	}
	if d := said.PromptTokensDetails; d != nil {
		used.CachedTokens = within(int64(d.CachedTokens), used.InputTokens)
	}
	if d := said.CompletionTokensDetails; d != nil {
		used.ReasoningTokens = within(int64(d.ReasoningTokens), used.OutputTokens)
	}
	return used
}

func plausible(tokens int64) bool { return tokens > 0 && tokens <= mostTokens }

// within clamps a part of a whole.
func within(part, whole int64) int64 { return max(0, min(part, whole)) }

// shorten keeps messages readable.
func shorten(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s … (%d bytes)", validPrefix(text, most), len(text))
}
