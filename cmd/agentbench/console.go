package main

import (
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// defaultWidth is that of output which is no terminal and whose COLUMNS is not set.
const defaultWidth = 100

// isTerminal says whether lines can be rewritten there.
func (p *program) isTerminal(w io.Writer) bool {
	f := fileOf(w)
	return f != nil && term.IsTerminal(int(f.Fd())) && p.env("TERM") != "dumb" && p.env("CI") == ""
}

// width is how many cells a line may have.
func (p *program) width(w io.Writer) int {
	if columns, err := strconv.Atoi(p.env("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if f := fileOf(w); f != nil {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return defaultWidth
}

// colored says whether colours are welcome: on a terminal, unless NO_COLOR is set.
func (p *program) colored(w io.Writer) bool { return p.isTerminal(w) && p.env("NO_COLOR") == "" }

// printable replaces what a terminal obeys or cannot show by visible escapes;
// texts of runs and names of tasks come from outside. Line feeds, too, for a name
// could begin a line that a CI obeys.
func printable(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, unprintable) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !unprintable(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
