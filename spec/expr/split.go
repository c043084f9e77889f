package expr

import (
	"strings"
	"unicode/utf8"
)

// piece is a run of text or the inside of one {{ }}.
type piece struct {
	text         string
	isExpression bool
	offset       int // of the text in the template, in characters
}

// split cuts a template into texts and expressions. What cannot be cut is a fault at its {{.
func split(src string) (pieces []piece, faults []Fault) {
	var text strings.Builder
	for pos := 0; pos < len(src); {
		open := strings.Index(src[pos:], "{{")
		if open < 0 {
			text.WriteString(src[pos:])
			break
		}
		text.WriteString(src[pos : pos+open])
		pos += open
		if strings.HasPrefix(src[pos:], "{{{{") {
			text.WriteString("{{")
			pos += 4
			continue
		}
		at := utf8.RuneCountInString(src[:pos])
		length := expressionEnd(src[pos+2:])
		if length < 0 {
			return nil, append(faults, Fault{Offset: at, Len: 2, What: "{{ without }}", Hint: "write {{{{ for two braces in the text"})
		}
		inside := src[pos+2 : pos+2+length]
		if strings.TrimSpace(inside) == "" {
			faults = append(faults, Fault{Offset: at, Len: 4, What: "nothing stands between {{ and }}"})
		}
		pieces = append(pieces, textPiece(&text)...)
		pieces = append(pieces, piece{text: inside, isExpression: true, offset: at + 2})
		pos += length + 4
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return append(pieces, textPiece(&text)...), nil
}

func textPiece(text *strings.Builder) []piece {
	if text.Len() == 0 {
		return nil
	}
	defer text.Reset()
	return []piece{{text: text.String()}}
}

// expressionEnd finds the }} that ends an expression: not inside its strings, and not where a brace of its own is
// still open. -1 if there is none.
func expressionEnd(s string) int {
	open := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"', '\'':
			end := stringEnd(s, i)
			if end < 0 {
				return -1
			}
			i = end - 1
		case '{':
			open++
		case '}':
			if open == 0 && strings.HasPrefix(s[i:], "}}") {
				return i
			}
			open = max(0, open-1)
		case '/':
			if strings.HasPrefix(s[i:], "//") {
				i = commentEnd(s, i) - 1
			}
		}
	}
	return -1
}

// stringEnd is where the string literal that begins at i ends. Raw strings (r"...") have no escapes.
func stringEnd(s string, i int) int {
	quote := s[i : i+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s[i:], triple) {
		quote = triple
	}
	raw := isRaw(s, i)
	for j := i + len(quote); j < len(s); j++ {
		switch {
		case s[j] == '\\' && !raw:
			j++
		case strings.HasPrefix(s[j:], quote):
			return j + len(quote)
		}
	}
	return -1
}

// isRaw says whether the letters before a quote are r, R, br or rb and begin a word.
func isRaw(s string, quote int) bool {
	start := quote
	for start > 0 && isLetter(s[start-1]) {
		start--
	}
	prefix := strings.ToLower(s[start:quote])
	return prefix == "r" || prefix == "br" || prefix == "rb"
}

func isLetter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// commentEnd is where a // comment ends: at the end of the line or at the braces.
func commentEnd(s string, i int) int {
	for ; i < len(s); i++ {
		if s[i] == '\n' || strings.HasPrefix(s[i:], "}}") {
			return i
		}
	}
	return i
}
