package agent

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/model"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// unusable says why a reply gives no output and calls nothing.
func unusable(reply *model.Reply) error {
	switch {
	case reply.Finish == "content_filter":
		return &record.Error{Class: record.ContentFilter, Message: "the server's content filter stopped the reply"}
	case len(reply.ToolCalls) > 0 || !blank(reply.Text):
		return nil
	case reply.Finish == "length":
		return &record.Error{Class: record.NoAnswer, Message: "the reply is empty: the model spent its output tokens before it answered"}
	}
	return &record.Error{Class: record.NoAnswer, Message: "the reply is empty"}
}

// reply makes a model's reply the output.
func (r *Result) reply(text, finish string, reply spec.Reply) {
	r.Fault = ""
	r.SetReply(text, reply)
	if r.Fault != "" && finish == "length" {
		r.Fault += " (it was cut at its limit of output tokens)"
	}
}

// give makes what a tool gave the output: a text is taken for a reply.
func (r *Result) give(content json.RawMessage, reply spec.Reply) {
	value, err := expr.ParseJSON(content)
	if text, ok := value.(string); ok && err == nil {
		r.reply(text, "", reply)
		return
	}
	if err == nil {
		r.Output, r.Value, r.Fault = content, value, ""
	}
}

// textOf is a text as it is, and any other JSON as it is written.
func textOf(content json.RawMessage) string {
	if value, err := expr.ParseJSON(content); err == nil {
		if text, ok := value.(string); ok {
			return text
		}
	}
	return string(content)
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// SetReply makes the output of what an agent replied: a text, or its JSON value.
func (r *Result) SetReply(text string, reply spec.Reply) {
	if reply == spec.ReplyJSON {
		r.setJSON(text)
		return
	}
	r.setText(text)
}

// setText makes a text the output.
func (r *Result) setText(text string) {
	r.Value = text
	r.Output, _ = expr.AppendJSON(make([]byte, 0, len(text)+2), text) // a string always is JSON
}

// setJSON makes a reply's JSON value the output. Where it is not JSON the text
// is the output, and Fault says why.
func (r *Result) setJSON(text string) {
	inner := model.Unfence(text)
	value, err := expr.ParseJSON([]byte(inner))
	if err != nil {
		r.setText(text)
		r.Fault = "the reply is not JSON: " + err.Error()
		return
	}
	r.Value = value
	r.Output = encode(inner, value)
}

// encode keeps the JSON as it was written, which keeps numbers of any length,
// but for what is not UTF-8.
func encode(text string, value any) json.RawMessage {
	if utf8.ValidString(text) {
		return json.RawMessage(text)
	}
	encoded, err := expr.AppendJSON(nil, value)
	if err != nil {
		return nil
	}
	return encoded
}
