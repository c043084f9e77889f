package main

import (
	"fmt"
	"slices"

	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// planNotes say what configurations share, what the numbers leave out, whether the
// budget covers them, and which parameters of tune need runs of their own.
func planNotes(s *spec.Suite, planned *plan.Plan, w *worstCase) []string {
	runs, scores := w.runs(), w.scores()
	return slices.Concat(sharedNotes(runs, w.paid), leftOut(s, runs, scores), budgetNotes(s, planned, w.paid.Plus(scores.Worst)), tuneNotes(s))
}

func sharedNotes(total, paid plan.Worst) []string {
	if paid.Calls >= total.Calls {
		return nil
	}
	return []string{fmt.Sprintf("configurations that begin alike share calls: at most %d of the %d are made and paid (%s), "+
		"fewer where runs stop early; with --cache off all of them", paid.Calls, total.Calls, spending(paid))}
}

// tellNotes prints notes below a table, in lines that fit.
func (p *program) tellNotes(notes []string) {
	if len(notes) > 0 {
		fmt.Fprintln(p.out)
	}
	for _, note := range notes {
		for i, line := range page.Wrap(note, p.width(p.out)-2) {
			fmt.Fprintln(p.out, []string{"- ", "  "}[min(i, 1)]+line)
		}
	}
}

func leftOut(s *spec.Suite, runs plan.Worst, scores plan.Scoring) []string {
	notes, total := scoringNotes(scores), runs.Plus(scores.Worst)
	if total.Unbounded > 0 {
		notes = append(notes, count(int(total.Unbounded), "call has", "calls have")+" no max_output_tokens: tokens and cost are lower bounds")
	}
	if total.Unpriced > 0 {
		notes = append(notes, count(int(total.Unpriced), "call has", "calls have")+" no price: the cost is unknown")
	}
	if total.Programs > 0 {
		notes = append(notes, count(int(total.Programs), "run of a program is", "runs of programs are")+" not in the tokens and the cost")
	}
	if runs.Open > 0 {
		notes = append(notes, count(int(runs.Open), "call sends", "calls send")+" along what tools gave: tokens and cost are lower bounds")
	}
	if total.Handed > 0 {
		notes = append(notes, "one task to each delegate in every step is counted, "+count(int(total.Handed), "task", "tasks")+"; an agent may hand out more")
	}
	if s.PricesAsOf != "" {
		notes = append(notes, "prices as of "+s.PricesAsOf+", from "+printable(s.Prices))
	}
	return notes
}

// budgetNotes say whether the budget of the suite covers the worst case, and
// whether it may be exceeded. Only what is paid counts against it.
func budgetNotes(s *spec.Suite, planned *plan.Plan, total plan.Worst) (notes []string) {
	short := func(is bool, what string) {
		if is {
			notes = append(notes, "the worst case exceeds the budget of "+what+": the suite may stop before its end")
		}
	}
	b := &s.Budget
	short(b.CostUSD > 0 && total.Cost > stop.Dollars(b.CostUSD), dollars(b.CostUSD))
	short(b.Tokens > 0 && total.Tokens > b.Tokens, fmt.Sprintf("%d tokens", b.Tokens))
	short(b.Calls > 0 && total.Calls > b.Calls, fmt.Sprintf("%d calls", b.Calls))
	if note := overshootNote(s, plan.OvershootOf(planned, plan.AskingOf(s), modelsOf(s), workers(s))); note != "" {
		notes = append(notes, note)
	}
	return notes
}

// overshootNote tells by how much the budget may be exceeded, where replies have
// no limit that could be reserved.
func overshootNote(s *spec.Suite, o plan.Overshoot) string {
	longer := ""
	switch {
	case o.Calls == 0:
	case s.Budget.CostUSD > 0 && o.Per1000 > 0:
		longer = dollars(o.Per1000.Dollars())
	case s.Budget.Tokens > 0:
		longer = fmt.Sprintf("%d tokens", 1000*o.Calls)
	}
	if longer == "" {
		return ""
	}
	return fmt.Sprintf("without max_output_tokens, %d tokens are reserved for a reply: %s in flight may exceed the budget by %s for each 1000 tokens that replies are longer",
		pace.DefaultMaxOutput, count(o.Calls, "call", "calls"), longer)
}

func modelsOf(s *spec.Suite) map[string]*spec.Model {
	models := map[string]*spec.Model{}
	for i := range s.Models {
		models[s.Models[i].Key] = &s.Models[i].Value
	}
	return models
}
