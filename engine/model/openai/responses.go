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
	reply, err := wire.Protocol[response]{Name: model.Responses, Body: m.body, Fold: foldResponse, Read: readResponse, Reply: m.reply}.Call(ctx, m.line, request)
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
			parameters = noParameters
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
			if isSet(block["encrypted_content"]) {
				delete(block, "id")
			} else if !isSet(block["content"]) {
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
	Output output         `json:"output"`
	Tier   loose          `json:"service_tier"`
	Usage  responsesUsage `json:"usage"`
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

// responsesUsage is what a server says of the usage of a call.
type responsesUsage struct {
	raw     []json.RawMessage
	Input   wire.Count `json:"input_tokens"`
	Output  wire.Count `json:"output_tokens"`
	OfInput struct {
		Cached  wire.Count `json:"cached_tokens"`
		Written wire.Count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OfOutput struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// UnmarshalJSON never fails: a counter of a wrong type stays unknown, and the answer still counts.
func (u *responsesUsage) UnmarshalJSON(raw []byte) error {
	type plain responsesUsage
	_ = json.Unmarshal(raw, (*plain)(u))
	u.raw = []json.RawMessage{bytes.Clone(raw)}
	return nil
}

// raise takes what a later event of a stream reports, as that of chat completions does.
func (u *responsesUsage) raise(now *responsesUsage) {
	less := false
	for _, counter := range []struct{ so, now *wire.Count }{
		{&u.Input, &now.Input}, {&u.Output, &now.Output}, {&u.OfInput.Cached, &now.OfInput.Cached},
		{&u.OfInput.Written, &now.OfInput.Written}, {&u.OfOutput.Reasoning, &now.OfOutput.Reasoning},
	} {
		less = counter.so.Raise(*counter.now) || less
	}
	u.raw = raised(u.raw, now.raw, less)
}

// responsesCounted are the names in a usage that record.Usage has, and their sum.
var responsesCounted = []string{
	"input_tokens", "output_tokens", "total_tokens",
	"input_tokens_details.cached_tokens", "input_tokens_details.cache_write_tokens", "output_tokens_details.reasoning_tokens",
}

// readResponse decodes an answer that was not streamed, or gives the error. The bytes are not kept.
func readResponse(from *wire.Answer) (*response, *record.Error) {
	answer := from.Body
	from.Body = nil
	r := &response{}
	if json.Unmarshal(answer, r) != nil {
		return nil, &record.Error{Class: record.BadResponse, Message: wire.Unreadable(answer)}
	}
	if r.Status == "" {
		if told := wire.Tell(answer); told.Message != "" {
			return nil, &record.Error{Class: cmp.Or(told.Class(), record.BadResponse), Message: "status 200 with an error: " + told.Message}
		}
		if r.Output.items == nil {
			return nil, &record.Error{Class: record.BadResponse, Message: "the answer has no output"}
		}
	}
	return r, nil
}

// reply makes a reply of an answer with status 200.
func (m *Responses) reply(request *model.Request, r *response) (*model.Reply, *record.Error) {
	made := &model.Reply{
		Answered: m.line.AnsweredBy(string(r.Model)), Blocks: r.Output.raw,
		Tier: tierOf(string(r.Tier)), Reported: wire.Reported(responsesCounted, r.Usage.raw...),
	}
	refusal, spoken := r.Output.tell(made)
	var failed *record.Error
	switch made.Finish, failed = r.finish(made.ToolCalls != nil); {
	case failed != nil && r.Usage.Input.Known: // what broke off has its cost
		made.Usage = m.usage(&r.Usage, request.InputTokens(), model.EstimateTokens(made.Bytes()))
		return made, failed
	case failed != nil:
		return nil, failed
	case made.Text == "" && refusal != "":
		made.Usage = m.usage(&r.Usage, request.InputTokens(), model.EstimateTokens(len(refusal)))
		return made, &record.Error{Class: record.ContentFilter, Message: "the model refused: " + wire.Shorten(refusal)}
	case made.Finish == "stop" && !spoken:
		return nil, &record.Error{Class: record.BadResponse, Message: "the answer has no message"}
	}
	made.Usage = m.usage(&r.Usage, request.InputTokens(), model.EstimateTokens(made.Bytes()))
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
func (m *Responses) usage(said *responsesUsage, input, output int64) record.Usage {
	used := record.Usage{
		Calls: 1, InputTokens: said.Input.N, OutputTokens: said.Output.N,
		CachedTokens: said.OfInput.Cached.N, CacheWriteTokens: said.OfInput.Written.N,
	}
	used.ReasoningTokens = max(0, min(said.OfOutput.Reasoning.N, used.OutputTokens))
	return m.line.Used(used, said.Input.Known && said.Output.Known && wire.Plausible(used, output), input, output)
}

// responseEvent is what is read of an event of a stream.
type responseEvent struct {
	Type      string          `json:"type"`
	Sequence  *int64          `json:"sequence_number"` // there are servers that leave it out
	Item      *int            `json:"output_index"`    // and this
	Part      int             `json:"content_index"`
	Delta     string          `json:"delta"`
	Text      string          `json:"text"`
	Refusal   string          `json:"refusal"`
	Arguments string          `json:"arguments"`
	Response  json.RawMessage `json:"response"`
}

// place is where a streamed text belongs: a part of an item, or its arguments.
type place struct {
	item, part int
	arguments  bool
}

// foldedResponse is what a stream has told so far.
type foldedResponse struct {
	last  int64 // the number of the newest event
	items int   // that began
	usage responsesUsage
	texts map[place]*wire.Text
	final *response
}

// foldResponse makes one whole answer of a stream of events. Its last event holds all of it; what came before has to agree.
// What is not a whole answer is a *record.Error, or the reader's error.
func foldResponse(from *bufio.Reader) (*response, error) {
	f := foldedResponse{last: -1, texts: map[place]*wire.Text{}}
	err := wire.Events(from, f.take)
	switch {
	case err != nil:
		return nil, err
	case f.final == nil:
		return nil, &record.Error{Class: record.Incomplete, Message: "the stream ended without response.completed: the answer was cut off"}
	}
	return f.final, nil
}

// take takes an event; the ones that it does not know say nothing.
func (f *foldedResponse) take(name string, data []byte) (last bool, err error) {
	if string(data) == "[DONE]" {
		return true, nil
	}
	var e responseEvent
	err = json.Unmarshal(data, &e)
	switch e.Type = cmp.Or(e.Type, name); {
	case e.Type == "error":
		return false, wire.ToldInStream(data)
	case isSyntax(err):
		return false, wire.Broken(data)
	case e.Sequence != nil && *e.Sequence <= f.last:
		return false, disorder("event %d comes after event %d", *e.Sequence, f.last)
	case e.Sequence != nil:
		f.last = *e.Sequence
	}
	known, last, fault := f.tell(&e)
	if known && err != nil {
		return false, wire.Broken(data)
	}
	return last, fault
}

// tell takes what an event says.
func (f *foldedResponse) tell(e *responseEvent) (known, last bool, err error) {
	switch e.Type {
	case "response.created", "response.in_progress":
		f.report(e.Response)
	case "response.output_item.added":
		if e.Item != nil && *e.Item != f.items {
			return true, false, disorder("item %d begins after %d items", *e.Item, f.items)
		}
		f.items++
	case "response.output_text.delta", "response.refusal.delta":
		return true, false, f.add(e, false)
	case "response.function_call_arguments.delta":
		return true, false, f.add(e, true)
	case "response.output_text.done":
		return true, false, f.settle(e, false, e.Text)
	case "response.refusal.done":
		return true, false, f.settle(e, false, e.Refusal)
	case "response.function_call_arguments.done":
		return true, false, f.settle(e, true, e.Arguments)
	case "response.completed", "response.incomplete", "response.failed":
		var r response
		if json.Unmarshal(e.Response, &r) != nil {
			return true, false, wire.Broken(e.Response)
		}
		f.usage.raise(&r.Usage)
		r.Usage = f.usage
		f.final = &r
		if r.Status != "failed" {
			return true, true, f.agree()
		}
		failed := r.failure()
		if failed.Class == record.Server { // it broke off what it had begun
			failed.Class = record.Incomplete
		}
		return true, true, failed
	default:
		return false, false, nil
	}
	return true, false, nil
}

// report takes the usage of an answer in progress, which is null at OpenAI.
func (f *foldedResponse) report(r json.RawMessage) {
	if !bytes.Contains(r, []byte(`"input_tokens"`)) {
		return
	}
	var begun struct{ Usage responsesUsage }
	_ = json.Unmarshal(r, &begun) // it was read as an event
	f.usage.raise(&begun.Usage)
}

// at is the text that an event is about, nil where the event does not say it.
func (f *foldedResponse) at(e *responseEvent, arguments bool) (*wire.Text, error) {
	switch {
	case e.Item == nil:
		return nil, nil
	case *e.Item < 0 || *e.Item >= f.items:
		return nil, disorder("%s is about item %d, and %d began", e.Type, *e.Item, f.items)
	}
	p := place{*e.Item, e.Part, arguments}
	if f.texts[p] == nil {
		f.texts[p] = &wire.Text{}
	}
	return f.texts[p], nil
}

func (f *foldedResponse) add(e *responseEvent, arguments bool) error {
	said, err := f.at(e, arguments)
	if said != nil {
		said.Add(e.Delta)
	}
	return err
}

// settle compares a text that is whole with its pieces, if there were any.
func (f *foldedResponse) settle(e *responseEvent, arguments bool, whole string) error {
	said, err := f.at(e, arguments)
	switch {
	case said == nil:
		return err
	case said.String() == "":
		said.Add(whole)
	case said.String() != whole:
		return disorder("%s of item %d is not what its pieces say", e.Type, *e.Item)
	}
	return nil
}

// agree compares the answer with its pieces.
func (f *foldedResponse) agree() error {
	for p, said := range f.texts {
		whole := ""
		if p.item < len(f.final.Output.items) {
			it := &f.final.Output.items[p.item]
			if p.arguments {
				whole = it.Arguments
			} else if p.part >= 0 && p.part < len(it.Content) {
				whole = it.Content[p.part].Text + it.Content[p.part].Refusal
			}
		}
		if said.String() != whole {
			return disorder("item %d of the answer is not what its pieces say", p.item)
		}
	}
	return nil
}

// disorder is the fault of a stream whose events contradict each other.
func disorder(format string, about ...any) *record.Error {
	return &record.Error{Class: record.BadResponse, Message: "the events of the stream do not fit together: " + fmt.Sprintf(format, about...)}
}
