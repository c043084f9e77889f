package page

import (
	"fmt"
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
	fence := Fence{to: &b, inLine: true}
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
