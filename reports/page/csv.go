package page

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Lacking is a page of which a part may not be there. CSV, which has no line to say
// so, then has one more column.
type Lacking interface {
	// Lacks says what is not there, "" where nothing is known to lack.
	Lacks() string
}

// writeCSV writes one table: raw numbers, an empty field for a missing one, and
// all texts in quotes, so that no program that splits at another separator
// finds a formula in them.
func writeCSV(w io.Writer, p Page, options Options) error {
	if len(options.Tables) > 1 {
		return errors.New("a CSV file holds one table: name one")
	}
	out, lacks := bufio.NewWriter(w), ""
	if p, ok := p.(Lacking); ok {
		lacks = p.Lacks()
	}
	for i, t := range p.Tables(Machines) {
		if slices.Contains(options.Tables, t.Name) || len(options.Tables) == 0 && i == 0 {
			writeCSVTable(out, &t, lacks)
		}
	}
	return out.Flush()
}

func writeCSVTable(out *bufio.Writer, t *Table, lacks string) {
	keep := t.columnsFor(Machines, nil)
	line := func(fields []string, last string) {
		if lacks != "" {
			fields = append(fields, csvText(last))
		}
		out.WriteString(strings.Join(fields, ",") + "\r\n")
	}
	heads := make([]string, len(keep))
	for i, c := range pick(t.Columns, keep) {
		heads[i] = csvText(c.Key)
	}
	line(heads, "incomplete")
	for row := range t.Rows {
		fields := make([]string, len(keep))
		for i, c := range pick(row, keep) {
			fields[i] = csvField(c.Raw)
		}
		line(fields, lacks)
	}
}

func csvField(value any) string {
	switch value := value.(type) {
	case string:
		return csvText(value)
	case int:
		return strconv.Itoa(value)
	case float64:
		return strconv.FormatFloat(Raw(value), 'g', -1, 64)
	}
	return ""
}

// csvText quotes a text.
func csvText(text string) string { return `"` + strings.ReplaceAll(CellText(text), `"`, `""`) + `"` }

// CellText is a text fit for a spreadsheet. What it would take for a formula gets an apostrophe before it.
func CellText(text string) string {
	text = Visible(text)
	if strings.IndexFunc(text, startsFormula) == 0 {
		text = "'" + text
	}
	return text
}

func startsFormula(r rune) bool { return strings.ContainsRune("=+-@＝＋－＠", r) }
