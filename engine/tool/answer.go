package tool

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec/expr"
)

// Answer reads what a tool wrote. An object or a list is the content itself, and
// so is any other text. Two objects say more:
//
//	{"error": "why"}                     the tool failed; beside it may stand output
//	{"end": "capability", "output": …}   the run ends with the output
//
// The words for ends are those of programs. An object with other keys beside
// these is content: many tools tell of a beginning and an end.
func Answer(written []byte) (Result, error) {
	trimmed := bytes.TrimSpace(written)
	if !utf8.Valid(trimmed) {
		return Result{Content: Text(string(trimmed)), Bytes: written}, nil
	}
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return Result{Content: Text(string(trimmed))}, nil
	}
	value, err := expr.ParseJSON(trimmed)
	if err != nil {
		return Result{Content: Text(string(trimmed))}, nil
	}
	result := Result{Content: json.RawMessage(trimmed)}
	object, _ := value.(*expr.Object)
	if object.Len() == 0 || !only(object, "error", "end", "output") {
		return result, nil
	}
	var said struct {
		Error, End any
		Output     json.RawMessage
	}
	if json.Unmarshal(trimmed, &said) != nil { // nested deeper than is read
		return result, nil
	}
	if why, _ := said.Error.(string); why != "" {
		return Result{Content: said.Output}, &record.Error{Class: record.Tool, Message: why}
	}
	if end, _ := said.End.(string); endsRun(record.Reason(end)) {
		return Result{Content: said.Output, Ended: &record.Ended{Reason: end, Output: said.Output}}, nil
	}
	return result, nil
}

// only says whether an object has no other keys.
func only(object *expr.Object, keys ...string) bool {
	known := 0
	for _, key := range keys {
		if _, ok := object.Get(key); ok {
			known++
		}
	}
	return known == object.Len()
}

// endsRun says whether a tool may end its run for that reason. That there is
// nothing more to give is only for an agent to say.
func endsRun(reason record.Reason) bool {
	switch reason {
	case record.ReasonFinalResponse, record.ReasonToolEnded, record.ReasonQuestionAsked, record.ReasonCapability:
		return true
	}
	return false
}
