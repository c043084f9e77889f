package reports

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

type configurationField = field[*Configuration]

// configurationsTable has one row for each configuration, the most important
// columns first.
func configurationsTable(r *Report) table {
	fields := []configurationField{
		{column{head: "configuration", key: "configuration"}, r.nameCell},
		forMachines(configurationField{column{key: "simulated"}, func(c *Configuration) cell { return ofName(c.simulatedBy()) }}),
		{column{head: "runs", right: true, only: people}, runsOfExpected},
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
	t := table{name: "configurations", title: "Configurations", columns: columnsOf(fields), whole: true}
	t.fill(rowsOf(fields, r.each()))
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

func runsOfExpected(c *Configuration) cell {
	text := fmt.Sprint(c.Runs)
	if c.Runs != c.Expected {
		text = fmt.Sprintf("%d/%d", c.Runs, c.Expected)
	}
	return cell{text: text, warnings: c.notesOf("", Faults, NotRun, AgentFailed, OtherModel, NotJSON)}
}

// scoreFields are the columns of the i-th scorer.
func scoreFields(r *Report, i int) []configurationField {
	key, digits := r.Scorers[i], r.scoreDigits()
	form := func(v Value) string { return score(v, digits) }
	number := func(key string, of func(*Score) int) configurationField {
		return configurationField{column{key: key, right: true, only: machines},
			func(c *Configuration) cell { return ofCount(of(&c.Scores[i])) }}
	}
	return []configurationField{
		{column{about: key, key: key + "_mean", right: true}, func(c *Configuration) cell {
			return of(c.Scores[i].Mean, form, c.notesOf(key, Unscored, NotScored, UnequalRuns)...)
		}},
		{column{about: key, head: "95%", right: true, optional: true, minor: i > 0, only: people}, func(c *Configuration) cell {
			return cell{text: interval(&c.Scores[i], form), warnings: c.notesOf(key, NoInterval)}
		}},
		{column{about: key, head: "hits", right: true, optional: true, only: people}, func(c *Configuration) cell {
			return ofText(hits(&c.Scores[i]))
		}},
		{column{key: key + "_low", only: machines}, func(c *Configuration) cell { return of(c.Scores[i].Low, form) }},
		{column{key: key + "_high", only: machines}, func(c *Configuration) cell { return of(c.Scores[i].High, form) }},
		number(key+"_successes", func(s *Score) int { return s.Successes }),
		number(key+"_scored", func(s *Score) int { return s.Scored }),
		number(key+"_unscored", func(s *Score) int { return s.Unscored }),
		number(key+"_pending", func(s *Score) int { return s.Pending }),
	}
}

func interval(s *Score, form func(Value) string) string {
	low, high := s.Low, s.High
	switch {
	case s.Scored == 0:
		return ""
	case !low.Known():
		return nothing
	case s.unit:
		low.Number, high.Number = max(0, low.Number), min(1, high.Number)
	}
	return form(low) + "–" + form(high)
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
		column{head: "loop says\nsuccess", key: "success", right: true, optional: true, minor: r.Primary() != ""},
		func(c *Configuration) cell { return of(c.Success, percent) },
	}}, intervalFields("loop says\n95%", "success", percent, func(c *Configuration) Range { return c.SuccessInterval })...)
}

func costFields(r *Report) []configurationField {
	mean := configurationField{column{head: "cost\nper run", key: "cost_usd_per_run", right: true}, func(c *Configuration) cell {
		return of(c.Cost.Mean, r.dollars, c.notesOf("", Unpriced, Unreported)...)
	}}
	perSuccess := configurationField{column{head: "cost per\nsuccess", key: "cost_usd_per_success", right: true}, func(c *Configuration) cell {
		return of(c.Cost.PerSuccess, r.dollars, c.notesOf("", Unpriced, Unreported)...)
	}}
	total := configurationField{column{key: "cost_usd_total", only: machines}, func(c *Configuration) cell { return of(c.Cost.Total, r.dollars) }}
	return slices.Concat(
		[]configurationField{mean},
		intervalFields("per run\n95%", "cost_usd_per_run", r.dollars, func(c *Configuration) Range { return c.Cost.MeanInterval }),
		[]configurationField{perSuccess},
		intervalFields("per success\n95%", "cost_usd_per_success", r.dollars, func(c *Configuration) Range { return c.Cost.PerSuccessInterval }),
		[]configurationField{total})
}

// runFields are how the runs went and stopped.
func runFields() []configurationField {
	return []configurationField{
		{column{head: "coverage", key: "coverage", right: true, minor: true}, func(c *Configuration) cell { return of(c.Coverage, percent) }},
		{column{head: "phase limits used", only: people, list: true, optional: true}, phasesUsed},
		{column{head: "stopped by", key: "stops", list: true, optional: true}, stopsInOneCell},
		{column{key: "tasks", only: machines}, func(c *Configuration) cell { return ofCount(c.Tasks) }},
		{column{key: "runs", only: machines}, func(c *Configuration) cell { return ofCount(c.Runs) }},
		{column{key: "expected", only: machines}, func(c *Configuration) cell { return ofCount(c.Expected) }},
		{column{key: "faults", only: machines}, func(c *Configuration) cell { return ofCount(countAll(c.Faults)) }},
		{column{key: "agent_failed", only: machines}, func(c *Configuration) cell { return ofCount(countAll(c.Failures)) }},
		{column{key: "cancelled", only: machines}, func(c *Configuration) cell { return ofCount(c.Cancelled) }},
		{column{key: "warnings", only: machines}, warningsInOneCell},
	}
}

func phasesUsed(c *Configuration) cell {
	var parts []string
	for _, l := range c.Limits {
		if phase, ok := l.phase(); ok {
			parts = append(parts, phase+" "+percent(l.Share))
		}
	}
	return cell{text: strings.Join(parts, ", "), foreign: true}
}

func stopsInOneCell(c *Configuration) cell {
	text, raw := make([]string, len(c.Stops)), make([]string, len(c.Stops))
	for i := range c.Stops {
		text[i] = c.Stops[i].Name() + " " + percent(c.Stops[i].Share)
		raw[i] = fmt.Sprintf("%s=%d", c.Stops[i].Name(), c.Stops[i].Runs)
	}
	return cell{text: strings.Join(text, ", "), raw: strings.Join(raw, "; "), foreign: true}
}

func warningsInOneCell(c *Configuration) cell {
	texts := make([]string, len(c.Warnings))
	for i, w := range c.Warnings {
		texts[i] = w.Text(visible)
	}
	return ofName(strings.Join(texts, "; "))
}
