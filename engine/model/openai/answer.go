package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/sashabaranov/go-openai"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/secret"
)

// completion is what is read of an answer, whole or made of a stream. The type of
// go-openai would refuse whole answers for a number that is written in another way.
type completion struct {
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   reported `json:"usage"`
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
	if raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		c.text = string(raw[1 : len(raw)-1]) // most texts: they stand for themselves
		return nil
	}
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
	made.Usage = m.counted.usage(&c.Usage, request.InputTokens(), model.EstimateTokens(made.Bytes()))
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
	if json.Unmarshal(answer, c) != nil {
		var err error
		if c, err = withoutUsage(answer); err != nil {
			return nil, &record.Error{Class: record.BadResponse, Message: unreadable(answer)}
		}
	}
	if len(c.Choices) > 0 {
		return c, nil
	}
	if told := tell(answer); told.message != "" {
		return nil, &record.Error{Class: cmp.Or(told.class(), record.BadResponse), Message: "status 200 with an error: " + told.message}
	}
	return c, nil
}

// withoutUsage reads an answer whose usage may be of any type: what has another one is
// not known.
func withoutUsage(answer []byte) (*completion, error) {
	var c struct {
		completion
		Usage json.RawMessage `json:"usage"` // instead of that of the completion
	}
	err := json.Unmarshal(answer, &c)
	c.completion.Usage.read(c.Usage)
	return &c.completion, err
}

// shorten keeps messages readable.
func shorten(text string) string {
	const most = 500
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s … (%d bytes)", secret.Prefix(text, most), len(text))
}

// longestPiece is in what pieces long answers are kept while they are read. They
// are joined at the end, and not at all where they turn out to be too long.
const longestPiece = 1 << 20

// firstPiece is the first of them; shorter where the answer tells that it is.
const firstPiece = 4 << 10

// pieces are what was read so far.
type pieces struct {
	full [][]byte
	last []byte
}

// room is where to read on.
func (p *pieces) room() []byte {
	if len(p.last) == cap(p.last) {
		if p.last != nil {
			p.full = append(p.full, p.last)
		}
		p.last = make([]byte, 0, max(firstPiece, min(2*cap(p.last), longestPiece)))
	}
	return p.last[len(p.last):cap(p.last)]
}

func (p *pieces) read(n int) { p.last = p.last[:len(p.last)+n] }

// join makes one of the pieces, each of which is let go once it is copied.
func (p *pieces) join() []byte {
	if p.full == nil {
		return p.last
	}
	length := len(p.last)
	for _, piece := range p.full {
		length += len(piece)
	}
	whole := make([]byte, 0, length)
	for i, piece := range p.full {
		whole = append(whole, piece...)
		p.full[i] = nil
	}
	whole = append(whole, p.last...)
	*p = pieces{}
	return whole
}

// readAll reads to the end; on an error it gives nothing. The length is a hint,
// negative where nothing is known.
func readAll(from io.Reader, length int64) ([]byte, error) {
	var p pieces
	if length >= 0 {
		p.last = make([]byte, 0, min(firstPiece-1, length)+1) // the end is seen where there is room to read
	}
	for {
		n, err := from.Read(p.room())
		p.read(n)
		switch {
		case errors.Is(err, io.EOF):
			return p.join(), nil
		case err != nil:
			return nil, err
		}
	}
}

// readLine reads a line with its end. At the end of all it gives what is left,
// and io.EOF; on another error nothing.
func readLine(from *bufio.Reader) ([]byte, error) {
	var p pieces
	for {
		part, err := from.ReadSlice('\n')
		switch {
		case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case p.last == nil && !errors.Is(err, bufio.ErrBufferFull):
			return part, err // most lines: nothing is copied
		}
		for len(part) > 0 {
			n := copy(p.room(), part)
			p.read(n)
			part = part[n:]
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return p.join(), err
		}
	}
}

// limited fails where more is read than allowed.
type limited struct {
	from       io.Reader
	left, most int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.from.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("%w: more than %d bytes", errTooLarge, l.most)
	}
	return n, err
}

// fold makes one whole answer of a stream of events, so that both kinds of
// answers are read alike. What is not a whole answer is a *record.Error, or the
// reader's error.
func fold(from *bufio.Reader) (*completion, error) {
	var f folded
	for !f.done {
		line, err := readLine(from)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if failed := f.line(bytes.TrimRight(line, "\r\n")); failed != nil {
			return nil, failed
		}
		if err != nil {
			break
		}
	}
	if failed := f.incomplete(); failed != nil {
		return nil, failed
	}
	return f.answer(), nil
}

// isStream tells a stream from an answer that is whole, or none, by how it
// begins; the header may say anything.
func isStream(from *bufio.Reader) bool {
	for {
		next, err := from.Peek(1)
		if err != nil {
			return false
		}
		switch next[0] {
		case ' ', '\t', '\r', '\n':
			_, _ = from.Discard(1)
		case '{', '[', '<':
			return false
		default:
			return true
		}
	}
}

// folded is what a stream has told so far.
type folded struct {
	event   string // the name of the event that is being read
	pending []byte // data that are no JSON yet
	done    bool   // [DONE] came

	chosen   bool // a choice came
	spoken   bool // content came, if only an empty one
	text     text
	thinking text
	refusal  text
	calls    calls
	finish   string
	usage    json.RawMessage
}

// chunk is one event of a stream.
type chunk struct {
	Choices []struct {
		Index count `json:"index"`
		Delta struct {
			Content          *string     `json:"content"`
			ReasoningContent loose       `json:"reasoning_content"`
			Reasoning        loose       `json:"reasoning"`
			Refusal          string      `json:"refusal"`
			ToolCalls        []callDelta `json:"tool_calls"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// line takes one line: a field of an event, a comment, or the end of an event.
func (f *folded) line(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case len(line) == 0:
		f.event = ""
		if f.pending != nil {
			return broken(f.pending)
		}
	case string(name) == "event":
		f.event = string(value)
	case string(name) == "data":
		return f.data(value)
	}
	return nil
}

// data takes the data of an event as soon as they are whole, for there are
// servers that leave out the empty line.
func (f *folded) data(text []byte) error {
	if string(bytes.TrimSpace(text)) == "[DONE]" {
		f.done = true
		if f.pending != nil {
			return broken(f.pending)
		}
		return nil
	}
	if f.pending != nil {
		text = append(append(f.pending, '\n'), text...)
	}
	var c chunk
	err := json.Unmarshal(text, &c)
	switch {
	case f.event == "error", err == nil && isSet(c.Error):
		return toldInStream(text)
	case err == nil:
		f.pending = nil
		f.add(&c)
	case isSyntax(err):
		f.pending = bytes.Clone(text) // a line is read over by the next
	default:
		return broken(text)
	}
	return nil
}

func isSyntax(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax)
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// add takes a chunk; of several choices that of index 0.
func (f *folded) add(c *chunk) {
	if isSet(c.Usage) {
		f.usage = c.Usage
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index.known && choice.Index.n != 0 {
			continue
		}
		f.chosen = true
		if choice.Delta.Content != nil {
			f.spoken = true
			f.text.add(*choice.Delta.Content)
		}
		f.thinking.add(string(cmp.Or(choice.Delta.ReasoningContent, choice.Delta.Reasoning)))
		f.refusal.add(choice.Delta.Refusal)
		for i := range choice.Delta.ToolCalls {
			f.calls.add(&choice.Delta.ToolCalls[i])
		}
		if choice.Finish != "" {
			f.finish = choice.Finish
		}
	}
}

// incomplete says what a stream that has ended lacks.
func (f *folded) incomplete() error {
	switch {
	case f.pending != nil:
		return &record.Error{Class: record.Incomplete, Message: "the stream ended inside an event"}
	case f.finish == "" && (f.chosen || !f.done):
		return &record.Error{Class: record.Incomplete, Message: "the stream ended without a finish_reason: the answer was cut off"}
	}
	return nil
}

// answer is what the server would have sent without streaming.
func (f *folded) answer() *completion {
	if !f.chosen {
		return &completion{}
	}
	message := said{
		Content: content{f.text.String(), f.spoken}, Refusal: f.refusal.String(),
		ReasoningContent: loose(f.thinking.String()), ToolCalls: f.calls.whole(),
	}
	c := &completion{Choices: []choice{{Message: message, Finish: f.finish}}}
	c.Usage.read(f.usage)
	return c
}

// text grows by pieces; one alone is not copied.
type text struct {
	first string
	all   strings.Builder
}

func (t *text) add(piece string) {
	switch {
	case piece == "":
	case t.first == "":
		t.first = piece
	default:
		if t.all.Len() == 0 {
			t.all.WriteString(t.first)
		}
		t.all.WriteString(piece)
	}
}

func (t *text) String() string {
	if t.all.Len() == 0 {
		return t.first
	}
	return t.all.String()
}

func broken(text []byte) error {
	return &record.Error{Class: record.BadResponse, Message: "an event of the stream is not what the API promises: " + shorten(string(text))}
}

// toldInStream explains an error that came as an event. It cut the answer off,
// unless it says why trying again is in vain, or that it should wait.
func toldInStream(text []byte) error {
	t := tell(text)
	class := t.class()
	if class == "" || class == record.Server {
		class = record.Incomplete
	}
	if t.message == "" {
		t.message = shorten(string(text))
	}
	return &record.Error{Class: class, Message: fmt.Sprintf("the stream broke off with an error: %s", t.message)}
}

// notStreamed is the fault of a server that takes no notice of stream: nobody
// knows whether its answer is whole.
func notStreamed(reply *model.Reply, failed *record.Error) (*model.Reply, *record.Error) {
	if failed != nil {
		return nil, failed
	}
	return nil, &record.Error{Class: record.Incomplete, Message: "a stream was asked for and something else came: set stream: false if the server knows no streams; it said: " + shorten(reply.Text)}
}

// callDelta is the part of a tool call that an event holds.
type callDelta struct {
	Index    *int   `json:"index"` // of the call; there are servers that leave it out
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// calls are the tool calls of a stream so far.
type calls []*streamedCall

type streamedCall struct {
	index     int
	id, name  string
	arguments strings.Builder
}

// add takes a part. It belongs to the newest call of its index, unless it brings
// another ID: there are servers that give every call the index 0.
func (c *calls) add(part *callDelta) {
	call := c.of(part)
	call.id = cmp.Or(call.id, part.ID)
	if part.Function.Name != call.name { // else it only says again whose part it is
		call.name += part.Function.Name
	}
	call.arguments.WriteString(part.Function.Arguments)
}

func (c *calls) of(part *callDelta) *streamedCall {
	for _, call := range slices.Backward(*c) {
		if part.Index != nil && call.index != *part.Index {
			continue
		}
		if part.ID == "" || call.id == "" || part.ID == call.id {
			return call
		}
		break
	}
	begun := &streamedCall{index: len(*c)}
	if part.Index != nil {
		begun.index = *part.Index
	}
	*c = append(*c, begun)
	return begun
}

// whole are the calls as an answer has them, in the order of their indexes.
func (c calls) whole() []toolCall {
	slices.SortStableFunc(c, func(a, b *streamedCall) int { return cmp.Compare(a.index, b.index) })
	var all []toolCall
	for _, call := range c {
		all = append(all, toolCall{ID: call.id, Type: "function", Function: functionCall{call.name, call.arguments.String()}})
	}
	return all
}

// silent is the fault of a server that says nothing for too long.
type silent struct {
	began bool // it had begun to answer
	after time.Duration
}

func (s silent) Error() string {
	if s.began {
		return fmt.Sprintf("the server said nothing more for %v", s.after)
	}
	return fmt.Sprintf("the server did not begin to answer within %v", s.after)
}

// silence ends a request whose server says nothing for too long: before the
// first byte of the answer's body, and from then on between any two.
type silence struct {
	from  io.Reader // the body; nil before it begins
	began atomic.Bool
	idle  time.Duration
	timer *time.Timer
}

func listen(firstByte, idle time.Duration, end context.CancelCauseFunc) *silence {
	s := &silence{idle: idle}
	s.timer = time.AfterFunc(firstByte, func() {
		if s.began.Load() {
			end(silent{began: true, after: idle})
		} else {
			end(silent{after: firstByte})
		}
	})
	return s
}

// Read reads of the body, and allows that much silence from then on.
func (s *silence) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if n > 0 {
		s.began.Store(true)
		s.timer.Reset(s.idle)
	}
	return n, err
}
