// Package model is what a model is to the rest of agentbench: Model.Call
// answers one request with one reply. Beneath it are the providers (openai, offline),
// what wraps any of them (cache, pace), and a server for tests of suites (mockserver).
//
// It is no stable API.
package model

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/expr"
)

// Model answers requests. Implementations are safe for concurrent use.
//
// An error is, to errors.As, a *record.Error where its class is known (often
// inside a *CallError, which knows more), or it is ErrEnded or the context's
// cause.
type Model interface {
	Call(ctx context.Context, request *Request) (*Reply, error)
}

// ErrEnded says that the agent behind a model has nothing more to give: the run
// ends before the iteration, and no call is counted.
var ErrEnded = errors.New("the agent has nothing more to give")

// ErrRefused says that a call was not made, for instance because a budget has
// no room for it.
var ErrRefused = errors.New("the call was not made")

// Request is everything that is sent, and for which draw.
type Request struct {
	Messages        []Message
	Tools           []Tool // that may be called natively; nil: none
	ToolChoice      string // auto, none, required or the name of a tool; "": the server's default
	Temperature     *float64
	TopP            *float64
	Seed            *int64
	MaxOutputTokens int  // 0: the server's default
	JSON            bool // the reply is to be one JSON value
	Draw            Draw
	// Idempotency is the same for all attempts of one call and of no other, so
	// that a server may know them; "": none is sent.
	Idempotency string
	// Raw is set where a program wrote the request itself: then nothing but Draw stands beside it. nil: the rest is the request.
	Raw *Raw
}

// Message is one message of a conversation.
type Message struct {
	Role string // system, user, assistant, tool
	Text string
	// ToolCalls are the calls of an assistant's message, where they are native.
	ToolCalls []ToolCall
	// ToolCallID says which call a tool's message answers.
	ToolCallID string
	// Blocks are an assistant's message as its provider gave it: see Reply.Blocks. They are sent back in place of Text
	// and ToolCalls by the provider that gave them.
	Blocks json.RawMessage
	// Images come with the text of a user's message.
	Images []Image
}

// Image is a picture that a model is shown.
type Image struct {
	Type string // its media type: image/png, image/jpeg, image/gif, image/webp
	Sum  string // the SHA-256 of Data, in hexadecimal
	Data []byte // nil in a request that is only summed
}

// Picture is where an image comes from.
type Picture interface {
	Content() (data []byte, kind string, err error)
	Sum() (sum, kind string, err error)
}

// Images are those of pictures; whole: with their data, which are still what they were when they were first summed.
func Images[P Picture](pictures []P, whole bool) (images []Image, err error) {
	for _, p := range pictures {
		var i Image
		if i.Sum, i.Type, err = p.Sum(); err == nil && whole {
			i.Data, _, err = p.Content()
		}
		if sum := sha256.Sum256(i.Data); err == nil && whole && hex.EncodeToString(sum[:]) != i.Sum {
			err = errors.New("its file was changed")
		}
		if err != nil {
			return nil, record.Errorf(record.Internal, "reading an image of the task: %v", err)
		}
		images = append(images, i)
	}
	return images, nil
}

// DataURL is the address that holds the image itself.
func (i *Image) DataURL() string {
	return "data:" + i.Type + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// Tool is what a model is told of a tool.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
}

// ToolCall is a call that a model makes natively.
type ToolCall struct {
	ID        string `json:"id"` // which a tool's message names
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // as the model wrote them: JSON, if it did well
}

// Draw tells which of several equal requests this one is: equal requests of
// different tasks, trials or moments of a run are different draws.
type Draw struct {
	Task      string
	Trial     int // from 1
	Call      int // how many calls of this model the run made before
	Iteration int // from 1
	// Conversation tells the calls of a program apart: those of main, sub1 ..., and of side, which are no steps. Turn is how many
	// of them asked this model before.
	Conversation string
	Turn         int
	// Of is the task itself, target included, by the names of its fields. Only a
	// simulated model may read it: it stands in for a model that knows.
	Of expr.Fields
}

// Reply is a complete answer.
type Reply struct {
	Text     string
	Thinking string // what the model says of its reasoning
	// ToolCalls are the tools that the model calls natively, in its order.
	ToolCalls []ToolCall
	Answered  string // what the server says has answered, where it is not the model asked for
	Finish    string // the model's finish reason: stop, length, content_filter ...
	// Blocks are the whole reply in its provider's own form, a JSON array, where text and calls are not all that the
	// provider wants back in the next turn: signed thinking, encrypted reasoning. nil: they are.
	Blocks   json.RawMessage
	Usage    record.Usage
	Tier     string          // the service tier that the provider reports, "": none, or the usual one
	Reported json.RawMessage // of the usage, beyond Usage: see record.Call
	Reserved *record.Usage   // under a hard budget
	Duration time.Duration   // as-if: of a simulated or cached call, what it stands for
	Waited   time.Duration   // for rate limits, to try again, and for failed attempts; not part of Duration
	Attempts int             // requests sent; 0 means 1
	Unsent   int             // of these attempts, those of which no byte reached a server
	Cached   bool
	Raw      *RawAnswer // to a raw request
	Limits   []Limit    // of the server, as this reply tells of them; no cache keeps them
}

// Limit is what a server says is left of one of its limits on the rate of calls.
type Limit struct {
	Of    Quantity
	Left  int64
	Until time.Time // when all of it is there again
}

// Quantity is what a limit is of.
type Quantity string

// The quantities of which servers tell. Tokens are those of input and output.
const (
	Requests     Quantity = "requests"
	Tokens       Quantity = "tokens"
	InputTokens  Quantity = "input tokens"
	OutputTokens Quantity = "output tokens"
)

type besideKey struct{}

// Beside prepares calls that are made beside others of the same run. Which of
// several equal requests one of them is must not depend on which came first:
// those of each place follow one another, and are numbered for themselves.
func Beside(ctx context.Context, place int) context.Context {
	return context.WithValue(ctx, besideKey{}, Place(ctx)+"/"+strconv.Itoa(place))
}

// Place tells calls apart that are made beside each other; "": nothing is beside.
func Place(ctx context.Context) string {
	place, _ := ctx.Value(besideKey{}).(string)
	return place
}

// imageBytes is the text that has as many tokens as a large image, 1,600 at Anthropic and OpenAI.
const imageBytes = 1600 * charactersPerToken

// Bytes is the length of what a model reads of a message.
func (m *Message) Bytes() int {
	bytes := len(m.ToolCallID) + imageBytes*len(m.Images)
	if m.Blocks != nil {
		return bytes + len(m.Blocks)
	}
	return bytes + len(m.Text) + callBytes(m.ToolCalls)
}

// Bytes is the length of what a model reads of a tool.
func (t *Tool) Bytes() int { return len(t.Name) + len(t.Description) + len(t.Parameters) }

// Bytes is the length of what a model wrote.
func (r *Reply) Bytes() int { return len(r.Text) + len(r.Thinking) + callBytes(r.ToolCalls) }

func callBytes(calls []ToolCall) int {
	bytes := 0
	for i := range calls {
		bytes += len(calls[i].ID) + len(calls[i].Name) + len(calls[i].Arguments)
	}
	return bytes
}

// Identify gives an ID to each call that has none, or that of one before it:
// call_1 is the first call's, and so on. Always the same calls get the same IDs.
// A number stands behind an ID that another call has: one that came before, or one that is yet to come and has it of its own.
func Identify(calls []ToolCall) {
	own, given, last := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, c := range calls {
		own[c.ID] = true
	}
	for i, c := range calls {
		id := cmp.Or(c.ID, "call_"+strconv.Itoa(i+1))
		made := id
		for given[made] || made != c.ID && own[made] {
			last[id]++
			made = id + "_" + strconv.Itoa(last[id]+1)
		}
		calls[i].ID, given[made] = made, true
	}
}

// Asked is one call of a model, on behalf of an agent or a judge.
type Asked struct {
	Model   Model
	Name    string // in the suite
	Role    record.Role
	Hash    string // of the request
	Request *Request
	Timeout time.Duration  // of the call, as-if, without what it waits; 0: none
	Calls   map[string]int // of each model so far in the run; counted on where the call was made
}

type roleKey struct{}

// Role is whose call a context is of; "": a program's.
func Role(ctx context.Context) record.Role {
	role, _ := ctx.Value(roleKey{}).(record.Role)
	return role
}

// Ask makes the call and its record, which is nil where no call was made.
func (a *Asked) Ask(ctx context.Context) (*Reply, *record.Call, error) {
	calling, cancel := ctx, context.CancelFunc(func() {})
	if a.Timeout > 0 {
		calling, cancel = WithWorkingTime(ctx, a.Timeout, context.DeadlineExceeded)
	}
	defer cancel()
	reply, err := a.Model.Call(context.WithValue(calling, roleKey{}, a.Role), a.Request)
	if errors.Is(err, ErrEnded) || errors.Is(err, ErrRefused) {
		return nil, nil, err
	}
	if a.Calls != nil {
		a.Calls[a.Name]++
	}
	call := &record.Call{Role: a.Role, Model: a.Name, Request: a.Hash}
	if err == nil {
		call.Usage, call.Reserved, call.Finish = reply.Usage, reply.Reserved, reply.Finish
		call.Answered, call.Tier, call.Reported = reply.Answered, reply.Tier, reply.Reported
		call.Duration, call.Waited = reply.Duration, reply.Waited
		call.Attempts, call.Unsent, call.Cached = reply.Attempts, reply.Unsent, reply.Cached
		err = a.late(call)
	} else {
		err = a.failed(ctx, calling, call, err)
	}
	return reply, call, err
}

// late turns a call that took longer than allowed into a timeout, also where
// its time only passed as-if.
func (a *Asked) late(call *record.Call) error {
	if a.Timeout <= 0 || call.Duration <= a.Timeout {
		return nil
	}
	call.Duration = a.Timeout
	call.Error = a.timedOut()
	return call.Error
}

func (a *Asked) timedOut() *record.Error {
	return &record.Error{Class: record.CallTimeout, Message: fmt.Sprintf("the call took longer than %v", a.Timeout)}
}

// reserved records what the run's own budget made of a call that failed.
func reserved(call *record.Call, err error) {
	var u *Unanswered
	if !errors.As(err, &u) {
		return
	}
	call.Reserved = &u.Reserved
	if u.Charged != call.Usage {
		call.Charged = &u.Charged
	}
}

// failed records a call that gave no reply. An error of no known class is one
// of agentbench, unless the context ended.
func (a *Asked) failed(ctx, calling context.Context, call *record.Call, err error) error {
	call.Duration, call.Usage = Failure(err)
	var told *CallError
	if errors.As(err, &told) {
		call.Waited, call.Attempts, call.Unsent = told.Waited, told.Attempts, told.Unsent
		if told.Reply != nil {
			call.Tier, call.Reported = told.Reply.Tier, told.Reply.Reported
		}
	}
	reserved(call, err)
	if a.Timeout > 0 && call.Duration > a.Timeout {
		call.Duration = a.Timeout
	}
	switch {
	case errors.As(err, &call.Error):
	case ctx.Err() != nil:
		return err
	case calling.Err() != nil:
		call.Duration, call.Error = a.Timeout, a.timedOut()
		return call.Error
	default:
		call.Error = &record.Error{Class: record.Internal, Message: err.Error()}
	}
	return err
}

// Unfence takes the JSON out of a reply that wraps it into one pair of ``` or
// ```json fences, with or without prose around them.
func Unfence(text string) string {
	trimmed := strings.TrimSpace(text)
	start := strings.Index(trimmed, fence)
	end := strings.LastIndex(trimmed, fence)
	whole := start == 0 && end == len(trimmed)-len(fence)
	if end < start+len(fence) || !whole && (strings.Count(trimmed, fence) != 2 || startsJSON(trimmed)) {
		return trimmed
	}
	language, inner, lines := strings.Cut(trimmed[start+len(fence):end], "\n")
	language = strings.TrimSpace(language)
	if !lines || language != "" && !strings.EqualFold(language, "json") {
		return trimmed
	}
	return strings.TrimSpace(inner)
}

// Verdict takes the JSON out of an answer of a judge, which may be nothing but one
// fence. A fence within prose may be what the judge quotes: what the output says of
// itself.
func Verdict(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, fence) && strings.HasSuffix(text, fence) {
		return Unfence(text)
	}
	return text
}

const fence = "```"

func startsJSON(text string) bool { return text != "" && strings.ContainsRune("{[\"", rune(text[0])) }

// Data differ from instructions in what a model is sent by a fence: each text stands between two lines with its name and a mark that none of
// the texts has in it. Whatever a text says, it can neither end its own part nor
// begin another one.

// Fenced is a text with a name, which is of the one who asks.
type Fenced struct{ Name, Text string }

// FenceMark is one that no text has in it, 16 digits. It follows from the texts, so
// that equal requests stay equal.
func FenceMark(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	for {
		mark := hex.EncodeToString(sum[:8])
		if !within(texts, mark) {
			return mark
		}
		sum = sha256.Sum256(sum[:])
	}
}

func within(texts []string, mark string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, mark) })
}

// WriteFenced writes the parts one after the other, with an empty line after each. The
// mark is that of their texts, among others perhaps.
func WriteFenced(b *strings.Builder, mark string, parts ...Fenced) {
	for _, p := range parts {
		b.WriteString("=== " + p.Name + " " + mark + " ===\n")
		b.WriteString(p.Text)
		b.WriteString("\n=== end of " + p.Name + " " + mark + " ===\n\n")
	}
}

// FencedText is a text as it is, and anything else as JSON.
func FencedText(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	encoded, err := expr.AppendJSON(nil, value)
	return string(encoded), err
}
