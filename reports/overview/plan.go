// Package overview makes pages of what is not measured: what a plan would run and cost
// (Plan), what of a budget is left (Ledger), what a cache holds (Cache), and which
// parameters recorded runs answer for (Replayable). It decides what they show and say;
// package page decides how they look.
//
// It is no stable API.
package overview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
)

// Plan is the page of a plan of which so many runs are made at the same time: its runs,
// and what they call and cost at most.
func Plan(s *spec.Suite, p *plan.Plan, w *plan.WorstCase, workers int) *page.Sheet {
	runs, scores := w.Runs(), w.Scores()
	configurations, scorers := make([]planned, len(w.Each)), make([]asked, len(w.Asking))
	for i := range configurations {
		configurations[i] = planned{&p.Configurations[i], w.Each[i]}
	}
	for i := range scorers {
		scorers[i] = asked{&w.Asking[i], w.Scoring[i]}
	}
	sheet := &page.Sheet{
		Kind: "plan", Suite: s.Name,
		Head: page.Words(fmt.Sprintf("%s: %s × %s × %s = %s", page.Foreign(s.Name), page.Plural(p.Tasks, "task", "tasks"),
			page.Plural(len(p.Configurations), "configuration", "configurations"), page.Plural(p.Trials, "trial", "trials"), page.Plural(p.Runs(), "run", "runs"))),
		Said: page.Saying(fmt.Sprintf("at most %s, %s, %s", page.Plural(int(runs.Iterations), "iteration", "iterations"), callsIn(runs), spending(runs))),
		List: []page.Table{page.TableOf("configurations", "At most, by configuration", planFields, slices.Values(configurations))},
	}
	if p.Part != nil {
		sheet.Notes = append(sheet.Notes, page.Saying(PartText(p)))
	}
	if len(w.Asking) > 0 {
		title := fmt.Sprintf("Scores: at most %s, %s", page.Plural(int(scores.Calls), "call", "calls"), spending(scores.Worst))
		sheet.List = append(sheet.List, page.TableOf("scores", title, scoringFields, slices.Values(scorers)))
	}
	sheet.Notes = append(sheet.Notes, planNotes(s, p, w, workers)...)
	return sheet
}

// PartText says in words which part of a suite a plan is: shard 2 of 3, with 13 of 40
// tasks.
func PartText(p *plan.Plan) string {
	part := p.Part
	return fmt.Sprintf("shard %d of %d, with %d of %s", part.Number, part.Of, p.Tasks, page.Plural(part.Whole(), "task", "tasks"))
}

// PlanTables are the tables of a plan.
var PlanTables = []string{"configurations", "scores"}

// planned is a configuration and the worst case of all its runs.
type planned struct {
	*spec.Resolved
	plan.Worst
}

var planFields = []page.Field[planned]{
	{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: func(c planned) page.Cell { return page.Name(c.Name) }},
	{Column: page.Column{Head: "stages", Key: "stages", List: true, Optional: true}, Cell: func(c planned) page.Cell { return stages(c.Loop) }},
	{Column: page.Column{Head: "sum", Key: "sum_of_stages", Right: true, Optional: true}, Cell: func(c planned) page.Cell {
		_, _, sum := c.Loop.EffectiveMax()
		return limit(sum, page.Nothing)
	}},
	{Column: page.Column{Head: "iterations\nper run", Key: "iterations_per_run", Right: true}, Cell: func(c planned) page.Cell { return limit(plan.MaxIterations(c.Loop), page.None) }},
	{Column: page.Column{Head: "calls", Key: "calls", Right: true}, Cell: func(c planned) page.Cell {
		if c.Limitless > 0 {
			return page.Cell{Text: page.Unknown}
		}
		return whole(c.Calls)
	}},
	{Column: page.Column{Head: "tokens", Key: "tokens", Right: true}, Cell: func(c planned) page.Cell { return tokens(c.Worst) }},
	{Column: page.Column{Head: "cost", Key: "cost_usd", Right: true}, Cell: func(c planned) page.Cell { return cost(c.Worst) }},
	{Column: page.Column{Key: "lower_bound", Only: page.Machines}, Cell: func(c planned) page.Cell {
		return page.Text(map[bool]string{true: "yes", false: "no"}[isLower(c.Worst)])
	}},
}

func callsIn(w plan.Worst) string {
	if w.Limitless > 0 {
		return "an unknown number of calls"
	}
	return page.Plural(int(w.Calls), "call", "calls")
}

// whole is a number that is shown with all its digits.
func whole(n int64) page.Cell { return page.Cell{Text: fmt.Sprint(n), Raw: int(n)} }

func limit(n int, without string) page.Cell {
	if n == 0 {
		return page.Cell{Text: without}
	}
	return whole(int64(n))
}

// stages are the phases or strategies with their limits: planning 1, execution 5.
func stages(l *spec.Loop) page.Cell {
	var parts []string
	for _, s := range l.Stages() {
		switch {
		case s.Name == "":
		case s.Limit == 0:
			parts = append(parts, s.Name)
		default:
			parts = append(parts, fmt.Sprintf("%s %d", s.Name, s.Limit))
		}
	}
	if len(parts) == 0 {
		return page.Cell{Text: page.Nothing}
	}
	return page.Name(strings.Join(parts, ", "))
}

// isLower reports whether tokens and cost are no upper bounds.
func isLower(w plan.Worst) bool { return w.Unbounded > 0 || w.Programs > 0 || w.Open > 0 }

func bound(w plan.Worst, number string) string {
	if isLower(w) {
		return "≥ " + number
	}
	return number
}

func tokens(w plan.Worst) page.Cell {
	if w.Calls == w.Served && w.Programs > 0 {
		return page.Cell{Text: page.Unknown}
	}
	return page.Cell{Text: bound(w, fmt.Sprint(w.Tokens)), Raw: int(w.Tokens)}
}

func cost(w plan.Worst) page.Cell {
	switch {
	case w.Unpriced > 0:
		return page.Cell{Text: page.Unpriced}
	case w.Calls == w.Served && w.Programs > 0:
		return page.Cell{Text: page.Unknown}
	}
	return page.Cell{Text: bound(w, page.USD(w.Cost.Dollars())), Raw: w.Cost.Dollars()}
}

func spending(w plan.Worst) string {
	switch {
	case w.Calls == w.Served && w.Programs > 0:
		return "tokens and cost unknown"
	case w.Unpriced > 0:
		return tokens(w).Text + " tokens, cost unknown"
	}
	return tokens(w).Text + " tokens, " + cost(w).Text
}

// asked is a scorer that asks others, and the worst case of its scores.
type asked struct {
	*plan.Asking
	of plan.Scoring
}

// known is a worst case in which what endpoints use is as little known as what programs do.
func (a asked) known() plan.Worst {
	known := a.of.Worst
	known.Programs += a.of.Posts
	return known
}

var scoringFields = []page.Field[asked]{
	{Column: page.Column{Head: "scorer", Key: "scorer"}, Cell: func(a asked) page.Cell { return page.Name(a.Name) }},
	{Column: page.Column{Head: "asks", Key: "asks"}, Cell: func(a asked) page.Cell { return page.Text(whoIsAsked(a.Asking)) }},
	{Column: page.Column{Head: "scores", Key: "scores", Right: true}, Cell: func(a asked) page.Cell { return whole(a.of.Scores) }},
	{Column: page.Column{Head: "calls", Key: "calls", Right: true}, Cell: func(a asked) page.Cell { return whole(a.of.Calls) }},
	{Column: page.Column{Head: "tokens", Key: "tokens", Right: true}, Cell: func(a asked) page.Cell { return tokens(a.known()) }},
	{Column: page.Column{Head: "cost", Key: "cost_usd", Right: true}, Cell: func(a asked) page.Cell { return cost(a.known()) }},
}

// whoIsAsked are those whom a scorer asks for one score: 2 models × 3 votes × 4 criteria.
func whoIsAsked(a *plan.Asking) string {
	switch a.Type {
	case "command", "test":
		return "a program"
	case "http":
		return "an endpoint"
	}
	asked := page.Plural(len(a.Models), "model", "models")
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

// planNotes say what configurations share, what the numbers leave out, whether the
// budget covers them, and which parameters of tune need runs of their own.
func planNotes(s *spec.Suite, p *plan.Plan, w *plan.WorstCase, workers int) (notes []page.Words) {
	runs, scores := w.Runs(), w.Scores()
	say := func(texts ...string) {
		for _, text := range texts {
			notes = append(notes, page.Saying(text))
		}
	}
	paid := w.Paid
	if runs.Served+runs.Limitless > 0 {
		paid = runs // how many calls of programs are shared is not known
	}
	if paid.Calls < runs.Calls {
		say(fmt.Sprintf("configurations that begin alike share calls: at most %d of the %d are made and paid (%s), "+
			"fewer where runs stop early; with --cache off all of them", paid.Calls, runs.Calls, spending(paid)))
	}
	say(leftOut(runs, scores)...)
	if s.PricesAsOf != "" {
		notes = append(notes, page.Words("prices as of "+s.PricesAsOf+", from "+page.Foreign(s.Prices)))
	}
	say(budgetNotes(s, p, w, paid.Plus(scores.Worst), workers)...)
	for _, row := range tuned(s) {
		notes = append(notes, page.Words(fmt.Sprintf("tune %s: %s: %s", page.Foreign(row.Path), row.Class, page.Foreign(row.sentence()))))
	}
	return notes
}

// leftOut are notes about what the numbers hold that is seldom needed, and what they leave out.
func leftOut(runs plan.Worst, scores plan.Scoring) (notes []string) {
	total := runs.Plus(scores.Worst)
	const lower = ": tokens and cost are lower bounds"
	for _, note := range []struct {
		count                   int64
		before, one, many, rest string
	}{
		{scores.Calls, "half of the ", "call", "calls", " for scores only ask again where an answer cannot be read"},
		{scores.Open, "", "call shows", "calls show", " a judge an output whose length nothing limits" + lower},
		{scores.Posts, "", "request to an endpoint is", "requests to endpoints are", " not in the tokens and the cost, nor are those that are tried again"},
		{total.Unbounded, "", "call has", "calls have", " no max_output_tokens" + lower},
		{total.Unpriced, "", "call has", "calls have", " no price: the cost is unknown"},
		{total.Limitless, "", "run of a program makes", "runs of programs make", " as many calls as they want: guards.budget.steps or agent.max_steps limits them"},
		{total.Served, "", "call is a step", "calls are steps", " of programs: titles, summaries and retries come on top"},
		{total.Programs, "", "run of a program is", "runs of programs are", " not in the tokens and the cost"},
		{runs.Open, "", "call sends", "calls send", " along what tools gave" + lower},
		{total.Handed, "one task to each delegate in every step is counted, ", "task", "tasks", "; an agent may hand out more"},
	} {
		if note.count > 0 {
			notes = append(notes, note.before+page.Plural(int(note.count), note.one, note.many)+note.rest)
		}
	}
	return notes
}

// budgetNotes report whether the budget of the suite covers the worst case, and by how much it
// may be exceeded, where replies have no limit that could be reserved. Only what is paid
// counts against it.
func budgetNotes(s *spec.Suite, p *plan.Plan, w *plan.WorstCase, total plan.Worst, workers int) (notes []string) {
	short := func(is bool, what string) {
		if is {
			notes = append(notes, "the worst case exceeds the budget of "+what+": the suite may stop before its end")
		}
	}
	b := &s.Budget
	short(b.CostUSD > 0 && total.Cost > stop.Dollars(b.CostUSD), page.USD(b.CostUSD))
	short(b.Tokens > 0 && total.Tokens > b.Tokens, fmt.Sprintf("%d tokens", b.Tokens))
	short(b.Calls > 0 && total.Calls > b.Calls, fmt.Sprintf("%d calls", b.Calls))
	over, longer := w.Overshoot(p, workers), ""
	switch {
	case over.Calls == 0:
	case b.CostUSD > 0 && over.Per1000 > 0:
		longer = page.USD(over.Per1000.Dollars())
	case b.Tokens > 0:
		longer = fmt.Sprintf("%d tokens", 1000*over.Calls)
	}
	if longer != "" {
		notes = append(notes, fmt.Sprintf("without max_output_tokens, %d tokens are reserved for a reply: %s in flight may exceed the budget by %s for each 1000 tokens that replies are longer",
			pace.DefaultMaxOutput, page.Plural(over.Calls, "call", "calls"), longer))
	}
	return notes
}
