package tables

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks prose at its spaces into lines of at most that width; a word that
// is longer stands on a line of its own.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// wrapList breaks a list behind its commas into lines of at most that width; an
// item that is wider is broken like prose.
func wrapList(text string, width int) []string {
	var lines []string
	line := ""
	for item := range strings.SplitAfterSeq(text, ", ") {
		item = strings.TrimSuffix(item, " ")
		switch {
		case line == "":
			line = item
		case Width(line)+1+Width(item) <= width:
			line += " " + item
		default:
			lines = append(lines, Wrap(line, width)...)
			line = item
		}
	}
	return append(lines, Wrap(line, width)...)
}

// breakName breaks a name into lines of at most that width, after punctuation
// where there is some; all lines but the first are indented.
func breakName(name string, width int, indent string) []string {
	var lines []string
	before := ""
	for Width(before+name) > width {
		head := fitting(name, width-len(before))
		lines = append(lines, before+name[:head])
		name, before = name[head:], indent
	}
	return append(lines, before+name)
}

// fitting is the length in bytes of the part of a name to put on one line: up to
// a comma, which parts what belongs together, or other punctuation, but not the
// point in a number.
func fitting(name string, width int) int {
	end, afterComma, afterMark, used := 0, 0, 0, 0
	for end < len(name) {
		r, size := utf8.DecodeRuneInString(name[end:])
		used += Width(string(r))
		if used > width && end > 0 {
			break
		}
		end += size
		switch {
		case r == ',':
			afterComma, afterMark = end, end
		case r == '.' && end < len(name) && name[end] >= '0' && name[end] <= '9':
		case strings.ContainsRune("[/-_ =:.|", r):
			afterMark = end
		}
	}
	for _, after := range []int{afterComma, afterMark} {
		if after > 0 && Width(name[:after])*2 >= width {
			return after
		}
	}
	return end
}
