package reports

import (
	"fmt"
	"iter"

	"github.com/agentbench/agentbench/reports/page"
)

type judgesRow struct {
	configuration *Configuration
	*Judges
}

// judgesTable tells of the scorers that asked others: what that took, which is in
// no cost of a run, and how much their votes differ, beside what trials and tasks
// do.
func judgesTable(r *Report) page.Table {
	count := func(head, key string, of func(judgesRow) int) page.Field[judgesRow] {
		return page.Field[judgesRow]{Column: page.Column{Head: head, Key: key, Right: true}, Cell: func(row judgesRow) page.Cell { return page.Count(of(row)) }}
	}
	number := func(head, key string, form func(page.Value) string, of func(*Judges) page.Value, kinds ...WarningKind) page.Field[judgesRow] {
		return page.Field[judgesRow]{Column: page.Column{Head: head, Key: key, Right: true, Optional: true}, Cell: func(row judgesRow) page.Cell {
			return page.Number(of(row.Judges), form, row.configuration.notesOf(row.Scorer, kinds...)...)
		}}
	}
	score := func(v page.Value) string { return page.Score(v, 2) }
	variance := func(v page.Value) string { return page.Score(v, 3) }
	fields := append(nameFields(r, func(row judgesRow) *Configuration { return row.configuration }), []page.Field[judgesRow]{
		{Column: page.Column{Head: "score", Key: "scorer"}, Cell: func(row judgesRow) page.Cell { return page.Name(row.Scorer) }},
		count("scores", "scores", func(row judgesRow) int { return row.Scores }),
		count("votes", "votes", func(row judgesRow) int { return row.Votes }),
		number("votes\ndiffer", "votes_differ", page.Percent, func(j *Judges) page.Value { return j.Differ }, VotesDiffer),
		number("order\nmatters", "order_changed", page.Percent, func(j *Judges) page.Value { return j.Changed }, FirstPlace),
		number("cost", "cost_usd", r.dollars, func(j *Judges) page.Value { return j.Cost }),
		{Column: page.Column{Head: "failed", Key: "failed", Right: true, Optional: true}, Cell: failedVotes},
		page.Minor(count("repaired", "repaired", func(row judgesRow) int { return row.Repaired })),
		page.Minor(count("calls", "calls", func(row judgesRow) int { return int(row.Calls) })),
		page.Minor(number("tokens", "tokens", page.Whole, func(j *Judges) page.Value { return j.Tokens })),
		page.Wide(number("SD of\nvotes", "votes_sd", score, func(j *Judges) page.Value { return j.SD })),
		page.Wide(number("variance\nof votes", "variance_votes", variance, func(j *Judges) page.Value { return j.Variance })),
		page.Wide(number("within\ntasks", "variance_within", variance, func(j *Judges) page.Value { return j.Within })),
		page.Wide(number("between\ntasks", "variance_between", variance, func(j *Judges) page.Value { return j.Between })),
		page.Wide(number("first\nplace", "first_place", score, func(j *Judges) page.Value { return j.First })),
		{Column: page.Column{Key: "votes_share_of_within", Only: page.Machines}, Cell: func(row judgesRow) page.Cell { return page.Number(row.Noise, score) }},
		{Column: page.Column{Key: "pairs", Only: page.Machines}, Cell: func(row judgesRow) page.Cell { return page.Count(row.Pairs) }},
		{Column: page.Column{Key: "first_place_p", Only: page.Machines}, Cell: func(row judgesRow) page.Cell { return page.Number(row.PlaceP, score) }},
	}...)
	t := page.Table{Keys: 2, Name: "judges", Title: "What scorers asked of others, which is in no cost of a run", Columns: page.ColumnsOf(fields)}
	t.Fill(page.RowsOf(fields, r.judgesRows()))
	return t
}

// failedVotes are those that are missing, by class for machines.
func failedVotes(row judgesRow) page.Cell {
	n := countAll(row.Failed)
	if n == 0 {
		return page.Cell{Raw: ""}
	}
	return page.Cell{Text: fmt.Sprint(n), Raw: countText(row.Failed)}
}

func (r *Report) judgesRows() iter.Seq[judgesRow] {
	return func(yield func(judgesRow) bool) {
		for c := range r.each() {
			for i := range c.Judges {
				if !yield(judgesRow{c, &c.Judges[i]}) {
					return
				}
			}
		}
	}
}
