package reports

// paceFields are how many iterations and how much time a run takes.
func paceFields() []configurationField {
	both := func(spread func(*Configuration) Spread, form func(Value) string) func(*Configuration) cell {
		return func(c *Configuration) cell {
			s := spread(c)
			if !s.P50.Known() {
				return cell{text: nothing}
			}
			return cell{text: pair(form(s.P50), form(s.P95))}
		}
	}
	iterations := func(c *Configuration) Spread { return c.Iterations }
	latency := func(c *Configuration) Spread { return c.Latency }
	fields := []configurationField{
		{column{head: "iterations\np50 / p95", right: true, only: people}, both(iterations, count)},
		{column{head: "latency\np50 / p95", right: true, only: people}, both(latency, seconds)},
	}
	fields = append(fields, spreadFields("iterations", iterations)...)
	return append(fields, spreadFields("latency_s", latency)...)
}

func spreadFields(key string, spread func(*Configuration) Spread) []configurationField {
	part := func(name string, value func(Spread) Value) configurationField {
		return configurationField{column{key: key + "_" + name, only: machines},
			func(c *Configuration) cell { return of(value(spread(c)), count) }}
	}
	return []configurationField{
		part("mean", func(s Spread) Value { return s.Mean }),
		part("p50", func(s Spread) Value { return s.P50 }),
		part("p95", func(s Spread) Value { return s.P95 }),
	}
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
	tokens.cell = func(c *Configuration) cell { return of(c.Tokens, count, c.warningsOf("", Estimated, Unreported)...) }
	calls := usage("calls", "calls", func(c *Configuration) Value { return c.Calls })
	calls.cell = func(c *Configuration) cell { return of(c.Calls, count, c.warningsOf("", Unreported)...) }
	return []configurationField{
		calls, tokens,
		{column{head: "iterations\nmean", right: true, only: people, minor: true}, func(c *Configuration) cell { return of(c.Iterations.Mean, count) }},
		{column{head: "tokens\nin / out", right: true, only: people, minor: true}, inAndOut},
		forMachines(usage("", "input_tokens", func(c *Configuration) Value { return c.InputTokens })),
		forMachines(usage("", "output_tokens", func(c *Configuration) Value { return c.OutputTokens })),
		minor(optional(usage("tool\ncalls", "tool_calls", func(c *Configuration) Value { return c.ToolCalls }))),
		minor(optional(usage("judging\ncalls", "judging_calls", func(c *Configuration) Value { return c.Judging.Calls }))),
		minor(optional(usage("judging\ntokens", "judging_tokens", func(c *Configuration) Value { return c.Judging.Tokens }))),
		{column{key: "judging_cost_usd", only: machines}, func(c *Configuration) cell { return of(c.Judging.Cost, count) }},
	}
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
