package reports

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
)

type configurationFields = page.Fields[*Configuration]

// configurationsTable has one row for each configuration, the most important
// columns first.
func configurationsTable(r *Report) page.Table {
	fields := slices.Concat(nameFields(r, itself), page.Right("runs", "", runsOfExpected).ForPeople())
	for i := range r.Scorers {
		fields = append(fields, scoreFields(r, i)...)
	}
	// What the loop says matters less where scorers say what was so.
	believed := perRun("loop says\nsuccess", "loop says\n95%", "success", page.Percent, func(c *Configuration) (page.Value, page.Range) { return c.Success, c.SuccessInterval }).Optional()
	if r.Primary() == "" {
		fields = slices.Concat(fields, believed, costFields(r), paceFields(), usageFields())
	} else {
		fields = slices.Concat(fields, costFields(r), paceFields(), usageFields(), believed.Minor())
	}
	return page.TableOf("configurations", "Configurations", append(fields, runFields()...), r.each())
}

func itself(c *Configuration) *Configuration { return c }

func (r *Report) each() iter.Seq[*Configuration] { return page.EachOf(r.Configurations) }

// row is one of the things of which a configuration has several.
type row[T any] struct {
	*Configuration
	of *T
}

func configurationOf[T any](r row[T]) *Configuration { return r.Configuration }

// ofEach are fields of the rows, after the name of their configuration.
func ofEach[T any](r *Report, fields ...page.Fields[*T]) page.Fields[row[T]] {
	return append(nameFields(r, configurationOf[T]), page.Over(slices.Concat(fields...), func(r row[T]) *T { return r.of })...)
}

func rowsOf[T any](r *Report, of func(*Configuration) []T) iter.Seq[row[T]] {
	return func(yield func(row[T]) bool) {
		for c := range r.each() {
			all := of(c)
			for i := range all {
				if !yield(row[T]{c, &all[i]}) {
					return
				}
			}
		}
	}
}

func runsOfExpected(c *Configuration) page.Cell {
	text := fmt.Sprint(c.Runs)
	if c.Runs != c.Expected {
		text = fmt.Sprintf("%d/%d", c.Runs, c.Expected)
	}
	return page.Cell{Text: text, Warnings: c.notesOf("", Faults, NotRun, AgentFailed, OtherModel, NotJSON)}
}

// perRun is a number of a configuration with its interval, which has a head of its
// own; warnings of these kinds are shown with the number.
func perRun(head, between, key string, form func(page.Value) string, of func(*Configuration) (page.Value, page.Range), warned ...WarningKind) configurationFields {
	return append(page.Right(head, key, func(c *Configuration) page.Cell {
		value, _ := of(c)
		return page.Number(value, form, c.notesOf("", warned...)...)
	}), page.Interval(between, key, form, func(c *Configuration) page.Range { _, interval := of(c); return interval })...)
}

func scoreFields(r *Report, i int) configurationFields {
	key, digits := r.Scorers[i], r.scoreDigits()
	form := func(v page.Value) string { return page.Score(v, digits) }
	number := func(key string, of func(*Score) int) configurationFields {
		return page.Counted("", key, func(c *Configuration) int { return of(&c.Scores[i]) }).ForMachines()
	}
	end := func(key string, of func(*Score) page.Value) configurationFields {
		return page.Valued("", key, form, func(c *Configuration) page.Value { return of(&c.Scores[i]) }).ForMachines()
	}
	fields := slices.Concat(
		page.Of(page.Column{Key: key + "_mean", Right: true}, func(c *Configuration) page.Cell {
			return page.Number(c.Scores[i].Mean, form, c.notesOf(key, Unscored, NotScored, UnequalRuns)...)
		}).About(key),
		page.Of(page.Column{Head: "95%", Right: true, Minor: i > 0}, func(c *Configuration) page.Cell {
			return page.Cell{Text: interval(&c.Scores[i], form), Warnings: c.notesOf(key, NoInterval)}
		}).About(key).Optional().ForPeople(),
		page.Right("hits", "", func(c *Configuration) page.Cell {
			if s := &c.Scores[i]; s.Binary {
				return page.Text(fmt.Sprintf("%d/%d", s.Successes, s.Scored))
			}
			return page.Text("")
		}).About(key).Optional().ForPeople())
	return slices.Concat(fields, end(key+"_low", func(s *Score) page.Value { return s.Low }), end(key+"_high", func(s *Score) page.Value { return s.High }),
		number(key+"_successes", func(s *Score) int { return s.Successes }), number(key+"_scored", func(s *Score) int { return s.Scored }),
		number(key+"_unscored", func(s *Score) int { return s.Unscored }), number(key+"_pending", func(s *Score) int { return s.Pending }))
}

func interval(s *Score, form func(page.Value) string) string {
	between := page.Range{Low: s.Low, High: s.High}.OnScale(s.unit)
	switch {
	case s.Scored == 0:
		return ""
	case !between.Low.Known():
		return page.Nothing
	}
	return form(between.Low) + "–" + form(between.High)
}

func costFields(r *Report) configurationFields {
	return slices.Concat(
		perRun("cost\nper run", "per run\n95%", "cost_usd_per_run", r.dollars, func(c *Configuration) (page.Value, page.Range) { return c.Cost.Mean, c.Cost.MeanInterval }, CutCalls, Unpriced, Unreported),
		perRun("cost per\nsuccess", "per success\n95%", "cost_usd_per_success", r.dollars, func(c *Configuration) (page.Value, page.Range) {
			return c.Cost.PerSuccess, c.Cost.PerSuccessInterval
		}, Unpriced, Unreported),
		page.Valued("", "cost_usd_total", r.dollars, func(c *Configuration) page.Value { return c.Cost.Total }).ForMachines())
}

// runFields are how the runs went and stopped.
func runFields() configurationFields {
	count := func(key string, of func(*Configuration) int) configurationFields {
		return page.Counted("", key, of).ForMachines()
	}
	return slices.Concat(
		page.Valued("coverage", "coverage", page.Percent, func(c *Configuration) page.Value { return c.Coverage }).Minor(),
		page.Of(page.Column{Head: "phase limits used", List: true}, phasesUsed).Optional().ForPeople(),
		page.Of(page.Column{Head: "stopped by", Key: "stops", List: true}, stopsInOneCell).Optional(),
		count("tasks", func(c *Configuration) int { return c.Tasks }),
		count("runs", func(c *Configuration) int { return c.Runs }),
		count("expected", func(c *Configuration) int { return c.Expected }),
		count("faults", func(c *Configuration) int { return countAll(c.Faults) }),
		count("agent_failed", func(c *Configuration) int { return countAll(c.Failures) }),
		count("cancelled", func(c *Configuration) int { return c.Cancelled }),
		page.Named("", "warnings", func(c *Configuration) string {
			texts := make([]string, len(c.Warnings))
			for i, w := range c.Warnings {
				texts[i] = w.Text(page.Visible)
			}
			return strings.Join(texts, "; ")
		}).ForMachines())
}

func phasesUsed(c *Configuration) page.Cell {
	var parts []string
	for _, l := range c.Limits {
		if phase, ok := l.phase(); ok {
			parts = append(parts, phase+" "+page.Percent(l.Share))
		}
	}
	return page.Cell{Text: strings.Join(parts, ", "), Foreign: true}
}

func stopsInOneCell(c *Configuration) page.Cell {
	text, raw := make([]string, len(c.Stops)), make([]string, len(c.Stops))
	for i := range c.Stops {
		text[i] = c.Stops[i].Name() + " " + page.Percent(c.Stops[i].Share)
		raw[i] = fmt.Sprintf("%s=%d", c.Stops[i].Name(), c.Stops[i].Runs)
	}
	return page.Cell{Text: strings.Join(text, ", "), Raw: strings.Join(raw, "; "), Foreign: true}
}

// paceFields are how many iterations and how much time a run takes.
func paceFields() configurationFields {
	both := func(head string, spread func(*Configuration) *Spread, form func(page.Value) string) configurationFields {
		return page.Right(head+"\np50 / p95", "", func(c *Configuration) page.Cell {
			s := spread(c)
			if !s.P50.Known() {
				return page.Cell{Text: s.P50.Missing, Warnings: c.notesOf("", Untimed)}
			}
			return page.Cell{Text: page.Joined(form(s.P50), " / ", form(s.P95))}
		}).ForPeople()
	}
	iterations := func(c *Configuration) *Spread { return &c.Iterations }
	latency := func(c *Configuration) *Spread { return &c.Latency }
	return slices.Concat(both("iterations", iterations, page.Whole), both("latency", latency, page.Seconds),
		spreadFields("iterations", iterations, page.Whole), spreadFields("latency_s", latency, page.Seconds))
}

// spreadFields are the mean and the quantiles for machines, and the interval of
// the median for people, too.
func spreadFields(key string, spread func(*Configuration) *Spread, form func(page.Value) string) configurationFields {
	part := func(name string, value func(*Spread) page.Value) configurationFields {
		return page.Valued("", key+"_"+name, page.Whole, func(c *Configuration) page.Value { return value(spread(c)) }).ForMachines()
	}
	return slices.Concat(
		part("mean", func(s *Spread) page.Value { return s.Mean }),
		page.Ends(key+"_mean", func(c *Configuration) page.Range { return spread(c).MeanInterval }),
		part("p50", func(s *Spread) page.Value { return s.P50 }),
		page.Interval(strings.TrimSuffix(key, "_s")+"\np50 95%", key+"_p50", form, func(c *Configuration) page.Range { return spread(c).P50Interval }),
		part("p95", func(s *Spread) page.Value { return s.P95 }))
}

// usageFields are what a run uses; the judging inside the loop is part of it.
func usageFields() configurationFields {
	amount := func(head, key string, of func(*Configuration) (page.Value, page.Range), warned ...WarningKind) configurationFields {
		return perRun(head, strings.ReplaceAll(head, "\n", " ")+"\n95%", key, page.Whole, of, warned...)
	}
	rare := func(fields configurationFields) configurationFields {
		return append(unlessZero(fields[:1]).Minor(), fields[1:]...)
	}
	forMachines := func(fields configurationFields) configurationFields {
		return append(fields[:1].ForMachines(), fields[1:]...)
	}
	beside := func(name string, of func(*Configuration) *Judging) configurationFields {
		return slices.Concat(
			rare(amount(name+"\ncalls", name+"_calls", func(c *Configuration) (page.Value, page.Range) { j := of(c); return j.Calls, j.CallsInterval })),
			rare(amount(name+"\ntokens", name+"_tokens", func(c *Configuration) (page.Value, page.Range) { j := of(c); return j.Tokens, j.TokensInterval })),
			page.Valued("", name+"_cost_usd", page.Whole, func(c *Configuration) page.Value { return of(c).Cost }).ForMachines(),
			page.Ends(name+"_cost_usd", func(c *Configuration) page.Range { return of(c).CostInterval }))
	}
	return slices.Concat(
		amount("calls", "calls", func(c *Configuration) (page.Value, page.Range) { return c.Calls, c.CallsInterval }, Unreported),
		amount("tokens", "tokens", func(c *Configuration) (page.Value, page.Range) { return c.Tokens, c.TokensInterval }, CutCalls, Estimated, Uncounted, Unreported),
		// People see the mean of what machines have beside the quantiles.
		page.Valued("iterations\nmean", "", page.Whole, func(c *Configuration) page.Value { return c.Iterations.Mean }).Minor().ForPeople(),
		page.ShownInterval("mean\n95%", page.Whole, func(c *Configuration) page.Range { return c.Iterations.MeanInterval }),
		page.Of(page.Column{Head: "tokens\nin / out", Right: true, Minor: true}, func(c *Configuration) page.Cell {
			if !c.InputTokens.Known() {
				return page.Cell{Text: c.InputTokens.Missing}
			}
			return page.Cell{Text: page.Whole(c.InputTokens) + " / " + page.Whole(c.OutputTokens)}
		}).ForPeople(),
		rare(page.Valued("cached\ninput", "cached_input", page.Percent, func(c *Configuration) page.Value { return c.CachedInput })),
		forMachines(amount("tokens in", "input_tokens", func(c *Configuration) (page.Value, page.Range) { return c.InputTokens, c.InputTokensInterval })),
		forMachines(amount("tokens out", "output_tokens", func(c *Configuration) (page.Value, page.Range) { return c.OutputTokens, c.OutputTokensInterval })),
		rare(amount("tool\ncalls", "tool_calls", func(c *Configuration) (page.Value, page.Range) { return c.ToolCalls, c.ToolCallsInterval })),
		beside("judging", func(c *Configuration) *Judging { return &c.Judging }), // what the evaluations inside the loop used
		beside("user", func(c *Configuration) *Judging { return &c.User }))       // and the users who answered the agents
}

// unlessZero leaves a column out where all its numbers are 0.
func unlessZero(f configurationFields) configurationFields {
	form := f[0].Cell
	f[0].Cell = func(c *Configuration) page.Cell {
		shown := form(c)
		if shown.Text == "0" || shown.Text == "0%" {
			shown.Text = ""
		}
		return shown
	}
	return f.Optional()
}
