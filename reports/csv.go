package reports

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
)

// writeCSV writes one table: raw numbers, an empty field for a missing one, and
// all texts in quotes, so that no program that splits at another separator
// finds a formula in them.
func writeCSV(w io.Writer, p Page, options Options) error {
	if len(options.Tables) > 1 {
		return errors.New("a CSV file holds one table: name one")
	}
	out := bufio.NewWriter(w)
	for i, t := range p.tables(machines) {
		if slices.Contains(options.Tables, t.name) || len(options.Tables) == 0 && i == 0 {
			writeCSVTable(out, &t)
		}
	}
	return out.Flush()
}

func writeCSVTable(out *bufio.Writer, t *table) {
	keep := t.columnsFor(machines, nil)
	heads := make([]string, len(keep))
	for i, c := range pick(t.columns, keep) {
		heads[i] = csvText(c.key)
	}
	out.WriteString(strings.Join(heads, ",") + "\r\n")
	for row := range t.rows {
		fields := make([]string, len(keep))
		for i, c := range pick(row, keep) {
			fields[i] = csvField(c.raw)
		}
		out.WriteString(strings.Join(fields, ",") + "\r\n")
	}
}

func csvField(value any) string {
	switch value := value.(type) {
	case string:
		return csvText(value)
	case int:
		return strconv.Itoa(value)
	case float64:
		return strconv.FormatFloat(raw(value), 'g', -1, 64)
	}
	return ""
}

// csvText quotes a text. What a spreadsheet would take for a formula gets an
// apostrophe before it.
func csvText(text string) string {
	text = visible(text)
	if strings.IndexFunc(text, startsFormula) == 0 {
		text = "'" + text
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}

func startsFormula(r rune) bool { return strings.ContainsRune("=+-@＝＋－＠", r) }
