package mockserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/spec/expr"
	"github.com/agentbench/agentbench/spec/source"
)

// Rule says what is replied to some requests.
type Rule struct {
	Match   *expr.Pattern // the last message of the user; nil: any
	Replies []Reply       // in turn, in the order of arrival
	// Steps says that the replies are those of one conversation instead, from the
	// first message of the user on that the rule matches: the first one to that
	// message, the next one where the assistant has replied once since then, and so
	// on; the last one stays. So it does not matter what arrives in between.
	Steps bool
}

// Reply is what the absent model says.
type Reply struct {
	Text     string
	Thinking string // sent as reasoning_content
	Finish   string // finish_reason; default: stop, or tool_calls where there are some
	Tools    []Tool
}

// Tool is a call of a tool that the absent model wants made.
type Tool struct {
	ID        string // default: made of the answer's
	Name      string
	Arguments string // a JSON object
}

func (r *Reply) finish() string {
	switch {
	case r.Finish != "":
		return r.Finish
	case len(r.Tools) > 0:
		return "tool_calls"
	}
	return "stop"
}

// Texts is a rule that replies to everything.
func Texts(texts ...string) Rule {
	var rule Rule
	for _, text := range texts {
		rule.Replies = append(rule.Replies, Reply{Text: text})
	}
	return rule
}

// replies are rules with the place that each has reached in its list.
type replies struct {
	rules []Rule
	given []atomic.Uint64
}

func (r *replies) reset(rules []Rule) {
	if r.given == nil {
		r.rules, r.given = rules, make([]atomic.Uint64, len(rules))
	}
	for i := range r.given {
		r.given[i].Store(0)
	}
}

// chosen is the rule that replies to a request.
type chosen struct {
	rule  int // -1: none
	steps int // how far the conversation is, where the rule has steps
}

// choose looks for the rule that replies. The error is that its expression would search for too long.
func (r *replies) choose(ctx context.Context, request *chatRequest) (chosen, error) {
	asked := request.lastUser()
	for i, rule := range r.rules {
		if len(rule.Replies) == 0 {
			continue
		}
		switch matches, err := rule.matches(ctx, asked); {
		case err != nil:
			return chosen{}, err
		case matches && rule.Steps:
			steps, err := request.steps(ctx, &rule)
			return chosen{i, steps}, err
		case matches:
			return chosen{rule: i}, nil
		}
	}
	return chosen{rule: -1}, nil
}

func (r *Rule) matches(ctx context.Context, text string) (bool, error) {
	if r.Match == nil {
		return true, nil
	}
	return r.Match.Match(ctx, text)
}

// to is the reply to a request.
func (r *replies) to(request *chatRequest, by chosen) Reply {
	if by.rule < 0 {
		return echo(request, request.lastUser())
	}
	rule := &r.rules[by.rule]
	if rule.Steps {
		return rule.Replies[min(by.steps, len(rule.Replies)-1)]
	}
	n := r.given[by.rule].Add(1) - 1
	return rule.Replies[n%uint64(len(rule.Replies))]
}

// echo gives back what was asked, as JSON where JSON is wanted.
func echo(request *chatRequest, asked string) Reply {
	if request.ResponseFormat.Type == "" || request.ResponseFormat.Type == "text" || json.Valid([]byte(asked)) {
		return Reply{Text: asked}
	}
	text, _ := json.Marshal(map[string]string{"echo": asked}) // a string cannot fail
	return Reply{Text: string(text)}
}

// exchange is one request for a chat completion and what became of it.
type exchange struct {
	server  *Server
	w       http.ResponseWriter
	ctx     context.Context
	host    string // as the client named the server
	request *chatRequest
	chosen  chosen
	fault   Fault
	made    *completion // nil where the fault comes instead
	status  int         // of the answer; 0: none began
	counted bool
}

// finish counts the request as answered. It comes before the last bytes, so that
// a client that has read them finds it counted.
func (x *exchange) finish() {
	if !x.counted {
		x.counted = true
		x.server.stats.end(x.status)
	}
}

// chat answers POST /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	x := &exchange{server: s, w: w, ctx: r.Context(), host: r.Host}
	s.stats.begin()
	defer x.finish()
	request, status, refused := read(w, r)
	if refused != nil {
		x.fail(status, refused)
		return
	}
	x.request = request
	var err error
	if x.chosen, err = s.replies.choose(x.ctx, request); err != nil {
		x.fail(http.StatusBadRequest, invalid("messages", "", "the mock's match: %v", err))
		return
	}
	request.nth = s.stats.meet(request)
	w.Header().Set("X-Request-Id", "req_"+s.identity(request))
	now := s.options.Now()
	if refused := s.limiter.admit(request.inputTokens()+int64(request.maxOutput()), w.Header(), now); refused != nil {
		s.stats.limited()
		x.fail(http.StatusTooManyRequests, refused)
		return
	}
	x.fault = s.faults.next(request)
	if x.fault.Kind != noFault {
		s.stats.fault(x.fault.Kind)
	}
	if x.wait(s.options.Latency.of(s.options.Seed, request)) {
		x.answer()
	}
}

// answer lets the fault, if any, do what its kind does.
func (x *exchange) answer() {
	kind := x.fault.kind
	if kind.instead != nil {
		kind.instead(x)
		return
	}
	x.made = x.completion()
	if kind.answer != nil {
		kind.answer(x.made)
	}
	p := x.payload(x.made)
	if kind.payload != nil {
		kind.payload(x, p)
	}
	x.send(p)
}

func (x *exchange) completion() *completion {
	return x.server.complete(x.request, x.server.replies.to(x.request, x.chosen))
}

func (x *exchange) fail(status int, refused *apiError) {
	x.status = status
	x.finish()
	writeJSON(x.w, status, refused.body())
}

// wait says whether the client is still there after a while.
func (x *exchange) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.ctx.Done():
		return false
	}
}

// completion is an answer in the API's shape. Where faults make it break the
// API's promises, fields are nil.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *tokens  `json:"usage,omitempty"`
}

type choice struct {
	Index    int       `json:"index"`
	Message  *spoken   `json:"message,omitempty"` // of a whole answer
	Delta    *spoken   `json:"delta,omitempty"`   // of a chunk
	Logprobs *struct{} `json:"logprobs"`
	Finish   *string   `json:"finish_reason"`
}

// spoken is a message of the assistant, or the part of one that a chunk holds.
type spoken struct {
	Role      string     `json:"role,omitempty"`
	Content   any        `json:"content,omitempty"` // string or null
	Thinking  string     `json:"reasoning_content,omitempty"`
	Refusal   any        `json:"refusal,omitempty"` // string or null
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

// null is a value that is written as null, where nil would be left out.
var null = json.RawMessage("null")

type toolCall struct {
	Index    *int   `json:"index,omitempty"` // of a chunk
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type tokens struct {
	Prompt, Completion, Total int64
	cached                    int64  // of the prompt; 0: it is not told
	as                        string // how a number is written; "": as a whole one
}

// MarshalJSON writes the numbers in their form.
func (t *tokens) MarshalJSON() ([]byte, error) {
	as := cmp.Or(t.as, "%d")
	text := fmt.Appendf(nil, `{"prompt_tokens":`+as+`,"completion_tokens":`+as+`,"total_tokens":`+as, t.Prompt, t.Completion, t.Total)
	if t.cached > 0 {
		text = fmt.Appendf(text, `,"prompt_tokens_details":{"cached_tokens":%d}`, t.cached)
	}
	return append(text, '}'), nil
}

// complete puts a reply into the API's shape. A reply that is longer than the
// request allows is cut, as a model would be.
func (s *Server) complete(request *chatRequest, reply Reply) *completion {
	id := s.identity(request)
	if most := 4 * request.maxOutput(); most > 0 && len(reply.Text) > most {
		reply.Text, reply.Finish = validPrefix(reply.Text, most), "length"
	}
	said := &spoken{Role: "assistant", Content: reply.Text, Thinking: reply.Thinking, Refusal: null}
	output := len(reply.Text) + len(reply.Thinking)
	for i, tool := range reply.Tools {
		call := toolCall{ID: cmp.Or(tool.ID, fmt.Sprintf("call_%s%d", id[:16], i)), Type: "function"}
		call.Function.Name, call.Function.Arguments = tool.Name, tool.Arguments
		said.ToolCalls = append(said.ToolCalls, call)
		output += len(tool.Name) + len(tool.Arguments)
	}
	if reply.Text == "" && len(reply.Tools) > 0 {
		said.Content = null
	}
	finish := reply.finish()
	used := &tokens{Prompt: request.inputTokens(), Completion: model.EstimateTokens(output)}
	used.Total = used.Prompt + used.Completion
	return &completion{
		ID: "chatcmpl-" + id, Object: "chat.completion", Created: s.options.Now().Unix(), Model: request.Model,
		Choices: []choice{{Message: said, Finish: &finish}}, Usage: used,
	}
}

// identity names an answer: equal requests have different ones, but the same in
// every run of the server.
func (s *Server) identity(request *chatRequest) string {
	a, b := draw(s.options.Seed, "identity", request)
	return fmt.Sprintf("%016x%016x", a, b)
}

// chunks are the completion as a stream tells it, the usage last if asked for.
func (c *completion) chunks(size int, withUsage bool) []*completion {
	var all []*completion
	for i := range c.Choices {
		for _, delta := range deltas(c.Choices[i].Message, size) {
			all = append(all, c.chunk(choice{Index: c.Choices[i].Index, Delta: delta}))
		}
		all = append(all, c.chunk(choice{Index: c.Choices[i].Index, Delta: &spoken{}, Finish: c.Choices[i].Finish}))
	}
	if withUsage && c.Usage != nil {
		last := c.chunk()
		last.Usage = c.Usage
		all = append(all, last)
	}
	return all
}

func (c *completion) chunk(choices ...choice) *completion {
	if choices == nil {
		choices = []choice{}
	}
	return &completion{ID: c.ID, Object: "chat.completion.chunk", Created: c.Created, Model: c.Model, Choices: choices}
}

// deltas are the parts of a message: who speaks, thoughts, text, calls of tools.
func deltas(said *spoken, size int) []*spoken {
	first := &spoken{Role: said.Role, Content: ""}
	text, ok := said.Content.(string)
	if !ok {
		first.Content = said.Content
	}
	all := []*spoken{first}
	for _, part := range parts(said.Thinking, size) {
		all = append(all, &spoken{Thinking: part})
	}
	for _, part := range parts(text, size) {
		all = append(all, &spoken{Content: part})
	}
	if refusal, ok := said.Refusal.(string); ok {
		all = append(all, &spoken{Refusal: refusal})
	}
	for i, call := range said.ToolCalls {
		opened, filled := call, toolCall{Index: &i}
		opened.Index, opened.Function.Arguments = &i, ""
		filled.Function.Arguments = call.Function.Arguments
		all = append(all, &spoken{ToolCalls: []toolCall{opened}}, &spoken{ToolCalls: []toolCall{filled}})
	}
	return all
}

// parts cuts a text into parts of so many bytes, at characters.
func parts(text string, size int) []string {
	var all []string
	for len(text) > size {
		part := validPrefix(text, size)
		if part == "" {
			_, width := utf8.DecodeRuneInString(text)
			part = text[:width]
		}
		all = append(all, part)
		text = text[len(part):]
	}
	if text != "" {
		all = append(all, text)
	}
	return all
}

func validPrefix(text string, most int) string {
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Latency is lognormal around a median; a sigma of 0 is constant.
type Latency struct {
	Median time.Duration
	Sigma  float64
}

// of draws how long the answer to a request takes to begin.
func (l Latency) of(seed uint64, request *chatRequest) time.Duration {
	if l.Sigma <= 0 || l.Median <= 0 {
		return l.Median
	}
	chance := rand.New(rand.NewPCG(draw(seed, "latency", request)))
	return time.Duration(float64(l.Median) * math.Exp(l.Sigma*chance.NormFloat64()))
}

// draw is a number that depends on the seed, on what it is for, on the request
// and on how often it came, but not on the order of arrival.
func draw(seed uint64, purpose string, request *chatRequest) (a, b uint64) {
	text := binary.LittleEndian.AppendUint64(make([]byte, 0, 64), seed)
	text = binary.LittleEndian.AppendUint64(text, request.hash)
	text = binary.LittleEndian.AppendUint64(text, uint64(request.nth))
	sum := sha256.Sum256(append(text, purpose...))
	return binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])
}

// ParseRules reads a file of replies: a YAML or JSON list. An item is a text,
// which replies to anything, or a mapping:
//
//   - match: "capital of (France|Italy)"   # a regular expression; default: anything
//     reply: Paris                         # or a list of replies, given in turn
//     thinking: Both are in Europe.        # reasoning_content
//     finish: stop                         # finish_reason
//     tools: [{name: lookup, arguments: {q: x}}]
//   - match: weather
//     steps:                               # the replies of one conversation, see Rule
//   - tools: [{name: lookup, arguments: {city: Rome}}]
//   - It rains.
//
// Texts that follow each other are one list, given in turn.
func ParseRules(name string, text []byte) ([]Rule, source.Faults) {
	tree, faults := source.Parse(source.NewFile(name, text))
	if faults.Err() != nil {
		return nil, faults
	}
	var items []item
	if more := source.Decode(tree, &items); more.Err() != nil {
		return nil, append(faults, more...)
	}
	var rules []Rule
	for i, item := range items {
		if i > 0 && item.isText && items[i-1].isText {
			last := &rules[len(rules)-1]
			last.Replies = append(last.Replies, item.rule.Replies...)
			continue
		}
		rules = append(rules, item.rule)
	}
	return rules, faults
}

// item is one of a file's replies.
type item struct {
	rule   Rule
	isText bool
}

type fields struct {
	Match string  `yaml:"match"`
	Steps []step  `yaml:"steps" minlen:"1"`
	Reply answers `yaml:"reply"`
	more  `yaml:",inline"`
}

// more is what a reply has beside its text.
type more struct {
	Thinking string     `yaml:"thinking"`
	Finish   string     `yaml:"finish"`
	Tools    []fileTool `yaml:"tools"`
}

type fileTool struct {
	ID        string `yaml:"id"`
	Name      string `yaml:"name" need:"required"`
	Arguments any    `yaml:"arguments"` // a mapping; its JSON is what is sent
}

// DecodeNode takes a text, or a mapping.
func (i *item) DecodeNode(n *source.Node, d *source.Decoder) {
	if n.Kind != source.Map {
		var text answers
		text.DecodeNode(n, d)
		i.rule, i.isText = Texts(text...), true
		return
	}
	var f fields
	d.Decode(n, &f)
	switch {
	case f.Steps != nil && (f.Reply != nil || !f.more.empty()):
		d.Fault(n, "write thinking, finish and tools in each step", "want steps or a reply, not both")
	case f.Steps == nil && f.Reply == nil && f.Tools == nil:
		d.Fault(n, "write reply: ..., tools: ..., both, or steps: [...]", "want something to reply")
	}
	if f.Match != "" {
		match, err := expr.CompilePattern(f.Match)
		if err != nil {
			d.Fault(n, expr.PatternHint(err), "match: %v", err)
		}
		i.rule.Match = match
	}
	i.rule.Replies, i.rule.Steps = f.replies(), f.Steps != nil
}

// step is one reply of a conversation: a text, or what a rule has for one.
type step Reply

// DecodeNode takes a text, or a mapping.
func (s *step) DecodeNode(n *source.Node, d *source.Decoder) {
	if n.Kind != source.Map {
		var text any
		d.Decode(n, &text)
		s.Text = textOf(text)
		return
	}
	var f struct {
		Reply any `yaml:"reply"`
		more  `yaml:",inline"`
	}
	d.Decode(n, &f)
	if f.Reply == nil && f.Tools == nil {
		d.Fault(n, "write reply: ..., tools: ... or both", "want something to reply")
	}
	*s = step(f.more.reply())
	if f.Reply != nil {
		s.Text = textOf(f.Reply)
	}
}

func (m *more) empty() bool { return m.Thinking == "" && m.Finish == "" && m.Tools == nil }

// reply is one without a text.
func (m *more) reply() Reply {
	reply := Reply{Thinking: m.Thinking, Finish: m.Finish}
	for _, t := range m.Tools {
		tool := Tool{ID: t.ID, Name: t.Name, Arguments: "{}"}
		if t.Arguments != nil {
			tool.Arguments = textOf(t.Arguments)
		}
		reply.Tools = append(reply.Tools, tool)
	}
	return reply
}

func (f *fields) replies() []Reply {
	var all []Reply
	for _, s := range f.Steps {
		all = append(all, Reply(s))
	}
	for _, text := range f.Reply {
		reply := f.more.reply()
		reply.Text = text
		all = append(all, reply)
	}
	if all == nil {
		all = []Reply{f.more.reply()}
	}
	return all
}

// answers are one text or several. What is no text is its JSON.
type answers []string

// DecodeNode takes a value or a list of values.
func (a *answers) DecodeNode(n *source.Node, d *source.Decoder) {
	values := []any{nil}
	if n.Kind == source.List {
		d.DecodeTagged(n, &values, `minlen:"1"`)
	} else {
		d.Decode(n, &values[0])
	}
	for _, value := range values {
		*a = append(*a, textOf(value))
	}
}

// textOf is a text as it is, and the JSON of anything else.
func textOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, _ := json.Marshal(jsonOf(value)) // plain values
	return string(text)
}

// jsonOf makes encoding/json keep the order of an object's keys.
func jsonOf(value any) any {
	switch v := value.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = jsonOf(v[i])
		}
		return list
	case *source.Object:
		var text []byte
		for i, key := range v.Keys {
			name, _ := json.Marshal(key) // a string
			inner, _ := json.Marshal(jsonOf(v.Values[i]))
			text = append(append(append(append(text, ','), name...), ':'), inner...)
		}
		return json.RawMessage("{" + string(text[min(1, len(text)):]) + "}")
	}
	return value
}
