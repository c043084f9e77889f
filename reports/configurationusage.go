package reports

import (
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/numbers"
	"github.com/agentbench/agentbench/reports/page"
)

// paceFields are how many iterations and how much time a run takes.
func paceFields() []configurationField {
	both := func(spread func(*Configuration) Spread, form func(numbers.Value) string) func(*Configuration) page.Cell {
		return func(c *Configuration) page.Cell {
			s := spread(c)
			if !s.P50.Known() {
				return page.Cell{Text: numbers.Nothing}
			}
			return page.Cell{Text: numbers.Joined(form(s.P50), " / ", form(s.P95))}
		}
	}
	iterations := func(c *Configuration) Spread { return c.Iterations }
	latency := func(c *Configuration) Spread { return c.Latency }
	return slices.Concat(
		[]configurationField{{Column: page.Column{Head: "iterations\np50 / p95", Right: true, Only: page.People}, Cell: both(iterations, numbers.Count)}},
		[]configurationField{{Column: page.Column{Head: "latency\np50 / p95", Right: true, Only: page.People}, Cell: both(latency, numbers.Seconds)}},
		spreadFields("iterations", iterations, numbers.Count), spreadFields("latency_s", latency, numbers.Seconds))
}

// spreadFields are the mean and the quantiles for machines, and the interval of
// the median for people, too.
func spreadFields(key string, spread func(*Configuration) Spread, form func(numbers.Value) string) []configurationField {
	part := func(name string, value func(Spread) numbers.Value) configurationField {
		return configurationField{Column: page.Column{Key: key + "_" + name, Only: page.Machines},
			Cell: func(c *Configuration) page.Cell { return page.Number(value(spread(c)), numbers.Count) }}
	}
	return slices.Concat(
		[]configurationField{part("mean", func(s Spread) numbers.Value { return s.Mean })},
		page.Ends(key+"_mean", func(c *Configuration) numbers.Range { return spread(c).MeanInterval }),
		[]configurationField{part("p50", func(s Spread) numbers.Value { return s.P50 })},
		page.Interval(strings.TrimSuffix(key, "_s")+"\np50 95%", key+"_p50", form, func(c *Configuration) numbers.Range { return spread(c).P50Interval }),
		[]configurationField{part("p95", func(s Spread) numbers.Value { return s.P95 })})
}

// usageFields are what a run uses; the judging inside the loop is part of it.
func usageFields() []configurationField {
	usage := func(head, key string, value func(*Configuration) numbers.Value) configurationField {
		return configurationField{Column: page.Column{Head: head, Key: key, Right: true}, Cell: func(c *Configuration) page.Cell {
			return page.Number(value(c), numbers.Count)
		}}
	}
	optional := func(f configurationField) configurationField {
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
	tokens := usage("tokens", "tokens", func(c *Configuration) numbers.Value { return c.Tokens })
	tokens.Cell = func(c *Configuration) page.Cell {
		return page.Number(c.Tokens, numbers.Count, c.notesOf("", Estimated, Unreported)...)
	}
	calls := usage("calls", "calls", func(c *Configuration) numbers.Value { return c.Calls })
	calls.Cell = func(c *Configuration) page.Cell {
		return page.Number(c.Calls, numbers.Count, c.notesOf("", Unreported)...)
	}
	iterations := func(c *Configuration) numbers.Range { return c.Iterations.MeanInterval }
	between := func(name string, of func(*Configuration) numbers.Range) []configurationField {
		return page.Interval(name+"\n95%", name, numbers.Count, of)
	}
	return slices.Concat([]configurationField{calls}, between("calls", func(c *Configuration) numbers.Range { return c.CallsInterval }),
		[]configurationField{tokens}, between("tokens", func(c *Configuration) numbers.Range { return c.TokensInterval }), []configurationField{
			{Column: page.Column{Head: "iterations\nmean", Right: true, Only: page.People, Minor: true}, Cell: func(c *Configuration) page.Cell {
				return page.Number(c.Iterations.Mean, numbers.Count)
			}},
			page.ShownInterval("mean\n95%", numbers.Count, iterations),
			{Column: page.Column{Head: "tokens\nin / out", Right: true, Only: page.People, Minor: true}, Cell: inAndOut},
			forMachines(usage("", "input_tokens", func(c *Configuration) numbers.Value { return c.InputTokens })),
			forMachines(usage("", "output_tokens", func(c *Configuration) numbers.Value { return c.OutputTokens })),
			page.Minor(optional(usage("tool\ncalls", "tool_calls", func(c *Configuration) numbers.Value { return c.ToolCalls }))),
			page.Minor(optional(usage("judging\ncalls", "judging_calls", func(c *Configuration) numbers.Value { return c.Judging.Calls }))),
			page.Minor(optional(usage("judging\ntokens", "judging_tokens", func(c *Configuration) numbers.Value { return c.Judging.Tokens }))),
			{Column: page.Column{Key: "judging_cost_usd", Only: page.Machines}, Cell: func(c *Configuration) page.Cell {
				return page.Number(c.Judging.Cost, numbers.Count)
			}},
		})
}

func forMachines(f configurationField) configurationField {
	f.Only = page.Machines
	return f
}

func inAndOut(c *Configuration) page.Cell {
	if !c.InputTokens.Known() {
		return page.Cell{Text: c.InputTokens.Missing}
	}
	return page.Cell{Text: numbers.Count(c.InputTokens) + " / " + numbers.Count(c.OutputTokens)}
}
