package source

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Print writes every fault with its source line, a caret under the place, and its hint:
//
//	suite.yaml:3:5: unknown key "max_iteration"
//	  3 |     max_iteration: 3
//	    |     ^^^^^^^^^^^^^
//	  hint: did you mean "max_iterations"?
func (fs Faults) Print(w io.Writer) {
	for _, f := range fs {
		fmt.Fprintln(w, printable(f.Error()))
		if f.File != nil && f.Pos.Line > 0 {
			number := fmt.Sprint(f.Pos.Line)
			line, caret := f.snippet()
			fmt.Fprintf(w, "  %s | %s\n", number, line)
			fmt.Fprintf(w, "  %s | %s\n", strings.Repeat(" ", len(number)), caret)
		}
		if f.Hint != "" {
			fmt.Fprintf(w, "  hint: %s\n", printable(f.Hint))
		}
	}
}

// What is shown of a line that is too long, in terminal cells.
const (
	lineCells   = 100 // in all
	beforeCells = 60  // left of the caret, at most
)

// snippet is the source line as it can be shown, and the carets to be printed below it.
func (f Fault) snippet() (line, caret string) {
	at := f.File.at(f.Pos)
	source := f.File.Line(f.Pos.Line)
	start := len(source) - len(at.rest)
	at.skip(max(f.Len, 1))
	end := len(source) - len(at.rest)

	before, marked, after := printable(nearEnd(source[:start])), printable(nearStart(source[start:end])), printable(nearStart(source[end:]))
	if displaywidth.String(before+marked+after) > lineCells || end-start > cutBytes {
		before = lastCells(before, beforeCells)
		marked = truncated(marked, lineCells-displaywidth.String(before))
		after = truncated(after, lineCells-displaywidth.String(before+marked))
	}
	caret = strings.Repeat(" ", displaywidth.String(before)) + strings.Repeat("^", max(displaywidth.String(marked), 1))
	return strings.TrimRight(before+marked+after, " "), caret
}

// cutBytes of a line on each side are looked at; that many never fit into lineCells.
const cutBytes = 1000

func nearStart(s string) string {
	if len(s) <= cutBytes {
		return s
	}
	return s[:runeEnd(s, cutBytes)]
}

func nearEnd(s string) string {
	if len(s) <= cutBytes {
		return s
	}
	return s[runeEnd(s, len(s)-cutBytes):]
}

func truncated(s string, cells int) string {
	if cells < 1 {
		return ""
	}
	return displaywidth.TruncateString(s, cells, "…")
}

// lastCells keeps the end of s that fits, marked as cut.
func lastCells(s string, cells int) string {
	left := displaywidth.String(s)
	if left <= cells {
		return s
	}
	graphemes := displaywidth.StringGraphemes(s)
	for left > cells-1 && graphemes.Next() {
		left -= graphemes.Width()
		s = s[len(graphemes.Value()):]
	}
	return "…" + s
}

// visible shows a tab as spaces and what has no picture, or moves the text around, by a stand-in.
func visible(r rune, width int, b byte) string {
	switch {
	case r == utf8.RuneError && width == 1:
		return fmt.Sprintf(`\x%02x`, b)
	case r == '\t':
		return "    "
	case r < ' ':
		return string(r + 0x2400)
	case r == 0x7f:
		return "\u2421"
	case unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) && r != '\u200d':
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(r)
}

func printable(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, width := utf8.DecodeRuneInString(s[i:])
		b.WriteString(visible(r, width, s[i]))
		i += width
	}
	return b.String()
}
