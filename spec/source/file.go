package source

import (
	"strings"
	"unicode/utf8"
)

// Pos is a place in a file: line and column, both 1-based, the column in code points.
// The zero Pos means the file as a whole.
type Pos struct{ Line, Col int }

// File is a text with a name, kept by lines so that faults can show the line they point at.
type File struct {
	Name string

	text   string // without a byte order mark
	marked bool   // it had one
	starts []int  // byte offset of each line in text
	before int    // how many lines of the file are not kept, before the text
	ascii  bool   // a column is a byte
}

const byteOrderMark = "\ufeff"

// NewFile keeps text under the name that faults print.
func NewFile(name string, text []byte) *File {
	body, marked := strings.CutPrefix(string(text), byteOrderMark)
	f := &File{Name: name, text: body, marked: marked, ascii: true}
	f.starts = append(make([]int, 0, strings.Count(f.text, "\n")+1), 0)
	for i := 0; i < len(f.text); {
		f.ascii = f.ascii && f.text[i] < utf8.RuneSelf
		width := breakWidth(f.text[i:])
		if width > 0 {
			f.starts = append(f.starts, i+width)
		}
		i += max(width, 1)
	}
	return f
}

// NewLine keeps one line of a file, by its number from 1.
func NewLine(name string, number int, text []byte) *File {
	return &File{Name: name, text: string(text), starts: []int{0}, before: number - 1}
}

// breakWidth is the number of bytes of the line break that s starts with, 0 for none.
// NEL, LS and PS end a line too, because yaml.v3 counts them so.
func breakWidth(s string) int {
	switch {
	case s[0] == '\n':
		return 1
	case s[0] == '\r' && len(s) > 1 && s[1] == '\n':
		return 2
	case s[0] == '\r':
		return 1
	case s[0] == 0xC2 && strings.HasPrefix(s, "\u0085"):
		return 2
	case s[0] == 0xE2 && (strings.HasPrefix(s, "\u2028") || strings.HasPrefix(s, "\u2029")):
		return 3
	}
	return 0
}

// Line returns line number n (1-based) without its line break, "" outside the file.
func (f *File) Line(n int) string {
	if n -= f.before; n < 1 || n > len(f.starts) {
		return ""
	}
	end := len(f.text)
	if n < len(f.starts) {
		end = f.starts[n]
	}
	return strings.TrimRight(f.text[f.starts[n-1]:end], "\r\n\u0085\u2028\u2029")
}

// Lines is the number of lines; a text that ends in a line break has an empty last line.
func (f *File) Lines() int { return f.before + len(f.starts) }

// cursor walks over a file rune by rune and line by line.
type cursor struct {
	file      *File
	line, col int    // 1-based
	rest      string // what is left of the line
}

func (f *File) at(p Pos) cursor {
	c := cursor{file: f, line: max(p.Line, 1), col: 1}
	c.rest = f.Line(c.line)
	c.skip(p.Col - 1)
	return c
}

func (c *cursor) pos() Pos { return Pos{c.line, c.col} }

// peek returns the next rune, '\n' at the end of a line.
func (c *cursor) peek() rune {
	if c.rest == "" {
		return '\n'
	}
	r, _ := utf8.DecodeRuneInString(c.rest)
	return r
}

// skip goes n runes on, at most to the end of the line.
func (c *cursor) skip(n int) {
	if c.file.ascii {
		n = min(max(n, 0), len(c.rest))
		c.rest, c.col = c.rest[n:], c.col+n
		return
	}
	for ; n > 0 && c.rest != ""; n-- {
		_, width := utf8.DecodeRuneInString(c.rest)
		c.rest = c.rest[width:]
		c.col++
	}
}

func (c *cursor) nextLine() {
	c.line, c.col = c.line+1, 1
	c.rest = c.file.Line(c.line)
}

func (c *cursor) atEnd() bool { return c.line > c.file.Lines() }

// blank tells that only spaces and tabs are left of the line.
func (c *cursor) blank() bool { return isBlank(c.rest) }

func (c *cursor) skipBlanks() { c.skip(len(c.rest) - len(strings.TrimLeft(c.rest, " \t"))) }

func isBlank(s string) bool { return strings.TrimLeft(s, " \t") == "" }

// runeEnd is the end of the rune that byte i of s belongs to.
func runeEnd(s string, i int) int {
	for i++; i < len(s) && !utf8.RuneStart(s[i]); i++ {
	}
	return i
}

// Text is the whole text of the file, a byte order mark included.
func (f *File) Text() string {
	if f.marked {
		return byteOrderMark + f.text
	}
	return f.text
}
