package tune

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// Summary is what to do and what it is chosen over: today's configuration, the
// recommended one, the recording and the best one.
func (t *Tuning) Summary() page.Summary {
	s := page.Summary{Head: t.Heading(), State: t.Answer(), Table: t.summaryTable()}
	if t.Recommended == nil && t.Guess != nil {
		s.State = page.Answer{State: s.State.State, Text: page.Words(t.Guess.text())}
	}
	simulated := t.Remark() != ""
	if simulated {
		s.Head += " · SIMULATED"
	}
	for _, w := range t.WholeWarnings() {
		switch n, ok := w.(Note); {
		case simulated && ok && n.Kind == reports.SimulatedModel:
		case w.Serious():
			s.Serious = append(s.Serious, w.Text())
		case ok && (n.Kind == NotTried || n.Kind == CannotTake || n.Kind == TriedLimits):
			s.Lines = append(s.Lines, w.Text())
		}
	}
	if changed := t.changed(); changed != "" {
		s.Lines = append([]page.Words{page.Words(changed)}, s.Lines...)
	}
	if t.Again == "" {
		return s
	}
	short := cmp.Or(t.AgainInShort, "the same command")
	s.Next = []page.Command{{For: "all tables", Line: page.Words(t.Again + " --all"), Short: page.Words(short + " with --all")}}
	switch {
	case t.Recommended == nil || t.Unchanged:
	case t.Applies == AppliesToSuite:
		s.Next = append(s.Next, page.Command{For: "change the YAML", Line: page.Words(t.Again + " --apply"), Short: page.Words(short + " with --apply")})
	case t.Applies == AppliesToLoop:
		s.Next = append(s.Next, page.Command{For: "change a loop", Short: page.Words(short + " with --apply=LOOP.yaml")})
	}
	return s
}

// changed are the parameters that change, with their values; "" where none does.
func (t *Tuning) changed() string {
	changes := make([]string, len(t.Changes))
	for i, c := range t.Changes {
		changes[i] = fmt.Sprintf("%s %s → %s", page.Foreign(c.Path), page.Foreign(c.From), page.Foreign(c.To))
	}
	return strings.Join(changes, ", ")
}

// summaryTable is the table of the choice, without alternatives to what is recommended. The
// rows that matter the least come last, and have no room first.
func (t *Tuning) summaryTable() page.Table {
	var rows []choiceRow
	for row := range t.choices() {
		if row.role != roleNext {
			row.role = strings.TrimSuffix(strings.TrimSuffix(row.role, ", "+roleNext), ", "+roleTradeOff)
			rows = append(rows, row)
		}
	}
	costs, names := t.meanCosts(), briefly(rows)
	fields := []page.Field[choiceRow]{
		{Column: page.Column{}, Cell: func(row choiceRow) page.Cell {
			cell := page.Text("  " + row.role)
			if strings.Contains(row.role, "recommended") {
				cell.Text, cell.Look = "* "+row.role, page.Best
			}
			return cell
		}},
		{Column: page.Column{Head: "configuration", Prose: true}, Cell: func(row choiceRow) page.Cell {
			return page.Name(spaced(names[row.Candidate]))
		}},
		{Column: page.Column{About: t.Terms.Score, Right: true}, Cell: func(row choiceRow) page.Cell { return page.Text(row.scoreText(t.Terms.Score)) }},
		{Column: page.Column{Wide: true, Optional: true}, Cell: func(row choiceRow) page.Cell { return page.Text(row.bar(t.Terms.Score)) }},
		{Column: page.Column{Head: "cost/run", Right: true}, Cell: func(row choiceRow) page.Cell {
			return page.Number(row.Cost.Mean, func(v page.Value) string { return page.Dollars(v, page.DollarDigits(slices.Values(costs))) })
		}},
		{Column: page.Column{Head: "time/run", Right: true}, Cell: func(row choiceRow) page.Cell { return page.Number(row.Latency.Mean, page.Seconds) }},
		{Column: page.Column{Head: "lost", Right: true}, Cell: func(row choiceRow) page.Cell {
			if row.Recorded {
				return page.Cell{}
			}
			return page.Count(row.Lost)
		}},
	}
	return page.Filled(page.Table{Keys: 1}, fields, slices.Values(rows))
}

// briefly are the names of configurations without the parameters whose value all of them
// share, by their candidates. Where a name is not made of parameters alone, all are whole.
func briefly(rows []choiceRow) map[int]string {
	names, params := map[int]string{}, map[int][]string{}
	whole := false
	for _, row := range rows {
		names[row.Candidate] = row.Name
		if row.Candidate < 0 {
			continue
		}
		parts := strings.Split(row.Name, ",")
		whole = whole || len(parts) != len(row.Params) || slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(part, "=") })
		params[row.Candidate] = parts
	}
	for candidate, parts := range params {
		var own []string
		for i, part := range parts {
			shared := func(other []string) bool { return i < len(other) && other[i] == part }
			if !allOf(params, shared) {
				own = append(own, part)
			}
		}
		if len(own) > 0 && !whole {
			names[candidate] = strings.Join(own, ",")
		}
	}
	return names
}

// allOf reports whether all values of a map are so.
func allOf[K comparable, V any](all map[K]V, is func(V) bool) bool {
	for _, value := range all {
		if !is(value) {
			return false
		}
	}
	return true
}

// bar is the mean of a score from 0 to 1 as a bar, "" of others.
func (c *Choice) bar(name string) string {
	const width = 10
	for s := range page.EachOf(c.Scores) {
		if s.Name == name && s.Mean.Known() && s.Mean.Number >= 0 && s.Mean.Number <= 1 {
			return page.Bar(s.Mean.Number, width)
		}
	}
	return ""
}
