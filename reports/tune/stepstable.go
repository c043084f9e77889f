package tune

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

// stepRow is one step in one parameter.
type stepRow struct {
	of *Neighbour
	*Step
}

// among is a count of the runs of which both sides are known: there are no fewer
// among all of them.
func (row stepRow) among(n int) page.Cell {
	cell := whole(n)
	if !row.Objective.Known() {
		cell.Text = "≥" + cell.Text
	}
	return cell
}

// neighboursTable says what one less and one more would change.
func (t *Tuning) neighboursTable() page.Table {
	objective := func(v page.Value) string { return page.Gain(v, 3) }
	cost := t.extraCost()
	fields := []page.Field[stepRow]{
		{Column: page.Column{Head: "of", Key: "of"}, Cell: func(row stepRow) page.Cell { return page.Text(row.of.Of) }},
		{Column: page.Column{Head: "parameter", Key: "parameter"}, Cell: func(row stepRow) page.Cell { return page.Name(row.of.Path) }},
		{Column: page.Column{Head: "is", Key: "from", Right: true}, Cell: func(row stepRow) page.Cell { return page.Name(row.of.Value) }},
		{Column: page.Column{Head: "with", Key: "to", Right: true}, Cell: func(row stepRow) page.Cell { return page.Name(row.Value) }},
		{Column: page.Column{Head: "label", Key: "label", Only: t.stepLabels()}, Cell: func(row stepRow) page.Cell { return page.Text(row.Label) }},
		{Column: page.Column{About: t.Terms.objectiveName(), Head: "change", Key: "objective_change", Right: true}, Cell: func(row stepRow) page.Cell { return page.Number(row.Objective, objective) }},
		{Column: page.Column{Head: "lost", Key: "lost", Right: true}, Cell: func(row stepRow) page.Cell { return row.among(row.Lost) }},
		{Column: page.Column{Head: "gained", Key: "gained", Right: true}, Cell: func(row stepRow) page.Cell { return row.among(row.Gained) }},
		{Column: page.Column{About: t.Terms.Cost, Head: "change", Key: "cost_change", Right: true}, Cell: func(row stepRow) page.Cell { return page.Number(row.Cost, cost) }},
		{Column: page.Column{Head: "per extra\nsuccess", Key: "cost_per_extra_success", Right: true, Optional: true}, Cell: func(row stepRow) page.Cell {
			return page.Number(row.PerSuccess, orEmpty(t.costForm(t.perSuccess()...)))
		}},
	}
	table := page.Table{Name: "neighbours", Title: "One step less, one step more", Columns: page.ColumnsOf(fields), Keys: 4}
	table.Fill(page.RowsOf(fields, t.steps()))
	return table
}

func (t *Tuning) steps() func(func(stepRow) bool) {
	return func(yield func(stepRow) bool) {
		for i := range t.Neighbours {
			n := &t.Neighbours[i]
			for _, step := range []*Step{n.Less, n.More} {
				if step != nil && !yield(stepRow{n, step}) {
					return
				}
			}
		}
	}
}

// perSuccess is what extra successes cost.
func (t *Tuning) perSuccess() (all []page.Value) {
	for row := range t.steps() {
		all = append(all, row.PerSuccess)
	}
	return all
}

// stepLabels is who reads the labels: people only where some are not exact.
func (t *Tuning) stepLabels() page.Audience {
	for row := range t.steps() {
		if row.Label != "exact" {
			return page.Everyone
		}
	}
	return page.Machines
}

// limitsTable says how much of its limits a configuration uses, with advice.
func (t *Tuning) limitsTable() page.Table {
	share := func(head, key string, of func(*LimitUse) page.Value) page.Field[*LimitUse] {
		return page.Field[*LimitUse]{Column: page.Column{Head: head, Key: key, Right: true, Optional: true}, Cell: func(l *LimitUse) page.Cell {
			return page.Number(of(l), orEmpty(page.Percent))
		}}
	}
	fields := []page.Field[*LimitUse]{
		{Column: page.Column{Head: "of", Key: "of"}, Cell: func(l *LimitUse) page.Cell { return page.Text(l.Of) }},
		{Column: page.Column{Head: "limit", Key: "limit"}, Cell: func(l *LimitUse) page.Cell {
			c := page.Name(l.Path)
			if l.Derived {
				c.Text += " (derived)"
			}
			return c
		}},
		{Column: page.Column{Head: "is", Key: "value", Right: true}, Cell: func(l *LimitUse) page.Cell { return whole(l.Limit) }},
		{Column: page.Column{Head: "used", Key: "used_mean", Right: true}, Cell: func(l *LimitUse) page.Cell { return page.Number(l.Used, page.Whole) }},
		{Column: page.Column{Head: "most", Key: "used_most", Right: true}, Cell: func(l *LimitUse) page.Cell { return whole(l.Largest) }},
		share("share", "share", func(l *LimitUse) page.Value { return l.Share }),
		share("reached", "reached", func(l *LimitUse) page.Value { return l.Reached }),
		share("of all\niterations", "of_all", (*LimitUse).ofAll),
		share("of all\ncost", "of_cost", func(l *LimitUse) page.Value { return l.OfCost }),
		{Column: page.Column{Head: "advice", Only: page.People, Prose: true, Optional: true}, Cell: func(l *LimitUse) page.Cell { return page.Text(l.advice(t)) }},
		{Column: page.Column{Key: "advice", Only: page.Machines}, Cell: func(l *LimitUse) page.Cell { return page.Text(string(l.Advice)) }},
		{Column: page.Column{Key: "advised", Only: page.Machines}, Cell: func(l *LimitUse) page.Cell { return page.Count(l.To) }},
	}
	units := "iterations"
	if slices.ContainsFunc(t.Limits, func(l LimitUse) bool { return strings.HasSuffix(l.Path, "agent.max_steps") }) {
		units = "iterations; of max_steps the steps of a run's longest iteration"
	}
	return tableOf("limits", "How much of each limit is used ("+units+", means per run)", 2, fields, t.Limits)
}

// ofAll is the part of all iterations that a phase takes; that of the whole loop
// says nothing.
func (l *LimitUse) ofAll() page.Value {
	if strings.HasPrefix(l.Path, "phases.") || strings.HasPrefix(l.Path, "strategies.") {
		return l.OfAll
	}
	return page.Missing(page.Nothing)
}

// advice is what the use of a limit suggests, in words.
func (l *LimitUse) advice(t *Tuning) string {
	switch l.Advice {
	case Raise:
		return "most runs reach it: try a larger limit" + l.to() + l.brings(t)
	case Lower:
		return "hardly any run comes near it: try a smaller limit" + l.to()
	case Rebalance:
		return "takes most of what the run spends: check the balance of the phases"
	}
	return ""
}

func (l *LimitUse) to() string {
	if l.To == 0 {
		return ""
	}
	return fmt.Sprintf(", such as %d", l.To)
}

// brings says what one more does, where replay knows.
func (l *LimitUse) brings(t *Tuning) string {
	if l.Step == nil || !l.Step.Objective.Known() {
		return ""
	}
	text := "; one more changes the objective by " + page.Gain(l.Step.Objective, 3)
	if l.Step.Cost.Known() {
		text += ", the cost by " + t.extraCost()(l.Step.Cost)
	}
	return text
}

// rangesTable has phase limits that lie outside what is recommended for their kind.
func (t *Tuning) rangesTable() page.Table {
	fields := []page.Field[*RangeHint]{
		{Column: page.Column{Head: "of", Key: "of"}, Cell: func(r *RangeHint) page.Cell { return page.Text(r.Of) }},
		{Column: page.Column{Head: "limit", Key: "limit"}, Cell: func(r *RangeHint) page.Cell { return page.Name(r.Path) }},
		{Column: page.Column{Head: "is", Key: "value", Right: true}, Cell: func(r *RangeHint) page.Cell { return whole(r.Limit) }},
		{Column: page.Column{Head: "hint", Key: "hint", Prose: true}, Cell: func(r *RangeHint) page.Cell { return page.Text(r.Hint) }},
	}
	return tableOf("ranges", "Limits of phases beside the usual ones", 2, fields, t.Ranges)
}
