package main

import (
	"io"
	"strconv"

	"golang.org/x/term"

	"github.com/agentbench/agentbench/reports/page"
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

// printable replaces what a terminal obeys or cannot show by visible escapes, as
// pages do; texts of runs and names of tasks come from outside. Line feeds, too:
// a name is part of a line.
func printable(text string) string { return page.Visible(text) }
