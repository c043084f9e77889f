package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Options say how a report is written. The zero value writes all tables to a
// terminal of 80 columns, without colour.
type Options struct {
	// Format is terminal (also ""), markdown, csv or json.
	Format string
	Width  int  // in terminal columns; 0 means 80
	Color  bool // on a terminal
	// Tables are the names of the tables to write, in their order; none means
	// all of them, and the first one in CSV, which holds one table only. JSON
	// always holds everything.
	Tables []string
}

// TableNames are the tables that there are, in the order in which people read
// them.
var TableNames = []string{"configurations", "curve", "stops", "limits", "calibration", "tasks"}

// Formats are the formats that there are.
var Formats = []string{"terminal", "markdown", "csv", "json"}

// Write writes a report.
func Write(w io.Writer, r *Report, options Options) error {
	write, ok := map[string]func(io.Writer, *Report, Options) error{
		"": writeTerminal, "terminal": writeTerminal, "markdown": writeMarkdown, "csv": writeCSV, "json": writeJSON,
	}[options.Format]
	if !ok {
		return fmt.Errorf("there is no format %q: the formats are %s", options.Format, strings.Join(Formats, ", "))
	}
	for _, name := range options.Tables {
		if !slices.Contains(TableNames, name) {
			return fmt.Errorf("there is no table %q: the tables are %s", name, strings.Join(TableNames, ", "))
		}
	}
	if err := write(w, r, options); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// wanted are the tables to write that have rows. The first table is there
// without rows, too.
func (r *Report) wanted(options Options, of audience) (wanted []table) {
	names := options.Tables
	if len(names) == 0 {
		names = TableNames
	}
	all := r.tables(of)
	for _, name := range names {
		at := slices.IndexFunc(all, func(t table) bool { return t.name == name })
		if all[at].count > 0 || at == 0 {
			wanted = append(wanted, all[at])
		}
	}
	return wanted
}

// heading is what a reader needs to know before the first table.
func (r *Report) heading(quote func(string) string) string {
	parts := []string{quote(r.Suite), plural(len(r.Configurations), "configuration", "configurations")}
	size := plural(r.TaskCount, "task", "tasks")
	if r.Trials > 1 {
		size += fmt.Sprintf(" × %d trials", r.Trials)
	}
	parts = append(parts, size, plural(r.runCount(), "run", "runs"))
	if r.Baseline != "" {
		parts = append(parts, "baseline "+quote(r.Baseline))
	}
	if r.PricesAsOf != "" {
		parts = append(parts, "prices as of "+quote(r.PricesAsOf))
	}
	return strings.Join(parts, " · ")
}

func (r *Report) runCount() (n int) {
	for c := range r.each() {
		n += c.Runs
	}
	return n
}

// titled is the table's title; where nothing real was measured it says so.
func (r *Report) titled(t *table, quote func(string) string) string {
	if !r.allSimulated() || len(r.Simulated) == 0 {
		return t.title
	}
	quoted := make([]string, len(r.Simulated))
	for i, name := range r.Simulated {
		quoted[i] = quote(name)
	}
	return t.title + " · simulated by " + strings.Join(quoted, ", ")
}
