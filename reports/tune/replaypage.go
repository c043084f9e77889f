package tune

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// TableNames are the tables of a replay, in the order in which people read them.
var ReplayTableNames = []string{"configurations", "stops"}

func (r *Replay) About() (kind, suite string) { return "replay", r.Suite }

// Heading says what was recorded.
func (r *Replay) Heading() page.Words {
	parts := []string{page.Foreign(r.Suite), "recorded: " + recordings(r.Recordings), reports.Size(r.Tasks, r.Clusters), page.Plural(r.Runs, "run", "runs")}
	if r.PricesAsOf != "" {
		parts = append(parts, "prices as of "+page.Foreign(r.PricesAsOf))
	}
	return page.Words(strings.Join(parts, " · "))
}

// mostNamed is how many names a heading lists.
const mostNamed = 3

func recordings(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	var quoted []string
	for _, name := range names[:min(len(names), mostNamed)] {
		quoted = append(quoted, page.Foreign(name))
	}
	if more := len(names) - mostNamed; more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	return strings.Join(quoted, ", ")
}

// Answer counts the configurations by their label.
func (r *Replay) Answer() page.Answer {
	counts, of := map[string]int{}, 0
	for i := range r.Configurations {
		if c := &r.Configurations[i]; c.Label != LabelRecorded {
			counts[c.Label]++
			of++
		}
	}
	switch {
	case r.Runs == 0:
		return page.Answer{State: page.Errored, Text: "no run counts"}
	case of == 0:
		return page.Answer{State: page.Undecided, Text: "no configuration was replayed"}
	case counts[replay.PointExact.String()] == of:
		return page.Answer{State: page.Passed, Text: page.Words(page.Plural(of, "configuration is exact", "configurations are exact"))}
	}
	exact, are := counts[replay.PointExact.String()], "are"
	if exact == 1 || of == 1 {
		are = "is"
	}
	parts := []string{fmt.Sprintf("%d of %s %s exact", exact, page.Plural(of, "configuration", "configurations"), are)}
	for _, l := range []struct {
		label     replay.Label
		one, many string
	}{{replay.Bounded, "is bounded", "are bounded"}, {replay.NeedsCalls, "needs calls", "need calls"}, {replay.Counterfactual, "is counterfactual", "are counterfactual"}} {
		if n := counts[l.label.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, verb(n, l.one, l.many)))
		}
	}
	return page.Answer{State: page.Undecided, Text: page.Words(strings.Join(parts, ", "))}
}

func (r *Replay) Remark() page.Words {
	return page.SimulatedBy(r.Simulated)
}

func (r *Replay) Tables(page.Audience) []page.Table {
	return []page.Table{r.configurationsTable(), r.stopsTable()}
}

func (r *Replay) WholeWarnings() []page.Warning { return page.Warnings(r.Warnings) }

// Warned are all warnings, those on a configuration with its name.
func (r *Replay) Warned() iter.Seq2[string, page.Warning] {
	all := reports.NotedOn(nil, "", r.Warnings)
	for c := range page.EachOf(r.Configurations) {
		all = reports.NotedOn(all, c.Name, c.Warnings)
	}
	return all.Each
}

// Checks ask of each configuration whether it is exact; that it is not is no
// failure.
func (r *Replay) Checks() iter.Seq[page.Check] {
	return func(yield func(page.Check) bool) {
		for c := range page.EachOf(r.Configurations) {
			k := page.Check{Group: c.Name, Name: "exact", State: page.Passed, Message: c.told()}
			if c.Label != LabelRecorded && c.Label != replay.PointExact.String() {
				k.State = page.Skipped
			}
			if !yield(k) {
				return
			}
		}
	}
}

// told is the configuration in one line.
func (c *Configuration) told() string {
	parts := []string{fmt.Sprintf("%s: %d of %d runs are exact", c.Label, c.Exact, c.Runs)}
	if n := c.Faults - c.broken; n > 0 {
		parts = append(parts, page.Plural(n, "run", "runs")+" would have a fault")
	}
	if c.broken > 0 {
		parts = append(parts, page.Plural(c.broken, "run", "runs")+" had a fault")
	}
	for i := range c.Scores {
		if s := &c.Scores[i]; s.Mean.Known() {
			parts = append(parts, fmt.Sprintf("%s %s", s.Name, s.Mean.Exact()))
		} else if s.Bounds.Known() {
			parts = append(parts, fmt.Sprintf("%s from %s to %s", s.Name, s.Bounds.Low.Exact(), s.Bounds.High.Exact()))
		}
	}
	return strings.Join(parts, "; ")
}

// Facts are the parameters of a configuration.
func (r *Replay) Facts(group string) (facts []page.Fact) {
	for c := range page.EachOf(r.Configurations) {
		if c.Name == group {
			return factsOf(c.Params)
		}
	}
	return nil
}

func factsOf(params []record.Param) (facts []page.Fact) {
	for _, p := range params {
		facts = append(facts, page.Fact{Name: p.Path, Value: string(p.Value)})
	}
	return facts
}

func (r *Replay) WriteJSON(w io.Writer) error { return page.WriteObject(w, r) }

// ReplayJSONSchema describes the JSON of replays in JSON Schema (draft 2020-12).
func ReplayJSONSchema() ([]byte, error) { return reports.SchemaOf[Replay](ReplaySchema) }

// Fields are columns with their cells.
type Fields = page.Fields[*Configuration]

// Columns are what a table tells of each of some configurations.
type Columns struct {
	Configurations []Configuration
	Scorers        []string
	Runs           int          // that were recorded
	Costs          []page.Value // of the same page: money has equally many digits
}

// Label is how far the numbers of a configuration go, for some readers.
func (k *Columns) Label(readers page.Audience) Fields {
	return page.Of(page.Column{Head: "label", Key: "label", Only: readers}, func(c *Configuration) page.Cell {
		cell := page.Text(c.Label)
		cell.Warnings = notesOf(c.Warnings, "", Bounds, Branching, ToldLimits)
		return cell
	})
}

// Score is what is known of the i-th score.
func (k *Columns) Score(i int) Fields {
	name, digits := k.Scorers[i], 2
	if k.Runs >= 100 {
		digits = 3
	}
	form := func(v page.Value) string { return page.Score(v, digits) }
	of := func(c *Configuration) *Score { return &c.Scores[i] }
	counted := func(key string, n func(*Score) int) Fields {
		return page.Counted("", name+"_"+key, func(c *Configuration) int { return n(of(c)) }).ForMachines()
	}
	return slices.Concat(
		page.Right("", "", func(c *Configuration) page.Cell {
			return page.Cell{Text: c.pointOrBounds(of(c).Mean, of(c).Bounds, form), Warnings: notesOf(c.Warnings, name, ReturnUnscored)}
		}).About(name).ForPeople(),
		page.Valued("", name+"_mean", form, func(c *Configuration) page.Value { return of(c).Mean }).ForMachines(),
		page.Of(page.Column{About: name, Head: "95%", Right: true, Optional: true, Minor: i > 0, Only: page.People}, func(c *Configuration) page.Cell {
			return page.Cell{Text: of(c).Interval.OnScale(of(c).unit).Text(form), Warnings: notesOf(c.Warnings, name, "no_interval")}
		}),
		page.Ends(name, func(c *Configuration) page.Range { return of(c).Interval }),
		boundFields(name, func(c *Configuration) page.Range { return of(c).Bounds }),
		counted("successes", func(s *Score) int { return s.Successes }),
		counted("scored", func(s *Score) int { return s.Scored }),
		counted("unscored", func(s *Score) int { return s.Unscored }))
}

// change are the successes by the i-th score that are lost and gained; the
// first says what a success is.
func (k *Columns) change(i int) Fields {
	name := k.Scorers[i]
	number := func(key string, of func(*Score) int) Fields {
		column := page.Column{Head: key, About: name, Key: name + "_" + key, Right: true, Optional: true}
		if i > 0 {
			column = page.Column{Key: name + "_" + key, Only: page.Machines}
		}
		return page.Of(column, func(c *Configuration) page.Cell { return c.Among(of(&c.Scores[i]), c.Scores[i].Unscored) })
	}
	return append(number("lost", func(s *Score) int { return s.Lost }), number("gained", func(s *Score) int { return s.Gained })...)
}

// boundFields are bounds for machines.
func boundFields(key string, of func(*Configuration) page.Range) Fields {
	return append(page.Valued("", key+"_least", page.Whole, func(c *Configuration) page.Value { return of(c).Low }),
		page.Valued("", key+"_most", page.Whole, func(c *Configuration) page.Value { return of(c).High })...).ForMachines()
}

// Among is a number of the exact runs of which the score is known: there are no
// fewer among all of them, of which that of some may be unknown.
func (c *Configuration) Among(n, unscored int) page.Cell {
	cell := whole(n)
	switch {
	case c.Recorded:
		cell.Text = ""
	case c.Exact == 0:
		cell.Text = page.Nothing
	case c.Exact+c.Faults < c.Runs, unscored > 0:
		cell.Text = "≥" + cell.Text
	}
	return cell
}

// pointOrBounds shows a number, else between which ends it lies, else why there is
// nothing to show. Bounds of runs of which none is exact say next to nothing.
func (c *Configuration) pointOrBounds(point page.Value, bounds page.Range, form func(page.Value) string) string {
	switch {
	case c.Exact == 0 && !point.Known():
		return page.Nothing
	case point.Known() || !bounds.Known():
		return form(point)
	case !bounds.High.Known():
		return "≥" + form(bounds.Low)
	case !bounds.Low.Known():
		return "≤" + form(bounds.High)
	}
	return bounds.Text(form)
}

// Spent is what a run takes, and what of it is saved; money with the same digits
// everywhere. What is known of no configuration is left out for people: a note says why.
func (k *Columns) Spent() Fields {
	costs := slices.Clone(k.Costs)
	for c := range page.EachOf(k.Configurations) {
		costs = append(costs, c.Cost.Mean, c.Cost.Bounds.Low)
	}
	calls := k.amount("", "calls", page.Whole, func(c *Configuration) *Amount { return &c.Calls })
	return slices.Concat(
		k.amount("iterations", "iterations", page.Whole, func(c *Configuration) *Amount { return &c.Iterations }),
		k.amount("tokens", "tokens", page.Whole, func(c *Configuration) *Amount { return &c.Tokens }),
		k.amount("cost", "cost_usd", dollarForm(costs...), func(c *Configuration) *Amount { return &c.Cost }),
		k.amount("latency", "latency_s", page.Seconds, func(c *Configuration) *Amount { return &c.Latency }),
		slices.DeleteFunc(calls, func(f page.Field[*Configuration]) bool { return f.Only != page.Machines }))
}

func (k *Columns) amount(head, key string, form func(page.Value) string, of func(*Configuration) *Amount) Fields {
	known := slices.ContainsFunc(k.Configurations, func(c Configuration) bool { return of(&c).Mean.Known() || of(&c).Bounds.Known() })
	text := func(head string, text func(*Configuration) string) Fields {
		return page.Right(head, "", func(c *Configuration) page.Cell {
			if !known {
				return page.Cell{}
			}
			return page.Cell{Text: text(c)}
		}).Optional().ForPeople()
	}
	return slices.Concat(
		text(head, func(c *Configuration) string { return c.pointOrBounds(of(c).Mean, of(c).Bounds, form) }),
		text("saved", func(c *Configuration) string {
			if c.Recorded {
				return "" // it saves nothing
			}
			return c.pointOrBounds(of(c).Saved, of(c).SavedBounds, page.Percent)
		}),
		page.Valued("", key+"_mean", page.Whole, func(c *Configuration) page.Value { return of(c).Mean }).ForMachines(),
		boundFields(key, func(c *Configuration) page.Range { return of(c).Bounds }),
		page.Valued("", key+"_saved", page.Whole, func(c *Configuration) page.Value { return of(c).Saved }).ForMachines(),
		boundFields(key+"_saved", func(c *Configuration) page.Range { return of(c).SavedBounds }))
}

// configurationsTable has one row for each configuration in the order declared,
// the recorded ones first.
func (r *Replay) configurationsTable() page.Table {
	columns := &Columns{Configurations: r.Configurations, Scorers: r.Scorers, Runs: r.Runs}
	fields := r.labelFields(columns)
	if len(r.Scorers) > 0 {
		fields = slices.Concat(fields, columns.Score(0), columns.change(0))
	}
	fields = append(fields, columns.Spent()...)
	for i := 1; i < len(r.Scorers); i++ {
		fields = slices.Concat(fields, columns.Score(i), columns.change(i))
	}
	return page.Filled(page.Table{Name: "configurations", Title: "Configurations (means per run)", Keys: 1, Whole: len(r.Configurations) <= wholeRows}, fields, page.EachOf(r.Configurations))
}

// wholeRows is how many configurations a terminal shows without leaving any out.
const wholeRows = 50

// labelFields say which configuration it is, and how far its numbers go.
func (r *Replay) labelFields(columns *Columns) Fields {
	number := func(head, key string, of func(*Configuration) int) Fields {
		return page.Right(head, key, func(c *Configuration) page.Cell {
			n := page.Count(of(c))
			if of(c) == 0 {
				n.Text = ""
			}
			return n
		}).Optional()
	}
	recording := page.Column{Head: "recording", Key: "recording", Only: page.Machines}
	if len(r.Recordings) > 1 {
		recording.Only = page.Everyone
	}
	return slices.Concat(
		page.Named("configuration", "configuration", func(c *Configuration) string { return c.Name }),
		columns.Label(page.Everyone),
		page.Of(recording, func(c *Configuration) page.Cell { return page.Name(c.Recording) }),
		page.Right("exact\nruns", "exact", func(c *Configuration) page.Cell {
			text := fmt.Sprint(c.Exact)
			if c.Exact != c.Runs {
				text = fmt.Sprintf("%d/%d", c.Exact, c.Runs)
			}
			return page.Cell{Text: text, Raw: c.Exact, Warnings: notesOf(c.Warnings, "", WouldFault, RecordedFault)}
		}),
		page.Counted("", "runs", func(c *Configuration) int { return c.Runs }).ForMachines(),
		number("cut\nruns", "censored", func(c *Configuration) int { return c.Censored }),
		number("other\npath", "branches", func(c *Configuration) int { return c.Branches }),
		page.Counted("", "told", func(c *Configuration) int { return c.Told }).ForMachines(),
		page.Counted("", "faults", func(c *Configuration) int { return c.Faults }).ForMachines())
}

// of is something that a configuration has several of.
type of[T any] struct {
	configuration *Configuration
	it            *T
}

// ofEach are the things of all configurations, and names a column of whose they are.
func ofEach[T any](configurations []Configuration, all func(*Configuration) []T) iter.Seq[of[T]] {
	var rows []of[T]
	for c := range page.EachOf(configurations) {
		for it := range page.EachOf(all(c)) {
			rows = append(rows, of[T]{c, it})
		}
	}
	return slices.Values(rows)
}

// stopsTable says which conditions, guards and limits would have ended the runs.
func (r *Replay) stopsTable() page.Table {
	fields := slices.Concat(
		page.Named("configuration", "configuration", func(row of[StopCount]) string { return row.configuration.Name }),
		page.Of(page.Column{Head: "stopped by", Key: "reason"}, func(row of[StopCount]) page.Cell {
			return page.Cell{Text: row.it.Name, Raw: string(row.it.Reason), Foreign: true}
		}),
		page.Named("", "fired", func(row of[StopCount]) string { return row.it.Fired }).ForMachines(),
		page.Counted("runs", "runs", func(row of[StopCount]) int { return row.it.Runs }),
		page.Valued("share", "share", page.Percent, func(row of[StopCount]) page.Value { return row.it.Share }))
	return page.Filled(page.Table{Name: "stops", Title: "What stops the runs (of those that are exact)", Keys: 2}, fields,
		ofEach(r.Configurations, func(c *Configuration) []StopCount { return c.Stops }))
}

// ReplayNote is something that a reader of a number must know. It has the kinds of
// reports.Warning and those below.
type ReplayNote reports.Warning

// The kinds that reports do not have.
const (
	Bounds         reports.WarningKind = "bounds"         // Count of Of runs were cut; More: why
	Branching      reports.WarningKind = "needs_calls"    // Count of Of runs branch; More: why
	ToldLimits     reports.WarningKind = "counterfactual" // the agent of Count of Of runs knew the limit
	WouldFault     reports.WarningKind = "would_fault"    // Count of Of runs; More: why
	RecordedFault  reports.WarningKind = "recorded_fault" // Count of Of runs; More: why
	ReturnUnscored reports.WarningKind = "return_unscored"
	Unjudged       reports.WarningKind = "unjudged"
	NoTimes        reports.WarningKind = "no_times"
	NoUsage        reports.WarningKind = "no_usage"
	NoPrices       reports.WarningKind = "no_prices"
	NoTokens       reports.WarningKind = "no_tokens"
	WholeCosts     reports.WarningKind = "whole_costs" // Count of Of runs
	LeftOut        reports.WarningKind = "left_out"    // More: which of the folder's runs are not among these
	Against        reports.WarningKind = "against"     // what lost, gained and saved mean
	RaceTold       reports.WarningKind = "race"        // More: how recorded paths raced
	TriedLimits    reports.WarningKind = "tried"       // Name: whose limits were tried, More: at which values
)

// sayings are the texts of the notes on replays and tunings, those of reports among them.
var sayings = func() reports.Sayings {
	all := maps.Clone(reports.ReportSayings)
	maps.Copy(all, reports.Sayings{
		Bounds: {Say: because("%d of %d runs would have continued where the recording was cut%s: their results can lie anywhere within these bounds")},
		Branching: {
			Say:     because("%d of %d runs would take another path, which needs new calls%s: their results can lie anywhere within these bounds"),
			Serious: true,
		},
		ToldLimits: {Text: "the agent knew a limit that changes in {n} of {of} runs: no record shows what it would have done with another one", Serious: true},
		WouldFault: {Say: because("%d of %d runs would have a fault and are excluded, as after a live run%s"), Serious: true},
		RecordedFault: {
			Say:     because("%d of %d recorded runs had infrastructure errors before they would stop here, and are excluded%s: longer runs have more faults, so the others may be the easier ones"),
			Serious: true,
		},
		ReturnUnscored: {Serious: true, Say: func(n reports.Warning) string {
			return fmt.Sprintf("%s of %d of %d runs is unknown", page.Foreign(n.Name), n.Count, n.Of) + whyUnscored[sweep.Why(n.More)]
		}},
		Unjudged: {Text: "{name} could not score {n} of {of} recorded runs: means of configurations with other limits may be of other tasks", Serious: true},
		NoTimes:  {Text: "the recording has no times, so the latency is unknown"},
		NoUsage:  {Text: "{n} recorded [run has|runs have] no usage, so calls, tokens and cost are unknown"},
		NoTokens: {Text: "{n} recorded [run has|runs have] calls whose tokens are not recorded, so the tokens are unknown"},
		NoPrices: {Text: "{n} recorded [run has|runs have] calls without a price, so the cost is unknown"},
		WholeCosts: {
			Text: "{n} of {of} recorded runs have only the cost of the whole run: one that stops earlier costs between nothing and the even share of its iterations, assuming that later iterations are not cheaper than earlier ones",
		},
		Against: {Say: func(n reports.Warning) string {
			return "lost, gained and saved compare with the same runs as recorded; " + reports.SuccessBy(n.Name)
		}},
		TriedLimits: {Say: func(n reports.Warning) string {
			return "tried: the limits of " + page.Foreign(n.Name) + ", at the values that its runs distinguish: " + plainly(n.More)
		}},
		RaceTold: {Text: "{detail}"},
		LeftOut:  {Text: "{detail}"},

		ChosenBy: {Say: func(n reports.Warning) string {
			return "recommended is " + plainly(n.More) + "; the cost is " + page.Foreign(n.Name)
		}},
		ByObjective: {Text: "the objective is the smallest {name}", None: "the objective is the largest {name}"},
		LittleSaved: {Text: "little is saved: {name} falls by {detail}, which counts as the same (within " + page.Percent(page.Known(compare.DefaultRatioMargin)) + "); the change is hardly worth it"},
		OtherCost: {Say: func(n reports.Warning) string {
			return "the cost is " + page.Foreign(n.Name) + ": " + plainly(n.More)
		}},
		LuckyGoal: {Say: func(n reports.Warning) string {
			return fmt.Sprintf("overfitting check: compared with %s, the objective %s", overWhat(n.Name), n.More)
		}},
		LuckyCost: {Say: func(n reports.Warning) string {
			return fmt.Sprintf("overfitting check: compared with %s, the cost of a run %s", overWhat(n.Name), n.More)
		}},
		NotTried: {Say: func(n reports.Warning) string {
			text := fmt.Sprintf("%d of %s %s not exact (%s) and cannot be recommended", n.Count, page.Plural(n.Of, "configuration", "configurations"), verb(n.Count, "is", "are"), n.Name)
			if n.More != "" {
				text += ", for example because " + plainly(n.More)
			}
			return text
		}},
		EndedBy: {Say: func(n reports.Warning) string {
			return fmt.Sprintf("runs of %s stop most often by %s: %d of %d", n.Name, plainly(n.More), n.Count, n.Of)
		}},
		ExcludedBy: {Say: func(n reports.Warning) string {
			text := fmt.Sprintf("exact configurations that the constraint %s excludes: %d of %d", page.Foreign(n.Name), n.Count, n.Of)
			if n.More != "" {
				text += ", " + plainly(n.More)
			}
			return text
		}},
		OneStep: {
			Text: "exact configurations one step away that lose more successes than the recommended one: {n} of {of}; most of all {name}, by {more}",
			None: "exact configurations one step away that lose more successes than the recommended one: none of {of}",
		},
		CannotTake:  {Text: "{n} exact [configuration|configurations] cannot be chosen: {detail}"},
		OffTheFront: {Text: "{n} [configuration of unknown cost is|configurations of unknown cost are] not on the front"},
		ByRatios:    {Text: "change: of scores the mean difference of the tasks, of amounts the ratio of the means"},
		Alone:       {Text: "95% bound of the loss, not corrected for choosing one of many configurations; the bound in the first lines is corrected"},
		AfterAll: {Say: func(n reports.Warning) string {
			if n.Name == string(InSteps) {
				return "the bound in the first lines is corrected for the choice: configurations are tested from the loosest limits to tighter ones, and those equally many steps away share the error rate"
			}
			return fmt.Sprintf("the bound in the first lines is corrected for the choice: the error rate is divided by the %s that differ in some run", page.Plural(n.Count, "configuration", "configurations"))
		}},
		OnTheFront:   {Text: "share of the bootstrap samples of the tasks in which it is on the front"},
		FrontThinned: {Text: "shares are computed among {n} of the {of} configurations on the front, and are slightly too large"},
		FrontBounded: {Text: "shares are computed among the {n} of {of} different configurations that are on the front or next to it"},
		NoFolds:      {Text: "there are too few independent tasks to test the choice on held-out ones: what is recommended looks better than it is"},
		FoldsWithout: {Text: "the rule finds nothing in {n} [fold|folds]; the sums are without them"},
		CurveTold:    {Text: "results of stopping earlier are unknown, because the agent knows its limit: {detail}"},
		LossByUnits:  {Text: "runs of one {word} depend on each other: bounds of losses count {n} {word}[|s]"},
	})
	return all
}()

// because is a sentence about some of all runs, with the most frequent reason.
func because(form string) func(reports.Warning) string {
	return func(n reports.Warning) string {
		why := ""
		if n.More != "" {
			why = " (" + plainly(n.More) + ")"
		}
		return fmt.Sprintf(form, n.Count, n.Of, why)
	}
}

// Text is the note for people.
func (n ReplayNote) Text() page.Words {
	return sayings.Text(reports.Warning(n))
}

// Serious reports whether numbers are missing or in question.
func (n ReplayNote) Serious() bool { return sayings[n.Kind].Serious }

// whyUnscored is why the score of a run is unknown where it stops otherwise.
var whyUnscored = map[sweep.Why]string{
	sweep.NotJudged:      " for the iteration that would be returned, so the mean is unknown: agentbench score DIR SUITE --iterations scores every iteration",
	sweep.NotTold:        " for the iteration that would be returned, so the mean is unknown: score every iteration, or import the log with --when-cut 0",
	sweep.ReturnsEarlier: ", so the mean is unknown: it reads what is returned and what was done until the stop, and these runs return an earlier iteration than their last",
	sweep.StopsOtherwise: ", so the mean is unknown: it reads why a run stops, and these stop for another reason than recorded",
	sweep.StateNotJudged: ", so the mean is unknown: agentbench score DIR SUITE --at step scores the states that workspaces had at steps and at the ends of iterations",
	sweep.UsesUpSteps:    ", so the mean is unknown: the agent would reach its maximum of steps, and that output has no score",
	sweep.GoesOtherwise:  ", so the mean is unknown: it reads how iterations were judged or what they took, which would differ from the recording",
}

// notesOf are those of some kinds, about one scorer where that is named.
func notesOf(notes []ReplayNote, scorer string, kinds ...reports.WarningKind) (found []page.Warning) {
	for _, n := range notes {
		for _, kind := range kinds {
			if n.Kind == kind && (scorer == "" || scorer == n.Name) {
				found = append(found, n)
			}
		}
	}
	return found
}

// note says what a reader of the configuration's numbers must know.
func (c *Configuration) note(sum *tally) {
	for _, n := range []ReplayNote{
		{Kind: ToldLimits, Count: c.Told, Of: c.Runs}, {Kind: Branching, Count: c.Branches - c.Told, Of: c.Runs}, {Kind: Bounds, Count: c.Censored, Of: c.Runs},
		{Kind: WouldFault, Count: c.Faults - c.broken, Of: c.Runs}, {Kind: RecordedFault, Count: c.broken, Of: c.Runs},
	} {
		if n.More = sum.mostly(n.Kind); n.Count > 0 {
			c.Warnings = append(c.Warnings, n)
		}
	}
	for i := range c.Scores {
		s := &c.Scores[i]
		for i, n := range s.whys {
			if n > 0 {
				c.Warnings = append(c.Warnings, ReplayNote{Kind: ReturnUnscored, Name: s.Name, Count: n, Of: s.Unscored + s.Scored, More: string(whys[i])})
			}
		}
		if s.Mean.Known() && !s.Interval.Known() {
			c.Warnings = append(c.Warnings, ReplayNote{Kind: reports.NoInterval, Name: s.Name})
		}
	}
}

// Notes say what a reader of all numbers of these runs must know; simulated are the
// models that are, if any are.
func (b *Held) Notes(simulated []string) []ReplayNote {
	of := &Replay{Tasks: len(b.Tasks), Runs: len(b.Runs), Clusters: b.Clusters, Scorers: b.Scores}
	if b.Simulated {
		of.Simulated = simulated
	}
	return slices.DeleteFunc(of.wholeNotes([]*Held{b}), func(n ReplayNote) bool { return n.Kind == Against })
}

// wholeNotes say what a reader of all the numbers must know.
func (r *Replay) wholeNotes(held []*Held) []ReplayNote {
	notes := []ReplayNote{}
	add := func(is bool, n ReplayNote) {
		if is {
			notes = append(notes, n)
		}
	}
	var unreported, untold, unpriced, whole int
	times := true
	for _, b := range held {
		for i := range b.Runs {
			used := b.Runs[i].Run.Total()
			unreported += count(used.Unreported > 0)
			untold += count(used.Unreported == 0 && !used.TokensTold())
			unpriced += count(used.Unreported == 0 && used.Unpriced > 0)
		}
		whole += b.lumped
		times = times && b.Timed()
	}
	for s, name := range r.Scorers {
		judged, all := 0, 0
		for _, b := range held {
			for i := range b.Runs {
				all += count(b.Runs[i].Run.Outcome.Counts())
				judged += count(!math.IsNaN(pointOf(at(b.Runs[i].Scores, s)).Least))
			}
		}
		add(judged > 0 && judged < all, ReplayNote{Kind: Unjudged, Name: name, Count: all - judged, Of: all})
	}
	add(r.Simulated != nil, ReplayNote{Kind: reports.SimulatedModel, Name: cmp.Or(strings.Join(r.Simulated, ", "), "a model")})
	add(unreported > 0, ReplayNote{Kind: NoUsage, Count: unreported})
	add(untold > 0, ReplayNote{Kind: NoTokens, Count: untold})
	add(unpriced > 0, ReplayNote{Kind: NoPrices, Count: unpriced})
	add(whole > 0, ReplayNote{Kind: WholeCosts, Count: whole, Of: r.Runs})
	add(r.Runs > 0 && !times, ReplayNote{Kind: NoTimes})
	few, isFew := reports.Few(r.Tasks, r.Clusters)
	add(isFew, ReplayNote(few))
	add(r.Runs > 0, ReplayNote{Kind: Against, Name: strings.Join(r.Scorers[:min(1, len(r.Scorers))], "")})
	return notes
}
