package source

import (
	"regexp"
	"strings"
)

// PosAt is the place of the i-th rune (from 0) of a scalar's text, through quotes, escapes, folding and indentation.
// The length of the text gives the place after it; a node that is no text of the file has one place for all.
func (n *Node) PosAt(i int) Pos {
	if n.File == nil || n.form == made || n.form >= block {
		return n.Pos
	}
	l := locator{cursor: n.File.at(n.Pos), goal: min(max(i, 0), runes(n.Text))}
	l.skipProperties()
	switch n.form {
	case literal, folded:
		l.indented(n.Text)
	case single, double:
		l.skip(1)
		l.running(n.form)
	default:
		l.running(n.form)
	}
	return l.pos()
}

// width is the number of columns that n takes on its first line, at least 1.
func (n *Node) width() int {
	switch {
	case n.form == block && len(n.Entries) > 0 && n.Entries[0].KeyPos == n.Pos:
		return runes(n.Entries[0].Key)
	case n.form == made || n.form >= literal:
		return 1
	}
	end := n.PosAt(runes(n.Text))
	if end.Line != n.Pos.Line {
		return 1
	}
	if n.form == single || n.form == double {
		end.Col++
	}
	return max(end.Col-n.Pos.Col, 1)
}

// locator walks over the source of a scalar until goal runes of its text are behind it.
type locator struct {
	cursor
	seen, goal int
}

// running walks over plain and quoted text, where a line break becomes a space, or the blank lines after it newlines.
func (l *locator) running(form form) {
	for !l.atEnd() {
		for form == double && l.rest == `\` {
			l.seen += l.breaks() // an escaped line break leaves nothing but the blank lines after it
		}
		if l.seen >= l.goal {
			return
		}
		if l.blank() {
			l.foldLines()
			continue
		}
		l.skip(l.sourceWidth(form))
		l.seen++
	}
}

// foldLines goes over a line break, but stays when the goal is one of the runes that it leaves.
func (l *locator) foldLines() {
	here := *l
	l.seen += max(l.breaks(), 1)
	if l.seen > l.goal {
		*l = here
		l.seen = l.goal
	}
}

// breaks goes to the first character of the next line that is not blank and counts the blank lines before it.
func (l *locator) breaks() (blankLines int) {
	for l.nextLine(); !l.atEnd() && l.blank(); l.nextLine() {
		blankLines++
	}
	l.skipBlanks()
	return blankLines
}

// sourceWidth is the number of runes in the file that make the next rune of the text.
func (l *locator) sourceWidth(form form) int {
	switch {
	case form == single && l.peek() == '\'':
		return 2
	case form == double && len(l.rest) > 1 && l.peek() == '\\':
		return escapeWidth(l.rest[1])
	}
	return 1
}

func escapeWidth(letter byte) int {
	switch letter {
	case 'x':
		return 4
	case 'u':
		return 6
	case 'U':
		return 10
	}
	return 2
}

// indented walks over the lines below a | or >. What a line break became stands in the text: a folded one is a
// space, or newlines as many as there are breaks.
func (l *locator) indented(text string) {
	l.nextLine()
	left := []rune(text)
	indent := l.indentation(text)
	for l.skip(min(indent, len(l.rest))); l.seen < l.goal && !l.atEnd(); {
		if l.rest != "" {
			l.skip(1)
			l.seen++
			continue
		}
		l.breakIndented(left, indent)
	}
}

// breakIndented goes over the line break here and the empty lines after it.
func (l *locator) breakIndented(text []rune, indent int) {
	here := *l
	for l.seen++; l.seen < len(text) && text[l.seen] == '\n'; l.seen++ {
	}
	for l.nextLine(); l.seen < len(text) && !l.atEnd() && len(l.rest) <= indent && l.blank(); l.nextLine() {
	}
	l.skip(min(indent, len(l.rest)))
	if l.seen > l.goal {
		*l = here
		l.seen = l.goal
	}
}

// indentation is how far the lines of an indented text stand to the right of the text's own.
func (l *locator) indentation(text string) int {
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimLeft(line, " ") != "" {
			return max(leadingSpaces(l.file.Line(l.line+i))-leadingSpaces(line), 0)
		}
	}
	return 0
}

func leadingSpaces(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// property is an anchor or a tag.
var property = regexp.MustCompile(`^(&[0-9A-Za-z_-]*|![^ \t]*)`)

// skipSpace goes to the next character that is no blank, line break or comment.
func (c *cursor) skipSpace() {
	for c.skipBlanks(); !c.atEnd() && (c.rest == "" || c.rest[0] == '#'); c.skipBlanks() {
		c.nextLine()
	}
}

// skipProperties goes to the value after its anchor and tag.
func (c *cursor) skipProperties() {
	for strings.HasPrefix(c.rest, "&") || strings.HasPrefix(c.rest, "!") {
		c.skip(runes(property.FindString(c.rest)))
		c.skipSpace()
	}
}
