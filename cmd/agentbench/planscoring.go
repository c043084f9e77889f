package main

import (
	"fmt"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/reports/page"
)

// worstCase is the worst case of all runs of a plan, and of their scores.
type worstCase struct {
	each []plan.Worst // of each configuration
	// paid is what of them is to be paid where configurations share calls.
	paid    plan.Worst
	asking  []plan.Asking
	scoring []plan.Scoring // of each of them
}

// runs is the worst case of all runs together.
func (w *worstCase) runs() (total plan.Worst) {
	for i := range w.each {
		total = total.Plus(w.each[i])
	}
	return total
}

// scores is the worst case of all scores together.
func (w *worstCase) scores() (total plan.Scoring) {
	for i := range w.scoring {
		total = total.Plus(w.scoring[i])
	}
	return total
}

// tellScoring prints what scores cost at most, where scorers ask others.
func (p *program) tellScoring(w *worstCase) error {
	if len(w.asking) == 0 {
		return nil
	}
	total := w.scores()
	fmt.Fprintf(p.out, "\nscores: at most %s, %s:\n\n", count(int(total.Calls), "call", "calls"), spending(total.Worst))
	if _, err := page.Terminal(p.out, scoringTable(w), page.Screen{Width: p.width(p.out)}); err != nil {
		return fail(notMeasured, "", "%w", err)
	}
	return nil
}

func scoringTable(w *worstCase) page.Grid {
	t := page.Grid{Columns: []page.GridColumn{
		{Head: "scorer"}, {Head: "asks"}, {Head: "scores", Right: true}, {Head: "calls", Right: true}, {Head: "tokens", Right: true}, {Head: "cost", Right: true},
	}}
	for i := range w.asking {
		a, s := &w.asking[i], w.scoring[i]
		known := s.Worst
		known.Programs += s.Posts // what an endpoint uses is as little known
		t.Rows = append(t.Rows, []string{printable(a.Name), whoIsAsked(a), fmt.Sprint(s.Scores), fmt.Sprint(s.Calls), tokens(known), cost(known)})
	}
	return t
}

// whoIsAsked are those whom a scorer asks for one score: 2 models × 3 votes × 4 criteria.
func whoIsAsked(a *plan.Asking) string {
	switch a.Type {
	case "command":
		return "a program"
	case "http":
		return "an endpoint"
	}
	asked := count(len(a.Models), "model", "models")
	if a.Votes > 1 {
		asked += fmt.Sprintf(" × %d votes", a.Votes)
	}
	switch {
	case a.Type == "pairwise":
		asked += " × 2 orders"
	case len(a.Criteria) > 1:
		asked += fmt.Sprintf(" × %d criteria", len(a.Criteria))
	}
	return asked
}

// scoringNotes say what the numbers of scores hold, and what they leave out.
func scoringNotes(s plan.Scoring) (notes []string) {
	if s.Calls > 0 {
		notes = append(notes, fmt.Sprintf("half of the %s for scores only ask again where an answer cannot be read", count(int(s.Calls), "call", "calls")))
	}
	if s.Open > 0 {
		notes = append(notes, count(int(s.Open), "call shows", "calls show")+" a judge an output whose length nothing limits: tokens and cost are lower bounds")
	}
	if s.Posts > 0 {
		notes = append(notes, count(int(s.Posts), "request to an endpoint is", "requests to endpoints are")+" not in the tokens and the cost, nor are those that are tried again")
	}
	return notes
}
