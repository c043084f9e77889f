package reports

import (
	"fmt"
	"iter"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec/expr"
)

// metricsRow is a configuration, or one group of tasks in it.
type metricsRow struct {
	*Configuration
	group int // -1: all tasks
}

// name is that of the group, "" of all tasks.
func (row metricsRow) name() string {
	if row.group < 0 {
		return ""
	}
	return row.Declared[0].Groups[row.group].Group
}

// tasks are those with scored runs, the most that any metric has.
func (row metricsRow) tasks() (n int) {
	for i := range row.Declared {
		n = max(n, row.value(i).Tasks+row.value(i).LeftOut)
	}
	return n
}

func (row metricsRow) value(metric int) *MetricValue {
	if row.group < 0 {
		return &row.Declared[metric].MetricValue
	}
	return &row.Declared[metric].Groups[row.group].MetricValue
}

// metricsTable has a column for each metric, and a row for all tasks of a
// configuration and for each group of them.
func metricsTable(r *Report) page.Table {
	fields := append(nameFields(r, func(row metricsRow) *Configuration { return row.Configuration }), page.Field[metricsRow]{
		Column: page.Column{Head: "tasks of", Key: "group", Optional: true},
		Cell:   func(row metricsRow) page.Cell { return page.Name(row.name()) },
	})
	fields = append(fields, page.Field[metricsRow]{
		Column: page.Column{Head: "tasks", Right: true, Only: page.People},
		Cell:   func(row metricsRow) page.Cell { return page.Count(row.tasks()) },
	})
	for i := range r.declared() {
		fields = append(fields, metricFields(r, i)...)
	}
	t := page.Table{Keys: 2, Name: "metrics", Title: "Metrics", Columns: page.ColumnsOf(fields)}
	t.Fill(page.RowsOf(fields, r.metricsRows()))
	return t
}

// declared are the metrics, as the first configuration has them.
func (r *Report) declared() []Metric {
	if len(r.Configurations) == 0 {
		return nil
	}
	return r.Configurations[0].Declared
}

// metricFields are the columns of the i-th metric.
func metricFields(r *Report, i int) []page.Field[metricsRow] {
	name := r.declared()[i].Name
	form := func(v page.Value) string { return page.Score(v, r.scoreDigits()) }
	fields := []page.Field[metricsRow]{
		{Column: page.Column{About: name, Key: name, Right: true}, Cell: func(row metricsRow) page.Cell {
			if row.group >= 0 {
				return page.Number(row.value(i).Value, form)
			}
			return page.Number(row.value(i).Value, form, row.notesOf(name, TooFewTrials)...)
		}},
		page.About(name, page.ShownInterval("95%", form, func(row metricsRow) page.Range { return row.value(i).shown() })),
		{Column: page.Column{Key: name + "_tasks", Only: page.Machines}, Cell: func(row metricsRow) page.Cell { return page.Count(row.value(i).Tasks) }},
	}
	return append(fields, page.Ends(name, func(row metricsRow) page.Range { return row.value(i).interval() })...)
}

// shown is the interval as people see it: where all tasks are worth from 0 to 1
// their mean is, too.
func (v *MetricValue) shown() page.Range {
	between := v.interval()
	if v.unit {
		between.Low.Number, between.High.Number = max(0, between.Low.Number), min(1, between.High.Number)
	}
	return between
}

func (v *MetricValue) interval() page.Range { return page.Range{Low: v.Low, High: v.High} }

func (r *Report) metricsRows() iter.Seq[metricsRow] {
	return func(yield func(metricsRow) bool) {
		for c := range r.each() {
			if len(c.Declared) == 0 {
				continue
			}
			for group := -1; group < len(c.Declared[0].Groups); group++ {
				if !yield(metricsRow{c, group}) {
					return
				}
			}
		}
	}
}

// metrics are the fields that spec/expr declares for a metric.
func (m *Metric) metrics(path string, seen *readings) metrics {
	fields := m.fields()
	groups := expr.NewObject(len(m.Groups))
	for i := range m.Groups {
		g := &m.Groups[i]
		groups.Set(g.Group, metrics{path: path + fmt.Sprintf("groups[%q].", g.Group), seen: seen, fields: g.fields()})
	}
	fields["groups"] = groups
	return metrics{path: path, seen: seen, fields: fields}
}

func (v *MetricValue) fields() map[string]any {
	return map[string]any{"value": ranged{v.Value, v.Low, v.High}, "n": int64(v.Tasks)}
}
