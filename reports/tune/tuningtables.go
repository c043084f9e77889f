package tune

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// choiceRow is a configuration with what it is to the choice.
type choiceRow struct {
	role string
	*Choice
}

// choices are today's configuration, the recommended one, what was recorded, the
// best, and what would have been taken next; each once.
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
	add("recorded", t.Recording)
	add("best", t.Best)
	for i := range t.Alternatives {
		add("next", &t.Alternatives[i])
	}
	return slices.Values(rows)
}

// isLike says that all numbers are those of what was recorded.
func (c *Choice) isLike(recorded *Choice) bool {
	return c.Exact == c.Runs && c.Lost == 0 && c.Gained == 0 && c.Iterations.Mean == recorded.Iterations.Mean && c.Tokens.Mean == recorded.Tokens.Mean &&
		c.Latency.Mean == recorded.Latency.Mean && slices.Equal(c.Scores, recorded.Scores)
}

// unscored is how many runs have no score for the iteration that would be returned.
func (c *Choice) unscored() (most int) {
	for i := range c.Scores {
		most = max(most, c.Scores[i].Unscored)
	}
	return most
}

// choiceTable has one row for each configuration that matters to the choice.
func (t *Tuning) choiceTable() page.Table {
	as := &Columns{Runs: t.Runs}
	if t.Terms.Cost == "cost_usd.mean" {
		as.Costs = t.meanCosts()
	}
	for row := range t.choices() {
		as.Configurations = append(as.Configurations, row.Configuration)
		as.Scorers = scorersOf(&row.Configuration)
	}
	fields := []page.Field[choiceRow]{
		{Column: page.Column{Head: "", Key: "role"}, Cell: func(row choiceRow) page.Cell { return page.Text(row.role) }},
		{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: func(row choiceRow) page.Cell { return page.Name(row.Name) }},
	}
	fields = append(fields, lifted([]Field{as.Label(labelReaders(as.Configurations))})...)
	for i := range as.Scorers {
		fields = append(fields, lifted(as.Score(i))...)
		if i == 0 {
			fields = append(fields, t.termFields()...)
		}
	}
	if len(as.Scorers) == 0 {
		fields = append(fields, t.termFields()...)
	}
	fields = append(fields, lifted(as.Spent())...)
	return page.Filled(page.Table{Name: "choice", Title: "Choice (means per run)", Keys: 1, Whole: true}, fields, t.choices())
}

func scorersOf(c *Configuration) (names []string) {
	for i := range c.Scores {
		names = append(names, c.Scores[i].Name)
	}
	return names
}

// labelReaders is who reads the labels: people only where some are not exact.
func labelReaders(all []Configuration) page.Audience {
	if slices.ContainsFunc(all, func(c Configuration) bool { return c.Exact < c.Runs }) {
		return page.Everyone
	}
	return page.Machines
}

// lifted are fields of a configuration as those of a row.
func lifted(fields []Field) []page.Field[choiceRow] {
	all := make([]page.Field[choiceRow], len(fields))
	for i, f := range fields {
		all[i] = page.Field[choiceRow]{Column: f.Column, Cell: func(row choiceRow) page.Cell { return f.Cell(&row.Configuration) }}
	}
	return all
}

// termFields are the numbers that it was chosen by.
func (t *Tuning) termFields() []page.Field[choiceRow] {
	objective := page.Column{About: t.Terms.Objective, Key: "objective", Right: true}
	if t.Terms.isScore() {
		objective = page.Column{Key: "objective", Only: page.Machines}
	}
	cost := page.Column{About: t.Terms.Cost, Key: "cost", Right: true}
	if t.Terms.isShown() {
		cost = page.Column{Key: "cost", Only: page.Machines}
	}
	cheap := t.costForm(t.meanCosts()...)
	fields := []page.Field[choiceRow]{
		{Column: objective, Cell: func(row choiceRow) page.Cell { return page.Number(row.Objective, objectiveForm) }},
	}
	fields = append(fields, page.Ends("objective", func(row choiceRow) page.Range { return row.ObjectiveInterval })...)
	return append(fields, []page.Field[choiceRow]{
		{Column: page.Column{Head: "lost", Key: "lost", Right: true}, Cell: func(row choiceRow) page.Cell { return t.flips(row, row.Lost) }},
		{Column: lostMost, Cell: func(row choiceRow) page.Cell {
			if row.Recorded {
				return page.Cell{}
			}
			return row.most()
		}},
		{Column: page.Column{Head: "gained", Key: "gained", Right: true}, Cell: func(row choiceRow) page.Cell { return t.flips(row, row.Gained) }},
		{Column: cost, Cell: func(row choiceRow) page.Cell { return page.Number(row.ChoiceCost, cheap) }},
	}...)
}

// flips are runs that lose or gain a success: nobody knows where none is scored.
func (t *Tuning) flips(row choiceRow, n int) page.Cell {
	if !row.Recorded && row.scored(t.Terms.Score) == 0 {
		return page.Number(page.Missing(page.Nothing), page.Whole)
	}
	return row.Among(n, row.unscored())
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
	fields := []page.Field[*Change]{
		{Column: page.Column{Head: "parameter", Key: "parameter"}, Cell: func(c *Change) page.Cell { return page.Name(c.Path) }},
		{Column: page.Column{Head: now, Key: "from", Right: true}, Cell: func(c *Change) page.Cell { return page.Name(c.From) }},
		{Column: page.Column{Head: "recommended", Key: "to", Right: true}, Cell: func(c *Change) page.Cell { return page.Name(c.To) }},
	}
	return tableOf("changes", "What changes", 1, fields, t.Changes)
}

// tableOf has one row for each of a list.
func tableOf[T any](name, title string, keys int, fields []page.Field[*T], all []T) page.Table {
	return page.Filled(page.Table{Name: name, Title: title, Keys: keys}, fields, page.EachOf(all))
}

type differenceRow struct {
	against *Versus
	*Difference
}

// quantities are those that are spent; all others are scores.
var quantities = []string{"cost_usd", "latency_s", "tokens", "calls", "iterations"}

func (d *Difference) isScore() bool { return !slices.Contains(quantities, d.Quantity) }

// differencesTable compares the recommended configuration, task by task.
func (t *Tuning) differencesTable() page.Table {
	number := func(head string, of func(*Difference) page.Value) page.Field[differenceRow] {
		return page.Field[differenceRow]{Column: page.Column{Head: head, Key: head, Right: true}, Cell: func(row differenceRow) page.Cell {
			return page.Number(of(row.Difference), row.form())
		}}
	}
	fields := slices.Concat([]page.Field[differenceRow]{
		{Column: page.Column{Head: "against", Key: "against"}, Cell: func(row differenceRow) page.Cell { return page.Text(row.against.What) }},
		{Column: page.Column{Head: "quantity", Key: "quantity"}, Cell: func(row differenceRow) page.Cell { return page.Name(row.Quantity) }},
		{Column: page.Column{Head: "verdict", Key: "verdict"}, Cell: func(row differenceRow) page.Cell {
			return page.Cell{Text: judgement(row.Difference), Raw: string(row.Verdict)}
		}},
		number("base", func(d *Difference) page.Value { return d.Base }),
		number("new", func(d *Difference) page.Value { return d.New }),
		{Column: page.Column{Head: "change", Key: "change", Right: true, Warnings: page.Warnings([]Note{{Kind: ByRatios}})}, Cell: func(row differenceRow) page.Cell {
			return page.Number(row.Change, orNothing(row.changeForm()))
		}},
		{Column: page.Column{Head: "95%", Right: true, Optional: true, Only: page.People}, Cell: func(row differenceRow) page.Cell {
			return page.Cell{Text: changed(row.Interval, row.changeForm())}
		}},
	}, page.Ends("change", func(row differenceRow) page.Range { return row.Interval }), []page.Field[differenceRow]{
		{Column: page.Column{Head: "p", Right: true, Key: "p"}, Cell: func(row differenceRow) page.Cell { return page.Number(row.P, orNothing(page.Chance)) }},
		{Column: page.Column{Head: "won/lost\n/equal", Right: true, Optional: true, Only: page.People}, Cell: func(row differenceRow) page.Cell {
			return page.Text(row.outcomes())
		}},
		{Column: page.Column{Key: "tasks", Only: page.Machines}, Cell: func(row differenceRow) page.Cell { return page.Count(row.Tasks) }},
	}, savingFields())
	return page.Filled(page.Table{Name: "differences", Title: "The recommended configuration, task by task", Keys: 2}, fields, t.differences())
}

// savingFields are what 1,000 runs save.
func savingFields() []page.Field[differenceRow] {
	return append([]page.Field[differenceRow]{
		{Column: page.Column{Head: "1,000 runs\nsave", Right: true, Optional: true, Only: page.People}, Cell: func(row differenceRow) page.Cell {
			return page.Cell{Text: row.saving().text() + row.against.shareText(row.Quantity)}
		}},
		{Column: page.Column{Head: "save\n95%", Right: true, Optional: true, Only: page.People}, Cell: func(row differenceRow) page.Cell {
			return page.Cell{Text: row.saving().between()}
		}},
		{Column: page.Column{Key: "saved_per_1000", Only: page.Machines}, Cell: func(row differenceRow) page.Cell {
			return page.Number(row.saving().Saved, page.Whole)
		}},
	}, page.Ends("saved_per_1000", func(row differenceRow) page.Range { return row.saving().Interval })...)
}

func (t *Tuning) differences() func(func(differenceRow) bool) {
	return func(yield func(differenceRow) bool) {
		for i := range t.Against {
			if i > 0 && t.Against[i].repeats(&t.Against[i-1]) {
				continue
			}
			for d := range t.Against[i].All {
				if !yield(differenceRow{&t.Against[i], &t.Against[i].All[d]}) {
					return
				}
			}
		}
	}
}

// repeats says that both compare with the same numbers: today's configuration is
// what was recorded.
func (v *Versus) repeats(other *Versus) bool {
	return slices.EqualFunc(v.All, other.All, func(a, b Difference) bool {
		return a.Quantity == b.Quantity && a.Base == b.Base && a.Change == b.Change && a.Wins == b.Wins && a.Losses == b.Losses
	})
}

// saving is that of the row's quantity; of a score there is none.
func (row *differenceRow) saving() *Saving {
	for i := range row.against.Saved {
		if s := &row.against.Saved[i]; s.Quantity == row.Quantity {
			return s
		}
	}
	none := page.Missing(page.Nothing)
	return &Saving{Saved: none, Interval: page.Range{Low: none, High: none}}
}

func (s *Saving) text() string {
	if !s.Saved.Known() {
		return ""
	}
	return amountForm(s.Quantity)(s.Saved)
}

// shareText is the part of a quantity that is saved, as the first lines tell it.
func (v *Versus) shareText(quantity string) string {
	text, _ := v.savedOf(quantity)
	_, share, found := strings.Cut(text, " (")
	if !found {
		return ""
	}
	sign := ""
	if v.share(quantity).Number < 0 {
		sign = "-"
	}
	return " (" + sign + share
}

func (s *Saving) between() string { return changed(s.Interval, amountForm(s.Quantity)) }

// changed is the interval of a change, whose ends may have signs.
func changed(r page.Range, form func(page.Value) string) string {
	if !r.Known() {
		return ""
	}
	low, high := form(r.Low), form(r.High)
	if strings.HasPrefix(low, "+") {
		high = strings.TrimPrefix(high, "+")
	}
	return low + "…" + high
}

// form shows the quantity of a row.
func (d *Difference) form() func(page.Value) string {
	switch {
	case d.isScore():
		return func(v page.Value) string { return page.Score(v, 3) }
	case d.Quantity == "cost_usd":
		return func(v page.Value) string { return page.Dollars(v, d.dollarDigits()) }
	}
	return amountForm(d.Quantity)
}

// changeForm shows a change of it.
func (d *Difference) changeForm() func(page.Value) string {
	switch {
	case d.Relative:
		return page.Relative
	case d.isScore():
		return func(v page.Value) string { return page.Gain(v, 3) }
	case d.Quantity == "cost_usd":
		return func(v page.Value) string { return page.ExtraDollars(v, d.dollarDigits()) }
	case d.Quantity == "latency_s":
		return page.ExtraSeconds
	}
	return page.ExtraCount
}

// dollarDigits is one digit more than amounts have that are not so close.
func (d *Difference) dollarDigits() int {
	return 1 + page.DollarDigits(slices.Values([]page.Value{d.Base, d.New}))
}

// orNothing leaves out why a number is missing, which stands beside it.
func orNothing(form func(page.Value) string) func(page.Value) string {
	return func(v page.Value) string {
		if !v.Known() {
			return page.Nothing
		}
		return form(v)
	}
}

func (d *Difference) outcomes() string {
	if d.Tasks == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d/%d", d.Wins, d.Losses, d.Ties)
}

// judgement is the verdict in a word, "~" where nothing can be told.
func judgement(d *Difference) string {
	if d.Verdict == compare.CannotTell {
		return "~"
	}
	return string(d.Verdict)
}

// frontTable has the configurations that none beats, the cheapest first.
func (t *Tuning) frontTable() page.Table {
	cost := t.costForm(t.meanCosts()...)
	var notes []Note
	if t.Unpriced > 0 {
		notes = append(notes, Note{Kind: OffTheFront, Count: t.Unpriced})
	}
	fields := []page.Field[*FrontRow]{
		{Column: page.Column{Head: "configuration", Key: "configuration", Warnings: page.Warnings(notes)}, Cell: func(f *FrontRow) page.Cell { return page.Name(f.Name) }},
		{Column: page.Column{Head: "", Key: "role", Optional: true}, Cell: func(f *FrontRow) page.Cell { return page.Text(f.role()) }},
	}
	fields = append(fields, reports.FrontFields(page.Column{About: t.Terms.Cost, Key: "cost"}, page.Column{About: t.Terms.objectiveName(), Key: "objective"}, cost, objectiveForm,
		page.Warnings([]Note{{Kind: OnTheFront}}), func(f *FrontRow) reports.FrontPoint {
			return reports.FrontPoint{Cost: f.ChoiceCost, Quality: f.Objective, Seconds: f.Seconds, Share: f.Share}
		})...)
	fields = append(fields, []page.Field[*FrontRow]{
		{Column: page.Column{Head: "successes", Key: "successes", Right: true}, Cell: func(f *FrontRow) page.Cell { return f.Counted.hits() }},
		{Column: page.Column{Head: "lost", Key: "lost", Right: true, Optional: true}, Cell: func(f *FrontRow) page.Cell { return f.lostRuns() }},
		{Column: optional(lostMost), Cell: func(f *FrontRow) page.Cell { return f.most() }},
		{Column: page.Column{Head: "iterations\nin all", Key: "iterations", Right: true}, Cell: func(f *FrontRow) page.Cell { return f.Counted.made() }},
		{Column: page.Column{Head: "others\nas good", Key: "same", Right: true, Optional: true}, Cell: func(f *FrontRow) page.Cell { return countOrEmpty(f.Same) }},
	}...)
	table := tableOf("front", "Front (no other is as cheap, good and fast at once, the cheapest first)", 1, fields, t.Front)
	table.Shown = t.frontShown()
	return table
}

// lostRuns are the runs that lose their success, where that is known.
func (f *FrontRow) lostRuns() page.Cell {
	if !f.LostMost.Known() {
		return page.Number(f.LostMost, orNothing(page.Whole))
	}
	return whole(f.Lost)
}

// optional is a column that narrow terminals leave out.
func optional(c page.Column) page.Column {
	c.Optional = true
	return c
}

// allTable has every configuration that can be chosen, the cheapest first.
func (t *Tuning) allTable() page.Table {
	cost := t.costForm(t.meanCosts()...)
	fields := []page.Field[*AllRow]{
		{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: func(a *AllRow) page.Cell { return page.Name(a.Name) }},
		{Column: page.Column{Head: "", Key: "role", Optional: true}, Cell: func(a *AllRow) page.Cell { return page.Text(role(a.Recommended, a.Today)) }},
		{Column: page.Column{About: t.Terms.Cost, Key: "cost", Right: true}, Cell: func(a *AllRow) page.Cell { return page.Number(a.ChoiceCost, cost) }},
		{Column: page.Column{About: t.Terms.objectiveName(), Key: "objective", Right: true}, Cell: func(a *AllRow) page.Cell { return page.Number(a.Objective, objectiveForm) }},
		{Column: page.Column{Head: "successes", Key: "successes", Right: true}, Cell: func(a *AllRow) page.Cell { return a.Counted.hits() }},
		counts("lost", "lost", func(a *AllRow) int { return a.Lost }),
		{Column: lostMost, Cell: func(a *AllRow) page.Cell { return a.most() }},
		counts("gained", "gained", func(a *AllRow) int { return a.Gained }),
		{Column: page.Column{Head: "iterations\nin all", Key: "iterations", Right: true}, Cell: func(a *AllRow) page.Cell { return a.Counted.made() }},
	}
	return tableOf("all", "All configurations that can be chosen, the cheapest first", 1, fields, t.All)
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
		if t.Front[i].role() != "" {
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

func (f *FrontRow) role() string { return role(f.Recommended, f.Today) }

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

// hits are the successes of the runs.
func (c *Counted) hits() page.Cell {
	return page.Cell{Text: fmt.Sprintf("%d/%d", c.Hits, c.Runs), Raw: c.Hits}
}

// made are the iterations of all runs together, each counted.
func (c *Counted) made() page.Cell {
	return page.Cell{Text: fmt.Sprint(c.Iterations), Raw: c.Iterations}
}

// counts is a column of counts with all their digits.
func counts[T any](head, key string, of func(T) int) page.Field[T] {
	return page.Field[T]{Column: page.Column{Head: head, Key: key, Right: true}, Cell: func(row T) page.Cell { return whole(of(row)) }}
}

// whole is a count with all its digits.
func whole(n int) page.Cell { return page.Cell{Text: fmt.Sprint(n), Raw: n} }

func countOrEmpty(n int) page.Cell {
	cell := page.Cell{Raw: n}
	if n != 0 {
		cell.Text = fmt.Sprint(n)
	}
	return cell
}

// orEmpty leaves out numbers that are missing.
func orEmpty(form func(page.Value) string) func(page.Value) string {
	return func(v page.Value) string {
		if !v.Known() {
			return ""
		}
		return form(v)
	}
}

// foldRow is a fold, or a sum over them.
type foldRow struct {
	name, chosen   string
	tasks          int
	train, heldOut *Counted
}

// foldsTable is the choice tried on tasks that it was not made on.
func (t *Tuning) foldsTable() page.Table {
	counted := func(head, key string, of func(foldRow) *Counted, cell func(*Counted) page.Cell) page.Field[foldRow] {
		return page.Field[foldRow]{Column: page.Column{Head: head, Key: key, Right: true, Optional: true}, Cell: func(row foldRow) page.Cell {
			if of(row) == nil || of(row).Runs == 0 {
				return page.Cell{}
			}
			return cell(of(row))
		}}
	}
	train := func(row foldRow) *Counted { return row.train }
	heldOut := func(row foldRow) *Counted { return row.heldOut }
	number := func(of func(*Counted) page.Value, form func(page.Value) string) func(*Counted) page.Cell {
		return func(c *Counted) page.Cell { return page.Number(of(c), orEmpty(form)) }
	}
	fields := []page.Field[foldRow]{
		{Column: page.Column{Head: "fold", Key: "fold"}, Cell: func(row foldRow) page.Cell { return page.Text(row.name) }},
		{Column: page.Column{Head: "chosen without it", Key: "configuration"}, Cell: func(row foldRow) page.Cell { return page.Name(row.chosen) }},
		{Column: page.Column{Head: "tasks", Key: "tasks", Right: true}, Cell: func(row foldRow) page.Cell { return whole(row.tasks) }},
		counted("successes", "successes", heldOut, (*Counted).hits),
		counted("score", "score", heldOut, number(func(c *Counted) page.Value { return c.Score }, func(v page.Value) string { return page.Score(v, 3) })),
		counted("iterations", "iterations", heldOut, (*Counted).made),
		counted("tokens", "tokens", heldOut, number(func(c *Counted) page.Value { return c.Tokens }, page.Whole)),
		counted("cost", "cost_usd", heldOut, number(func(c *Counted) page.Value { return c.Cost }, dollarForm(t.sumCosts()...))),
		counted("latency", "latency_s", heldOut, number(func(c *Counted) page.Value { return c.Seconds }, page.Seconds)),
		counted("chosen on:\nsuccesses", "train_successes", train, (*Counted).hits),
		counted("chosen on:\niterations", "train_iterations", train, (*Counted).made),
	}
	return page.Filled(page.Table{Name: "folds", Title: "The rule on held-out tasks (sums)", Keys: 1}, fields, t.foldRows())
}

// sumCosts are what the runs of the folds cost.
func (t *Tuning) sumCosts() (all []page.Value) {
	for row := range t.foldRows() {
		if row.heldOut != nil {
			all = append(all, row.heldOut.Cost)
		}
	}
	return all
}

// foldRows are the folds and the sums over them, unless none of them chooses.
func (t *Tuning) foldRows() func(func(foldRow) bool) {
	return func(yield func(foldRow) bool) {
		v := t.Validation
		if v == nil || v.HeldOut.Runs == 0 {
			return
		}
		for i := range v.Folds {
			row := v.Folds[i].row()
			if t.Terms.HoldOut > 0 {
				row.name = "held out"
			}
			if !yield(row) {
				return
			}
		}
		for _, sum := range t.foldSums(v) {
			if sum.of != nil && sum.of.Runs > 0 && !yield(foldRow{name: sum.name, tasks: sum.of.Tasks, heldOut: sum.of}) {
				return
			}
		}
	}
}

// foldSum is a configuration, or the folds' choices, on the tasks left out.
type foldSum struct {
	name string
	of   *Counted
}

// foldSums are those over the folds; of what is held out the one fold is the sum.
func (t *Tuning) foldSums(v *Validation) []foldSum {
	others := []foldSum{{"today", v.Today}, {"recorded", &v.Recording}}
	if t.Terms.HoldOut > 0 {
		return others
	}
	return append([]foldSum{{"all folds", &v.HeldOut}, {"recommended", &v.InSample}}, others...)
}

// row is a fold; where the rule finds nothing without it, there are no numbers.
func (f *Fold) row() foldRow {
	if f.Chosen < 0 {
		return foldRow{name: fmt.Sprint(f.Fold), chosen: "none", tasks: f.Tasks}
	}
	return foldRow{name: fmt.Sprint(f.Fold), chosen: f.Name, tasks: f.Tasks, train: &f.Train, heldOut: &f.HeldOut}
}

// curveTable says what each further iteration of the recorded runs brings, and
// what an extra success costs.
func (t *Tuning) curveTable() page.Table {
	var costs []page.Value
	for i := range t.Curve {
		costs = append(costs, t.Curve[i].Cost, t.Curve[i].PerSuccess)
	}
	cost := t.costForm(costs...)
	number := func(head, key string, form func(page.Value) string, of func(*CurveStep) page.Value) page.Field[*CurveStep] {
		return page.Field[*CurveStep]{Column: page.Column{Head: head, Key: key, Right: true, Optional: true}, Cell: func(s *CurveStep) page.Cell {
			return page.Number(of(s), form)
		}}
	}
	fields := []page.Field[*CurveStep]{
		counts("stop\nat", "iteration", func(s *CurveStep) int { return s.Iteration }),
		counts("runs", "reached", func(s *CurveStep) int { return s.Reached }),
		counts("successes", "successes", func(s *CurveStep) int { return s.Hits }),
		counts("extra", "extra_successes", func(s *CurveStep) int { return s.Extra }),
		number("score", "score", func(v page.Value) string { return page.Score(v, 3) }, func(s *CurveStep) page.Value { return s.Score }),
		number("chance of\na success", "hazard", page.Percent, func(s *CurveStep) page.Value { return s.Hazard }),
		number("cost\nin all", "cost", cost, func(s *CurveStep) page.Value { return s.Cost }),
		number("+cost", "extra_cost", cost, func(s *CurveStep) page.Value { return s.ExtraCost }),
		number("per\nsuccess", "cost_per_success", orNothing(cost), func(s *CurveStep) page.Value { return s.PerSuccess }),
		number("per extra\nsuccess", "cost_per_extra_success", orNothing(cost), func(s *CurveStep) page.Value { return s.PerExtra }),
		{Column: page.Column{Head: "continuing,\nat best", Only: page.People, Right: true, Optional: true}, Cell: func(s *CurveStep) page.Cell {
			return page.Cell{Text: s.ahead(cost)}
		}},
		{Column: page.Column{Key: "ahead", Only: page.Machines}, Cell: func(s *CurveStep) page.Cell { return page.Number(s.Ahead, cost) }},
		{Column: page.Column{Key: "ahead_to", Only: page.Machines}, Cell: func(s *CurveStep) page.Cell { return page.Count(s.AheadTo) }},
	}
	return tableOf("curve", "If every recorded run stopped at this iteration, and what an extra success costs", 1, fields, t.Curve)
}

// ahead is the least cost of an extra success from here on, where it takes more
// than this step.
func (s *CurveStep) ahead(form func(page.Value) string) string {
	if !s.Ahead.Known() || s.AheadTo <= s.Iteration {
		return ""
	}
	return fmt.Sprintf("%s to %d", form(s.Ahead), s.AheadTo)
}

type endRow struct {
	of *Stops
	*StopCount
}

// stopsTable says which limit bound.
func (t *Tuning) stopsTable() page.Table {
	fields := []page.Field[endRow]{
		{Column: page.Column{Head: "of", Key: "of"}, Cell: func(row endRow) page.Cell { return page.Text(row.of.Of) }},
		{Column: page.Column{Head: "stopped by", Key: "reason"}, Cell: func(row endRow) page.Cell {
			return page.Cell{Text: row.Name, Raw: string(row.Reason), Foreign: true}
		}},
		{Column: page.Column{Key: "fired", Only: page.Machines}, Cell: func(row endRow) page.Cell { return page.Name(row.Fired) }},
		counts("runs", "runs", func(row endRow) int { return row.Runs }),
		{Column: page.Column{Head: "share", Key: "share", Right: true}, Cell: func(row endRow) page.Cell { return page.Number(row.Share, orNothing(page.Percent)) }},
	}
	return page.Filled(page.Table{Name: "stops", Title: "Which limit ends the runs", Keys: 2}, fields, t.ends())
}

// notKnown is the way to stop of runs whose end is not known.
const notKnown = "(not known)"

func (t *Tuning) ends() func(func(endRow) bool) {
	return func(yield func(endRow) bool) {
		for i := range t.Stops {
			of := &t.Stops[i]
			if t.repeats(i) {
				continue
			}
			for s := range of.Stops {
				if !yield(endRow{of, &of.Stops[s]}) {
					return
				}
			}
			if of.Unknown > 0 && !yield(endRow{of, &StopCount{Name: notKnown, Runs: of.Unknown, Share: page.Missing(page.Nothing)}}) {
				return
			}
		}
	}
}

// repeats says that the runs end as those of the configuration above do, because
// today's is what was recorded.
func (t *Tuning) repeats(i int) bool {
	of := &t.Stops[i]
	return of.Of == "recording" && i > 0 && of.Unknown == t.Stops[i-1].Unknown && slices.Equal(of.Stops, t.Stops[i-1].Stops)
}

// excludedTable says which constraints exclude how many.
func (t *Tuning) excludedTable() page.Table {
	fields := []page.Field[*Excluded]{
		{Column: page.Column{Head: "constraint", Key: "constraint"}, Cell: func(e *Excluded) page.Cell { return page.Name(e.Constraint) }},
		counts("excludes", "candidates", func(e *Excluded) int { return e.Candidates }),
		counts("alone", "alone", func(e *Excluded) int { return e.Alone }),
		counts("a number\nis missing", "unknown", func(e *Excluded) int { return e.Unknown }),
	}
	return tableOf("excluded", "What constraints exclude (configurations)", 1, fields, t.Tried.Excluded)
}

// unknownTable says why configurations are not exact.
func (t *Tuning) unknownTable() page.Table {
	score := func(n *NotExact) page.Range { return n.Score }
	fields := slices.Concat([]page.Field[*NotExact]{
		{Column: page.Column{Head: "configuration", Key: "configuration"}, Cell: func(n *NotExact) page.Cell { return page.Name(n.Name) }},
		{Column: page.Column{Head: "label", Key: "label"}, Cell: func(n *NotExact) page.Cell { return page.Text(n.Label) }},
		counts("exact\nruns", "exact", func(n *NotExact) int { return n.Exact }),
		counts("cut\nruns", "censored", func(n *NotExact) int { return n.Censored }),
		counts("other\npath", "branches", func(n *NotExact) int { return n.Branches }),
		{Column: page.Column{About: t.Terms.Score, Head: "bounds", Right: true, Only: page.People, Optional: true}, Cell: func(n *NotExact) page.Cell {
			return page.Cell{Text: n.Score.Text(func(v page.Value) string { return page.Score(v, 3) })}
		}},
	}, page.Ends("bounds", score), []page.Field[*NotExact]{
		{Column: page.Column{Head: "why", Key: "why", Prose: true}, Cell: func(n *NotExact) page.Cell { return page.Name(n.Why) }},
	})
	return tableOf("unknown", "Configurations that are not exact, and cannot be recommended", 1, fields, t.Tried.NotExact)
}

// stepRow is one step in one parameter.
type stepRow struct {
	of *Neighbour
	*Step
}

// among is a count of the runs of which both sides are known: there are no fewer
// among all of them.
func (row stepRow) among(n int) page.Cell {
	cell := whole(n)
	if !row.Objective.Known() {
		cell.Text = "≥" + cell.Text
	}
	return cell
}

// neighboursTable says what one less and one more would change.
func (t *Tuning) neighboursTable() page.Table {
	objective := func(v page.Value) string { return page.Gain(v, 3) }
	cost := t.extraCost()
	fields := []page.Field[stepRow]{
		{Column: page.Column{Head: "of", Key: "of"}, Cell: func(row stepRow) page.Cell { return page.Text(row.of.Of) }},
		{Column: page.Column{Head: "parameter", Key: "parameter"}, Cell: func(row stepRow) page.Cell { return page.Name(row.of.Path) }},
		{Column: page.Column{Head: "is", Key: "from", Right: true}, Cell: func(row stepRow) page.Cell { return page.Name(row.of.Value) }},
		{Column: page.Column{Head: "with", Key: "to", Right: true}, Cell: func(row stepRow) page.Cell { return page.Name(row.Value) }},
		{Column: page.Column{Head: "label", Key: "label", Only: t.stepLabels()}, Cell: func(row stepRow) page.Cell { return page.Text(row.Label) }},
		{Column: page.Column{About: t.Terms.objectiveName(), Head: "change", Key: "objective_change", Right: true}, Cell: func(row stepRow) page.Cell { return page.Number(row.Objective, objective) }},
		{Column: page.Column{Head: "lost", Key: "lost", Right: true}, Cell: func(row stepRow) page.Cell { return row.among(row.Lost) }},
		{Column: page.Column{Head: "gained", Key: "gained", Right: true}, Cell: func(row stepRow) page.Cell { return row.among(row.Gained) }},
		{Column: page.Column{About: t.Terms.Cost, Head: "change", Key: "cost_change", Right: true}, Cell: func(row stepRow) page.Cell { return page.Number(row.Cost, cost) }},
		{Column: page.Column{Head: "per extra\nsuccess", Key: "cost_per_extra_success", Right: true, Optional: true}, Cell: func(row stepRow) page.Cell {
			return page.Number(row.PerSuccess, orEmpty(t.costForm(t.perSuccess()...)))
		}},
	}
	return page.Filled(page.Table{Name: "neighbours", Title: "One step less, one step more", Keys: 4}, fields, t.steps())
}

func (t *Tuning) steps() func(func(stepRow) bool) {
	return func(yield func(stepRow) bool) {
		for i := range t.Neighbours {
			n := &t.Neighbours[i]
			for _, step := range []*Step{n.Less, n.More} {
				if step != nil && !yield(stepRow{n, step}) {
					return
				}
			}
		}
	}
}

// perSuccess is what extra successes cost.
func (t *Tuning) perSuccess() (all []page.Value) {
	for row := range t.steps() {
		all = append(all, row.PerSuccess)
	}
	return all
}

// stepLabels is who reads the labels: people only where some are not exact.
func (t *Tuning) stepLabels() page.Audience {
	for row := range t.steps() {
		if row.Label != "exact" {
			return page.Everyone
		}
	}
	return page.Machines
}

// limitsTable says how much of its limits a configuration uses, with advice.
func (t *Tuning) limitsTable() page.Table {
	share := func(head, key string, of func(*LimitUse) page.Value) page.Field[*LimitUse] {
		return page.Field[*LimitUse]{Column: page.Column{Head: head, Key: key, Right: true, Optional: true}, Cell: func(l *LimitUse) page.Cell {
			return page.Number(of(l), orEmpty(page.Percent))
		}}
	}
	fields := []page.Field[*LimitUse]{
		{Column: page.Column{Head: "of", Key: "of"}, Cell: func(l *LimitUse) page.Cell { return page.Text(l.Of) }},
		{Column: page.Column{Head: "limit", Key: "limit"}, Cell: func(l *LimitUse) page.Cell {
			c := page.Name(l.Path)
			if l.Derived {
				c.Text += " (derived)"
			}
			return c
		}},
		{Column: page.Column{Head: "is", Key: "value", Right: true}, Cell: func(l *LimitUse) page.Cell { return whole(l.Limit) }},
		{Column: page.Column{Head: "used", Key: "used_mean", Right: true}, Cell: func(l *LimitUse) page.Cell { return page.Number(l.Used, page.Whole) }},
		{Column: page.Column{Head: "most", Key: "used_most", Right: true}, Cell: func(l *LimitUse) page.Cell { return whole(l.Largest) }},
		share("share", "share", func(l *LimitUse) page.Value { return l.Share }),
		share("reached", "reached", func(l *LimitUse) page.Value { return l.Reached }),
		share("of all\niterations", "of_all", (*LimitUse).ofAll),
		share("of all\ncost", "of_cost", func(l *LimitUse) page.Value { return l.OfCost }),
		{Column: page.Column{Head: "advice", Only: page.People, Prose: true, Optional: true}, Cell: func(l *LimitUse) page.Cell { return page.Text(l.advice(t)) }},
		{Column: page.Column{Key: "advice", Only: page.Machines}, Cell: func(l *LimitUse) page.Cell { return page.Text(string(l.Advice)) }},
		{Column: page.Column{Key: "advised", Only: page.Machines}, Cell: func(l *LimitUse) page.Cell { return page.Count(l.To) }},
	}
	units := "iterations"
	if slices.ContainsFunc(t.Limits, func(l LimitUse) bool { return strings.HasSuffix(l.Path, "agent.max_steps") }) {
		units = "iterations; of max_steps the steps of a run's longest iteration"
	}
	return tableOf("limits", "How much of each limit is used ("+units+", means per run)", 2, fields, t.Limits)
}

// ofAll is the part of all iterations that a phase takes; that of the whole loop
// says nothing.
func (l *LimitUse) ofAll() page.Value {
	if strings.HasPrefix(l.Path, "phases.") || strings.HasPrefix(l.Path, "strategies.") {
		return l.OfAll
	}
	return page.Missing(page.Nothing)
}

// advice is what the use of a limit suggests, in words.
func (l *LimitUse) advice(t *Tuning) string {
	switch l.Advice {
	case Raise:
		if text := l.brings(t); text != "" && l.Of == "recommended" { // the rule knows, and took less
			return "most runs reach it" + text
		}
		return "most runs reach it: try a larger limit" + l.to() + l.brings(t)
	case Lower:
		return "hardly any run comes near it: try a smaller limit" + l.to()
	case Rebalance:
		return "takes most of what the run spends: check the balance of the phases"
	}
	return ""
}

func (l *LimitUse) to() string {
	if l.To == 0 {
		return ""
	}
	return fmt.Sprintf(", such as %d", l.To)
}

// brings says what one more does, where replay knows.
func (l *LimitUse) brings(t *Tuning) string {
	if l.Step == nil || !l.Step.Objective.Known() {
		return ""
	}
	text := "; one more changes the objective by " + page.Gain(l.Step.Objective, 3)
	if l.Step.Cost.Known() {
		text += ", the cost by " + t.extraCost()(l.Step.Cost)
	}
	return text
}

// rangesTable has phase limits that lie outside what is recommended for their kind.
func (t *Tuning) rangesTable() page.Table {
	fields := []page.Field[*RangeHint]{
		{Column: page.Column{Head: "of", Key: "of"}, Cell: func(r *RangeHint) page.Cell { return page.Text(r.Of) }},
		{Column: page.Column{Head: "limit", Key: "limit"}, Cell: func(r *RangeHint) page.Cell { return page.Name(r.Path) }},
		{Column: page.Column{Head: "is", Key: "value", Right: true}, Cell: func(r *RangeHint) page.Cell { return whole(r.Limit) }},
		{Column: page.Column{Head: "hint", Key: "hint", Prose: true}, Cell: func(r *RangeHint) page.Cell { return page.Text(r.Hint) }},
	}
	return tableOf("ranges", "Phase limits outside the usual range", 2, fields, t.Ranges)
}
