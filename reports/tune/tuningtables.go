package tune

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// score shows a score with three digits, gain a change of one.
func score(v page.Value) string { return page.Score(v, 3) }

func gain(v page.Value) string { return page.Gain(v, 3) }

func tableOf[T any](name, title string, keys int, fields page.Fields[*T], all []T) page.Table {
	return page.Filled(page.Table{Name: name, Title: title, Keys: keys}, fields, page.EachOf(all))
}

// counts is a column of counts with all their digits.
func counts[T any](head, key string, of func(T) int) page.Fields[T] {
	return page.Right(head, key, func(row T) page.Cell { return whole(of(row)) })
}

// whole is a count with all its digits.
func whole(n int) page.Cell { return page.Cell{Text: fmt.Sprint(n), Raw: n} }

// named is a name from outside at the right.
func named[T any](head, key string, of func(T) string) page.Fields[T] {
	return page.Right(head, key, func(row T) page.Cell { return page.Name(of(row)) })
}

// choiceRow is a configuration with what it is to the choice.
type choiceRow struct {
	role string
	*Choice
}

// choices are today's configuration, the recommended one or the best guess, what was recorded, the
// best, and what would have been taken next or, without a recommendation, what more money buys; each once.
func (t *Tuning) choices() iter.Seq[choiceRow] {
	var rows []choiceRow
	add := func(role string, c *Choice) {
		if c == nil {
			return
		}
		at := slices.IndexFunc(rows, func(row choiceRow) bool { return row.Candidate == c.Candidate || c.Recorded && row.isLike(c) })
		if at < 0 {
			rows = append(rows, choiceRow{role, c})
		} else if !strings.HasSuffix(rows[at].role, role) {
			rows[at].role += ", " + role
		}
	}
	add("today", t.Today)
	add("recommended", t.Recommended)
	rest := roleNext
	if t.Recommended == nil {
		rest = roleTradeOff
	}
	for i := range t.Alternatives {
		if t.Guess != nil && !t.Guess.Unchanged && !t.Guess.Kept && t.Alternatives[i].Candidate == t.Guess.Candidate {
			add("best guess", &t.Alternatives[i])
		}
	}
	add("recorded", t.Recording)
	add("best", t.Best)
	for i := range t.Alternatives {
		add(rest, &t.Alternatives[i])
	}
	return slices.Values(rows)
}

// What an alternative is: what the rule would have taken next, or, where nothing is recommended,
// a row of what more money buys.
const (
	roleNext     = "next"
	roleTradeOff = "trade-off"
)

// isLike says that all numbers are those of what was recorded.
func (c *Choice) isLike(recorded *Choice) bool {
	return c.Exact == c.Runs && c.Lost == 0 && c.Gained == 0 && c.Iterations.Mean == recorded.Iterations.Mean && c.Tokens.Mean == recorded.Tokens.Mean &&
		c.Latency.Mean == recorded.Latency.Mean && slices.Equal(c.Scores, recorded.Scores)
}

// choiceTable has one row for each configuration that matters to the choice.
func (t *Tuning) choiceTable() page.Table {
	as, labels := &Columns{Runs: t.Runs}, page.Machines
	if t.Terms.Cost == "cost_usd.mean" {
		as.Costs = t.meanCosts()
	}
	for row := range t.choices() {
		as.Configurations, as.Scorers = append(as.Configurations, row.Configuration), nil
		for i := range row.Scores {
			as.Scorers = append(as.Scorers, row.Scores[i].Name)
		}
		if row.Exact < row.Runs {
			labels = page.Everyone
		}
	}
	of := func(row choiceRow) *Configuration { return &row.Configuration }
	fields := slices.Concat(
		page.Worded("", "role", func(row choiceRow) string { return row.role }),
		page.Named("configuration", "configuration", func(row choiceRow) string { return row.Name }),
		page.Over(as.Label(labels), of))
	for i := range as.Scorers {
		fields = append(fields, page.Over(as.Score(i), of)...)
		if i == 0 {
			fields = append(fields, t.termFields()...)
		}
	}
	if len(as.Scorers) == 0 {
		fields = append(fields, t.termFields()...)
	}
	fields = append(fields, page.Over(as.Spent(), of)...)
	return page.Filled(page.Table{Name: "choice", Title: "Choice (means per run)", Keys: 1, Whole: true}, fields, t.choices())
}

// termFields are the numbers that it was chosen by.
func (t *Tuning) termFields() page.Fields[choiceRow] {
	objective := page.Column{About: t.Terms.Objective, Key: "objective", Right: true}
	if t.Terms.isScore() {
		objective = page.Column{Key: "objective", Only: page.Machines}
	}
	cost := page.Column{About: t.Terms.Cost, Key: "cost", Right: true}
	if slices.Contains([]string{"cost_usd.mean", "tokens.mean", "iterations.mean", "latency.mean"}, t.Terms.Cost) { // it is shown anyway
		cost = page.Column{Key: "cost", Only: page.Machines}
	}
	cheap := t.costForm(t.meanCosts()...)
	return slices.Concat(
		page.Of(objective, func(row choiceRow) page.Cell { return page.Number(row.Objective, objectiveForm) }),
		page.Ends("objective", func(row choiceRow) page.Range { return row.ObjectiveInterval }),
		page.Right("lost", "lost", func(row choiceRow) page.Cell { return t.flips(row, row.Lost) }),
		page.Of(lostMost, func(row choiceRow) page.Cell {
			if row.Recorded {
				return page.Cell{}
			}
			return row.most()
		}),
		page.Right("gained", "gained", func(row choiceRow) page.Cell { return t.flips(row, row.Gained) }),
		page.Of(cost, func(row choiceRow) page.Cell { return page.Number(row.ChoiceCost, cheap) }),
		page.Ends("cost", func(row choiceRow) page.Range { return row.CostInterval }),
		page.Ends("latency_s", func(row choiceRow) page.Range { return row.LatencyInterval }))
}

// flips are runs that lose or gain a success: unknown where none is scored, and at least
// so many where the iteration that would be returned has no score.
func (t *Tuning) flips(row choiceRow, n int) page.Cell {
	if !row.Recorded && row.scored(t.Terms.Score) == 0 {
		return page.Number(page.Missing(page.Nothing), page.Whole)
	}
	unscored := 0
	for i := range row.Scores {
		unscored = max(unscored, row.Scores[i].Unscored)
	}
	return row.Among(n, unscored)
}

// lostMost is the column of the bounds of single configurations.
var lostMost = page.Column{Head: "95% bound,\nuncorrected", Key: "lost_most", Right: true, Warnings: page.Warnings([]Note{{Kind: Alone}})}

// most is the bound, and says where it is of the mean and not of a share of runs.
func (l *Loss) most() page.Cell {
	return page.Number(l.LostMost, func(v page.Value) string {
		if !v.Known() || !l.LossIsNet {
			return precisely(v)
		}
		return precisely(v) + " net"
	})
}

// changesTable has one row for each parameter that the recommendation changes.
func (t *Tuning) changesTable() page.Table {
	now := "today"
	if t.Today == nil {
		now = "recorded"
	}
	return tableOf("changes", "What changes", 1, slices.Concat(
		page.Named("parameter", "parameter", func(c *Change) string { return c.Path }),
		named(now, "from", func(c *Change) string { return c.From }),
		named("recommended", "to", func(c *Change) string { return c.To })), t.Changes)
}

type differenceRow struct {
	against *Versus
	*compare.Difference
}

// differencesTable compares the recommended configuration, task by task. A comparison
// with the recording that repeats the one with today's configuration is left out.
func (t *Tuning) differencesTable() page.Table {
	var rows []differenceRow
	for i := range t.Against {
		if i > 0 && t.Against[i].repeats(&t.Against[i-1]) {
			continue
		}
		for d := range t.Against[i].All {
			rows = append(rows, differenceRow{&t.Against[i], &t.Against[i].All[d]})
		}
	}
	people := func(head string, text func(differenceRow) string) page.Fields[differenceRow] {
		return page.Right(head, "", func(row differenceRow) page.Cell { return page.Cell{Text: text(row)} }).Optional().ForPeople()
	}
	fields := slices.Concat(
		page.Worded("against", "against", func(row differenceRow) string { return row.against.What }),
		page.Named("quantity", "quantity", func(row differenceRow) string { return row.Name }),
		page.Of(page.Column{Head: "verdict", Key: "verdict"}, func(row differenceRow) page.Cell {
			return page.Cell{Text: row.Verdict.Mark(), Raw: string(row.Verdict)}
		}),
		page.Right("base", "base", func(row differenceRow) page.Cell { return row.Mean(row.Base, row.dollarDigits()) }),
		page.Right("new", "new", func(row differenceRow) page.Cell { return row.Mean(row.New, row.dollarDigits()) }),
		page.Right("change", "change", func(row differenceRow) page.Cell { return row.ChangeCell(row.dollarDigits()) }).About("", Note{Kind: ByRatios}),
		people("95%", func(row differenceRow) string {
			if !row.Interval().Known() {
				return ""
			}
			return row.IntervalText(row.dollarDigits())
		}),
		page.Ends("change", func(row differenceRow) page.Range { return row.Interval() }),
		page.Valued("p", "p", page.Or(page.Nothing, page.Chance), func(row differenceRow) page.Value { return row.Value(row.P) }),
		people("won/lost\n/equal", func(row differenceRow) string {
			if row.Tasks == 0 {
				return ""
			}
			return fmt.Sprintf("%d/%d/%d", row.Wins, row.Losses, row.Ties)
		}),
		page.Counted("", "tasks", func(row differenceRow) int { return row.Tasks }).ForMachines(),
		people("1,000 runs\nsave", func(row differenceRow) string { return row.saving().text(row.against) }),
		people("save\n95%", func(row differenceRow) string {
			if saved := row.saving().Interval; saved.Known() {
				return saved.OfChange(amountForm(row.Name))
			}
			return ""
		}),
		page.Valued("", "saved_per_1000", page.Whole, func(row differenceRow) page.Value { return row.saving().Saved }).ForMachines(),
		page.Ends("saved_per_1000", func(row differenceRow) page.Range { return row.saving().Interval }))
	return page.Filled(page.Table{Name: "differences", Title: "The recommended configuration, task by task", Keys: 2}, fields, slices.Values(rows))
}

// repeats says that both compare with the same numbers: today's configuration is
// what was recorded.
func (v *Versus) repeats(other *Versus) bool {
	return slices.EqualFunc(v.All, other.All, func(a, b compare.Difference) bool {
		return a.Quantity == b.Quantity && a.Value(a.Base) == b.Value(b.Base) && a.Value(a.Change) == b.Value(b.Change) && a.Wins == b.Wins && a.Losses == b.Losses
	})
}

// saving is that of the row's quantity; of a score there is none.
func (row *differenceRow) saving() *Saving {
	for i := range row.against.Saved {
		if s := &row.against.Saved[i]; s.Quantity == row.Name {
			return s
		}
	}
	return &Saving{Saved: page.Missing(page.Nothing), Interval: page.NoRange(page.Nothing)}
}

// text is what is saved, with the part of the whole that the first lines tell.
func (s *Saving) text(v *Versus) string {
	if !s.Saved.Known() {
		return ""
	}
	text, share := amountForm(s.Quantity)(s.Saved), v.share(s.Quantity)
	if s.Saved.Number == 0 || !share.Known() {
		return text
	}
	sign := ""
	if share.Number < 0 {
		sign = "-"
	}
	return text + " (" + sign + page.Percent(page.Known(math.Abs(share.Number))) + ")"
}

// dollarDigits are one more than amounts have that are not so close.
func (d *differenceRow) dollarDigits() int {
	return 1 + page.DollarDigits(slices.Values([]page.Value{d.Value(d.Base), d.Value(d.New)}))
}

// frontTable has the configurations that none beats, the cheapest first. Where they are
// many a terminal shows some.
func (t *Tuning) frontTable() page.Table {
	var notes []Note
	if t.Unpriced > 0 {
		notes = append(notes, Note{Kind: OffTheFront, Count: t.Unpriced})
	}
	most := lostMost
	most.Optional = true
	fields := slices.Concat(
		page.Named("configuration", "configuration", func(f *FrontRow) string { return f.Name }).About("", page.Warnings(notes)...),
		page.Worded("", "role", func(f *FrontRow) string { return role(f.Recommended, f.Today) }).Optional(),
		reports.FrontFields(page.Column{About: t.Terms.Cost, Key: "cost"}, page.Column{About: t.Terms.objectiveName(), Key: "objective"}, t.costForm(t.meanCosts()...), objectiveForm,
			page.Warnings([]Note{{Kind: OnTheFront}}), func(f *FrontRow) reports.FrontPoint {
				return reports.FrontPoint{Cost: f.ChoiceCost, Quality: f.Objective, Seconds: f.Seconds, Share: f.Share}
			}),
		page.Ends("objective", func(f *FrontRow) page.Range { return f.ObjectiveInterval }),
		page.Ends("cost", func(f *FrontRow) page.Range { return f.CostInterval }),
		page.Ends("latency_s", func(f *FrontRow) page.Range { return f.LatencyInterval }),
		page.Right("successes", "successes", func(f *FrontRow) page.Cell { return f.Counted.hits() }),
		page.Right("lost", "lost", func(f *FrontRow) page.Cell {
			if !f.LostMost.Known() {
				return page.Number(f.LostMost, page.Or(page.Nothing, page.Whole))
			}
			return whole(f.Lost)
		}).Optional(),
		page.Of(most, func(f *FrontRow) page.Cell { return f.most() }),
		page.Right("iterations\nin all", "iterations", func(f *FrontRow) page.Cell { return f.Counted.made() }),
		page.Right("others\nas good", "same", func(f *FrontRow) page.Cell {
			if f.Same == 0 {
				return page.Cell{Raw: 0}
			}
			return whole(f.Same)
		}).Optional())
	table := tableOf("front", "Pareto front, the cheapest first", 1, fields, t.Front)
	table.Shown = t.frontShown()
	return table
}

// allTable has every configuration that can be chosen, the cheapest first.
func (t *Tuning) allTable() page.Table {
	cost := t.costForm(t.meanCosts()...)
	return tableOf("all", "All configurations that can be chosen, the cheapest first", 1, slices.Concat(
		page.Named("configuration", "configuration", func(a *AllRow) string { return a.Name }),
		page.Worded("", "role", func(a *AllRow) string { return role(a.Recommended, a.Today) }).Optional(),
		page.Valued("", "cost", cost, func(a *AllRow) page.Value { return a.ChoiceCost }).About(t.Terms.Cost),
		page.Valued("", "objective", objectiveForm, func(a *AllRow) page.Value { return a.Objective }).About(t.Terms.objectiveName()),
		page.Right("successes", "successes", func(a *AllRow) page.Cell { return a.Counted.hits() }),
		counts("lost", "lost", func(a *AllRow) int { return a.Lost }),
		page.Of(lostMost, func(a *AllRow) page.Cell { return a.most() }),
		counts("gained", "gained", func(a *AllRow) int { return a.Gained }),
		page.Right("iterations\nin all", "iterations", func(a *AllRow) page.Cell { return a.Counted.made() })), t.All)
}

// frontRows is how many configurations of the front a terminal shows.
const frontRows = 20

// frontShown are the rows of the front that a terminal shows where they are many:
// evenly spread, and the recommended configuration and today's among them.
func (t *Tuning) frontShown() (shown []int) {
	n := len(t.Front)
	if n <= frontRows {
		return nil
	}
	for i := range t.Front {
		if t.Front[i].Recommended || t.Front[i].Today {
			shown = append(shown, i)
		}
	}
	spread := frontRows - len(shown)
	for i := range spread {
		if at := i * (n - 1) / (spread - 1); !slices.Contains(shown, at) {
			shown = append(shown, at)
		}
	}
	return shown
}

func role(recommended, today bool) string {
	switch {
	case recommended && today:
		return "recommended, today"
	case recommended:
		return "recommended"
	case today:
		return "today"
	}
	return ""
}

// hits are the successes of the runs, made the iterations of all of them together.
func (c *Counted) hits() page.Cell {
	return page.Cell{Text: fmt.Sprintf("%d/%d", c.Hits, c.Runs), Raw: c.Hits}
}

func (c *Counted) made() page.Cell {
	return page.Cell{Text: fmt.Sprint(c.Iterations), Raw: c.Iterations}
}

// foldRow is a fold, or a sum over them.
type foldRow struct {
	name, chosen   string
	tasks          int
	train, heldOut *Counted
}

// foldsTable is the rule tried on held-out tasks.
func (t *Tuning) foldsTable() page.Table {
	rows := t.foldRows()
	var costs []page.Value
	for _, row := range rows {
		if row.heldOut != nil {
			costs = append(costs, row.heldOut.Cost)
		}
	}
	counted := func(head, key string, of func(foldRow) *Counted, cell func(*Counted) page.Cell) page.Fields[foldRow] {
		return page.Right(head, key, func(row foldRow) page.Cell {
			if of(row) == nil || of(row).Runs == 0 {
				return page.Cell{}
			}
			return cell(of(row))
		}).Optional()
	}
	train := func(row foldRow) *Counted { return row.train }
	heldOut := func(row foldRow) *Counted { return row.heldOut }
	number := func(form func(page.Value) string, of func(*Counted) page.Value) func(*Counted) page.Cell {
		return func(c *Counted) page.Cell { return page.Number(of(c), page.Or("", form)) }
	}
	fields := slices.Concat(
		page.Worded("fold", "fold", func(row foldRow) string { return row.name }),
		page.Named("chosen without it", "configuration", func(row foldRow) string { return row.chosen }),
		counts("tasks", "tasks", func(row foldRow) int { return row.tasks }),
		counted("successes", "successes", heldOut, (*Counted).hits),
		counted("score", "score", heldOut, number(score, func(c *Counted) page.Value { return c.Score })),
		counted("iterations", "iterations", heldOut, (*Counted).made),
		counted("tokens", "tokens", heldOut, number(page.Whole, func(c *Counted) page.Value { return c.Tokens })),
		counted("cost", "cost_usd", heldOut, number(dollarForm(costs...), func(c *Counted) page.Value { return c.Cost })),
		counted("latency", "latency_s", heldOut, number(page.Seconds, func(c *Counted) page.Value { return c.Seconds })),
		counted("chosen on:\nsuccesses", "train_successes", train, (*Counted).hits),
		counted("chosen on:\niterations", "train_iterations", train, (*Counted).made))
	return page.Filled(page.Table{Name: "folds", Title: "The rule on held-out tasks (sums)", Keys: 1}, fields, slices.Values(rows))
}

// foldRows are the folds and the sums over them, unless none of them chooses: without
// a choice there are no numbers.
func (t *Tuning) foldRows() (rows []foldRow) {
	v := t.Validation
	if v == nil || v.HeldOut.Runs == 0 {
		return nil
	}
	for f := range page.EachOf(v.Folds) {
		row := foldRow{name: fmt.Sprint(f.Fold), chosen: "none", tasks: f.Tasks}
		if f.Chosen >= 0 {
			row.chosen, row.train, row.heldOut = f.Name, &f.Train, &f.HeldOut
		}
		rows = append(rows, row)
	}
	sum := func(name string, of *Counted) {
		if of != nil && of.Runs > 0 {
			rows = append(rows, foldRow{name: name, tasks: of.Tasks, heldOut: of})
		}
	}
	sum("all folds", &v.HeldOut)
	sum("recommended", &v.InSample)
	sum("today", v.Today)
	sum("recorded", &v.Recording)
	return rows
}

// curveTable says what each further iteration of the recorded runs brings, and
// what an extra success costs.
func (t *Tuning) curveTable() page.Table {
	var costs []page.Value
	for i := range t.Curve {
		costs = append(costs, t.Curve[i].Cost, t.Curve[i].PerSuccess)
	}
	cost := t.costForm(costs...)
	number := func(head, key string, form func(page.Value) string, of func(*CurveStep) page.Value) page.Fields[*CurveStep] {
		return page.Valued(head, key, form, of).Optional()
	}
	return tableOf("curve", "If every recorded run stopped at this iteration, and what an extra success costs", 1, slices.Concat(
		counts("stop\nat", "iteration", func(s *CurveStep) int { return s.Iteration }),
		counts("runs", "reached", func(s *CurveStep) int { return s.Reached }),
		counts("successes", "successes", func(s *CurveStep) int { return s.Hits }),
		counts("extra", "extra_successes", func(s *CurveStep) int { return s.Extra }),
		number("score", "score", score, func(s *CurveStep) page.Value { return s.Score }),
		page.Interval("95%", "score", score, func(s *CurveStep) page.Range { return s.ScoreInterval }),
		number("chance of\na success", "hazard", page.Percent, func(s *CurveStep) page.Value { return s.Hazard }),
		number("cost\nin all", "cost", cost, func(s *CurveStep) page.Value { return s.Cost }),
		page.Interval("95%", "cost", cost, func(s *CurveStep) page.Range { return s.CostInterval }),
		number("+cost", "extra_cost", cost, func(s *CurveStep) page.Value { return s.ExtraCost }),
		number("per\nsuccess", "cost_per_success", page.Or(page.Nothing, cost), func(s *CurveStep) page.Value { return s.PerSuccess }),
		number("per extra\nsuccess", "cost_per_extra_success", page.Or(page.Nothing, cost), func(s *CurveStep) page.Value { return s.PerExtra }),
		page.Right("continuing,\nat best", "", func(s *CurveStep) page.Cell {
			if !s.Ahead.Known() || s.AheadTo <= s.Iteration { // it takes no more than this step
				return page.Cell{}
			}
			return page.Cell{Text: fmt.Sprintf("%s to %d", cost(s.Ahead), s.AheadTo)}
		}).Optional().ForPeople(),
		page.Counted("", "cut", func(s *CurveStep) int { return s.Cut }).ForMachines(),
		page.Valued("", "ahead", cost, func(s *CurveStep) page.Value { return s.Ahead }).ForMachines(),
		page.Counted("", "ahead_to", func(s *CurveStep) int { return s.AheadTo }).ForMachines()), t.Curve)
}

// limitsTable says how much of its limits a configuration uses, with advice.
func (t *Tuning) limitsTable() page.Table {
	share := func(head, key string, of func(*LimitUse) page.Value) page.Fields[*LimitUse] {
		return page.Valued(head, key, page.Or("", page.Percent), of).Optional()
	}
	units := "iterations"
	if slices.ContainsFunc(t.Limits, func(l LimitUse) bool { return strings.HasSuffix(l.Path, "agent.max_steps") }) {
		units = "iterations; of max_steps the steps of a run's longest iteration"
	}
	return tableOf("limits", "How much of each limit is used ("+units+", means per run)", 2, slices.Concat(
		page.Worded("of", "of", func(l *LimitUse) string { return l.Of }),
		page.Of(page.Column{Head: "limit", Key: "limit"}, func(l *LimitUse) page.Cell {
			c := page.Name(l.Path)
			if l.Derived {
				c.Text += " (derived)"
			}
			return c
		}),
		counts("is", "value", func(l *LimitUse) int { return l.Limit }),
		page.Valued("used", "used_mean", page.Whole, func(l *LimitUse) page.Value { return l.Used }),
		counts("most", "used_most", func(l *LimitUse) int { return l.Largest }),
		share("share", "share", func(l *LimitUse) page.Value { return l.Share }),
		share("reached", "reached", func(l *LimitUse) page.Value { return l.Reached }),
		share("of all\niterations", "of_all", func(l *LimitUse) page.Value {
			if strings.HasPrefix(l.Path, "phases.") || strings.HasPrefix(l.Path, "strategies.") {
				return l.OfAll
			}
			return page.Missing(page.Nothing) // that of the whole loop says nothing
		}),
		share("of all\ncost", "of_cost", func(l *LimitUse) page.Value { return l.OfCost }),
		page.Of(page.Column{Head: "advice", Prose: true}, func(l *LimitUse) page.Cell { return page.Text(l.advice(t)) }).Optional().ForPeople(),
		page.Worded("", "advice", func(l *LimitUse) string { return string(l.Advice) }).ForMachines(),
		page.Counted("", "advised", func(l *LimitUse) int { return l.To }).ForMachines()), t.Limits)
}

// advice is what the use of a limit suggests, in words, with what one more does where
// replay knows.
func (l *LimitUse) advice(t *Tuning) string {
	to, brings := "", ""
	if l.To != 0 {
		to = fmt.Sprintf(", such as %d", l.To)
	}
	if l.Step != nil && l.Step.Objective.Known() {
		brings = "; one more changes the objective by " + gain(l.Step.Objective)
		if l.Step.Cost.Known() {
			brings += ", the cost by " + t.extraCost()(l.Step.Cost)
		}
	}
	switch l.Advice {
	case Raise:
		if brings != "" && l.Of == "recommended" { // the rule knows, and took less
			return "most runs reach it" + brings
		}
		return "most runs reach it: try a larger limit" + to + brings
	case Lower:
		return "hardly any run comes near it: try a smaller limit" + to
	case Rebalance:
		return "takes most of what the run spends: check the balance of the phases"
	}
	return ""
}

// rangesTable has phase limits that lie outside what is recommended for their kind.
func (t *Tuning) rangesTable() page.Table {
	return tableOf("ranges", "Phase limits outside the usual range", 2, slices.Concat(
		page.Worded("of", "of", func(r *RangeHint) string { return r.Of }),
		page.Named("limit", "limit", func(r *RangeHint) string { return r.Path }),
		counts("is", "value", func(r *RangeHint) int { return r.Limit }),
		page.Of(page.Column{Head: "hint", Key: "hint", Prose: true}, func(r *RangeHint) page.Cell { return page.Text(r.Hint) })), t.Ranges)
}
