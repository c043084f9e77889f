package page

import (
	"bytes"
	"io"
	"strings"
)

// terminalRows is how many rows of a table a terminal shows; of the
// configurations it shows all.
const terminalRows = 20

// wideTerminal is the width from which on a terminal shows the intervals of other
// numbers than scores.
const wideTerminal = 120

// terminal writes a page for people who look at a terminal.
type terminal struct {
	out   bytes.Buffer
	width int
	color bool
	notes footnotes
	// left counts columns that did not fit.
	left int
}

func writeTerminal(w io.Writer, p Page, options Options) error {
	if of, ok := p.(Summarised); ok && options.Summary && len(options.Tables) == 0 {
		return writeSummary(w, p, of.Summary(), options)
	}
	t := terminal{width: options.columns(), color: options.Color}
	t.heading(p.Heading().shown())
	if a := p.Answer(); a.State != Skipped {
		t.paragraph("", a.Text.shown(), "")
		for _, more := range a.More {
			t.paragraph("", more.shown(), "")
		}
	}
	for _, table := range wanted(p, options, People) {
		if err := t.table(p, &table); err != nil {
			return err
		}
	}
	t.footnotes(p)
	_, err := NewFence(w).Write(t.out.Bytes())
	return err
}

func (t *terminal) table(p Page, of *Table) error {
	t.line("")
	t.heading(titled(p, of).shown())
	if t.width < wideTerminal {
		of = of.slim()
	}
	limit := terminalRows
	if of.Whole || of.Shown != nil {
		limit = 0
	}
	of = of.few()
	page := Screen{Width: t.width, Blocks: of.Blocks, Head: func(line string) string { return t.dressed(line, faint) }}
	laid := laidOut(of, limit, &t.notes, shown, verbatim)
	withoutRepeats(&laid)
	columns, err := Terminal(&t.out, laid, page)
	if err != nil {
		return err
	}
	t.left += columns
	if more := of.more(len(laid.Rows), shown); more != "" {
		t.paragraph("", more, faint)
	}
	return nil
}

func (t *terminal) footnotes(p Page) {
	whole := p.WholeWarnings()
	if len(t.notes)+len(whole)+t.left > 0 {
		t.line("")
	}
	t.notes.each(whole, func(mark string, text Words) {
		if mark == "" {
			mark = "·"
		}
		t.paragraph(mark+" ", text.shown(), faint)
	})
	if t.left > 0 {
		what := Plural(t.left, "column that does not fit is", "columns that do not fit are")
		t.paragraph("· ", what+" left out: a wider terminal or --format csv shows more", faint)
	}
}

// paragraph writes text in lines that fit, the first after a mark, the others
// indented as much.
func (t *terminal) paragraph(mark, text, look string) {
	indent := strings.Repeat(" ", Width(mark))
	for i, line := range Wrap(text, t.width-len(indent)) {
		if i > 0 {
			mark = indent
		}
		t.line(t.dressed(mark+line, look))
	}
}

// heading writes what is above a page or a table.
func (t *terminal) heading(text string) {
	for _, line := range wrapParts(text, t.width) {
		t.line(t.dressed(line, bold))
	}
}

func (t *terminal) line(text string) { t.out.WriteString(text + "\n") }

// The looks of lines and cells, as ANSI's SGR.
const (
	bold   = "1"
	faint  = "2"
	good   = "32" // green
	bad    = "31" // red
	warned = "33" // yellow
)

// Look is how a cell stands out where there is colour.
type Look string

// The looks of cells.
const (
	Good Look = good
	Bad  Look = bad
	Best Look = bold + ";" + good
)

func (t *terminal) dressed(line, look string) string {
	if !t.color || look == "" {
		return line
	}
	return "\x1b[" + look + "m" + line + plainAgain
}

// plainAgain ends a look.
const plainAgain = "\x1b[0m"
