package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// ends are the reasons for which an agent may end its run.
var ends = []record.Reason{
	record.ReasonFinalResponse, record.ReasonToolEnded, record.ReasonQuestionAsked,
	record.ReasonCapability, record.ReasonAgentEnded,
}

// envelope is what an output may be wrapped in.
type envelope struct {
	Output     json.RawMessage `json:"output"`
	Confidence *float64        `json:"confidence"`
	End        record.Reason   `json:"end"`
	Thinking   string          `json:"thinking"`
	Usage      *usage          `json:"usage"`
}

// usage is what an agent says that it used itself.
type usage struct {
	Calls        int64    `json:"calls"`
	InputTokens  int64    `json:"input_tokens"`
	OutputTokens int64    `json:"output_tokens"`
	CostUSD      *float64 `json:"cost_usd"`
}

// Writer is who writes an answer.
type Writer struct {
	Name  string            // as errors call it: the program
	Class record.ErrorClass // of an answer that cannot be read
	Empty string            // what it did that answered nothing
}

// Read makes a result and the usage of its call of what was written: an object
// with output or end is an envelope; another object or list is the output itself,
// and so is any text.
func (w *Writer) Read(written []byte, reply spec.Reply, result *Result, call *record.Call) error {
	written = bytes.TrimSpace(written)
	wrapped, ok, err := w.open(written)
	switch {
	case err != nil:
		return err
	case !ok && len(written) == 0:
		return failure(record.NoAnswer, "%s %s", w.Name, w.Empty)
	case !ok:
		if json.Valid(written) && (written[0] == '{' || written[0] == '[') {
			reply = spec.ReplyJSON
		}
		result.SetReply(strings.ToValidUTF8(string(written), "\uFFFD"), reply)
		if result.Bytes = notUTF8(written); result.Bytes != nil {
			call.Stdout = "" // the iteration has it
		}
		return nil
	}
	if call.Usage, err = w.used(wrapped.Usage); err != nil {
		return err
	}
	if len(wrapped.Output) == 0 && wrapped.End == "" {
		return failure(record.NoAnswer, "%s's answer has neither output nor end", w.Name)
	}
	result.Thinking, result.Confidence = wrapped.Thinking, wrapped.Confidence
	if len(wrapped.Output) > 0 {
		result.SetReply(string(wrapped.Output), spec.ReplyJSON)
		result.Bytes = notUTF8(wrapped.Output)
	}
	if wrapped.End != "" {
		result.Ended = &record.Ended{Reason: string(wrapped.End), Output: result.Output}
	}
	return nil
}

// NothingMore says that the agent ended before the iteration: it gave nothing.
func NothingMore(result *Result) bool {
	return result.Ended != nil && result.Ended.Reason == string(record.ReasonAgentEnded) && result.Output == nil
}

func failure(class record.ErrorClass, format string, args ...any) error {
	return &record.Error{Class: class, Message: fmt.Sprintf(format, args...)}
}

// notUTF8 is a text that cannot be told as it is; nil where it can.
func notUTF8(text []byte) []byte {
	if utf8.Valid(text) {
		return nil
	}
	return bytes.Clone(text)
}

// open reads an envelope, if it is one.
func (w *Writer) open(written []byte) (wrapped envelope, ok bool, err error) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(written, &keys) != nil || keys["output"] == nil && keys["end"] == nil {
		return wrapped, false, nil
	}
	if err := json.Unmarshal(written, &wrapped); err != nil {
		return wrapped, false, failure(w.Class, "reading %s's answer: %v", w.Name, err)
	}
	if c := wrapped.Confidence; c != nil && !(*c >= 0 && *c <= 1) {
		return wrapped, false, failure(w.Class, "%s's confidence is %v; want a number from 0 to 1", w.Name, *c)
	}
	if wrapped.End != "" && !slices.Contains(ends, wrapped.End) {
		return wrapped, false, failure(w.Class, "%s ends the run with %q; want one of %v", w.Name, wrapped.End, ends)
	}
	return wrapped, true, nil
}

// Unreported is the usage of an agent that does not say what it used.
var Unreported = record.Usage{Unreported: 1}

// used checks what an agent says. One that used something and names no cost is
// unpriced.
func (w *Writer) used(u *usage) (record.Usage, error) {
	if u == nil {
		return Unreported, nil
	}
	used := record.Usage{Calls: u.Calls, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens}
	if u.Calls < 0 || u.InputTokens < 0 || u.OutputTokens < 0 || u.CostUSD != nil && !(*u.CostUSD >= 0 && *u.CostUSD < 1e6) {
		return Unreported, failure(w.Class, "%s's usage cannot be", w.Name)
	}
	switch {
	case u.CostUSD != nil:
		used.Cost = record.Money(math.Round(*u.CostUSD * float64(record.USD)))
	case used != record.Usage{}:
		used.Unpriced = max(1, u.Calls)
	}
	return used, nil
}
