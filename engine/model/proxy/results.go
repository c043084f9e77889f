package proxy

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// results takes the results of tool calls from the items of the conversation behind the first ones, which the earlier request had.
// Results without an id, or with the same one, go to the calls in their order. Measured times are masked, so that equal results are
// equal.
func (a *asked) results(of []record.ToolCall, behind int) {
	if len(of) == 0 {
		return
	}
	if behind >= len(a.items) { // the conversation began anew
		behind = 0
	}
	open := make([]bool, len(of)) // calls without a result yet
	calls := map[string][]int{}   // by the id that a result may have; all of them by ""
	for i := range of {
		open[i] = true
		calls[""] = append(calls[""], i)
		calls[of[i].ID] = append(calls[of[i].ID], i)
	}
	for i := range of { // behind those that have the id itself: model.Identify numbers equal ids
		if n := strings.LastIndexByte(of[i].ID, '_'); n > 0 {
			calls[of[i].ID[:n]] = append(calls[of[i].ID[:n]], i)
		}
	}
	take := func(value any) {
		item, _ := value.(map[string]any)
		if !isResult(item) {
			return
		}
		id, _ := item[forms[a.protocol].result].(string)
		for ; len(calls[id]) > 0; calls[id] = calls[id][1:] {
			if i := calls[id][0]; open[i] {
				open[i] = false
				a.give(&of[i], item)
				return
			}
		}
	}
	for _, text := range a.items[behind:] {
		item := decode(text)
		take(item)
		members, _ := item.(map[string]any)
		parts, _ := members["content"].([]any)
		for _, part := range parts {
			take(part)
		}
	}
}

// isResult reports whether an item says what a tool gave.
func isResult(item map[string]any) bool {
	kind, _ := item["type"].(string)
	return item["role"] == "tool" || kind == "tool_result" || strings.HasSuffix(kind, "_output")
}

// give puts what a tool gave down with its call.
func (a *asked) give(c *record.ToolCall, item map[string]any) {
	gave, has := item["content"]
	if !has {
		gave = item["output"]
	}
	text := clipped(textOf(gave))
	c.Result, _ = json.Marshal(text) // a text
	c.Result = a.rules.mask(c.Result, nil)
	if item["is_error"] == true {
		c.Error = &record.Error{Class: record.Tool, Message: text}
	}
}

// textOf is the text of what a tool gave: it, or those of its parts, or the value as JSON.
func textOf(gave any) string {
	switch gave := gave.(type) {
	case nil:
		return ""
	case string:
		return gave
	case []any:
		texts := make([]string, len(gave))
		for i, value := range gave {
			part, _ := value.(map[string]any)
			text, isText := part["text"].(string)
			if !isText { // an image or a file
				kind, _ := part["type"].(string)
				text, _ := json.Marshal(value) // it was JSON
				s := sha256.Sum256(text)
				texts[i] = fmt.Sprintf("[%s %x]", kind, s[:6])
				continue
			}
			texts[i] = text
		}
		return strings.Join(texts, "\n")
	}
	text, _ := json.Marshal(gave) // it was JSON
	return string(text)
}

// longestResult is how much of what a tool gave is kept, in bytes.
const longestResult = 16 << 10

// clipped is a text without its middle, where it is long. No word is cut: of a secret a part would be no longer known as one.
func clipped(text string) string {
	if len(text) <= longestResult {
		return text
	}
	const between, half = " \t\r\n\"'", longestResult / 2
	head := text[:strings.LastIndexAny(text[:half], between)+1]
	tail := text[len(text)-half:]
	if at := strings.IndexAny(tail, between); at >= 0 {
		tail = tail[at:]
	} else {
		tail = ""
	}
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s", head, len(text)-len(head)-len(tail), tail)
}
