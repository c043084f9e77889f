package page

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible makes a text from outside fit for a page: what a terminal would obey
// or a reader could not see (control characters, ANSI sequences, changes of
// writing direction, zero widths, bytes that are not UTF-8) becomes an escape
// such as \x1b or \u202e.
func Visible(text string) string {
	if strings.IndexFunc(text, invisible) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for at, r := range text {
		_, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[at])
		case !invisible(r):
			b.WriteRune(r)
		default:
			b.WriteString(escape(r))
		}
	}
	return b.String()
}

// invisible holds for everything but letters, marks, numbers, punctuation,
// symbols and the plain space; and for letters that show nothing.
func invisible(r rune) bool {
	switch r {
	case '\u115f', '\u1160', '\u3164', '\uffa0': // Hangul fillers
		return true
	case '\u034f': // combining grapheme joiner
		return true
	}
	return !unicode.IsPrint(r)
}

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// longestName is how many characters of a name stand in a table for people.
const longestName = 120

// shown is a visible text of bearable length.
func shown(text string) string { return shownUpTo(longestName, text) }

// shownUpTo is a visible text of so many characters, before escapes, that no
// runner of CI takes for a command, wherever in a line it stands.
func shownUpTo(most int, text string) string {
	var b strings.Builder
	fence := Fence{to: &b, lineSoFar: lineSoFar{inLine: true}}
	_, _ = fence.Write([]byte(Visible(cut(text, most)))) // a builder takes everything
	return b.String()
}

// cut leaves out the middle of a text of more than so many characters.
func cut(text string, most int) string {
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	return firstRunes(text, most/2) + "…" + lastRunes(text, most/2-1)
}

func firstRunes(text string, n int) string {
	end := 0
	for range n {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return text[:end]
}

func lastRunes(text string, n int) string {
	start := len(text)
	for range n {
		_, size := utf8.DecodeLastRuneInString(text[:start])
		start -= size
	}
	return text[start:]
}

// Fence keeps everything written through it from being obeyed by a runner of CI:
// GitHub's obeys a line that begins with ::, also behind white space, and ##[
// anywhere in a line; Azure's ##vso[, TeamCity's ##teamcity[. What would be such
// a command is written with one character as an escape, which JSON reads as the
// same text. A return ends a line as well, and our own colours at the beginning
// of a line do not hide what is behind them.
//
// It decides for all formats and all commands; what is meant as a command is
// written past it.
type Fence struct {
	to io.Writer
	lineSoFar
}

// lineSoFar is what a Fence knows of the line in which it is.
type lineSoFar struct {
	inLine bool // something other than white space stands in the line
	colon  bool // the line begins with one colon
	hashes int  // how many # stand right before, with letters behind two of them
	named  bool // letters do
	escape int  // how far a sequence of ANSI goes at the beginning of a line
}

// NewFence is a fence at the beginning of a line.
func NewFence(to io.Writer) *Fence { return &Fence{to: to} }

// Unwrap gives the writer behind it.
func (f *Fence) Unwrap() io.Writer { return f.to }

// Write never keeps anything back.
func (f *Fence) Write(p []byte) (int, error) {
	rest := 0
	for at, c := range p {
		escape := f.next(c)
		if escape == "" {
			continue
		}
		for _, text := range [][]byte{p[rest:at], []byte(escape)} {
			if _, err := f.to.Write(text); err != nil {
				return rest, err
			}
		}
		rest = at + 1
	}
	if rest < len(p) {
		if _, err := f.to.Write(p[rest:]); err != nil {
			return rest, err
		}
	}
	return len(p), nil
}

// next is what has to be written in a character's place, "" where it is harmless.
func (f *Fence) next(c byte) string {
	if c == '\n' || c == '\r' {
		f.lineSoFar = lineSoFar{} // and not all of it: Unwrap may be called at the same time
		return ""
	}
	if f.bracket(c) {
		f.inLine = true
		return `\u005b`
	}
	if !f.inLine && f.secondColon(c) {
		return `\x3a`
	}
	return ""
}

// bracket reports whether the character opens a command that begins with ##.
func (f *Fence) bracket(c byte) bool {
	letter := c|0x20 >= 'a' && c|0x20 <= 'z'
	switch {
	case c == '#' && !f.named:
		f.hashes++
	case c == '#':
		f.hashes, f.named = 1, false
	case letter && f.hashes >= 2:
		f.named = true
	default:
		opens := c == '[' && f.hashes >= 2
		f.hashes, f.named = 0, false
		return opens
	}
	return false
}

// How far a sequence of ANSI goes.
const (
	escapeBegun = 1
	escapeOpen  = 2
)

// secondColon reports whether the character is the second of the two colons that
// a line begins with. Only what is visible is text, and only ASCII: an exotic space
// may be one of several bytes.
func (f *Fence) secondColon(c byte) bool {
	switch {
	case c == 0x1b:
		f.escape = escapeBegun
	case f.escape == escapeBegun && c == '[':
		f.escape = escapeOpen
	case f.escape == escapeOpen:
		if c >= '@' && c <= '~' {
			f.escape = 0
		}
	case c == ':' && f.colon:
		f.inLine = true
		return true
	case c == ':':
		f.colon, f.escape = true, 0
	case c > ' ' && c <= '~' || f.colon:
		f.inLine = true
	default:
		f.escape = 0
	}
	return false
}
