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
	tagged := func(names ...string) configurationFields { return page.Tagged(tagsOf(r, itself), itself, names...) }
	usage := slices.Concat(tagged("Cost.Mean", "Cost.PerSuccess", "Cost.Total"), bothFields(), tagged("Iterations", "Latency", "Calls", "Tokens"), meanFields(),
		tagged("CachedInput", "InputTokens", "OutputTokens", "ToolCalls", "Judging", "User"))
	// What the loop says matters less where scorers say what was so.
	if believed := tagged("Success"); r.Primary() == "" {
		fields = slices.Concat(fields, believed, usage)
	} else {
		fields = slices.Concat(fields, usage, believed.Minor())
	}
	return page.TableOf("configurations", "Configurations", slices.Concat(fields, tagged("Coverage"), stopFields(), tagged("Tasks", "Runs", "Expected"), failureFields()), r.each())
}

func itself(c *Configuration) *Configuration { return c }

func (r *Report) each() iter.Seq[*Configuration] { return page.EachOf(r.Configurations) }

// row is one of the things of which a configuration has several.
type row[T any] struct {
	*Configuration
	of *T
}

func configurationOf[T any](r row[T]) *Configuration { return r.Configuration }

// partFields are the tagged columns of the rows, after the name of their configuration.
func partFields[T any](r *Report, names ...string) page.Fields[row[T]] {
	return append(nameFields(r, configurationOf[T]), taggedFields[T](r, names...)...)
}

func taggedFields[T any](r *Report, names ...string) page.Fields[row[T]] {
	return page.Tagged(tagsOf(r, configurationOf[T]), func(row row[T]) *T { return row.of }, names...)
}

// tagsOf are the forms of a report's numbers, and the warnings about rows of its configurations.
func tagsOf[T any](r *Report, of func(T) *Configuration) page.Tags[T] {
	digits := r.scoreDigits()
	return page.Tags[T]{
		Forms: map[string]func(page.Value) string{
			"percent": page.Percent, "whole": page.Whole, "seconds": page.Seconds, "extra seconds": page.ExtraSeconds,
			"dollars": r.dollars, "extra dollars": r.extraDollars, "score": r.shownScore(),
			"precise": func(v page.Value) string { return page.Score(v, digits) },
			"gain":    func(v page.Value) string { return page.Gain(v, digits) },
		},
		About: r.Primary(),
		Warn: func(row T, kinds []string) (notes []page.Warning) {
			for _, kind := range kinds {
				notes = append(notes, of(row).notesOf("", WarningKind(kind))...)
			}
			return notes
		},
	}
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

func scoreFields(r *Report, i int) configurationFields {
	key, digits := r.Scorers[i], r.scoreDigits()
	form := func(v page.Value) string { return page.Score(v, digits) }
	fields := slices.Concat(
		page.Of(page.Column{Key: key + "_mean", Right: true}, func(c *Configuration) page.Cell {
			return page.Number(c.Scores[i].Mean.Value, form, c.notesOf(key, Unscored, NotScored, UnequalRuns)...)
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
	counts := page.Tags[*Configuration]{Prefix: key + "_"}
	return slices.Concat(fields, page.Ends(key, func(c *Configuration) page.Range { return c.Scores[i].Mean.Range }),
		page.Tagged(counts, func(c *Configuration) *Score { return &c.Scores[i] }))
}

func interval(s *Score, form func(page.Value) string) string {
	between := s.Mean.OnScale(s.unit)
	switch {
	case s.Scored == 0:
		return ""
	case !between.Low.Known():
		return page.Nothing
	}
	return form(between.Low) + "–" + form(between.High)
}

// stopFields are how the runs stopped.
func stopFields() configurationFields {
	return append(page.Of(page.Column{Head: "phase limits used", List: true}, phasesUsed).Optional().ForPeople(),
		page.Of(page.Column{Head: "stopped by", Key: "stops", List: true}, stopsInOneCell).Optional()...)
}

// failureFields are what went wrong, for machines.
func failureFields() configurationFields {
	return slices.Concat(
		page.Counted("", "faults", func(c *Configuration) int { return countAll(c.Faults) }),
		page.Counted("", "agent_failed", func(c *Configuration) int { return countAll(c.Failures) }),
		page.Counted("", "cancelled", func(c *Configuration) int { return c.Cancelled }),
		page.Named("", "warnings", func(c *Configuration) string {
			texts := make([]string, len(c.Warnings))
			for i, w := range c.Warnings {
				texts[i] = w.Text().Visible()
			}
			return strings.Join(texts, "; ")
		})).ForMachines()
}

func phasesUsed(c *Configuration) page.Cell {
	var parts []string
	for _, l := range c.Limits {
		if phase, ok := l.phase(); ok {
			parts = append(parts, phase+" "+page.Percent(l.Share.Value))
		}
	}
	return page.Cell{Text: strings.Join(parts, ", "), Foreign: true}
}

func stopsInOneCell(c *Configuration) page.Cell {
	text, raw := make([]string, len(c.Stops)), make([]string, len(c.Stops))
	for i := range c.Stops {
		text[i] = c.Stops[i].Name() + " " + page.Percent(c.Stops[i].Share.Value)
		raw[i] = fmt.Sprintf("%s=%d", c.Stops[i].Name(), c.Stops[i].Runs)
	}
	return page.Cell{Text: strings.Join(text, ", "), Raw: strings.Join(raw, "; "), Foreign: true}
}

// bothFields are two quantiles of the iterations and of the time, in one column each.
func bothFields() configurationFields {
	both := func(head string, spread func(*Configuration) *Spread, form func(page.Value) string) configurationFields {
		return page.Right(head+"\np50 / p95", "", func(c *Configuration) page.Cell {
			s := spread(c)
			if !s.P50.Known() {
				return page.Cell{Text: s.P50.Missing, Warnings: c.notesOf("", Untimed)}
			}
			return page.Cell{Text: page.Joined(form(s.P50.Value), " / ", form(s.P95))}
		}).ForPeople()
	}
	return append(both("iterations", func(c *Configuration) *Spread { return &c.Iterations }, page.Whole),
		both("latency", func(c *Configuration) *Spread { return &c.Latency }, page.Seconds)...)
}

// meanFields are for people: the mean of what machines have beside the quantiles, and tokens of both kinds in one column.
func meanFields() configurationFields {
	return slices.Concat(
		page.Valued("iterations\nmean", "", page.Whole, func(c *Configuration) page.Value { return c.Iterations.Mean.Value }).Minor().ForPeople(),
		page.ShownInterval("mean\n95%", page.Whole, func(c *Configuration) page.Range { return c.Iterations.Mean.Range }),
		page.Of(page.Column{Head: "tokens\nin / out", Right: true, Minor: true}, func(c *Configuration) page.Cell {
			if !c.InputTokens.Known() {
				return page.Cell{Text: c.InputTokens.Missing}
			}
			return page.Cell{Text: page.Whole(c.InputTokens.Value) + " / " + page.Whole(c.OutputTokens.Value)}
		}).ForPeople())
}
