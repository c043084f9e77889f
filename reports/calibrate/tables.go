package calibrate

import (
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

// number is a field with a number.
func number[T any](head, key string, form func(page.Value) string, of func(T) page.Value) page.Field[T] {
	return page.Field[T]{Column: page.Column{Head: head, Key: key, Right: true}, Cell: func(row T) page.Cell { return page.Number(of(row), form) }}
}

func counted[T any](head, key string, of func(T) int) page.Field[T] {
	return page.Field[T]{Column: page.Column{Head: head, Key: key, Right: true}, Cell: func(row T) page.Cell { return page.Count(of(row)) }}
}

// optional leaves a field out where all its cells are empty.
func optional[T any](f page.Field[T]) page.Field[T] {
	f.Column.Optional = true
	return f
}

// between is an interval, which people see on any terminal.
func between[T any](key string, form func(page.Value) string, of func(T) page.Range) []page.Field[T] {
	fields := page.Interval("95%", key, form, of)
	fields[0].Column.Wide = false
	return fields
}

func filled[T any](t page.Table, fields []page.Field[T], rows []T) page.Table {
	t.Columns = page.ColumnsOf(fields)
	t.Fill(page.RowsOf(fields, slices.Values(rows)))
	return t
}

// agreementTable has a row for each two who said something of the same outputs.
func (c *Calibration) agreementTable() page.Table {
	fields := slices.Concat([]page.Field[Agreement]{
		{Column: page.Column{Key: "between"}, Cell: func(a Agreement) page.Cell { return page.Text(a.Between) }},
		counted("n", "pairs", func(a Agreement) int { return a.Pairs }),
		number("agree", "same", form, func(a Agreement) page.Value { return a.Same }),
	}, between("same", form, func(a Agreement) page.Range { return a.SameInterval }), []page.Field[Agreement]{
		number("kappa", "kappa", form, func(a Agreement) page.Value { return a.Kappa }),
	}, between("kappa", form, func(a Agreement) page.Range { return a.KappaInterval }), []page.Field[Agreement]{
		optional(number("weighted\nkappa", "weighted_kappa", form, func(a Agreement) page.Value { return a.Weighted })),
	}, between("weighted_kappa", form, func(a Agreement) page.Range { return a.WeightedInterval }), []page.Field[Agreement]{
		number("missing:\nagree", "labels_missing_for_same", page.Whole, func(a Agreement) page.Value { return a.MissingForSame }),
		number("missing:\nkappa", "labels_missing_for_kappa", page.Whole, func(a Agreement) page.Value { return a.MissingForKappa }),
	})
	return filled(page.Table{Name: "agreement", Title: "Agreement", Keys: 1}, fields, c.Agreement)
}

// confusedRow is what the scorer says where labels say one thing.
type confusedRow struct {
	level  string
	counts []int
}

// confusionTable has a row for what labels say, and a column for what the scorer says.
func (c *Calibration) confusionTable() page.Table {
	fields := []page.Field[confusedRow]{
		{Column: page.Column{Head: "label", Key: "label"}, Cell: func(row confusedRow) page.Cell { return page.Name(row.level) }},
	}
	for i, name := range c.Confusion.Levels {
		fields = append(fields, page.About(name, counted("", "scored "+name, func(row confusedRow) int { return row.counts[i] })))
	}
	var rows []confusedRow
	for i, counts := range c.Confusion.Counts {
		rows = append(rows, confusedRow{c.Confusion.Levels[i], counts})
	}
	return filled(page.Table{Name: "confusion", Title: "What labels say (rows), and what the scorer says (columns)", Keys: 1}, fields, rows)
}

// biasRow is a mean.
type biasRow struct {
	what     string
	value    page.Value
	interval page.Range
	form     func(page.Value) string
}

// biasTable says how kind the scorer is, and how kind people are.
func (c *Calibration) biasTable() page.Table {
	b := &c.Bias
	rows := []biasRow{
		{"scorer", b.Score, b.ScoreInterval, form}, {"label", b.Label, b.LabelInterval, form}, {"scorer - label", b.Difference, b.DifferenceBounds, difference},
	}
	fields := slices.Concat([]page.Field[biasRow]{
		{Column: page.Column{Head: "mean", Key: "mean_of"}, Cell: func(row biasRow) page.Cell { return page.Text(row.what) }},
		{Column: page.Column{Head: "", Key: "mean", Right: true}, Cell: func(row biasRow) page.Cell { return page.Number(row.value, row.form) }},
		{Column: page.Column{Head: "95%", Right: true, Only: page.People}, Cell: func(row biasRow) page.Cell { return page.Cell{Text: row.interval.Text(row.form)} }},
	}, page.Ends("mean", func(row biasRow) page.Range { return row.interval }))
	return filled(page.Table{Name: "bias", Title: "Bias (a positive one is kinder than people)", Keys: 1}, fields, rows)
}

// measuresTable tells how well numbers foretell labels.
func (c *Calibration) measuresTable() page.Table {
	fields := slices.Concat([]page.Field[Measure]{
		{Column: page.Column{Head: "", Key: "measure"}, Cell: func(row Measure) page.Cell { return page.Text(row.Name) }},
		number("", "value", form, func(row Measure) page.Value { return row.Value }),
	}, between("value", form, func(row Measure) page.Range { return row.Interval }), []page.Field[Measure]{
		{Column: page.Column{Head: "", Key: "meaning", Prose: true}, Cell: func(row Measure) page.Cell { return page.Text(row.Meaning) }},
	})
	return filled(page.Table{Name: "measures", Title: "Numbers of the scorer and labels", Keys: 1}, fields, c.Measures)
}

// thresholdsTable has a row for each number from which on a score could be a yes.
func (c *Calibration) thresholdsTable() page.Table {
	fields := []page.Field[Threshold]{
		number("yes from", "threshold", page.Value.Exact, func(row Threshold) page.Value { return page.Known(row.Threshold) }),
		counted("yes", "yes", func(row Threshold) int { return row.Yes }),
		number("agree", "same", form, func(row Threshold) page.Value { return row.Same }),
		number("kappa", "kappa", form, func(row Threshold) page.Value { return row.Kappa }),
		number("labels yes:\nscored yes", "found", form, func(row Threshold) page.Value { return row.Found }),
		number("labels no:\nscored yes", "wrong", form, func(row Threshold) page.Value { return row.Wrong }),
	}
	return filled(page.Table{Name: "thresholds", Title: "Other thresholds", Keys: 1}, fields, c.Thresholds)
}

// disagreementsTable lists what a person should look at.
func (c *Calibration) disagreementsTable() page.Table {
	fields := []page.Field[Disagreement]{
		{Column: page.Column{Head: "output", Key: "output"}, Cell: func(row Disagreement) page.Cell { return page.Name(row.Name) }},
		number("label", "label", form, func(row Disagreement) page.Value { return page.Known(row.Label) }),
		number("score", "score", form, func(row Disagreement) page.Value { return page.Known(row.Score) }),
		{Column: page.Column{Head: "explanation", Key: "explanation", Prose: true}, Cell: func(row Disagreement) page.Cell { return page.Name(row.Explanation) }},
	}
	return filled(page.Table{Name: "disagreements", Title: "Outputs of which the scorer says something else", Keys: 1}, fields, c.Disagreements)
}

// unscoredTable says why outputs have no score.
func (c *Calibration) unscoredTable() page.Table {
	fields := []page.Field[Unscored]{
		{Column: page.Column{Head: "no score because", Key: "why", Prose: true}, Cell: func(row Unscored) page.Cell { return page.Name(row.Why) }},
		counted("labels", "labels", func(row Unscored) int { return row.Count }),
	}
	return filled(page.Table{Name: "unscored", Title: "Labelled outputs without a score", Keys: 1}, fields, c.Unscored)
}
