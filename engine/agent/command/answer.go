package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/agent"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// ends are the reasons for which a program may end its run.
var ends = []record.Reason{
	record.ReasonFinalResponse, record.ReasonToolEnded, record.ReasonQuestionAsked,
	record.ReasonCapability, record.ReasonAgentEnded,
}

// envelope is what a program may wrap its output in.
type envelope struct {
	Output     json.RawMessage `json:"output"`
	Confidence *float64        `json:"confidence"`
	End        record.Reason   `json:"end"`
	Thinking   string          `json:"thinking"`
	Usage      *usage          `json:"usage"`
}

// usage is what a program says that it used itself.
type usage struct {
	Calls        int64    `json:"calls"`
	InputTokens  int64    `json:"input_tokens"`
	OutputTokens int64    `json:"output_tokens"`
	CostUSD      *float64 `json:"cost_usd"`
}

// read takes a program's standard output: an object with output or end is an
// envelope; another object or list is the output itself, and so is any text.
func read(stdout []byte, reply spec.Reply, result *agent.Result, call *record.Call) error {
	stdout = bytes.TrimSpace(stdout)
	wrapped, ok, err := open(stdout)
	switch {
	case err != nil:
		return err
	case !ok && len(stdout) == 0:
		return failure(record.NoAnswer, "the program wrote nothing to its standard output")
	case !ok:
		if json.Valid(stdout) && (stdout[0] == '{' || stdout[0] == '[') {
			reply = spec.ReplyJSON
		}
		result.SetReply(strings.ToValidUTF8(string(stdout), "\uFFFD"), reply)
		if result.Bytes = notUTF8(stdout); result.Bytes != nil {
			call.Stdout = "" // the iteration has it
		}
		return nil
	}
	if call.Usage, err = wrapped.Usage.record(); err != nil {
		return err
	}
	if len(wrapped.Output) == 0 && wrapped.End == "" {
		return failure(record.NoAnswer, "the program's answer has neither output nor end")
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
func open(stdout []byte) (wrapped envelope, ok bool, err error) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(stdout, &keys) != nil || keys["output"] == nil && keys["end"] == nil {
		return wrapped, false, nil
	}
	if err := json.Unmarshal(stdout, &wrapped); err != nil {
		return wrapped, false, failure(record.Program, "reading the program's answer: %v", err)
	}
	if c := wrapped.Confidence; c != nil && !(*c >= 0 && *c <= 1) {
		return wrapped, false, failure(record.Program, "the program's confidence is %v; want a number from 0 to 1", *c)
	}
	if wrapped.End != "" && !slices.Contains(ends, wrapped.End) {
		return wrapped, false, failure(record.Program, "the program ends the run with %q; want one of %v", wrapped.End, ends)
	}
	return wrapped, true, nil
}

// unreported is the usage of a program that does not say what it used.
var unreported = record.Usage{Unreported: 1}

// record checks what the program says. One that used something and names no
// cost is unpriced.
func (u *usage) record() (record.Usage, error) {
	if u == nil {
		return unreported, nil
	}
	used := record.Usage{Calls: u.Calls, InputTokens: u.InputTokens, OutputTokens: u.OutputTokens}
	if u.Calls < 0 || u.InputTokens < 0 || u.OutputTokens < 0 || u.CostUSD != nil && !(*u.CostUSD >= 0 && *u.CostUSD < 1e6) {
		return unreported, failure(record.Program, "the program's usage cannot be")
	}
	switch {
	case u.CostUSD != nil:
		used.Cost = record.Money(math.Round(*u.CostUSD * float64(record.USD)))
	case used != record.Usage{}:
		used.Unpriced = max(1, u.Calls)
	}
	return used, nil
}
