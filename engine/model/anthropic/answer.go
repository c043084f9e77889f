package anthropic

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/model/wire"
	"github.com/agentbench/agentbench/engine/record"
)

// message is what is read of an answer, whole or made of a stream.
type message struct {
	Model      string   `json:"model"`
	Content    content  `json:"content"`
	StopReason string   `json:"stop_reason"`
	Usage      reported `json:"usage"`
}

// content is what the model said.
type content struct {
	blocks []block
	given  json.RawMessage // the blocks as the provider gave them, where text and calls do not tell it
}

// UnmarshalJSON takes a list of blocks.
func (c *content) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &c.blocks); err != nil {
		return err
	}
	for i := range c.blocks {
		if b := &c.blocks[i]; b.Type == toolUse {
			b.Input = compact(b.Input)
		}
	}
	if !told(c.blocks) {
		c.given = compact(raw)
	}
	return nil
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
			if called || wire.IsSet(b.Citations) && string(b.Citations) != "[]" {
				return false
			}
		case toolUse:
			called = true
			var caller struct{ Type string }
			if wire.IsSet(b.Toolset) || wire.IsSet(b.Caller) && (json.Unmarshal(b.Caller, &caller) != nil || caller.Type != "direct") {
				return false
			}
		default:
			return false
		}
	}
	return true
}

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
	case a.Content.blocks == nil:
		return nil, &record.Error{Class: record.BadResponse, Message: "the answer has no content"}
	case a.StopReason == "":
		return nil, &record.Error{Class: record.Incomplete, Message: "the answer has no stop_reason: it was cut off"}
	}
	made := &model.Reply{
		Answered: m.line.AnsweredBy(a.Model), Finish: cmp.Or(finishes[a.StopReason], wire.Shorten(a.StopReason)),
		Blocks: a.Content.given, Reported: a.Usage.Beyond(counted),
	}
	if a.Usage.tier != standardTier {
		made.Tier = wire.Shorten(a.Usage.tier)
	}
	for i := range a.Content.blocks {
		switch b := &a.Content.blocks[i]; b.Type {
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
	made.Usage = m.usage(a.Usage.Usage, request.InputTokens(), model.EstimateTokens(made.Bytes()))
	return made, nil
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
	text      []string        // in pieces, as all of these
	thinking  []string
	signature []string
	input     []string
	citations []json.RawMessage
	closed    bool
	unknown   bool // a part of it has a type that is not known
}

// event is one event of a stream.
type event struct {
	Type    string          `json:"type"`
	Message message         `json:"message"`
	Index   wire.Index      `json:"index"`
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
	b.text = append(b.text, b.Text)
	b.thinking = append(b.thinking, b.Thinking)
	f.blocks = append(f.blocks, b)
	return true
}

// at is the block of that index, nil where it has not begun or has ended.
func (f *folded) at(index wire.Index) *streamed {
	if !index.Known || index.N < 0 || index.N >= int64(len(f.blocks)) || f.blocks[index.N].closed {
		return nil
	}
	return f.blocks[index.N]
}

func (b *streamed) add(d *delta) {
	switch d.Type {
	case "text_delta":
		b.text = append(b.text, d.Text)
	case "thinking_delta":
		b.thinking = append(b.thinking, d.Thinking)
	case "signature_delta":
		b.signature = append(b.signature, d.Signature)
	case "input_json_delta":
		b.input = append(b.input, d.PartialJSON)
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
	whole.Content.blocks = make([]block, len(f.blocks))
	known := true
	for i, b := range f.blocks {
		known = known && !b.unknown
		b.Text, b.Thinking = strings.Join(b.text, ""), strings.Join(b.thinking, "")
		if came := strings.Join(b.input, ""); came != "" {
			b.Input = json.RawMessage(came)
		}
		if b.Type == toolUse {
			b.Input = compact(b.Input)
		}
		if len(b.citations) > 0 {
			b.Citations, _ = json.Marshal(b.citations)
		}
		whole.Content.blocks[i] = b.block
	}
	if known && !told(whole.Content.blocks) {
		whole.Content.given = f.given()
	}
	return &whole
}

// given are the blocks as the provider would have given them without streaming: as they were announced, with what came since.
func (f *folded) given() json.RawMessage {
	all := make([]map[string]json.RawMessage, len(f.blocks))
	for i, b := range f.blocks {
		_ = json.Unmarshal(b.begun, &all[i]) // it was read before
		for name, text := range map[string]string{"text": b.Text, "thinking": b.Thinking, "signature": strings.Join(b.signature, "")} {
			if text != "" {
				all[i][name], _ = encoded(text)
			}
		}
		if isObject(b.Input) {
			all[i]["input"] = b.Input
		}
		if len(b.citations) > 0 {
			all[i]["citations"] = b.Citations
		}
	}
	text, _ := encoded(all) // of JSON
	return text
}

// counted are the names in a usage that record.Usage has.
var counted = []string{
	"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
	"cache_creation.ephemeral_5m_input_tokens", "cache_creation.ephemeral_1h_input_tokens", "output_tokens_details.thinking_tokens",
}

// reported is what a server says of the usage of a call, in one report or in several.
type reported struct {
	wire.Usage
	tier string
}

// UnmarshalJSON adds a report, and never fails.
func (r *reported) UnmarshalJSON(report []byte) error {
	var now struct {
		Tier string `json:"service_tier"`
	}
	_ = json.Unmarshal(report, &now)
	r.tier = cmp.Or(now.Tier, r.tier)
	return r.Usage.UnmarshalJSON(report)
}

// usage believes the server where what it says can be. Its input_tokens are without what was read from the cache or written
// into it.
func (m *Model) usage(said wire.Usage, input, output int64) record.Usage {
	fresh, read, written := said.Tokens("input_tokens"), said.Tokens("cache_read_input_tokens"), said.Tokens("cache_creation_input_tokens")
	for5m, for1h := said.Tokens("cache_creation.ephemeral_5m_input_tokens"), said.Tokens("cache_creation.ephemeral_1h_input_tokens")
	if rest := written - for5m - for1h; rest > 0 && m.line.CacheTTL == "1h" {
		for1h += rest
	} else if rest > 0 {
		for5m += rest
	}
	used := record.Usage{
		Calls: 1, InputTokens: fresh + read + for5m + for1h, OutputTokens: said.Tokens("output_tokens"),
		CachedTokens: read, CacheWriteTokens: for5m, CacheWrite1hTokens: for1h,
	}
	used.ReasoningTokens = max(0, min(said.Tokens("output_tokens_details.thinking_tokens"), used.OutputTokens))
	plausible := said.Tells("input_tokens", "output_tokens") && min(fresh, written) >= 0 && wire.Plausible(used, output)
	return m.line.Used(used, plausible, input, output)
}
