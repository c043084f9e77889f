package reports

import (
	"slices"
	"strings"
)

// paceFields are how many iterations and how much time a run takes.
func paceFields() []configurationField {
	both := func(spread func(*Configuration) Spread, form func(Value) string) func(*Configuration) cell {
		return func(c *Configuration) cell {
			s := spread(c)
			if !s.P50.Known() {
				return cell{text: nothing}
			}
			return cell{text: joined(form(s.P50), " / ", form(s.P95))}
		}
	}
	iterations := func(c *Configuration) Spread { return c.Iterations }
	latency := func(c *Configuration) Spread { return c.Latency }
	return slices.Concat(
		[]configurationField{{column{head: "iterations\np50 / p95", right: true, only: people}, both(iterations, count)}},
		[]configurationField{{column{head: "latency\np50 / p95", right: true, only: people}, both(latency, seconds)}},
		spreadFields("iterations", iterations, count), spreadFields("latency_s", latency, seconds))
}

// spreadFields are the mean and the quantiles for machines, and the interval of
// the median for people, too.
func spreadFields(key string, spread func(*Configuration) Spread, form func(Value) string) []configurationField {
	part := func(name string, value func(Spread) Value) configurationField {
		return configurationField{column{key: key + "_" + name, only: machines},
			func(c *Configuration) cell { return of(value(spread(c)), count) }}
	}
	return slices.Concat(
		[]configurationField{part("mean", func(s Spread) Value { return s.Mean })},
		endFields(key+"_mean", func(c *Configuration) Range { return spread(c).MeanInterval }),
		[]configurationField{part("p50", func(s Spread) Value { return s.P50 })},
		intervalFields(strings.TrimSuffix(key, "_s")+"\np50 95%", key+"_p50", form, func(c *Configuration) Range { return spread(c).P50Interval }),
		[]configurationField{part("p95", func(s Spread) Value { return s.P95 })})
}

// usageFields are what a run uses; the judging inside the loop is part of it.
func usageFields() []configurationField {
	usage := func(head, key string, value func(*Configuration) Value) configurationField {
		return configurationField{column{head: head, key: key, right: true}, func(c *Configuration) cell {
			return of(value(c), count)
		}}
	}
	optional := func(f configurationField) configurationField {
		f.optional = true
		form := f.cell
		f.cell = func(c *Configuration) cell {
			shown := form(c)
			if shown.text == "0" {
				shown.text = ""
			}
			return shown
		}
		return f
	}
	tokens := usage("tokens", "tokens", func(c *Configuration) Value { return c.Tokens })
	tokens.cell = func(c *Configuration) cell { return of(c.Tokens, count, c.notesOf("", Estimated, Unreported)...) }
	calls := usage("calls", "calls", func(c *Configuration) Value { return c.Calls })
	calls.cell = func(c *Configuration) cell { return of(c.Calls, count, c.notesOf("", Unreported)...) }
	iterations := func(c *Configuration) Range { return c.Iterations.MeanInterval }
	between := func(name string, of func(*Configuration) Range) []configurationField {
		return intervalFields(name+"\n95%", name, count, of)
	}
	return slices.Concat([]configurationField{calls}, between("calls", func(c *Configuration) Range { return c.CallsInterval }),
		[]configurationField{tokens}, between("tokens", func(c *Configuration) Range { return c.TokensInterval }), []configurationField{
			{column{head: "iterations\nmean", right: true, only: people, minor: true}, func(c *Configuration) cell { return of(c.Iterations.Mean, count) }},
			intervalField("mean\n95%", count, iterations),
			{column{head: "tokens\nin / out", right: true, only: people, minor: true}, inAndOut},
			forMachines(usage("", "input_tokens", func(c *Configuration) Value { return c.InputTokens })),
			forMachines(usage("", "output_tokens", func(c *Configuration) Value { return c.OutputTokens })),
			minor(optional(usage("tool\ncalls", "tool_calls", func(c *Configuration) Value { return c.ToolCalls }))),
			minor(optional(usage("judging\ncalls", "judging_calls", func(c *Configuration) Value { return c.Judging.Calls }))),
			minor(optional(usage("judging\ntokens", "judging_tokens", func(c *Configuration) Value { return c.Judging.Tokens }))),
			{column{key: "judging_cost_usd", only: machines}, func(c *Configuration) cell { return of(c.Judging.Cost, count) }},
		})
}

func forMachines(f configurationField) configurationField {
	f.only = machines
	return f
}

func inAndOut(c *Configuration) cell {
	if !c.InputTokens.Known() {
		return cell{text: c.InputTokens.Missing}
	}
	return cell{text: count(c.InputTokens) + " / " + count(c.OutputTokens)}
}
