package dialect

import "strings"

const (
	openTool    = "<tool>"
	closeTool   = "</tool>"
	openResult  = "<tool_result"
	closeResult = "</tool_result>"
)

var elementKeys = keys{
	tool:      []string{"tool_name", "tool", "name"},
	server:    []string{"server_name"},
	arguments: []string{"arguments", "args"},
}

// elements finds the calls in <tool> elements. A value's end is where its JSON
// ends, so that strings in it may hold tags. What a reply quotes of results is
// no call.
func elements(text string) []block {
	var found []block
	for at := 0; ; {
		open := strings.Index(text[at:], "<tool")
		if open < 0 {
			return found
		}
		open += at
		switch rest := text[open:]; {
		case strings.HasPrefix(rest, openResult):
			at = behind(text, open, closeResult)
		case strings.HasPrefix(rest, openTool):
			b, called := element(text, open)
			if at = b.to; called {
				found = append(found, b)
			}
		default:
			at = open + 1
		}
	}
}

// element reads the element that opens at a place. Where prose speaks of <tool>
// there is no call.
func element(text string, open int) (b block, called bool) {
	body := open + len(openTool)
	b = block{from: open, to: body}
	rest := strings.TrimLeft(text[body:], blank)
	end, closed := endOfElement(text, body)
	if !closed && rest != "" && rest[0] != '{' {
		return b, false
	}
	value, length, fault := firstValue(text[body:])
	switch rest = strings.TrimLeft(text[body+length:], blank); {
	case fault == "" && strings.HasPrefix(rest, closeTool):
		b.to, b.call = len(text)-len(rest)+len(closeTool), writtenCall(value, elementKeys)
		return b, true
	case fault != "":
		b.call.Fault = "the element is " + fault
	case rest == "":
		b.call.Fault = "the element is not closed: it ends without " + closeTool
	default:
		b.call.Fault = "the element is not JSON: \"" + short(rest) + "\" stands behind the object"
	}
	b.to = end
	written := strings.TrimSuffix(strings.TrimRight(text[body:end], blank), closeTool)
	b.call.Arguments = quoted(strings.Trim(written, blank))
	return b, true
}

// endOfElement is behind the last closing tag before the next opening one, else
// at that or at the end of the text.
func endOfElement(text string, body int) (end int, closed bool) {
	end = len(text)
	if next := strings.Index(text[body:], openTool); next >= 0 {
		end = body + next
	}
	if last := strings.LastIndex(text[body:end], closeTool); last >= 0 {
		return body + last + len(closeTool), true
	}
	return end, false
}

// behind is the place behind the next mark, or the end of the text.
func behind(text string, from int, mark string) int {
	at := strings.Index(text[from:], mark)
	if at < 0 {
		return len(text)
	}
	return from + at + len(mark)
}
