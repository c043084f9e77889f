package anthropic

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/record"
)

// message is what is read of an answer, whole or made of a stream.
type message struct {
	Model      string   `json:"model"`
	Content    []block  `json:"content"`
	StopReason string   `json:"stop_reason"`
	Usage      reported `json:"usage"`

	blocks json.RawMessage // all of Content as the provider gave it, where text and calls do not tell it
}

// block is a part of what the model said.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Citations json.RawMessage `json:"citations"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Toolset   json.RawMessage `json:"toolset_name"`
	Caller    json.RawMessage `json:"caller"`
}

// The types of blocks that are read. All others are kept as they are.
const (
	textType         = "text"
	thinkingType     = "thinking"
	redactedThinking = "redacted_thinking"
	toolUse          = "tool_use"
)

func (b *block) known() bool {
	switch b.Type {
	case textType, thinkingType, redactedThinking, toolUse:
		return true
	}
	return false
}

// UnmarshalJSON reads the fields of a block. Of a type that is not known anything is taken: the API may add some.
func (b *block) UnmarshalJSON(raw []byte) error {
	type fields block
	err := json.Unmarshal(raw, (*fields)(b))
	if err != nil && b.Type != "" && !b.known() {
		*b, err = block{Type: b.Type}, nil
	}
	return err
}

// told reports whether text and calls tell all that the blocks say: texts, and behind them calls that the model made itself.
func told(content []block) bool {
	called := false
	for i := range content {
		switch b := &content[i]; b.Type {
		case textType:
			if called || isSet(b.Citations) && string(b.Citations) != "[]" {
				return false
			}
		case toolUse:
			called = true
			var caller struct{ Type string }
			if isSet(b.Toolset) || isSet(b.Caller) && (json.Unmarshal(b.Caller, &caller) != nil || caller.Type != "direct") {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// finishes are the reasons to stop, in the words of the engine; others stay as they are.
var finishes = map[string]string{
	"end_turn":                      "stop",
	"stop_sequence":                 "stop",
	"tool_use":                      "tool_calls",
	"max_tokens":                    "length",
	"model_context_window_exceeded": "length",
	"refusal":                       "content_filter",
}

// standardTier is the usual service tier.
const standardTier = "standard"

// reply makes a reply of an answer with status 200. An answer is complete only with a reason to stop.
func (m *Model) reply(request *model.Request, a *message) (*model.Reply, *record.Error) {
	switch {
	case a.Content == nil:
		return nil, &record.Error{Class: record.BadResponse, Message: "the answer has no content"}
	case a.StopReason == "":
		return nil, &record.Error{Class: record.Incomplete, Message: "the answer has no stop_reason: it was cut off"}
	}
	made := &model.Reply{
		Answered: m.line.AnsweredBy(a.Model), Finish: cmp.Or(finishes[a.StopReason], wire.Shorten(a.StopReason)),
		Blocks: a.blocks, Reported: wire.Reported(counted, a.Usage.raw...),
	}
	if a.Usage.Tier != standardTier {
		made.Tier = wire.Shorten(a.Usage.Tier)
	}
	for i := range a.Content {
		switch b := &a.Content[i]; b.Type {
		case textType:
			made.Text += b.Text
		case thinkingType:
			if made.Thinking != "" && b.Thinking != "" {
				made.Thinking += "\n\n"
			}
			made.Thinking += b.Thinking
		case toolUse:
			made.ToolCalls = append(made.ToolCalls, model.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		}
	}
	model.Identify(made.ToolCalls)
	made.Usage = m.usage(&a.Usage, request.InputTokens(), model.EstimateTokens(made.Bytes()))
	return made, nil
}

// read decodes an answer that was not streamed, or gives the error. The bytes are not kept.
func read(from *wire.Answer) (*message, *record.Error) {
	answer := from.Body
	from.Body = nil
	a := &message{}
	if json.Unmarshal(answer, a) != nil {
		return nil, &record.Error{Class: record.BadResponse, Message: wire.Unreadable(answer)}
	}
	if a.Content == nil {
		if told := wire.Tell(answer); told.Message != "" {
			return nil, &record.Error{Class: cmp.Or(told.Class(), record.BadResponse), Message: "status 200 with an error: " + told.Message}
		}
		return a, nil
	}
	for i := range a.Content {
		if b := &a.Content[i]; b.Type == toolUse {
			b.Input = compact(b.Input)
		}
	}
	if !told(a.Content) {
		var raw struct{ Content json.RawMessage }
		_ = json.Unmarshal(answer, &raw) // as before
		a.blocks = compact(raw.Content)
	}
	return a, nil
}

// compact is JSON without spaces; invalid JSON stays as it is.
func compact(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// fold makes one whole answer of a stream of events, so that both kinds of answers are read alike. What is not a whole
// answer is a *record.Error, or the reader's error.
func fold(from *bufio.Reader) (*message, error) {
	var f folded
	if err := wire.Events(from, f.take); err != nil {
		return nil, err
	}
	if failed := f.incomplete(); failed != nil {
		return nil, failed
	}
	return f.answer(), nil
}

// folded is what a stream has told so far.
type folded struct {
	message
	begun, ended bool // message_start, message_stop came
	blocks       []*streamed
}

// streamed is a block of a stream so far.
type streamed struct {
	block
	begun     json.RawMessage // as it was announced
	text      wire.Text
	thinking  wire.Text
	signature wire.Text
	input     wire.Text
	citations []json.RawMessage
	closed    bool
	unknown   bool // a part of it has a type that is not known
}

// event is one event of a stream.
type event struct {
	Type    string          `json:"type"`
	Message message         `json:"message"`
	Index   wire.Count      `json:"index"`
	Block   json.RawMessage `json:"content_block"`
	Delta   delta           `json:"delta"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type delta struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	Thinking    string          `json:"thinking"`
	Signature   string          `json:"signature"`
	PartialJSON string          `json:"partial_json"`
	Citation    json.RawMessage `json:"citation"`
	StopReason  string          `json:"stop_reason"`
}

// take takes one event. Events of types that are not known are passed over, because the API may add some; those that are must
// come in the API's order.
func (f *folded) take(name string, data []byte) (last bool, err error) {
	var e event
	err = json.Unmarshal(data, &e)
	right := err == nil
	switch kind := cmp.Or(e.Type, name); kind {
	case "error":
		return false, wire.ToldInStream(data)
	case "message_start":
		right = right && !f.begun
		f.begun, f.Model, f.Usage = true, e.Message.Model, e.Message.Usage
	case "content_block_start":
		right = right && f.begun && f.StopReason == "" && e.Index.Known && e.Index.N == int64(len(f.blocks)) && f.open(e.Block)
	case "content_block_delta":
		b := f.at(e.Index)
		if right = right && b != nil; right {
			b.add(&e.Delta)
		}
	case "content_block_stop":
		b := f.at(e.Index)
		if right = right && b != nil; right {
			b.closed = true
		}
	case "message_delta":
		right = right && f.begun
		f.StopReason = cmp.Or(e.Delta.StopReason, f.StopReason)
		_ = f.Usage.UnmarshalJSON(e.Usage)
	case "message_stop":
		right = right && f.begun
		f.ended = true
	case "":
		right = false
	default:
		right = true
	}
	if !right {
		return false, wire.Broken(data)
	}
	return f.ended, nil
}

// open begins the next block.
func (f *folded) open(begun json.RawMessage) bool {
	b := &streamed{begun: begun}
	if json.Unmarshal(begun, &b.block) != nil || b.Type == "" {
		return false
	}
	b.text.Add(b.Text)
	b.thinking.Add(b.Thinking)
	f.blocks = append(f.blocks, b)
	return true
}

// at is the block of that index, nil where it has not begun or has ended.
func (f *folded) at(index wire.Count) *streamed {
	if !index.Known || index.N < 0 || index.N >= int64(len(f.blocks)) || f.blocks[index.N].closed {
		return nil
	}
	return f.blocks[index.N]
}

func (b *streamed) add(d *delta) {
	switch d.Type {
	case "text_delta":
		b.text.Add(d.Text)
	case "thinking_delta":
		b.thinking.Add(d.Thinking)
	case "signature_delta":
		b.signature.Add(d.Signature)
	case "input_json_delta":
		b.input.Add(d.PartialJSON)
	case "citations_delta":
		b.citations = append(b.citations, d.Citation)
	default:
		b.unknown = true
	}
}

// incomplete says what a stream that has ended lacks.
func (f *folded) incomplete() error {
	lacks := ""
	switch {
	case !f.ended:
		lacks = "message_stop"
	case f.StopReason == "":
		lacks = "a stop_reason"
	}
	for _, b := range f.blocks {
		if lacks == "" && !b.closed {
			lacks = "the end of a block"
		}
	}
	if lacks == "" {
		return nil
	}
	return &record.Error{Class: record.Incomplete, Message: "the stream ended without " + lacks + ": the answer was cut off"}
}

// answer is what the server would have sent without streaming. Where a part of a block is of a type that is not known, the
// blocks are not known either.
func (f *folded) answer() *message {
	whole := f.message
	whole.Content = make([]block, len(f.blocks))
	known := true
	for i, b := range f.blocks {
		known = known && !b.unknown
		b.Text, b.Thinking = b.text.String(), b.thinking.String()
		if came := b.input.String(); came != "" {
			b.Input = json.RawMessage(came)
		}
		if b.Type == toolUse {
			b.Input = compact(b.Input)
		}
		if len(b.citations) > 0 {
			b.Citations, _ = json.Marshal(b.citations)
		}
		whole.Content[i] = b.block
	}
	if known && !told(whole.Content) {
		whole.blocks = f.given()
	}
	return &whole
}

// given are the blocks as the provider would have given them without streaming.
func (f *folded) given() json.RawMessage {
	all := []byte("[")
	for i, b := range f.blocks {
		if i > 0 {
			all = append(all, ',')
		}
		all = b.given(all)
	}
	return append(all, ']')
}

// given appends the block as it was announced, with what came of it since then.
func (b *streamed) given(to []byte) []byte {
	came := map[string][]byte{}
	if b.Text != "" {
		came["text"] = quoted(b.Text)
	}
	if b.Thinking != "" {
		came["thinking"] = quoted(b.Thinking)
	}
	if signature := b.signature.String(); signature != "" {
		came["signature"] = quoted(signature)
	}
	if isObject(b.Input) {
		came["input"] = b.Input
	}
	if len(b.citations) > 0 {
		came["citations"] = b.Citations
	}
	fields := json.NewDecoder(bytes.NewReader(b.begun))
	_, _ = fields.Token() // begun is an object: it was read before
	to = append(to, '{')
	for first := true; fields.More(); first = false {
		var value json.RawMessage
		name, _ := fields.Token()
		_ = fields.Decode(&value)
		if now, changed := came[name.(string)]; changed {
			value = now
		}
		if !first {
			to = append(to, ',')
		}
		to = append(append(to, quoted(name.(string))...), ':')
		to = append(to, compact(value)...)
		delete(came, name.(string))
	}
	for _, name := range []string{"text", "thinking", "signature", "input", "citations"} {
		if value, missing := came[name]; missing {
			to = append(append(append(append(to, ','), quoted(name)...), ':'), value...)
		}
	}
	return append(to, '}')
}

// quoted is a text in JSON, as the provider writes it.
func quoted(text string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // of a text
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// reported is what a server says of the usage of a call. A stream says it several times, more each time: of each counter
// the largest value counts.
type reported struct {
	raw       []json.RawMessage
	Input     wire.Count `json:"input_tokens"` // without what was read from the cache or written into it
	Output    wire.Count `json:"output_tokens"`
	CacheRead wire.Count `json:"cache_read_input_tokens"`
	Written   wire.Count `json:"cache_creation_input_tokens"`
	ByTTL     struct {
		Written5m wire.Count `json:"ephemeral_5m_input_tokens"`
		Written1h wire.Count `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	OfOutput struct {
		Thinking wire.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Tier string `json:"service_tier"`
}

// counted are the names in a usage that record.Usage has.
var counted = []string{
	"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
	"cache_creation.ephemeral_5m_input_tokens", "cache_creation.ephemeral_1h_input_tokens", "output_tokens_details.thinking_tokens",
}

// UnmarshalJSON adds what an event reports to what earlier ones did. A counter of a wrong type stays unknown; the
// answer still counts.
func (r *reported) UnmarshalJSON(raw []byte) error {
	type plain reported
	var now plain
	_ = json.Unmarshal(raw, &now)
	for _, counter := range []struct{ so, now *wire.Count }{
		{&r.Input, &now.Input}, {&r.Output, &now.Output}, {&r.CacheRead, &now.CacheRead}, {&r.Written, &now.Written},
		{&r.ByTTL.Written5m, &now.ByTTL.Written5m}, {&r.ByTTL.Written1h, &now.ByTTL.Written1h}, {&r.OfOutput.Thinking, &now.OfOutput.Thinking},
	} {
		counter.so.Raise(*counter.now)
	}
	r.Tier = cmp.Or(now.Tier, r.Tier)
	r.raw = append(r.raw, bytes.Clone(raw))
	return nil
}

// usage believes the server where what it says can be.
func (m *Model) usage(said *reported, input, output int64) record.Usage {
	for5m, for1h := said.ByTTL.Written5m.N, said.ByTTL.Written1h.N
	if rest := said.Written.N - for5m - for1h; rest > 0 && m.line.CacheTTL == "1h" {
		for1h += rest
	} else if rest > 0 {
		for5m += rest
	}
	used := record.Usage{
		Calls: 1, InputTokens: said.Input.N + said.CacheRead.N + for5m + for1h, OutputTokens: said.Output.N,
		CachedTokens: said.CacheRead.N, CacheWriteTokens: for5m, CacheWrite1hTokens: for1h,
	}
	used.ReasoningTokens = max(0, min(said.OfOutput.Thinking.N, used.OutputTokens))
	plausible := said.Input.Known && said.Output.Known && min(said.Input.N, said.Written.N) >= 0 &&
		max(said.Input.N, said.CacheRead.N, for5m, for1h) <= wire.MostTokens && wire.Plausible(used, output)
	return m.line.Used(used, plausible, input, output)
}
