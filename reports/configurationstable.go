package reports

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

type configurationField = page.Field[*Configuration]

// configurationsTable has one row for each configuration, the most important
// columns first.
func configurationsTable(r *Report) page.Table {
	fields := []configurationField{
		{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: r.nameCell},
		forMachines(configurationField{Column: page.Column{Key: "simulated"}, Cell: func(c *Configuration) page.Cell {
			return page.Name(c.simulatedBy())
		}}),
		{Column: page.Column{Head: "runs", Right: true, Only: page.People}, Cell: runsOfExpected},
	}
	for i := range r.Scorers {
		fields = append(fields, scoreFields(r, i)...)
	}
	if r.Primary() == "" {
		fields = append(fields, believedFields(r)...)
	}
	fields = append(fields, costFields(r)...)
	fields = append(fields, paceFields()...)
	fields = append(fields, usageFields()...)
	if r.Primary() != "" {
		fields = append(fields, believedFields(r)...)
	}
	fields = append(fields, runFields()...)
	t := page.Table{Name: "configurations", Title: "Configurations", Columns: page.ColumnsOf(fields), Whole: true}
	t.Fill(page.RowsOf(fields, r.each()))
	return t
}

// each gives the configurations.
func (r *Report) each() iter.Seq[*Configuration] {
	return func(yield func(*Configuration) bool) {
		for i := range r.Configurations {
			if !yield(&r.Configurations[i]) {
				return
			}
		}
	}
}

func runsOfExpected(c *Configuration) page.Cell {
	text := fmt.Sprint(c.Runs)
	if c.Runs != c.Expected {
		text = fmt.Sprintf("%d/%d", c.Runs, c.Expected)
	}
	return page.Cell{Text: text, Warnings: c.notesOf("", Faults, NotRun, AgentFailed, OtherModel, NotJSON)}
}

// scoreFields are the columns of the i-th scorer.
func scoreFields(r *Report, i int) []configurationField {
	key, digits := r.Scorers[i], r.scoreDigits()
	form := func(v page.Value) string { return page.Score(v, digits) }
	number := func(key string, of func(*Score) int) configurationField {
		return configurationField{Column: page.Column{Key: key, Right: true, Only: page.Machines},
			Cell: func(c *Configuration) page.Cell { return page.Count(of(&c.Scores[i])) }}
	}
	return []configurationField{
		{Column: page.Column{About: key, Key: key + "_mean", Right: true}, Cell: func(c *Configuration) page.Cell {
			return page.Number(c.Scores[i].Mean, form, c.notesOf(key, Unscored, NotScored, UnequalRuns)...)
		}},
		{Column: page.Column{About: key, Head: "95%", Right: true, Optional: true, Minor: i > 0, Only: page.People}, Cell: func(c *Configuration) page.Cell {
			return page.Cell{Text: interval(&c.Scores[i], form), Warnings: c.notesOf(key, NoInterval)}
		}},
		{Column: page.Column{About: key, Head: "hits", Right: true, Optional: true, Only: page.People}, Cell: func(c *Configuration) page.Cell {
			return page.Text(hits(&c.Scores[i]))
		}},
		{Column: page.Column{Key: key + "_low", Only: page.Machines}, Cell: func(c *Configuration) page.Cell {
			return page.Number(c.Scores[i].Low, form)
		}},
		{Column: page.Column{Key: key + "_high", Only: page.Machines}, Cell: func(c *Configuration) page.Cell {
			return page.Number(c.Scores[i].High, form)
		}},
		number(key+"_successes", func(s *Score) int { return s.Successes }),
		number(key+"_scored", func(s *Score) int { return s.Scored }),
		number(key+"_unscored", func(s *Score) int { return s.Unscored }),
		number(key+"_pending", func(s *Score) int { return s.Pending }),
	}
}

func interval(s *Score, form func(page.Value) string) string {
	between := s.onScale(page.Range{Low: s.Low, High: s.High})
	switch {
	case s.Scored == 0:
		return ""
	case !between.Low.Known():
		return page.Nothing
	}
	return form(between.Low) + "–" + form(between.High)
}

// onScale is an interval as it is shown: where all scores are from 0 to 1 their
// means are, too.
func (s *Score) onScale(between page.Range) page.Range {
	if s.unit {
		between.Low.Number, between.High.Number = max(0, between.Low.Number), min(1, between.High.Number)
	}
	return between
}

func hits(s *Score) string {
	if !s.Binary {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Successes, s.Scored)
}

// believedFields are what the loop says, which matters less where scorers say
// what was so.
func believedFields(r *Report) []configurationField {
	return append([]configurationField{{
		Column: page.Column{Head: "loop says\nsuccess", Key: "success", Right: true, Optional: true, Minor: r.Primary() != ""},
		Cell:   func(c *Configuration) page.Cell { return page.Number(c.Success, page.Percent) },
	}}, page.Interval("loop says\n95%", "success", page.Percent, func(c *Configuration) page.Range { return c.SuccessInterval })...)
}

func costFields(r *Report) []configurationField {
	mean := configurationField{Column: page.Column{Head: "cost\nper run", Key: "cost_usd_per_run", Right: true}, Cell: func(c *Configuration) page.Cell {
		return page.Number(c.Cost.Mean, r.dollars, c.notesOf("", Unpriced, Unreported)...)
	}}
	perSuccess := configurationField{Column: page.Column{Head: "cost per\nsuccess", Key: "cost_usd_per_success", Right: true}, Cell: func(c *Configuration) page.Cell {
		return page.Number(c.Cost.PerSuccess, r.dollars, c.notesOf("", Unpriced, Unreported)...)
	}}
	total := configurationField{Column: page.Column{Key: "cost_usd_total", Only: page.Machines}, Cell: func(c *Configuration) page.Cell {
		return page.Number(c.Cost.Total, r.dollars)
	}}
	return slices.Concat(
		[]configurationField{mean},
		page.Interval("per run\n95%", "cost_usd_per_run", r.dollars, func(c *Configuration) page.Range { return c.Cost.MeanInterval }),
		[]configurationField{perSuccess},
		page.Interval("per success\n95%", "cost_usd_per_success", r.dollars, func(c *Configuration) page.Range { return c.Cost.PerSuccessInterval }),
		[]configurationField{total})
}

// runFields are how the runs went and stopped.
func runFields() []configurationField {
	return []configurationField{
		{Column: page.Column{Head: "coverage", Key: "coverage", Right: true, Minor: true}, Cell: func(c *Configuration) page.Cell {
			return page.Number(c.Coverage, page.Percent)
		}},
		{Column: page.Column{Head: "phase limits used", Only: page.People, List: true, Optional: true}, Cell: phasesUsed},
		{Column: page.Column{Head: "stopped by", Key: "stops", List: true, Optional: true}, Cell: stopsInOneCell},
		{Column: page.Column{Key: "tasks", Only: page.Machines}, Cell: func(c *Configuration) page.Cell { return page.Count(c.Tasks) }},
		{Column: page.Column{Key: "runs", Only: page.Machines}, Cell: func(c *Configuration) page.Cell { return page.Count(c.Runs) }},
		{Column: page.Column{Key: "expected", Only: page.Machines}, Cell: func(c *Configuration) page.Cell { return page.Count(c.Expected) }},
		{Column: page.Column{Key: "faults", Only: page.Machines}, Cell: func(c *Configuration) page.Cell { return page.Count(countAll(c.Faults)) }},
		{Column: page.Column{Key: "agent_failed", Only: page.Machines}, Cell: func(c *Configuration) page.Cell {
			return page.Count(countAll(c.Failures))
		}},
		{Column: page.Column{Key: "cancelled", Only: page.Machines}, Cell: func(c *Configuration) page.Cell { return page.Count(c.Cancelled) }},
		{Column: page.Column{Key: "warnings", Only: page.Machines}, Cell: warningsInOneCell},
	}
}

func phasesUsed(c *Configuration) page.Cell {
	var parts []string
	for _, l := range c.Limits {
		if phase, ok := l.phase(); ok {
			parts = append(parts, phase+" "+page.Percent(l.Share))
		}
	}
	return page.Cell{Text: strings.Join(parts, ", "), Foreign: true}
}

func stopsInOneCell(c *Configuration) page.Cell {
	text, raw := make([]string, len(c.Stops)), make([]string, len(c.Stops))
	for i := range c.Stops {
		text[i] = c.Stops[i].Name() + " " + page.Percent(c.Stops[i].Share)
		raw[i] = fmt.Sprintf("%s=%d", c.Stops[i].Name(), c.Stops[i].Runs)
	}
	return page.Cell{Text: strings.Join(text, ", "), Raw: strings.Join(raw, "; "), Foreign: true}
}

func warningsInOneCell(c *Configuration) page.Cell {
	texts := make([]string, len(c.Warnings))
	for i, w := range c.Warnings {
		texts[i] = w.Text(page.Visible)
	}
	return page.Name(strings.Join(texts, "; "))
}
