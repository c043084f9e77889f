package source

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Fault is one thing wrong (or, as a warning, doubtful) at one place of a file.
// Len is the number of code points to underline; 0 counts as 1.
type Fault struct {
	File    *File
	Pos     Pos
	Len     int
	What    string
	Hint    string // what to do about it, may be empty
	Warning bool
	Read    bool // each key was read: it is only that they do not go together
}

// Error is "file:line:col: what is wrong", without the hint.
func (f Fault) Error() string {
	what := f.What
	if f.Warning {
		what = "warning: " + what
	}
	switch {
	case f.File == nil:
		return what
	case f.Pos.Line == 0:
		return f.File.Name + ": " + what
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File.Name, f.Pos.Line, f.Pos.Col, what)
}

// Faults are all faults of one or several files.
type Faults []Fault

// Error has one line a fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// maxFaults are kept of one file: who has made one mistake in 10,000 tasks wants to read it once.
const maxFaults = 100

// add keeps f, or says once that there are more errors.
func (fs *Faults) add(f Fault) {
	switch {
	case len(*fs) < maxFaults:
		*fs = append(*fs, f)
	case len(*fs) == maxFaults && !f.Warning:
		f.What, f.Hint = fmt.Sprintf("more than %d faults; the others are not shown", maxFaults), ""
		*fs = append(*fs, f)
	}
}

// Err is nil when there are only warnings, or nothing at all.
func (fs Faults) Err() error {
	if slices.ContainsFunc(fs, func(f Fault) bool { return !f.Warning }) {
		return fs
	}
	return nil
}

// Sort orders by file name, line, column; what stands at one place keeps its order.
func (fs Faults) Sort() {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.fileName(), b.fileName()),
			cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
}

func (f Fault) fileName() string {
	if f.File == nil {
		return ""
	}
	return f.File.Name
}

// Fault is a fault at n: at the text of a scalar, at the first key or the bracket of anything else.
func (n *Node) Fault(hint, format string, args ...any) Fault {
	return Fault{File: n.File, Pos: n.Pos, Len: n.width(), Hint: hint, What: fmt.Sprintf(format, args...)}
}

// AsWarning is the fault as something that is only doubtful.
func (f Fault) AsWarning() Fault {
	f.Warning = true
	return f
}

// FaultAt is a fault at the length runes of n's text that start at rune offset, wherever they stand in the file.
func (n *Node) FaultAt(offset, length int, hint, format string, args ...any) Fault {
	fault := n.Fault(hint, format, args...)
	fault.Pos, fault.Len = n.PosAt(offset), 1
	if end := n.PosAt(offset + length); end.Line == fault.Pos.Line {
		fault.Len = end.Col - fault.Pos.Col
	}
	return fault
}

// KeyFault is a fault at a key of the mapping n; without such a key it is one at n.
func (n *Node) KeyFault(key, hint, format string, args ...any) Fault {
	fault := n.Fault(hint, format, args...)
	if i := n.index(key); i >= 0 {
		entry := n.Entries[i]
		fault.File, fault.Pos, fault.Len = entry.file(), entry.KeyPos, runes(key)
	}
	return fault
}

// Print writes every fault with its source line, a caret under the place, and its hint:
//
//	suite.yaml:3:5: unknown key "max_iteration"
//	  3 |     max_iteration: 3
//	    |     ^^^^^^^^^^^^^
//	  hint: did you mean "max_iterations"?
//
// Redact hides the secrets of a source line before the line is cut: nobody knows a part
// of one. It is nil where there are none.
func (fs Faults) Print(w io.Writer, redact func(string) string) {
	for _, f := range fs {
		fmt.Fprintln(w, printable(ends(f.Error())))
		if f.File != nil && f.Pos.Line > 0 {
			number := fmt.Sprint(f.Pos.Line)
			line, caret := f.snippet(redact)
			fmt.Fprintf(w, "  %s | %s\n", number, line)
			fmt.Fprintf(w, "  %s | %s\n", strings.Repeat(" ", len(number)), caret)
		}
		if f.Hint != "" {
			fmt.Fprintf(w, "  hint: %s\n", printable(ends(f.Hint)))
		}
	}
}

// What is shown of a line that is too long, in terminal cells.
const (
	lineCells   = 100 // in all
	beforeCells = 60  // left of the caret, at most
)

// snippet is the source line as it can be shown, and the carets to be printed below it.
func (f Fault) snippet(redact func(string) string) (line, caret string) {
	before, marked, after := f.around()
	if redact != nil {
		before, marked, after = redacted(before, marked, after, redact)
	}
	before, marked, after = printable(before), printable(marked), printable(after)
	if displaywidth.String(before+marked+after) > lineCells {
		before = lastCells(before, beforeCells)
		marked = truncated(marked, lineCells-displaywidth.String(before))
		after = truncated(after, lineCells-displaywidth.String(before+marked))
	}
	caret = strings.Repeat(" ", displaywidth.String(before)) + strings.Repeat("^", max(displaywidth.String(marked), 1))
	return strings.TrimRight(before+marked+after, " "), caret
}

// around is the line of a fault as far as it is looked at: what is before, at and behind
// its place.
func (f Fault) around() (before, marked, after string) {
	at := f.File.at(f.Pos)
	line := f.File.Line(f.Pos.Line)
	start := len(line) - len(at.rest)
	at.skip(max(f.Len, 1))
	end := len(line) - len(at.rest)
	return nearEnd(line[:start]), nearStart(line[start:end]), nearStart(line[end:])
}

// Excerpt is what a fault's message may show of the file: the line of its place and the
// one before, each as far as it is looked at.
func (f Fault) Excerpt() string {
	if f.File == nil || f.Pos.Line == 0 {
		return ""
	}
	before, marked, after := f.around()
	return nearEnd(f.File.Line(f.Pos.Line-1)) + "\n" + before + marked + after
}

// redacted are the parts of a line without its secrets. Where a secret lies across the
// place of the fault, all of the line is marked.
func redacted(before, marked, after string, redact func(string) string) (string, string, string) {
	line := redact(before + marked + after)
	before, after = redact(before), redact(after)
	if len(before)+len(after) > len(line) || !strings.HasPrefix(line, before) || !strings.HasSuffix(line, after) {
		return "", line, ""
	}
	return before, line[len(before) : len(line)-len(after)], after
}

// cutBytes of a line on each side are looked at: far more than lineCells, so that a key
// at the edge of what is shown is whole.
const cutBytes = 4000

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

// ends are the two ends of a message that repeats an enormous text of the user's.
func ends(s string) string {
	const most = 1000 // runes of each end
	if runes(s) <= 2*most {
		return s
	}
	all := []rune(s)
	return string(all[:most]) + "…" + string(all[len(all)-most:])
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
