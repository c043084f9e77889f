package source

import (
	"regexp"
	"strings"
)

// offset is where a place is in the text, in bytes.
func (w *rewriter) offset(p Pos) int {
	c := w.file.at(p)
	return w.file.starts[min(c.line, len(w.file.starts))-1] + len(w.file.Line(c.line)) - len(c.rest)
}

// end is the offset behind a value. What is foreign has none.
func (w *rewriter) end(n *Node) int {
	switch {
	case n.origin >= foreign:
		w.refuse(n, "an anchor has this value stand in several places")
		return 0
	case n.form == flow:
		return w.endOfFlow(n)
	case n.Kind == Map:
		return w.end(n.Entries[len(n.Entries)-1].Value)
	case n.Kind == List:
		return w.end(n.Items[len(n.Items)-1])
	case n.indented():
		return w.offset(n.PosAt(runes(strings.TrimRight(n.Text, "\n"))))
	case n.form == single || n.form == double:
		return w.offset(n.PosAt(runes(n.Text))) + 1
	}
	return w.offset(n.PosAt(runes(n.Text)))
}

// endOf is the offset behind an entry, whose value may be an alias.
func (w *rewriter) endOf(e Entry) int {
	if e.Value.origin != foreign {
		return w.end(e.Value)
	}
	from := w.offset(e.KeyPos)
	return from + len(aliasEntry.FindString(w.file.text[from:]))
}

// aliasEntry is a key with an alias for a value.
var aliasEntry = regexp.MustCompile(`^[^*]*\*[^\s,\[\]{}]+`)

// indented says that n is a text on lines of its own, below | or >.
func (n *Node) indented() bool { return n.form == literal || n.form == folded }

// endOfFlow is the offset behind the bracket that closes a mapping or list.
func (w *rewriter) endOfFlow(n *Node) int {
	inside := w.offset(n.Pos) + 1
	for _, e := range n.Entries {
		if e.Value.origin != merged {
			inside = max(inside, w.endOf(e))
		}
	}
	for _, item := range n.Items {
		if item.origin != foreign {
			inside = max(inside, w.end(item))
		}
	}
	for rest := w.file.text[inside:]; rest != ""; rest = w.file.text[inside:] {
		switch {
		case rest[0] == ']' || rest[0] == '}':
			return inside + 1
		case rest[0] == '#':
			inside += strings.IndexAny(rest+"\n", "\r\n")
		default:
			inside++
		}
	}
	return inside
}

// lineEnd is the offset at the end of the line that a value ends on, before its line break. Blank lines that belong to a
// text count.
func (w *rewriter) lineEnd(at int, n *Node) int {
	line := w.file.posOf(at).Line
	if last := n.last(); last.indented() && strings.HasSuffix(last.Text, "\n\n") {
		for line < w.file.Lines() && w.file.starts[line] < len(w.file.text) && isBlank(w.file.Line(line+1)) {
			line++
		}
	}
	return w.file.starts[line-1] + len(w.file.Line(line))
}

// last is the scalar or the bracketed value that ends n.
func (n *Node) last() *Node {
	switch {
	case n.form == block && n.Kind == Map:
		return n.Entries[len(n.Entries)-1].Value.last()
	case n.form == block && n.Kind == List:
		return n.Items[len(n.Items)-1].last()
	}
	return n
}
