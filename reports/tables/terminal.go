package tables

import (
	"bytes"
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
)

// Page is what a table is written to.
type Page struct {
	Width int // in terminal columns
	// Blocks is how many blocks a table that is wider than the page may take;
	// 0 means as many as it needs.
	Blocks int
	// Head dresses a line of a head, for example with colours; nil does nothing.
	Head func(line string) string
}

// Terminal writes the table without any lines, as kubectl does. What is wider
// than the page continues in further blocks that begin with the same keys.
// It returns how many columns were left out: those for which there are no more
// blocks, and minor ones.
func Terminal(w io.Writer, t Table, page Page) (left int, err error) {
	blocks, left := t.split(page.Width)
	for i := range blocks {
		if page.Blocks > 0 && i >= page.Blocks {
			left += len(blocks[i].columns) - max(1, t.Keys)
			continue
		}
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return 0, err
			}
		}
		if err := blocks[i].write(w, &t, page.Head); err != nil {
			return 0, fmt.Errorf("writing a table: %w", err)
		}
	}
	return left, nil
}

func (b *block) write(w io.Writer, t *Table, dress func(string) string) error {
	var out bytes.Buffer
	table := tablewriter.NewTable(&out,
		tablewriter.WithHeaderAutoFormat(tw.Off), // it would turn p95 into "P 95"
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(b.alignment(t)),
		tablewriter.WithRowAlignmentConfig(b.alignment(t)),
		tablewriter.WithPadding(tw.Padding{Right: "  ", Overwrite: true}),
		tablewriter.WithRendition(tw.Rendition{
			Borders:  tw.BorderNone,
			Settings: tw.Settings{Separators: tw.SeparatorsNone, Lines: tw.LinesNone},
		}))
	table.Header(b.heads(t))
	for _, cells := range b.cells(t) {
		if err := table.Append(cells); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	return writeTrimmed(w, out.Bytes(), b.headLines(t), dress)
}

func (b *block) alignment(t *Table) tw.CellAlignment {
	aligns := make([]tw.Align, len(b.columns))
	for i, c := range b.columns {
		aligns[i] = tw.AlignLeft
		if t.Columns[c].Right {
			aligns[i] = tw.AlignRight
		}
	}
	return tw.CellAlignment{PerColumn: aligns}
}

// writeTrimmed writes the lines without blanks at their ends.
func writeTrimmed(w io.Writer, text []byte, heads int, dress func(string) string) error {
	var out bytes.Buffer
	n := 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, " \n")
		if n++; n <= heads && dress != nil && len(line) > 0 {
			line = []byte(dress(string(line)))
		}
		out.Write(append(line, '\n'))
	}
	_, err := w.Write(out.Bytes())
	return err
}
