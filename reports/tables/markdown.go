package tables

import (
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Markdown writes the table as GitHub's Markdown. Cells and heads come in
// escaped; line feeds in them become spaces.
func Markdown(w io.Writer, t Table) error {
	all := block{columns: make([]int, len(t.Columns))}
	for c := range t.Columns {
		all.columns[c] = c
	}
	table := tablewriter.NewTable(w,
		tablewriter.WithRenderer(renderer.NewMarkdown()),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(all.alignment(&t)),
		tablewriter.WithRowAlignmentConfig(all.alignment(&t)))
	heads := make([]string, len(t.Columns))
	for c := range t.Columns {
		heads[c] = oneLine(strings.TrimSpace(t.Columns[c].Name + " " + t.Columns[c].Head))
	}
	table.Header(heads)
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for c := range row {
			cells[c] = oneLine(row[c])
		}
		if err := table.Append(cells); err != nil {
			return fmt.Errorf("writing a table: %w", err)
		}
	}
	if err := table.Render(); err != nil {
		return fmt.Errorf("writing a table: %w", err)
	}
	return nil
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " ") }
