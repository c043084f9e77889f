package dialect

import (
	"fmt"
	"strings"
)

// The words behind the fence that opens a block.
const (
	toolCall   = "tool_call"
	delegate   = "delegate"
	toolResult = "tool_result" // ours: a reply that quotes it does not call
)

const (
	ticks = "```"
	blank = " \t\r\n"
)

// fence is a row of at least three backticks in a text.
type fence struct {
	at, end int    // of the backticks
	opens   string // the word of ours that follows, "" where none does
	body    int    // behind that word
}

// nextFence is the first at or behind a place.
func nextFence(text string, from int) (fence, bool) {
	found := strings.Index(text[from:], ticks)
	if found < 0 {
		return fence{}, false
	}
	f := fence{at: from + found}
	f.end = f.at + len(ticks)
	for f.end < len(text) && text[f.end] == '`' {
		f.end++
	}
	f.opens, f.body = opening(text, f.end)
	return f, true
}

// opening is the word of ours behind a fence. Of calls, it is alone in its line,
// or their object follows at once: prose may speak of ```tool_call blocks.
func opening(text string, from int) (word string, body int) {
	rest := strings.TrimLeft(text[from:], " \t")
	length := 0
	for length < len(rest) && (rest[length] == '_' || 'a' <= rest[length] && rest[length] <= 'z') {
		length++
	}
	word, body = rest[:length], len(text)-len(rest)+length
	behind := strings.TrimLeft(rest[length:], " \t\r")
	switch {
	case word == toolResult:
		return word, body
	case word != toolCall && word != delegate:
	case behind == "" || behind[0] == '\n' || behind[0] == '{':
		return word, body
	}
	return "", from
}

// fencedBlocks finds the calls between fences. A value's end is where its JSON
// ends, so that strings in it may hold fences.
func fencedBlocks(text string) []block {
	var found []block
	for at := 0; ; {
		f, more := nextFence(text, at)
		if !more {
			return found
		}
		switch f.opens {
		case toolCall, delegate:
			b := fenced(text, f)
			found, at = append(found, b), b.to
		case toolResult:
			at = closing(text, f)
		default:
			at = f.end
		}
	}
}

func fenced(text string, f fence) block {
	value, length, fault := firstValue(text[f.body:])
	if fault != "" {
		return unread(text, f, f.body, "the block is "+fault)
	}
	last, fault := lastFence(text, f.body+length)
	if fault != "" {
		return unread(text, f, f.body+length, fault)
	}
	b := block{from: f.at, to: last.end}
	if b.call = writtenCall(value, fencedKeys); f.opens == delegate {
		b.call = task(value)
	}
	return b
}

// lastFence is the fence that closes a block behind its object.
func lastFence(text string, from int) (last fence, fault string) {
	rest := strings.TrimLeft(text[from:], blank)
	last, more := nextFence(text, len(text)-len(rest))
	switch {
	case rest == "" || more && last.at == len(text)-len(rest) && last.opens != "":
		return last, "the block is not closed: it ends without " + ticks
	case !more || last.at > len(text)-len(rest):
		return last, fmt.Sprintf("the block is not JSON: %q stands behind the object", short(rest))
	}
	return last, ""
}

// unread is a block that could not be read; its content is searched for its end
// from a place on.
func unread(text string, f fence, from int, fault string) block {
	end := endOfBlock(text, from)
	content := strings.Trim(strings.TrimRight(text[f.body:end], "`"+blank), blank)
	return block{f.at, end, Call{Arguments: quoted(content), Fault: fault}}
}

var fencedKeys = keys{tool: []string{"tool", "name"}, arguments: []string{"arguments", "args"}}

// endOfBlock is behind the fence that closes a block that could not be read: the
// first at the start of a line, else the first of all. A fence that opens the
// next block ends this one.
func endOfBlock(text string, from int) int {
	end := -1
	for at := from; ; {
		f, more := nextFence(text, at)
		switch {
		case !more && end < 0:
			return len(text)
		case !more:
			return end
		case f.opens != "" && end < 0:
			return f.at
		case f.opens != "":
			return end
		case startsLine(text, f.at):
			return f.end
		case end < 0:
			end = f.end
		}
		at = f.end
	}
}

func startsLine(text string, at int) bool {
	before := strings.TrimRight(text[:at], " \t")
	return before == "" || before[len(before)-1] == '\n'
}

// closing is behind the fence of the same length that closes a quoted result,
// and the end of the text where none does.
func closing(text string, f fence) int {
	for at := f.end; ; {
		next, more := nextFence(text, at)
		switch {
		case !more:
			return len(text)
		case next.end-next.at >= f.end-f.at && startsLine(text, next.at):
			return next.end
		}
		at = next.end
	}
}

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
			result, _, closed := strings.Cut(rest, closeResult)
			if !closed {
				return found
			}
			at = open + len(result) + len(closeResult)
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
