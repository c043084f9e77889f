package reports

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

// About is a report on the suite.
func (r *Report) About() (kind, suite string) { return "report", r.Suite }

// Heading is what a reader needs to know before the first table.
func (r *Report) Heading(quote func(string) string) string {
	var parts []string
	if r.Incomplete != "" {
		parts = append(parts, "incomplete: "+quote(r.Incomplete))
	}
	parts = append(parts, quote(r.Suite), page.Plural(len(r.Configurations), "configuration", "configurations"))
	size := page.Plural(r.TaskCount, "task", "tasks")
	if r.Clusters > 0 {
		size += " in " + page.Plural(r.Clusters, "cluster", "clusters")
	}
	if r.Trials > 1 {
		size += fmt.Sprintf(" × %d trials", r.Trials)
	}
	parts = append(parts, size, page.Plural(r.runCount(), "run", "runs"))
	if baseline := r.comparedWith(); baseline != "" {
		parts = append(parts, "baseline "+quote(baseline))
	}
	if r.PricesAsOf != "" {
		parts = append(parts, "prices as of "+quote(r.PricesAsOf))
	}
	return strings.Join(parts, " · ")
}

// Lacks says what of the suite is not here.
func (r *Report) Lacks() string { return r.Incomplete }

// comparedWith is the baseline: the one that was asked for, else the suite's.
func (r *Report) comparedWith() string {
	if d := r.Differences; d != nil && len(d.Pairs) > 0 && d.Pairs[0].Base.Where != "" {
		return d.Pairs[0].Base.Where
	}
	return r.Baseline
}

func (r *Report) runCount() (n int) {
	for c := range r.each() {
		n += c.Runs
	}
	return n
}

// Remark says where nothing real was measured.
func (r *Report) Remark(quote func(string) string) string {
	if !r.allSimulated() || len(r.Simulated) == 0 {
		return ""
	}
	quoted := make([]string, len(r.Simulated))
	for i, name := range r.Simulated {
		quoted[i] = quote(name)
	}
	return "simulated by " + strings.Join(quoted, ", ")
}

// Tables are all tables of a report, in the order in which people read them.
func (r *Report) Tables(of page.Audience) []page.Table {
	tasks := tasksTable
	if of == page.Machines {
		tasks = taskRowsTable
	}
	return []page.Table{
		configurationsTable(r), metricsTable(r), r.differencesTable(), r.front().table(r.scoreDigits()), curveTable(r), stopsTable(r), limitsTable(r), calibrationTable(r), judgesTable(r), residueTable(r), tasks(r),
		thresholdsTable(r.Thresholds),
	}
}

// compare looks for differences from the baseline, once. Where there is nothing
// to compare there are none.
func (r *Report) compare() {
	if r.compared || r.Differences != nil || r.runs == nil {
		return
	}
	r.compared = true
	r.Differences, _ = DiffBaseline(r, DiffOptions{})
	if r.Differences != nil {
		r.Differences.DropFlips()
	}
}

// differencesTable has rows where there is a baseline.
func (r *Report) differencesTable() page.Table {
	r.compare()
	c := r.Differences
	if c == nil {
		c = &Comparison{}
	}
	t := differencesTable(c)
	t.Title = "Differences from the baseline"
	return t
}

// Answer is whether the thresholds hold, if that can be told.
func (r *Report) Answer(quote func(string) string) page.Answer {
	switch {
	case r.Unanswered != "":
		return page.Answer{State: page.Errored, Text: quote(r.Unanswered)}
	case r.runCount() == 0:
		return page.Answer{State: page.Errored, Text: "no run counts"}
	}
	return answerOf(r.Thresholds)
}

// Warned are all warnings, those on a configuration with its name.
func (r *Report) Warned() iter.Seq2[string, page.Warning] {
	return func(yield func(string, page.Warning) bool) {
		for _, w := range r.WholeWarnings() {
			if !yield("", w) {
				return
			}
		}
		for c := range r.each() {
			for _, w := range c.Warnings {
				if w.Kind == SimulatedModel && r.allSimulated() {
					continue // which is among the others
				}
				if !yield(c.Name, w) {
					return
				}
			}
		}
	}
}

// TableNames are the tables of a report, in the order in which people read them.
var TableNames = []string{"configurations", "metrics", "differences", "front", "curve", "stops", "limits", "calibration", "judges", "residue", "tasks", page.Thresholds}

// WholeWarnings are the warnings on the report, that nothing real was measured
// the first of them.
func (r *Report) WholeWarnings() []page.Warning {
	whole := asNotes(r.Warnings)
	if r.allSimulated() {
		at := slices.IndexFunc(r.Configurations, func(c Configuration) bool { return c.Simulated })
		whole = append(r.Configurations[at].notesOf("", SimulatedModel), whole...)
	}
	return whole
}
