package reports

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

// paceFields are how many iterations and how much time a run takes.
func paceFields() []configurationField {
	both := func(spread func(*Configuration) Spread, form func(page.Value) string) func(*Configuration) page.Cell {
		return func(c *Configuration) page.Cell {
			s := spread(c)
			if !s.P50.Known() {
				return page.Cell{Text: s.P50.Missing, Warnings: c.notesOf("", Untimed)}
			}
			return page.Cell{Text: page.Joined(form(s.P50), " / ", form(s.P95))}
		}
	}
	iterations := func(c *Configuration) Spread { return c.Iterations }
	latency := func(c *Configuration) Spread { return c.Latency }
	return slices.Concat(
		[]configurationField{{Column: page.Column{Head: "iterations\np50 / p95", Right: true, Only: page.People}, Cell: both(iterations, page.Whole)}},
		[]configurationField{{Column: page.Column{Head: "latency\np50 / p95", Right: true, Only: page.People}, Cell: both(latency, page.Seconds)}},
		spreadFields("iterations", iterations, page.Whole), spreadFields("latency_s", latency, page.Seconds))
}

// spreadFields are the mean and the quantiles for machines, and the interval of
// the median for people, too.
func spreadFields(key string, spread func(*Configuration) Spread, form func(page.Value) string) []configurationField {
	part := func(name string, value func(Spread) page.Value) configurationField {
		return configurationField{Column: page.Column{Key: key + "_" + name, Only: page.Machines},
			Cell: func(c *Configuration) page.Cell { return page.Number(value(spread(c)), page.Whole) }}
	}
	return slices.Concat(
		[]configurationField{part("mean", func(s Spread) page.Value { return s.Mean })},
		page.Ends(key+"_mean", func(c *Configuration) page.Range { return spread(c).MeanInterval }),
		[]configurationField{part("p50", func(s Spread) page.Value { return s.P50 })},
		page.Interval(strings.TrimSuffix(key, "_s")+"\np50 95%", key+"_p50", form, func(c *Configuration) page.Range { return spread(c).P50Interval }),
		[]configurationField{part("p95", func(s Spread) page.Value { return s.P95 })})
}

// usageFields are what a run uses; the judging inside the loop is part of it.
func usageFields() []configurationField {
	calls := amountField("calls", "calls", func(c *Configuration) page.Value { return c.Calls }, Unreported)
	tokens := amountField("tokens", "tokens", func(c *Configuration) page.Value { return c.Tokens }, Estimated, Uncounted, Unreported)
	toolCalls := amountField("tool\ncalls", "tool_calls", func(c *Configuration) page.Value { return c.ToolCalls })
	return slices.Concat([]configurationField{calls}, amountInterval("calls", "calls", func(c *Configuration) page.Range { return c.CallsInterval }),
		[]configurationField{tokens}, amountInterval("tokens", "tokens", func(c *Configuration) page.Range { return c.TokensInterval }),
		iterationsFields(), []configurationField{
			{Column: page.Column{Head: "tokens\nin / out", Right: true, Only: page.People, Minor: true}, Cell: inAndOut},
			forMachines(amountField("", "input_tokens", func(c *Configuration) page.Value { return c.InputTokens })),
		}, amountInterval("tokens in", "input_tokens", func(c *Configuration) page.Range { return c.InputTokensInterval }),
		[]configurationField{forMachines(amountField("", "output_tokens", func(c *Configuration) page.Value { return c.OutputTokens }))},
		amountInterval("tokens out", "output_tokens", func(c *Configuration) page.Range { return c.OutputTokensInterval }),
		[]configurationField{page.Minor(unlessZero(toolCalls))},
		amountInterval("tool calls", "tool_calls", func(c *Configuration) page.Range { return c.ToolCallsInterval }),
		judgingFields(), userFields())
}

// amountField is a mean per run; warnings of these kinds stand beside it.
func amountField(head, key string, value func(*Configuration) page.Value, warned ...WarningKind) configurationField {
	return configurationField{Column: page.Column{Head: head, Key: key, Right: true}, Cell: func(c *Configuration) page.Cell {
		return page.Number(value(c), page.Whole, c.notesOf("", warned...)...)
	}}
}

func amountInterval(head, key string, of func(*Configuration) page.Range) []configurationField {
	return page.Interval(head+"\n95%", key, page.Whole, of)
}

// iterationsFields are the mean for people, which machines have beside the
// quantiles.
func iterationsFields() []configurationField {
	mean := forPeople(page.Minor(amountField("iterations\nmean", "", func(c *Configuration) page.Value { return c.Iterations.Mean })))
	return []configurationField{mean, page.ShownInterval("mean\n95%", page.Whole, func(c *Configuration) page.Range { return c.Iterations.MeanInterval })}
}

// judgingFields are what the evaluations inside the loop used.
func judgingFields() []configurationField {
	return besideFields("judging", func(c *Configuration) *Judging { return &c.Judging })
}

// userFields are what the users used who answered the agents.
func userFields() []configurationField {
	return besideFields("user", func(c *Configuration) *Judging { return &c.User })
}

// besideFields are what was used beside the agent, in the ledger of that name.
func besideFields(name string, of func(*Configuration) *Judging) []configurationField {
	calls := amountField(name+"\ncalls", name+"_calls", func(c *Configuration) page.Value { return of(c).Calls })
	tokens := amountField(name+"\ntokens", name+"_tokens", func(c *Configuration) page.Value { return of(c).Tokens })
	cost := forMachines(amountField("", name+"_cost_usd", func(c *Configuration) page.Value { return of(c).Cost }))
	return slices.Concat(
		[]configurationField{page.Minor(unlessZero(calls))},
		amountInterval(name+" calls", name+"_calls", func(c *Configuration) page.Range { return of(c).CallsInterval }),
		[]configurationField{page.Minor(unlessZero(tokens))},
		amountInterval(name+" tokens", name+"_tokens", func(c *Configuration) page.Range { return of(c).TokensInterval }),
		[]configurationField{cost},
		page.Ends(name+"_cost_usd", func(c *Configuration) page.Range { return of(c).CostInterval }))
}

// unlessZero leaves a column out where all its numbers are 0.
func unlessZero(f configurationField) configurationField {
	f.Optional = true
	form := f.Cell
	f.Cell = func(c *Configuration) page.Cell {
		shown := form(c)
		if shown.Text == "0" {
			shown.Text = ""
		}
		return shown
	}
	return f
}

func forPeople(f configurationField) configurationField {
	f.Only = page.People
	return f
}

func forMachines(f configurationField) configurationField {
	f.Only = page.Machines
	return f
}

func inAndOut(c *Configuration) page.Cell {
	if !c.InputTokens.Known() {
		return page.Cell{Text: c.InputTokens.Missing}
	}
	return page.Cell{Text: page.Whole(c.InputTokens) + " / " + page.Whole(c.OutputTokens)}
}
