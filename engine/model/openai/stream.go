package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
)

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
	return &completion{Choices: []choice{{Message: message, Finish: f.finish}}, Usage: f.usage}
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
