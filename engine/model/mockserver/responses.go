package mockserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// responses is the Responses API of OpenAI.
type responses struct{ openAI }

// responsesRequest is what is read of a body; the rest is only hashed.
type responsesRequest struct {
	Model           string                  `json:"model"`
	Instructions    *string                 `json:"instructions"`
	Input           *textOrParts[inputItem] `json:"input"`
	Tools           []json.RawMessage       `json:"tools"`
	Stream          bool                    `json:"stream"`
	MaxOutputTokens *int                    `json:"max_output_tokens"`
	ServiceTier     string                  `json:"service_tier"`
	Text            struct {
		Format struct {
			Type string `json:"type"`
		} `json:"format"`
	} `json:"text"`
	Previous    string          `json:"previous_response_id"`
	Store       *bool           `json:"store"`
	Parallel    *bool           `json:"parallel_tool_calls"`
	Temperature *float64        `json:"temperature"`
	TopP        *float64        `json:"top_p"`
	ToolChoice  json.RawMessage `json:"tool_choice"`
	Reasoning   json.RawMessage `json:"reasoning"`
	Metadata    json.RawMessage `json:"metadata"`
}

// inputItem is a part of the conversation that is asked.
type inputItem struct {
	Type      string            `json:"type"` // "": a message
	Role      string            `json:"role"`
	Content   textOrParts[part] `json:"content"`
	CallID    string            `json:"call_id"`
	Name      string            `json:"name"`
	Arguments string            `json:"arguments"`
	Output    textOrParts[part] `json:"output"`
	Summary   []part            `json:"summary"`
	Encrypted string            `json:"encrypted_content"`
}

// part is a part of a message or of a tool's output.
type part struct {
	Text    string          `json:"text"`
	Refusal string          `json:"refusal,omitempty"`
	Image   json.RawMessage `json:"image_url,omitempty"`
	mark
}

func joined(t *textOrParts[part]) string {
	text := t.text
	for i := range t.parts {
		text += t.parts[i].Text + t.parts[i].Refusal
	}
	return text
}

func (responses) read(r *request, body []byte, _ http.Header) *problem {
	var asked responsesRequest
	if err := json.Unmarshal(body, &asked); err != nil {
		return notJSON(err)
	}
	switch {
	case asked.Model == "":
		return missing("model")
	case asked.Input == nil:
		return missing("input")
	}
	if refused := asked.refuse(); refused != nil {
		return refused
	}
	*r = request{
		model: asked.Model, stream: asked.Stream, tier: asked.ServiceTier, callID: "call_", own: &asked, hash: r.hash,
		json: asked.Text.Format.Type != "" && asked.Text.Format.Type != "text",
	}
	if asked.MaxOutputTokens != nil {
		r.maxOutput = *asked.MaxOutputTokens
	}
	for _, tool := range asked.Tools {
		r.tools += len(tool)
	}
	if asked.Instructions != nil {
		r.say("system", *asked.Instructions, len(*asked.Instructions))
	}
	if asked.Input.parts == nil {
		r.say("user", asked.Input.text, len(asked.Input.text))
	}
	for i := range asked.Input.parts {
		it := &asked.Input.parts[i]
		role, text := it.says()
		r.say(role, text, it.bytes())
	}
	if isMarked(body) {
		asked.cache(&r.cached, r.tools)
	}
	return nil
}

// says is who says what with an item; calls and thoughts are the assistant's, and no text.
func (it *inputItem) says() (role, text string) {
	switch it.Type {
	case "", "message":
		return it.Role, joined(&it.Content)
	case "function_call_output":
		return "tool", joined(&it.Output)
	}
	return "assistant", ""
}

// bytes is the length of what a model reads of an item.
func (it *inputItem) bytes() int {
	_, text := it.says()
	thoughts, _ := unseal(it.Encrypted)
	return len(text) + len(it.Name) + len(it.Arguments) + len(thoughts)
}

// leastOutput is the least limit of output tokens that the API takes.
const leastOutput = 16

// refuse says what is wrong with a request; nil: nothing is.
func (r *responsesRequest) refuse() *problem {
	if n := r.MaxOutputTokens; n != nil && *n < leastOutput {
		return invalid("max_output_tokens", "integer_below_min_value",
			"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= %d, but got %d instead.", leastOutput, *n)
	}
	if r.Previous != "" { // no response is stored
		return invalid("previous_response_id", "previous_response_not_found", "Previous response with id '%s' not found.", r.Previous)
	}
	open := map[string]bool{} // calls that have no output yet
	for i := range r.Input.parts {
		it := &r.Input.parts[i]
		at := fmt.Sprintf("input[%d]", i)
		switch it.Type {
		case "", "message":
			if !slices.Contains([]string{"assistant", "system", "developer", "user"}, it.Role) {
				return invalid(at+".role", "invalid_value", "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", it.Role)
			}
		case "function_call":
			open[it.CallID] = true
		case "function_call_output":
			if !open[it.CallID] {
				return invalid("input", "", "No tool call found for function call output with call_id %s.", it.CallID)
			}
			delete(open, it.CallID)
		case "reasoning":
			if _, ok := unseal(it.Encrypted); it.Encrypted != "" && !ok {
				return invalid("", "invalid_encrypted_content", "The encrypted content %.4s... could not be verified. Reason: Encrypted content could not be decrypted or parsed.", it.Encrypted)
			}
		}
	}
	for i := range r.Input.parts {
		if it := &r.Input.parts[i]; it.Type == "function_call" && open[it.CallID] {
			return invalid("input", "", "No tool output found for function call %s.", it.CallID)
		}
	}
	return nil
}

// cache is the prompt as a cache sees it.
func (r *responsesRequest) cache(to *cached, bytes int) {
	if r.Instructions != nil {
		bytes += len(*r.Instructions)
	}
	to.add([]any{r.Model, r.Tools, r.Instructions}, bytes, &mark{})
	for i := range r.Input.parts {
		it := &r.Input.parts[i]
		if it.Content.parts == nil {
			bytes += it.bytes()
			to.add([]any{it.Role, it.Content.text, it.Name, it.Arguments, it.Output.text, it.Encrypted}, bytes, &mark{})
		}
		for j := range it.Content.parts {
			p := &it.Content.parts[j]
			bytes += len(p.Text) + len(p.Refusal)
			to.add([]any{it.Role, p.Text, p.Refusal, p.Image}, bytes, &p.mark)
		}
	}
}

func (p responses) problem(name string) *problem {
	if name == "context" {
		return invalid("input", "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again.")
	}
	return p.openAI.problem(name)
}

// response is an answer in the API's shape. Where faults make it break the API's
// promises, fields are nil.
type response struct {
	ID           string            `json:"id"`
	Object       string            `json:"object"`
	CreatedAt    int64             `json:"created_at"`
	Status       string            `json:"status"`
	Background   bool              `json:"background"`
	CompletedAt  *int64            `json:"completed_at"`
	Error        *failure          `json:"error"`
	Incomplete   *incomplete       `json:"incomplete_details"`
	Instructions *string           `json:"instructions"`
	MaxOutput    *int              `json:"max_output_tokens"`
	Model        string            `json:"model"`
	Output       []any             `json:"output"`
	Parallel     bool              `json:"parallel_tool_calls"`
	Previous     *string           `json:"previous_response_id"`
	Reasoning    json.RawMessage   `json:"reasoning"`
	Tier         string            `json:"service_tier"`
	Store        bool              `json:"store"`
	Temperature  float64           `json:"temperature"`
	Text         json.RawMessage   `json:"text"`
	ToolChoice   json.RawMessage   `json:"tool_choice"`
	Tools        []json.RawMessage `json:"tools"`
	TopP         float64           `json:"top_p"`
	Truncation   string            `json:"truncation"`
	Usage        json.RawMessage   `json:"usage"`
	User         *string           `json:"user"`
	Metadata     json.RawMessage   `json:"metadata"`
}

type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

// The items of an answer.

type reasoningItem struct {
	ID        string        `json:"id"`
	Type      string        `json:"type"`
	Encrypted string        `json:"encrypted_content"`
	Summary   []summaryPart `json:"summary"`
}

type summaryPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type messageItem struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Content []any  `json:"content"`
	Role    string `json:"role"`
}

type textPart struct {
	Type        string     `json:"type"`
	Annotations []struct{} `json:"annotations"`
	Logprobs    []struct{} `json:"logprobs"`
	Text        string     `json:"text"`
}

type refusalPart struct {
	Type    string `json:"type"`
	Refusal string `json:"refusal"`
}

type callItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	Arguments string `json:"arguments"`
	CallID    string `json:"call_id,omitempty"`
	Name      string `json:"name"`
}

func textPartOf(text string) textPart {
	return textPart{"output_text", []struct{}{}, []struct{}{}, text}
}

func (p responses) whole(a *answer) any {
	r := p.response(a)
	p.complete(r, a)
	return r
}

// response is an answer that is in progress.
func (responses) response(a *answer) *response {
	asked, _ := a.own.(*responsesRequest)
	if asked == nil {
		asked = &responsesRequest{}
	}
	r := &response{
		ID: "resp_" + a.id, Object: "response", CreatedAt: a.created, Status: "in_progress", Instructions: asked.Instructions,
		MaxOutput: asked.MaxOutputTokens, Model: a.model, Output: []any{}, Parallel: true, Reasoning: or(asked.Reasoning, `{"effort":null,"summary":null}`),
		Tier: cmp.Or(a.tier, "auto"), Store: true, Temperature: 1, Text: json.RawMessage(`{"format":{"type":"text"},"verbosity":"medium"}`),
		ToolChoice: or(asked.ToolChoice, `"auto"`), Tools: asked.Tools, TopP: 1, Truncation: "disabled", Metadata: or(asked.Metadata, `{}`),
	}
	if r.Tools == nil {
		r.Tools = []json.RawMessage{}
	}
	if asked.Text.Format.Type != "" {
		r.Text, _ = json.Marshal(asked.Text) // plain data
	}
	set(&r.Store, asked.Store)
	set(&r.Parallel, asked.Parallel)
	set(&r.Temperature, asked.Temperature)
	set(&r.TopP, asked.TopP)
	return r
}

func set[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}

func or(raw json.RawMessage, usual string) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(usual)
	}
	return raw
}

// complete ends an answer.
func (p responses) complete(r *response, a *answer) {
	if a.finish == "" {
		r.Status = "in_progress"
	} else if r.Status = "completed"; a.finish == "length" {
		r.Status, r.Incomplete = "incomplete", &incomplete{"max_output_tokens"}
	} else if a.finish == "content_filter" {
		r.Status, r.Incomplete = "incomplete", &incomplete{"content_filter"}
	} else if a.finish == unknown {
		r.Status, r.Incomplete = "incomplete", &incomplete{unknown}
	}
	if r.Status == "completed" {
		r.CompletedAt = &a.created
	}
	r.Tier = cmp.Or(tierOf(a.tier), "default")
	switch a.content {
	case isNull:
		r.Output = nil
	case present:
		r.Output = p.items(a)
	}
	r.Usage = a.responsesUsage()
}

// responsesUsage writes the usage, nil where it is not told.
func (a *answer) responsesUsage() json.RawMessage {
	u := a.usage
	if u == nil {
		return nil
	}
	as := cmp.Or(u.as, "%d")
	return fmt.Appendf(nil, `{"input_tokens":`+as+`,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"output_tokens":`+as+
		`,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":`+as+`}`, u.input, u.cached, u.written+u.written1h, u.output, u.thinking, u.input+u.output)
}

// items are what an answer says.
func (responses) items(a *answer) []any {
	var all []any
	status := "completed"
	if a.finish != "stop" && a.finish != "tool_calls" {
		status = "incomplete"
	}
	if a.thinking != "" {
		all = append(all, reasoningItem{"rs_" + a.id, "reasoning", seal(a.thinking), []summaryPart{{"summary_text", a.thinking}}})
	}
	if a.refusal != "" {
		all = append(all, messageItem{"msg_" + a.id, "message", status, []any{refusalPart{"refusal", a.refusal}}, "assistant"})
	} else if a.text != "" || len(a.calls) == 0 {
		all = append(all, messageItem{"msg_" + a.id, "message", status, []any{textPartOf(a.text)}, "assistant"})
	}
	for i, call := range a.calls {
		all = append(all, callItem{fmt.Sprintf("fc_%s%d", a.id, i), "function_call", "completed", call.Arguments, call.ID, call.Name})
	}
	return all
}

// responseEvent is an event of a stream.
type responseEvent struct {
	Type         string          `json:"type"`
	Error        *apiError       `json:"error,omitempty"`
	Arguments    *string         `json:"arguments,omitempty"`
	ContentIndex *int            `json:"content_index,omitempty"`
	Delta        *string         `json:"delta,omitempty"`
	Item         any             `json:"item,omitempty"`
	ItemID       string          `json:"item_id,omitempty"`
	Logprobs     json.RawMessage `json:"logprobs,omitempty"`
	Name         string          `json:"name,omitempty"`
	OutputIndex  *int            `json:"output_index,omitempty"`
	Part         any             `json:"part,omitempty"`
	Refusal      *string         `json:"refusal,omitempty"`
	Response     *response       `json:"response,omitempty"`
	Sequence     int             `json:"sequence_number"`
	SummaryIndex *int            `json:"summary_index,omitempty"`
	Text         *string         `json:"text,omitempty"`
}

// told is a stream so far.
type told struct {
	frames [][]byte
	size   int // of a part of a text
	place  int // of the item
}

func (t *told) tell(e responseEvent) {
	e.Sequence = len(t.frames)
	t.frames = append(t.frames, frame(e.Type, e))
}

func (p responses) stream(a *answer, size int) [][]byte {
	t := &told{size: size}
	for _, event := range []string{"response.created", "response.in_progress"} {
		begun := p.response(a)
		if a.shrinks {
			begun.Usage = a.responsesUsage()
		}
		t.tell(responseEvent{Type: event, Response: begun})
	}
	if a.content == present {
		for i, it := range p.items(a) {
			t.place = i
			switch it := it.(type) {
			case reasoningItem:
				t.reasoning(it)
			case messageItem:
				t.message(it)
			case callItem:
				t.call(it)
			}
		}
	}
	end := p.response(a)
	if p.complete(end, a.ended()); end.Status != "in_progress" {
		t.tell(responseEvent{Type: "response." + end.Status, Response: end})
	}
	return a.disordered(t.frames, ".done\ndata: ")
}

func (t *told) reasoning(it reasoningItem) {
	opened := it
	opened.Summary = []summaryPart{}
	zero := 0
	t.tell(responseEvent{Type: "response.output_item.added", Item: opened, OutputIndex: &t.place})
	for i := range it.Summary {
		said := &it.Summary[i]
		t.tell(responseEvent{Type: "response.reasoning_summary_part.added", ItemID: it.ID, OutputIndex: &t.place, SummaryIndex: &zero, Part: summaryPart{said.Type, ""}})
		for _, text := range parts(said.Text, t.size) {
			t.tell(responseEvent{Type: "response.reasoning_summary_text.delta", ItemID: it.ID, OutputIndex: &t.place, SummaryIndex: &zero, Delta: &text})
		}
		t.tell(responseEvent{Type: "response.reasoning_summary_text.done", ItemID: it.ID, OutputIndex: &t.place, SummaryIndex: &zero, Text: &said.Text})
		t.tell(responseEvent{Type: "response.reasoning_summary_part.done", ItemID: it.ID, OutputIndex: &t.place, SummaryIndex: &zero, Part: said})
	}
	t.tell(responseEvent{Type: "response.output_item.done", Item: it, OutputIndex: &t.place})
}

var noLogprobs = json.RawMessage("[]")

func (t *told) message(it messageItem) {
	opened := it
	opened.Status, opened.Content = "in_progress", []any{}
	zero := 0
	t.tell(responseEvent{Type: "response.output_item.added", Item: opened, OutputIndex: &t.place})
	of := responseEvent{ItemID: it.ID, OutputIndex: &t.place, ContentIndex: &zero}
	tell := func(kind string, change func(*responseEvent)) {
		e := of
		e.Type = kind
		change(&e)
		t.tell(e)
	}
	for _, said := range it.Content {
		switch said := said.(type) {
		case textPart:
			tell("response.content_part.added", func(e *responseEvent) { e.Part = textPartOf("") })
			for _, text := range parts(said.Text, t.size) {
				tell("response.output_text.delta", func(e *responseEvent) { e.Delta, e.Logprobs = &text, noLogprobs })
			}
			tell("response.output_text.done", func(e *responseEvent) { e.Text, e.Logprobs = &said.Text, noLogprobs })
		case refusalPart:
			tell("response.content_part.added", func(e *responseEvent) { e.Part = refusalPart{said.Type, ""} })
			for _, text := range parts(said.Refusal, t.size) {
				tell("response.refusal.delta", func(e *responseEvent) { e.Delta = &text })
			}
			tell("response.refusal.done", func(e *responseEvent) { e.Refusal = &said.Refusal })
		}
		tell("response.content_part.done", func(e *responseEvent) { e.Part = said })
	}
	t.tell(responseEvent{Type: "response.output_item.done", Item: it, OutputIndex: &t.place})
}

func (t *told) call(it callItem) {
	opened := it
	opened.Status, opened.Arguments = "in_progress", ""
	t.tell(responseEvent{Type: "response.output_item.added", Item: opened, OutputIndex: &t.place})
	for _, text := range parts(it.Arguments, t.size) {
		t.tell(responseEvent{Type: "response.function_call_arguments.delta", ItemID: it.ID, OutputIndex: &t.place, Delta: &text})
	}
	t.tell(responseEvent{Type: "response.function_call_arguments.done", ItemID: it.ID, OutputIndex: &t.place, Arguments: &it.Arguments, Name: it.Name})
	t.tell(responseEvent{Type: "response.output_item.done", Item: it, OutputIndex: &t.place})
}

func (p responses) broken(a *answer, frames int, event bool) []byte {
	wrong := p.problem("500")
	if event { // OpenAI documents the fields of the error at the top, and sends this
		return frame("error", responseEvent{Type: "error", Error: wrong.body(), Sequence: frames})
	}
	r := p.response(a)
	r.Status, r.Error = "failed", &failure{wrong.kind, wrong.message}
	return frame("response.failed", responseEvent{Type: "response.failed", Response: r, Sequence: frames})
}
