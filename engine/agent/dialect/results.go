package dialect

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
)

// told is what a model reads as the result of a call.
func told(c *record.ToolCall) string {
	result := resultText(c.Result)
	switch {
	case c.Error == nil && strings.TrimSpace(result) == "":
		return "(empty)"
	case c.Error == nil:
		return result
	case result == "":
		return "Error: " + c.Error.Message
	}
	return "Error: " + c.Error.Message + "\n" + result
}

// resultText is a string as its text, nothing as "", and any other JSON compact.
func resultText(result json.RawMessage) string {
	switch kind(result) {
	case "nothing":
		return ""
	case "a string":
		var text string
		if json.Unmarshal(result, &text) == nil {
			return text
		}
	}
	return string(compact(result))
}

// answers are the results of the calls for the model. Where several of a step could not be
// made, the first of them has all their errors in one, the others refer to it.
func answers(calls []record.ToolCall) []string {
	texts := make([]string, len(calls))
	wrong := unmade(calls)
	for i := range calls {
		switch c := &calls[i]; {
		case len(wrong) < 2 || !bad(c):
			texts[i] = told(c)
		case i == wrong[0]:
			texts[i] = collected(calls, wrong)
		default:
			texts[i] = fmt.Sprintf("Error: the call was not made; what call %d of this step gave has the errors of all.", wrong[0]+1)
		}
	}
	return texts
}

func bad(c *record.ToolCall) bool { return c.Error != nil && c.Error.Class == record.BadCall }

// unmade are the places of the calls that could not be made.
func unmade(calls []record.ToolCall) (at []int) {
	for i := range calls {
		if bad(&calls[i]) {
			at = append(at, i)
		}
	}
	return at
}

// collected is the one structured error of all calls of a step that could not be
// made.
func collected(calls []record.ToolCall, wrong []int) string {
	type call struct {
		Call   int      `json:"call"` // from 1, among those of the step
		Tool   string   `json:"tool"`
		Errors []string `json:"errors"`
	}
	all := struct {
		Error string `json:"error"`
		Calls []call `json:"calls"`
	}{Error: fmt.Sprintf("%d of %d calls were not made", len(wrong), len(calls))}
	for _, i := range wrong {
		all.Calls = append(all.Calls, call{Call: i + 1, Tool: calls[i].Tool, Errors: []string{calls[i].Error.Message}})
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(all); err != nil { // texts and numbers always are JSON
		return "Error: " + all.Error
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// results are the answers to calls that are written in a text, in one message.
// Each is between marks that it cannot hold itself, so that nothing in it
// can pass for text outside.
func (d Dialect) results(calls []record.ToolCall) string {
	wrong := unmade(calls)
	together := len(wrong) > 1
	var parts []string
	for i := range calls {
		if c := &calls[i]; !together || !bad(c) {
			parts = append(parts, d.mark(c.Tool, told(c)))
		}
	}
	if together {
		parts = append(parts, d.mark("errors", collected(calls, wrong)))
	}
	return strings.Join(parts, "\n")
}

func (d Dialect) mark(name, result string) string {
	if d == XML {
		inside := strings.ReplaceAll(result, closeResult, `<\/tool_result>`)
		return fmt.Sprintf("%s tool_name=%q>\n%s\n%s", openResult, name, inside, closeResult)
	}
	fence := strings.Repeat("`", max(len(ticks), 1+longestRow(result)))
	return fence + toolResult + " " + strconv.Quote(name) + "\n" + result + "\n" + fence
}

func longestRow(text string) int {
	longest, row := 0, 0
	for i := range len(text) {
		if text[i] == '`' {
			row++
			longest = max(longest, row)
		} else {
			row = 0
		}
	}
	return longest
}
