package tune

import (
	"fmt"
	"iter"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

// configurationsTable has one row for each configuration in the order declared,
// the recorded ones first.
func (r *Replay) configurationsTable() page.Table {
	columns := &Columns{Configurations: r.Configurations, Scorers: r.Scorers, Runs: r.Runs}
	fields := r.labelFields(columns)
	if len(r.Scorers) > 0 {
		fields = slices.Concat(fields, columns.Score(0), columns.change(0))
	}
	fields = append(fields, columns.Spent()...)
	for i := 1; i < len(r.Scorers); i++ {
		fields = slices.Concat(fields, columns.Score(i), columns.change(i))
	}
	t := page.Table{Name: "configurations", Title: "Configurations (means per run)", Columns: page.ColumnsOf(fields), Keys: 1, Whole: len(r.Configurations) <= wholeRows}
	t.Fill(page.RowsOf(fields, rowsOf(r.Configurations)))
	return t
}

// wholeRows is how many configurations a terminal shows without leaving any out.
const wholeRows = 50

func rowsOf(all []Configuration) iter.Seq[*Configuration] {
	return func(yield func(*Configuration) bool) {
		for i := range all {
			if !yield(&all[i]) {
				return
			}
		}
	}
}

// labelFields say which configuration it is, and how far its numbers go.
func (r *Replay) labelFields(columns *Columns) []Field {
	number := func(head, key string, of func(*Configuration) int) Field {
		return Field{Column: page.Column{Head: head, Key: key, Right: true, Optional: true}, Cell: func(c *Configuration) page.Cell {
			n := page.Count(of(c))
			if n.Raw == 0 {
				n.Text = ""
			}
			return n
		}}
	}
	return []Field{
		{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: func(c *Configuration) page.Cell { return page.Name(c.Name) }},
		columns.Label(page.Everyone),
		{Column: page.Column{Head: "recording", Key: "recording", Only: r.severalRecordings()}, Cell: func(c *Configuration) page.Cell { return page.Name(c.Recording) }},
		{Column: page.Column{Head: "exact\nruns", Key: "exact", Right: true}, Cell: exactRuns},
		{Column: page.Column{Key: "runs", Only: page.Machines}, Cell: func(c *Configuration) page.Cell { return page.Count(c.Runs) }},
		number("cut\nruns", "censored", func(c *Configuration) int { return c.Censored }),
		number("other\npath", "branches", func(c *Configuration) int { return c.Branches }),
		{Column: page.Column{Key: "told", Only: page.Machines}, Cell: func(c *Configuration) page.Cell { return page.Count(c.Told) }},
		{Column: page.Column{Key: "faults", Only: page.Machines}, Cell: func(c *Configuration) page.Cell { return page.Count(c.Faults) }},
	}
}

// severalRecordings is who reads on which recording a configuration was replayed.
func (r *Replay) severalRecordings() page.Audience {
	if len(r.Recordings) > 1 {
		return page.Everyone
	}
	return page.Machines
}

// exactRuns are those of all runs.
func exactRuns(c *Configuration) page.Cell {
	text := fmt.Sprint(c.Exact)
	if c.Exact != c.Runs {
		text = fmt.Sprintf("%d/%d", c.Exact, c.Runs)
	}
	return page.Cell{Text: text, Raw: c.Exact, Warnings: notesOf(c.Warnings, "", WouldFault)}
}
