package tune

import (
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/reports/page"
)

// curveTable says what each further iteration of the recorded runs brings, and
// what an extra success costs.
func (t *Tuning) curveTable() page.Table {
	var costs []page.Value
	for i := range t.Curve {
		costs = append(costs, t.Curve[i].Cost, t.Curve[i].PerSuccess)
	}
	cost := t.costForm(costs...)
	number := func(head, key string, form func(page.Value) string, of func(*CurveStep) page.Value) page.Field[*CurveStep] {
		return page.Field[*CurveStep]{Column: page.Column{Head: head, Key: key, Right: true, Optional: true}, Cell: func(s *CurveStep) page.Cell {
			return page.Number(of(s), form)
		}}
	}
	count := func(head, key string, of func(*CurveStep) int) page.Field[*CurveStep] {
		return page.Field[*CurveStep]{Column: page.Column{Head: head, Key: key, Right: true}, Cell: func(s *CurveStep) page.Cell {
			return whole(of(s))
		}}
	}
	fields := []page.Field[*CurveStep]{
		count("stop\nat", "iteration", func(s *CurveStep) int { return s.Iteration }),
		count("runs", "reached", func(s *CurveStep) int { return s.Reached }),
		count("successes", "successes", func(s *CurveStep) int { return s.Hits }),
		count("extra", "extra_successes", func(s *CurveStep) int { return s.Extra }),
		number("score", "score", func(v page.Value) string { return page.Score(v, 3) }, func(s *CurveStep) page.Value { return s.Score }),
		number("chance of\na success", "hazard", page.Percent, func(s *CurveStep) page.Value { return s.Hazard }),
		number("cost\nin all", "cost", cost, func(s *CurveStep) page.Value { return s.Cost }),
		number("+cost", "extra_cost", cost, func(s *CurveStep) page.Value { return s.ExtraCost }),
		number("per\nsuccess", "cost_per_success", orNothing(cost), func(s *CurveStep) page.Value { return s.PerSuccess }),
		number("per extra\nsuccess", "cost_per_extra_success", orNothing(cost), func(s *CurveStep) page.Value { return s.PerExtra }),
		{Column: page.Column{Head: "going on,\nat best", Only: page.People, Right: true, Optional: true}, Cell: func(s *CurveStep) page.Cell {
			return page.Cell{Text: s.ahead(cost)}
		}},
		{Column: page.Column{Key: "ahead", Only: page.Machines}, Cell: func(s *CurveStep) page.Cell { return page.Number(s.Ahead, cost) }},
		{Column: page.Column{Key: "ahead_to", Only: page.Machines}, Cell: func(s *CurveStep) page.Cell { return page.Count(s.AheadTo) }},
	}
	return tableOf("curve", "If every recorded run stopped at this iteration, and what a success more costs", 1, fields, t.Curve)
}

// ahead is the least cost of an extra success from here on, where it takes more
// than this step.
func (s *CurveStep) ahead(form func(page.Value) string) string {
	if !s.Ahead.Known() || s.AheadTo <= s.Iteration {
		return ""
	}
	return fmt.Sprintf("%s to %d", form(s.Ahead), s.AheadTo)
}

type endRow struct {
	of *Stops
	*StopCount
}

// stopsTable says which limit bound.
func (t *Tuning) stopsTable() page.Table {
	fields := []page.Field[endRow]{
		{Column: page.Column{Head: "of", Key: "of"}, Cell: func(row endRow) page.Cell { return page.Text(row.of.Of) }},
		{Column: page.Column{Head: "stopped by", Key: "reason"}, Cell: func(row endRow) page.Cell {
			return page.Cell{Text: row.Name, Raw: string(row.Reason), Foreign: true}
		}},
		{Column: page.Column{Key: "fired", Only: page.Machines}, Cell: func(row endRow) page.Cell { return page.Name(row.Fired) }},
		{Column: page.Column{Head: "runs", Key: "runs", Right: true}, Cell: func(row endRow) page.Cell {
			return whole(row.Runs)
		}},
		{Column: page.Column{Head: "share", Key: "share", Right: true}, Cell: func(row endRow) page.Cell { return page.Number(row.Share, orNothing(page.Percent)) }},
	}
	table := page.Table{Name: "stops", Title: "Which limit ends the runs", Columns: page.ColumnsOf(fields), Keys: 2}
	table.Fill(page.RowsOf(fields, t.ends()))
	return table
}

// notKnown is the way to stop of runs whose end is not known.
const notKnown = "(not known)"

func (t *Tuning) ends() func(func(endRow) bool) {
	return func(yield func(endRow) bool) {
		for i := range t.Stops {
			of := &t.Stops[i]
			if t.repeats(i) {
				continue
			}
			for s := range of.Stops {
				if !yield(endRow{of, &of.Stops[s]}) {
					return
				}
			}
			if of.Unknown > 0 && !yield(endRow{of, &StopCount{Name: notKnown, Runs: of.Unknown, Share: page.Missing(page.Nothing)}}) {
				return
			}
		}
	}
}

// repeats says that the runs end as those of the configuration above do, because
// today's is what was recorded.
func (t *Tuning) repeats(i int) bool {
	of := &t.Stops[i]
	return of.Of == "recording" && i > 0 && of.Unknown == t.Stops[i-1].Unknown && slices.Equal(of.Stops, t.Stops[i-1].Stops)
}

// excludedTable says which constraints exclude how many.
func (t *Tuning) excludedTable() page.Table {
	count := func(head, key string, of func(*Excluded) int) page.Field[*Excluded] {
		return page.Field[*Excluded]{Column: page.Column{Head: head, Key: key, Right: true}, Cell: func(e *Excluded) page.Cell {
			return whole(of(e))
		}}
	}
	fields := []page.Field[*Excluded]{
		{Column: page.Column{Head: "constraint", Key: "constraint"}, Cell: func(e *Excluded) page.Cell { return page.Name(e.Constraint) }},
		count("excludes", "candidates", func(e *Excluded) int { return e.Candidates }),
		count("alone", "alone", func(e *Excluded) int { return e.Alone }),
		count("a number\nis missing", "unknown", func(e *Excluded) int { return e.Unknown }),
	}
	return tableOf("excluded", "What constraints exclude (configurations)", 1, fields, t.Tried.Excluded)
}

// unknownTable says why configurations are not exact.
func (t *Tuning) unknownTable() page.Table {
	count := func(head, key string, of func(*NotExact) int) page.Field[*NotExact] {
		return page.Field[*NotExact]{Column: page.Column{Head: head, Key: key, Right: true}, Cell: func(n *NotExact) page.Cell {
			return whole(of(n))
		}}
	}
	score := func(n *NotExact) page.Range { return n.Score }
	fields := slices.Concat([]page.Field[*NotExact]{
		{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: func(n *NotExact) page.Cell { return page.Name(n.Name) }},
		{Column: page.Column{Head: "label", Key: "label"}, Cell: func(n *NotExact) page.Cell { return page.Text(n.Label) }},
		count("exact\nruns", "exact", func(n *NotExact) int { return n.Exact }),
		count("cut\nruns", "censored", func(n *NotExact) int { return n.Censored }),
		count("other\npath", "branches", func(n *NotExact) int { return n.Branches }),
		{Column: page.Column{About: t.Terms.Score, Head: "bounds", Right: true, Only: page.People, Optional: true}, Cell: func(n *NotExact) page.Cell {
			return page.Cell{Text: n.Score.Text(func(v page.Value) string { return page.Score(v, 3) })}
		}},
	}, page.Ends("bounds", score), []page.Field[*NotExact]{
		{Column: page.Column{Head: "why", Key: "why", Prose: true}, Cell: func(n *NotExact) page.Cell { return page.Name(n.Why) }},
	})
	return tableOf("unknown", "Configurations that are not exact, and cannot be recommended", 1, fields, t.Tried.NotExact)
}
