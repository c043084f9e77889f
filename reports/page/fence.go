package page

import "io"

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
	to     io.Writer
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
		*f = Fence{to: f.to}
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
