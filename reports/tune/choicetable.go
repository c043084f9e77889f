package tune

import (
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

// choiceRow is a configuration with what it is to the choice.
type choiceRow struct {
	role string
	*Choice
}

// choices are today's configuration, the recommended one, what was recorded, the
// best, and what would have been taken next; each once.
func (t *Tuning) choices() iter.Seq[choiceRow] {
	var rows []choiceRow
	add := func(role string, c *Choice) {
		if c == nil {
			return
		}
		at := slices.IndexFunc(rows, func(row choiceRow) bool { return row.Candidate == c.Candidate || c.Recorded && row.isLike(c) })
		if at < 0 {
			rows = append(rows, choiceRow{role, c})
		} else if !strings.HasSuffix(rows[at].role, role) {
			rows[at].role += ", " + role
		}
	}
	add("today", t.Today)
	add("recommended", t.Recommended)
	add("recorded", t.Recording)
	add("best", t.Best)
	for i := range t.Alternatives {
		add("next", &t.Alternatives[i])
	}
	return slices.Values(rows)
}

// isLike says that all numbers are those of what was recorded.
func (c *Choice) isLike(recorded *Choice) bool {
	return c.Exact == c.Runs && c.Lost == 0 && c.Gained == 0 && c.Iterations.Mean == recorded.Iterations.Mean && c.Tokens.Mean == recorded.Tokens.Mean &&
		c.Latency.Mean == recorded.Latency.Mean && slices.Equal(c.Scores, recorded.Scores)
}

// unscored is how many runs have no score for the iteration that would be returned.
func (c *Choice) unscored() (most int) {
	for i := range c.Scores {
		most = max(most, c.Scores[i].Unscored)
	}
	return most
}

// choiceTable has one row for each configuration that matters to the choice.
func (t *Tuning) choiceTable() page.Table {
	as := &Columns{Runs: t.Runs}
	if t.Terms.Cost == "cost_usd.mean" {
		as.Costs = t.meanCosts()
	}
	for row := range t.choices() {
		as.Configurations = append(as.Configurations, row.Configuration)
		as.Scorers = scorersOf(&row.Configuration)
	}
	fields := []page.Field[choiceRow]{
		{Column: page.Column{Head: "", Key: "role"}, Cell: func(row choiceRow) page.Cell { return page.Text(row.role) }},
		{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: func(row choiceRow) page.Cell { return page.Name(row.Name) }},
	}
	fields = append(fields, lifted([]Field{as.Label(labelReaders(as.Configurations))})...)
	for i := range as.Scorers {
		fields = append(fields, lifted(as.Score(i))...)
		if i == 0 {
			fields = append(fields, t.termFields()...)
		}
	}
	if len(as.Scorers) == 0 {
		fields = append(fields, t.termFields()...)
	}
	fields = append(fields, lifted(as.Spent())...)
	table := page.Table{Name: "choice", Title: "Choice (means per run)", Columns: page.ColumnsOf(fields), Keys: 1, Whole: true}
	table.Fill(page.RowsOf(fields, t.choices()))
	return table
}

func scorersOf(c *Configuration) (names []string) {
	for i := range c.Scores {
		names = append(names, c.Scores[i].Name)
	}
	return names
}

// labelReaders is who reads the labels: people only where some are not exact.
func labelReaders(all []Configuration) page.Audience {
	if slices.ContainsFunc(all, func(c Configuration) bool { return c.Exact < c.Runs }) {
		return page.Everyone
	}
	return page.Machines
}

// lifted are fields of a configuration as those of a row.
func lifted(fields []Field) []page.Field[choiceRow] {
	all := make([]page.Field[choiceRow], len(fields))
	for i, f := range fields {
		all[i] = page.Field[choiceRow]{Column: f.Column, Cell: func(row choiceRow) page.Cell { return f.Cell(&row.Configuration) }}
	}
	return all
}

// termFields are the numbers that it was chosen by.
func (t *Tuning) termFields() []page.Field[choiceRow] {
	objective := page.Column{About: t.Terms.Objective, Key: "objective", Right: true}
	if t.Terms.isScore() {
		objective = page.Column{Key: "objective", Only: page.Machines}
	}
	cost := page.Column{About: t.Terms.Cost, Key: "cost", Right: true}
	if t.Terms.isShown() {
		cost = page.Column{Key: "cost", Only: page.Machines}
	}
	cheap := t.costForm(t.meanCosts()...)
	fields := []page.Field[choiceRow]{
		{Column: objective, Cell: func(row choiceRow) page.Cell { return page.Number(row.Objective, objectiveForm) }},
	}
	fields = append(fields, page.Ends("objective", func(row choiceRow) page.Range { return row.ObjectiveInterval })...)
	return append(fields, []page.Field[choiceRow]{
		{Column: page.Column{Head: "lost", Key: "lost", Right: true}, Cell: func(row choiceRow) page.Cell { return t.flips(row, row.Lost) }},
		{Column: lostMost, Cell: func(row choiceRow) page.Cell {
			if row.Recorded {
				return page.Cell{}
			}
			return row.most()
		}},
		{Column: page.Column{Head: "gained", Key: "gained", Right: true}, Cell: func(row choiceRow) page.Cell { return t.flips(row, row.Gained) }},
		{Column: cost, Cell: func(row choiceRow) page.Cell { return page.Number(row.ChoiceCost, cheap) }},
	}...)
}

// flips are runs that lose or gain a success: nobody knows where none is scored.
func (t *Tuning) flips(row choiceRow, n int) page.Cell {
	if !row.Recorded && row.scored(t.Terms.Score) == 0 {
		return page.Number(page.Missing(page.Nothing), page.Whole)
	}
	return row.Among(n, row.unscored())
}

// lostMost is the column of the bounds of single configurations.
var lostMost = page.Column{Head: "at most, if\ntried alone", Key: "lost_most", Right: true, Warnings: Warnings([]Note{{Kind: Alone}})}

// most is the bound, and says where it is of the mean and not of a share of runs.
func (l *Loss) most() page.Cell {
	return page.Number(l.LostMost, func(v page.Value) string {
		if !v.Known() || !l.LossIsNet {
			return precisely(v)
		}
		return precisely(v) + " net"
	})
}

// changesTable has one row for each parameter that the recommendation changes.
func (t *Tuning) changesTable() page.Table {
	now := "today"
	if t.Today == nil {
		now = "recorded"
	}
	fields := []page.Field[*Change]{
		{Column: page.Column{Head: "parameter", Key: "parameter"}, Cell: func(c *Change) page.Cell { return page.Name(c.Path) }},
		{Column: page.Column{Head: now, Key: "from", Right: true}, Cell: func(c *Change) page.Cell { return page.Name(c.From) }},
		{Column: page.Column{Head: "recommended", Key: "to", Right: true}, Cell: func(c *Change) page.Cell { return page.Name(c.To) }},
	}
	return tableOf("changes", "What changes", 1, fields, t.Changes)
}

// tableOf has one row for each of a list.
func tableOf[T any](name, title string, keys int, fields []page.Field[*T], all []T) page.Table {
	t := page.Table{Name: name, Title: title, Columns: page.ColumnsOf(fields), Keys: keys}
	t.Fill(page.RowsOf(fields, eachOf(all)))
	return t
}

func eachOf[T any](all []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range all {
			if !yield(&all[i]) {
				return
			}
		}
	}
}
