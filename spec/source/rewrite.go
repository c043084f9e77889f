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

// Rewrite gives the text of a file in which a tree has taken the place of the one that Parse gave: was is that one, now a
// copy of it in which values were replaced, keys and items added. Only what differs is written; comments, layout, quotes,
// line endings and a byte order mark stay as they are. What is written is read again: the fault says what cannot be written
// in place, because an anchor has it stand in several places, or because the text would not mean what is wanted.
func Rewrite(was, now *Node) ([]byte, *Fault) {
	w := &rewriter{file: was.File}
	w.node(was, now)
	if w.fault != nil {
		return nil, w.fault
	}
	text := w.spliced()
	again, faults := Parse(NewFile(was.File.Name, text))
	if faults.Err() != nil || !again.Equal(now) {
		w.refuse(w.first(was), "it is written in a way that cannot be changed in place")
		return nil, w.fault
	}
	return text, nil
}

// Equal reports whether two trees have the same values, wherever and however they are written.
func (n *Node) Equal(other *Node) bool {
	if n == other {
		return true
	}
	if n == nil || other == nil || n.Kind != other.Kind || n.Text != other.Text {
		return false
	}
	return slices.EqualFunc(n.Items, other.Items, (*Node).Equal) && slices.EqualFunc(n.Entries, other.Entries, func(a, b Entry) bool {
		return a.Key == b.Key && a.Value.Equal(b.Value)
	})
}

// rewriter gathers the changes of a text.
type rewriter struct {
	file    *File
	changes []change
	fault   *Fault
	at      *Node // the first node that was changed
}

// change puts a text in the place of what stands between two offsets.
type change struct {
	from, to int
	text     string
}

func (w *rewriter) put(from, to int, text string) {
	w.changes = append(w.changes, change{from, to, text})
}

func (w *rewriter) refuse(n *Node, format string, args ...any) {
	if w.fault == nil {
		w.fault = new(n.Fault("change it by hand", format, args...))
	}
}

// first is where a fault of the whole points: what was changed first.
func (w *rewriter) first(root *Node) *Node {
	return cmp.Or(w.at, root)
}

// spliced is the text with all changes; those at the same offset keep their order.
func (w *rewriter) spliced() []byte {
	slices.SortStableFunc(w.changes, func(a, b change) int { return a.from - b.from })
	var b strings.Builder
	if w.file.marked {
		b.WriteString(byteOrderMark)
	}
	done := 0
	for _, c := range w.changes {
		b.WriteString(w.file.text[done:max(c.from, done)])
		b.WriteString(c.text)
		done = max(c.to, done)
	}
	b.WriteString(w.file.text[done:])
	return []byte(b.String())
}

// node makes was say what now says.
func (w *rewriter) node(was, now *Node) {
	if w.fault != nil || was.Equal(now) {
		return
	}
	w.at = cmp.Or(w.at, was)
	switch {
	case was.origin != own:
		w.refuse(was, "an anchor repeats this value in several places")
	case was.Kind == Map && now.Kind == Map && keeps(was, now):
		w.mapping(was, now)
	case was.Kind == List && now.Kind == List && len(now.Items) >= len(was.Items):
		w.list(was, now)
	default:
		w.replace(was, now)
	}
}

// keeps reports whether no key is gone.
func keeps(was, now *Node) bool {
	return !slices.ContainsFunc(was.Entries, func(e Entry) bool { return now.index(e.Key) < 0 })
}

func (w *rewriter) mapping(was, now *Node) {
	var added []Entry
	for _, e := range now.Entries {
		if old := was.Get(e.Key); old != nil {
			w.node(old, e.Value)
			continue
		}
		added = append(added, e)
	}
	if len(added) > 0 {
		w.addKeys(was, added)
	}
}

// addKeys writes keys behind those that a mapping has.
func (w *rewriter) addKeys(was *Node, added []Entry) {
	last := -1
	for i, e := range was.Entries {
		if e.Value.origin != merged {
			last = i
		}
	}
	switch {
	case last < 0 && was.form == flow && len(was.Entries) == 0:
		from := w.offset(was.Pos) + 1
		w.put(from, from, flowEntries(added))
	case last < 0:
		w.refuse(was, "an anchor repeats this mapping in several places")
	case was.form == flow:
		from := w.endOf(was.Entries[last])
		w.put(from, from, ", "+flowEntries(added))
	default:
		w.addLines(was, added, last)
	}
}

// addLines writes keys on lines of their own, in the column and the style of those that are there.
func (w *rewriter) addLines(was *Node, added []Entry, last int) {
	col := was.Entries[last].KeyPos.Col
	l := layout{newline: w.newline(), step: stepOf(was, col), open: prefersBlocks(was)}
	var b strings.Builder
	for _, e := range added {
		b.WriteString(l.newline + spaces(col-1) + l.entry(e.Key, e.Value, col))
	}
	w.putLines(w.endOf(was.Entries[last]), was.Entries[last].Value, b.String())
}

// putLines writes lines behind the one on which a value ends.
func (w *rewriter) putLines(end int, value *Node, lines string) {
	at := w.lineEnd(end, value)
	if last := value.last(); last.indented() && !strings.HasSuffix(last.Text, "\n") && !w.strips(last) {
		w.refuse(last, "a line break behind this text would become part of it")
		w.fault.Hint = "end the file with a line break"
		return
	}
	w.put(at, at, lines)
}

// strips reports whether a text below | or > is to lose the line breaks at its end. One that is not ends the file without one.
func (w *rewriter) strips(n *Node) bool {
	header, _, _ := strings.Cut(w.file.text[w.offset(n.Pos):], "\n")
	indicator, _, _ := strings.Cut(header, "#")
	return strings.Contains(indicator, "-")
}

func (w *rewriter) list(was, now *Node) {
	for i, item := range was.Items {
		w.node(item, now.Items[i])
	}
	added := now.Items[len(was.Items):]
	switch {
	case len(added) == 0:
	case was.form == flow:
		w.addFlowItems(was, added)
	default:
		w.addItems(was, added)
	}
}

func (w *rewriter) addFlowItems(was *Node, added []*Node) {
	texts := make([]string, len(added))
	for i := range added {
		texts[i] = flowText(added[i])
	}
	text := strings.Join(texts, ", ")
	if len(was.Items) == 0 {
		w.put(w.offset(was.Pos)+1, w.offset(was.Pos)+1, text)
		return
	}
	at := w.end(was.Items[len(was.Items)-1])
	w.put(at, at, ", "+text)
}

// addItems writes items behind those of a list whose items have lines of their own.
func (w *rewriter) addItems(was *Node, added []*Node) {
	last := was.Items[len(was.Items)-1]
	var b strings.Builder
	for _, item := range added {
		b.WriteString(w.newline() + spaces(was.Pos.Col-1) + "- " + itemText(item, last.form))
	}
	w.putLines(w.end(last), last, b.String())
}

// replace writes a value in the place of another one.
func (w *rewriter) replace(was, now *Node) {
	from, to := w.offset(was.Pos), w.end(was)
	if w.fault != nil {
		return
	}
	text := flowText(now)
	if now.Kind == String && (was.form == single || was.form == double) {
		text = quoted(now.Text, was.form)
	}
	if removed := w.file.text[from:to]; was.Kind >= List && strings.Contains(removed, "#") {
		w.refuse(was, "there are comments in what would be replaced by %s", text)
		return
	}
	if was.form == block || from == to {
		from = len(strings.TrimRight(w.file.text[:from], " \t\r\n")) // behind the colon or the dash
		text = " " + text
	}
	w.put(from, to, text)
}

// newline is how the lines of the file end.
func (w *rewriter) newline() string {
	if len(w.file.starts) < 2 {
		return "\n"
	}
	next := w.file.starts[1]
	line := strings.TrimRight(w.file.text[:next], "\r\n\u0085\u2028\u2029")
	return w.file.text[len(line):next]
}

func spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }

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
