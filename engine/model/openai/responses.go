package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sashabaranov/go-openai"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/record"
)

// Responses calls one model of a server that speaks OpenAI's Responses API. Nothing is stored there: what the server wants back in
// the next turn, such as its encrypted reasoning, is in the blocks of a reply.
type Responses struct {
	line *wire.Line
	// reasons: its reasoning comes encrypted, to be sent back.
	reasons bool
	// unverified: the server refuses summaries of the reasoning to this account.
	unverified atomic.Bool
}

// NewResponses makes a model. It fails on an invalid address.
func NewResponses(o wire.Options) (*Responses, error) {
	o.BaseURL = cmp.Or(o.BaseURL, DefaultURL)
	line, err := wire.New(o, func(address, key string, client *wire.Caught) error {
		config := openai.DefaultConfig(key)
		config.BaseURL, config.HTTPClient = address, client
		_, err := openai.NewClientWithConfig(config).CreateResponse(context.Background(), openai.CreateResponseRequest{})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Responses{line: line, reasons: o.Effort != "" || reasons(o.Name) && !strings.Contains(o.Name, "-chat")}, nil
}

// Call sends one request and waits for the whole answer.
func (m *Responses) Call(ctx context.Context, request *model.Request) (*model.Reply, error) {
	asked := m.summarises() // another call may learn meanwhile that they are refused
	reply, err := wire.Protocol[response]{
		Name: model.Responses, Body: m.body, Fold: foldResponse, Reply: m.reply,
		Empty: func(r *response) bool { return r.Status == "" },
	}.Call(ctx, m.line, request)
	var failed *model.CallError
	if asked && errors.As(err, &failed) && refusesSummaries(failed.Cause) {
		m.unverified.Store(true)
		failed.Retry = new(true)
	}
	return reply, err
}

// summarises reports whether the request asks for summaries of the reasoning.
func (m *Responses) summarises() bool {
	return m.line.Effort != "" && m.line.Effort != "none" && !m.unverified.Load()
}

// refusesSummaries reports whether a server wants to verify an account before it summarises reasoning for it.
func refusesSummaries(failed *record.Error) bool {
	return failed.Class == record.InvalidRequest && strings.Contains(failed.Message, "to generate reasoning summaries")
}

// responsesRequest is the body of a call. That of go-openai would round the temperature, and encode every text twice.
type responsesRequest struct {
	Model           string                     `json:"model"`
	Instructions    string                     `json:"instructions,omitempty"`
	Input           []any                      `json:"input"`
	Stream          bool                       `json:"stream"`
	Store           bool                       `json:"store"`
	Include         []openai.ResponseInclude   `json:"include,omitempty"`
	Temperature     *float64                   `json:"temperature,omitempty"`
	TopP            *float64                   `json:"top_p,omitempty"`
	MaxOutputTokens int                        `json:"max_output_tokens,omitempty"`
	Text            *openai.ResponseTextConfig `json:"text,omitempty"`
	Reasoning       *openai.ResponseReasoning  `json:"reasoning,omitempty"`
	Tools           []offeredFunction          `json:"tools,omitempty"`
	ToolChoice      any                        `json:"tool_choice,omitempty"`
	ServiceTier     string                     `json:"service_tier,omitempty"`
}

// offeredFunction is a tool that the model may call. A server takes strict for true where it is left out.
type offeredFunction struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// chosenFunction is the choice of one tool.
type chosenFunction struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// calledFunction is a call that the model made, sent back.
type calledFunction struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// body encodes a request. The API knows no seed.
func (m *Responses) body(request *model.Request) ([]byte, error) {
	body := responsesRequest{
		Model: m.line.Name, Input: make([]any, 0, len(request.Messages)), Stream: m.line.Stream,
		Temperature: request.Temperature, TopP: request.TopP, MaxOutputTokens: request.MaxOutputTokens, ServiceTier: m.line.Tier,
	}
	for i := range request.Messages {
		said := &request.Messages[i]
		if said.Role == "system" && len(body.Input) == 0 {
			body.Instructions += strings.Repeat("\n\n", min(1, len(body.Instructions))) + said.Text
			continue
		}
		body.Input = append(body.Input, itemsOf(said)...)
	}
	if m.reasons {
		body.Include = []openai.ResponseInclude{openai.ResponseIncludeReasoningEncryptedContent}
	}
	if m.line.Effort != "" {
		body.Reasoning = &openai.ResponseReasoning{Effort: m.line.Effort}
		if m.summarises() {
			body.Reasoning.Summary = "auto"
		}
	}
	if request.JSON {
		body.Text = &openai.ResponseTextConfig{Format: &openai.ResponseTextFormat{Type: "json_object"}}
	}
	for i := range request.Tools {
		tool := &request.Tools[i]
		parameters := tool.Parameters
		if len(parameters) == 0 {
			parameters = wire.NoParameters
		}
		body.Tools = append(body.Tools, offeredFunction{"function", tool.Name, tool.Description, parameters, isStrict(parameters)})
	}
	if len(request.Tools) > 0 { // a server refuses a choice among none
		body.ToolChoice = choiceOf(request.ToolChoice)
		if _, word := body.ToolChoice.(string); !word && body.ToolChoice != nil {
			body.ToolChoice = chosenFunction{"function", request.ToolChoice}
		}
	}
	text, err := json.Marshal(&body)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return text, nil
}

// strictWords are the words of JSON Schema that strict tools may surely use.
var strictWords = []string{"type", "description", "title", "properties", "required", "additionalProperties", "items", "enum", "const"}

// isStrict reports whether a server surely takes a schema for one of strict arguments, which the model then keeps to: each of its
// objects requires all of its properties, and allows no others.
func isStrict(schema json.RawMessage) bool {
	var parsed map[string]any
	return bytes.Contains(schema, []byte(`"additionalProperties"`)) && json.Unmarshal(schema, &parsed) == nil &&
		parsed["type"] == "object" && strictWithin(parsed, 1)
}

func strictWithin(schema map[string]any, depth int) bool {
	const deepest = 5
	for word := range schema {
		if !slices.Contains(strictWords, word) {
			return false
		}
	}
	if items, has := schema["items"]; has {
		inner, ok := items.(map[string]any)
		return ok && depth < deepest && strictWithin(inner, depth+1)
	}
	if schema["type"] != "object" {
		_, one := schema["type"].(string)
		return one && schema["type"] != "array"
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	if schema["additionalProperties"] != false || len(required) != len(properties) || depth > deepest {
		return false
	}
	for name, property := range properties {
		inner, ok := property.(map[string]any)
		if !ok || !slices.Contains(required, any(name)) || !strictWithin(inner, depth+1) {
			return false
		}
	}
	return true
}

// itemsOf are the input items of a message.
func itemsOf(said *model.Message) []any {
	switch said.Role {
	case "tool":
		return []any{openai.ResponseFunctionCallOutput{Type: "function_call_output", CallID: said.ToolCallID, Output: said.Text}}
	case "assistant":
		if items := sentBack(said); items != nil {
			return items
		}
		var items []any
		if said.Text != "" || said.ToolCalls == nil {
			part := openai.ResponseInputText{Type: "output_text", Text: said.Text}
			items = append(items, openai.ResponseInputMessage{Type: "message", Role: "assistant", Content: []any{part}})
		}
		for _, call := range said.ToolCalls {
			items = append(items, calledFunction{"function_call", call.ID, call.Name, call.Arguments})
		}
		return items
	}
	parts := make([]any, 0, 1+len(said.Images))
	if said.Text != "" || said.Images == nil {
		parts = append(parts, openai.ResponseInputText{Type: "input_text", Text: said.Text})
	}
	for i := range said.Images {
		parts = append(parts, openai.ResponseInputImage{Type: "input_image", ImageURL: said.Images[i].DataURL(), Detail: "auto"})
	}
	return []any{openai.ResponseInputMessage{Type: "message", Role: said.Role, Content: parts}}
}

// sentBack are the blocks of a reply as input items, if they are of this protocol and their calls are those of the message; else
// nil. Ids are left out, for a server looks up an item with an id, and finds none that it did not store. Reasoning in
// plain words, which only other servers give, keeps its id; one that has neither words nor encrypted content is
// left out.
func sentBack(said *model.Message) []any {
	var blocks []map[string]json.RawMessage
	if said.Blocks == nil || json.Unmarshal(said.Blocks, &blocks) != nil {
		return nil
	}
	items, ids, known := make([]any, 0, len(blocks)), make([]string, 0, len(said.ToolCalls)), false
	for _, block := range blocks {
		switch kind := textIn(block["type"]); kind {
		case "reasoning":
			known = true
			delete(block, "status")
			if wire.IsSet(block["encrypted_content"]) {
				delete(block, "id")
			} else if !wire.IsSet(block["content"]) {
				continue
			}
		default:
			known = known || kind == "message" || kind == "function_call"
			if kind == "function_call" {
				ids = append(ids, textIn(block["call_id"]))
			}
			delete(block, "id")
			delete(block, "status")
		}
		items = append(items, block)
	}
	if !known || !slices.EqualFunc(ids, said.ToolCalls, func(id string, call model.ToolCall) bool { return id == call.ID }) {
		return nil
	}
	return items
}

func textIn(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text)
	return text
}

// response is what is read of an answer, whole or the last event of a stream.
type response struct {
	Status     string          `json:"status"`
	Model      loose           `json:"model"`
	Error      json.RawMessage `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output output     `json:"output"`
	Tier   loose      `json:"service_tier"`
	Usage  wire.Usage `json:"usage"`
}

// output are the items of an answer.
type output struct {
	raw   json.RawMessage // compact, where the items say more than text and calls
	items []item
}

// UnmarshalJSON takes a list of items.
func (o *output) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &o.items); err != nil || o.isPlain() {
		return err
	}
	var b bytes.Buffer
	err := json.Compact(&b, raw)
	o.raw = b.Bytes()
	return err
}

// isPlain reports whether a message and the calls behind it are all that the items say.
func (o *output) isPlain() bool {
	for i := range o.items {
		switch it := &o.items[i]; it.Type {
		case "message":
			if i > 0 || it.Phase != "" || slices.ContainsFunc(it.Content, func(p part) bool { return p.Type != "output_text" }) {
				return false
			}
		case "function_call":
		default:
			return false
		}
	}
	return true
}

// item is one of an output: a message, a call, reasoning, or another one.
type item struct {
	Type      string          `json:"type"`
	Phase     loose           `json:"phase"` // of a message: commentary or final_answer
	Content   []part          `json:"content"`
	Summary   []part          `json:"summary"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	Action    json.RawMessage `json:"action"`
}

// part is one of an item.
type part struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// joined are the texts of parts of some type, "": of any.
func joined(parts []part, kind, between string) string {
	var texts []string
	for i := range parts {
		if kind == "" || parts[i].Type == kind {
			texts = append(texts, parts[i].Text)
		}
	}
	return strings.Join(texts, between)
}

// responsesCounted are the names in a usage that record.Usage has, and their sum.
var responsesCounted = []string{
	"input_tokens", "output_tokens", "total_tokens",
	"input_tokens_details.cached_tokens", "input_tokens_details.cache_write_tokens", "output_tokens_details.reasoning_tokens",
}

// reply makes a reply of an answer with status 200.
func (m *Responses) reply(request *model.Request, r *response) (*model.Reply, *record.Error) {
	if r.Status == "" && r.Output.items == nil {
		return nil, &record.Error{Class: record.BadResponse, Message: "the answer has no output"}
	}
	made := &model.Reply{
		Answered: m.line.AnsweredBy(string(r.Model)), Blocks: r.Output.raw,
		Tier: tierOf(string(r.Tier)), Reported: r.Usage.Beyond(responsesCounted),
	}
	refusal, spoken := r.Output.tell(made)
	var failed *record.Error
	switch made.Finish, failed = r.finish(made.ToolCalls != nil); {
	case failed != nil && r.Usage.Tells("input_tokens"): // what broke off has its cost
		made.Usage = m.usage(r.Usage, request.InputTokens(), model.EstimateTokens(made.Bytes()))
		return made, failed
	case failed != nil:
		return nil, failed
	case made.Text == "" && refusal != "":
		made.Usage = m.usage(r.Usage, request.InputTokens(), model.EstimateTokens(len(refusal)))
		return made, &record.Error{Class: record.ContentFilter, Message: "the model refused: " + wire.Shorten(refusal)}
	case made.Finish == "stop" && !spoken:
		return nil, &record.Error{Class: record.BadResponse, Message: "the answer has no message"}
	}
	made.Usage = m.usage(r.Usage, request.InputTokens(), model.EstimateTokens(made.Bytes()))
	return made, nil
}

// tell puts text, calls and reasoning into a reply. Comments beside a final answer are no part of it. Spoken: there is a message.
func (o *output) tell(reply *model.Reply) (refusal string, spoken bool) {
	var comments string
	var thinking []string
	for i := range o.items {
		switch it := &o.items[i]; it.Type {
		case "message":
			spoken = true
			said := joined(it.Content, "output_text", "")
			if it.Phase == "commentary" {
				comments += said
			} else {
				reply.Text += said
			}
			for i := range it.Content {
				refusal += it.Content[i].Refusal
			}
		case "function_call":
			reply.ToolCalls = append(reply.ToolCalls, model.ToolCall{ID: it.CallID, Name: it.Name, Arguments: it.Arguments})
		case "custom_tool_call": // of programs alone: what we offer are functions
			reply.ToolCalls = append(reply.ToolCalls, model.ToolCall{ID: it.CallID, Name: it.Name, Arguments: it.Input})
		case "local_shell_call":
			reply.ToolCalls = append(reply.ToolCalls, model.ToolCall{ID: it.CallID, Name: "local_shell", Arguments: string(it.Action)})
		case "reasoning":
			thinking = append(thinking, cmp.Or(joined(it.Summary, "", "\n\n"), joined(it.Content, "", "\n\n")))
		}
	}
	model.Identify(reply.ToolCalls)
	if reply.Text == "" {
		reply.Text, comments = comments, ""
	}
	thinking = slices.DeleteFunc(append(thinking, comments), func(text string) bool { return text == "" })
	reply.Thinking = strings.Join(thinking, "\n\n")
	return refusal, spoken
}

// finish is the finish reason of a reply, in the words of chat completions, or the error of one that is incomplete.
func (r *response) finish(calls bool) (string, *record.Error) {
	switch {
	case r.Status == "completed" && calls:
		return "tool_calls", nil
	case r.Status == "completed":
		return "stop", nil
	case r.Status == "incomplete" && r.Incomplete.Reason == "max_output_tokens":
		return "length", nil
	case r.Status == "incomplete" && r.Incomplete.Reason == "content_filter":
		return "content_filter", nil
	case r.Status == "incomplete":
		return "", &record.Error{Class: record.Incomplete, Message: "the answer is incomplete: " + cmp.Or(wire.Shorten(r.Incomplete.Reason), "no reason was given")}
	case r.Status == "failed":
		return "", r.failure()
	case r.Status == "" || r.Status == "in_progress":
		return "", &record.Error{Class: record.Incomplete, Message: fmt.Sprintf("the answer has the status %q: it was cut off", r.Status)}
	}
	return "", &record.Error{Class: record.BadResponse, Message: "the answer is " + wire.Shorten(r.Status) + ", not completed"}
}

// failure explains an answer that failed.
func (r *response) failure() *record.Error {
	told := wire.Tell(r.Error)
	class := told.Class()
	switch {
	case class != "":
	case strings.HasPrefix(told.Code, "invalid_"), strings.Contains(told.Code, "image"):
		class = record.InvalidRequest
	default:
		class = record.Server
	}
	return &record.Error{Class: class, Message: "the response failed: " + cmp.Or(told.Message, told.Code, "no error was given")}
}

// usage believes the server where what it says can be.
func (m *Responses) usage(said wire.Usage, input, output int64) record.Usage {
	used := record.Usage{
		Calls: 1, InputTokens: said.Tokens("input_tokens"), OutputTokens: said.Tokens("output_tokens"),
		CachedTokens: said.Tokens("input_tokens_details.cached_tokens"), CacheWriteTokens: said.Tokens("input_tokens_details.cache_write_tokens"),
	}
	used.ReasoningTokens = max(0, min(said.Tokens("output_tokens_details.reasoning_tokens"), used.OutputTokens))
	return m.line.Used(used, said.Tells("input_tokens", "output_tokens") && wire.Plausible(used, output), input, output)
}

// foldResponse makes one whole answer of a stream of events, the last of which holds all of it. What is not a whole answer is
// a *record.Error, or the reader's error.
func foldResponse(from *bufio.Reader) (*response, error) {
	var f foldedResponse
	if err := wire.Events(from, f.take); err != nil {
		return nil, err
	}
	if f.final == nil {
		return nil, &record.Error{Class: record.Incomplete, Message: "the stream ended without response.completed: the answer was cut off"}
	}
	return f.final, nil
}

// foldedResponse is what a stream has told so far.
type foldedResponse struct {
	usage wire.Usage
	final *response
}

// take takes an event. Of those before the last only the usage matters.
func (f *foldedResponse) take(name string, data []byte) (last bool, err error) {
	if string(data) == "[DONE]" {
		return true, nil
	}
	var e struct {
		Type     string          `json:"type"`
		Response json.RawMessage `json:"response"`
	}
	err = json.Unmarshal(data, &e)
	switch cmp.Or(e.Type, name) {
	case "error":
		return false, wire.ToldInStream(data)
	case "response.created", "response.in_progress":
		var begun struct{ Usage wire.Usage }
		_ = json.Unmarshal(e.Response, &begun)
		f.usage = begun.Usage
	case "response.completed", "response.incomplete", "response.failed":
		r := &response{Usage: f.usage}
		if json.Unmarshal(e.Response, r) != nil {
			return false, wire.Broken(data)
		}
		if f.final = r; r.Status == "failed" {
			return true, r.brokenOff()
		}
		return true, nil
	}
	if err != nil {
		return false, wire.Broken(data)
	}
	return false, nil
}

// brokenOff explains a stream that failed: a server's fault cut off what had begun.
func (r *response) brokenOff() *record.Error {
	failed := r.failure()
	if failed.Class == record.Server {
		failed.Class = record.Incomplete
	}
	return failed
}
