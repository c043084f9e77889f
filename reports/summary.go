package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

// Summary is a row for each configuration, the winner marked, and what the curve and
// the limits of the best one say.
func (r *Report) Summary() page.Summary {
	r.compare()
	winner, best := r.winner()
	s := page.Summary{Head: r.headed(r.comparedElsewhere()), State: r.Answer(), Table: r.summaryTable(winner, best)}
	if r.allSimulated() {
		s.Head += " · SIMULATED"
	}
	for name, w := range r.Warned() {
		if text := w.Text(); w.Serious() && (name != "" || !r.allSimulated() || !isSimulated(w)) {
			if name != "" {
				text = page.Words(page.Foreign(name)+": ") + text
			}
			s.Serious = append(s.Serious, text)
		}
	}
	switch {
	case winner >= 0 && len(r.Configurations) > 1:
		s.Lines = append(s.Lines, "* shown to be better than the others, or as good and cheaper")
	case best >= 0 && len(r.Configurations) > 1 && len(r.Scorers) > 0:
		s.Lines = append(s.Lines, "inconclusive: no configuration is shown to be the best")
	}
	if best >= 0 {
		if gains := r.gains(&r.Configurations[best]); gains != "" {
			s.Lines = append(s.Lines, gains)
		}
	}
	if r.Silent {
		s.Lines = append(s.Lines, silentPrograms)
	}
	stepped := r.stepped()
	steps := page.Words("")
	if stepped != nil {
		if steps = r.stepsLine(stepped); steps != "" {
			s.Lines = append(s.Lines, steps)
		}
	}
	limited, stop := r.mostLimited()
	if limited != nil {
		s.Lines = append(s.Lines, page.Words(fmt.Sprintf("%s of the runs of %s end at max_iterations (%s)", page.Percent(stop.Share.Value), page.Foreign(limited.Name), page.Whole(stop.Iterations.Value))))
	} else if best >= 0 && r.Configurations[best].Iterations.Mean.Number > 1 {
		limited = &r.Configurations[best]
	}
	if r.Where == "" {
		return s
	}
	s.Next = append(s.Next, page.Command{For: "all tables", Line: page.Words("agentbench report " + r.Where + " --all")})
	from := ""
	if r.From != "" {
		from = " --suite " + r.From
	}
	switch {
	case stepped == nil || len(r.Scorers) == 0:
	case steps == "" && r.OutputsOnly:
	case steps == "":
		s.Next = append(s.Next, page.Command{For: "fewer steps", Line: page.Words("agentbench score " + r.Where + " " + cmp.Or(r.Named, "SUITE") + " --at step")})
	default:
		s.Next = append(s.Next, page.Command{For: "best limit of steps", Line: page.Words(fmt.Sprintf("agentbench tune %s%s --configuration %s -p guards.budget.steps=1..%d", r.Where, from, page.Foreign(exit.ShellWord(stepped.Name)), len(stepped.Steps)))})
	}
	if limited != nil {
		s.Next = append(s.Next, page.Command{For: "best limits", Line: page.Words("agentbench tune " + r.Where + from + " --configuration " + page.Foreign(exit.ShellWord(limited.Name)))})
	}
	return s
}

// silentPrograms says how the cost of programs gets known.
const silentPrograms = `a cost is unknown: let the program print {"output": ..., "usage": {...}}, or set usage: in the loop`

// comparedElsewhere is the baseline, "" where it has a row of the table.
func (r *Report) comparedElsewhere() string {
	if d := r.Differences; d != nil && d.Pairs[0].Base.Where == "" {
		return ""
	}
	return r.comparedWith()
}

// isSimulated holds for the warning that nothing real was measured, which the head
// of a summary says.
func isSimulated(w page.Warning) bool {
	of, ok := w.(Warning)
	return ok && of.Kind == SimulatedModel
}

// winner is the configuration with the highest primary score, if it is shown to be
// the highest: each other one is shown to be worse, or the same and no cheaper. Of
// several that are shown to be the same it is the cheapest. -1: none is shown. best
// is the one with the highest mean, whatever is shown.
//
// One that is not the best wins in at most alpha of all suites: every other one has to
// be worse, after the correction for so many comparisons.
func (r *Report) winner() (winner, best int) {
	best = -1
	for i := range r.Configurations {
		if c := &r.Configurations[i]; c.primary().Known() && (best < 0 || c.betterThan(&r.Configurations[best])) {
			best = i
		}
	}
	if best < 0 || len(r.Scorers) == 0 || r.runs == nil {
		return -1, best
	}
	winner = best
	for range r.Configurations {
		cheaper, shown := r.challenger(winner)
		if !shown {
			return -1, best
		}
		if cheaper < 0 {
			return winner, best
		}
		winner = cheaper
	}
	return -1, best
}

// primary is the mean of the first score, or where there is none the share of the
// runs that the loop takes for a success.
func (c *Configuration) primary() page.Value {
	switch {
	case c.Runs == 0:
		return page.Missing(page.Nothing)
	case len(c.Scores) == 0:
		return c.Success.Value
	}
	return c.Scores[0].Mean.Value
}

// betterThan holds for the higher score, among equal ones for the lower cost.
func (c *Configuration) betterThan(other *Configuration) bool {
	a, b := c.primary().Number, other.primary().Number
	return a > b || a == b && c.cheaperThan(other)
}

func (c *Configuration) cheaperThan(other *Configuration) bool {
	return c.Cost.Mean.Known() && other.Cost.Mean.Known() && c.Cost.Mean.Number < other.Cost.Mean.Number
}

// challenger is the cheapest configuration that is shown to be the same as another and
// is cheaper, -1: none. It is not shown that the other wins where any is neither worse
// nor the same, or was not measured.
func (r *Report) challenger(of int) (cheaper int, shown bool) {
	x := r.primarySide(of)
	var others []int
	var results []*compare.Result
	for i := range r.Configurations {
		switch {
		case i == of:
			continue
		case r.Configurations[i].Runs == 0: // nothing was measured: it may be better
			return -1, false
		}
		result, err := compare.Sides(x, r.primarySide(i), r.Options)
		if err != nil { // no task is common
			return -1, false
		}
		others, results = append(others, i), append(results, result)
	}
	compare.Correct(results, r.Options)
	cheaper = -1
	for i, at := range others {
		c := &r.Configurations[at]
		switch verdict := results[i].Differences[0].Verdict; {
		case verdict == compare.Worse:
		case verdict != compare.Same:
			return -1, false
		case c.cheaperThan(&r.Configurations[of]) && (cheaper < 0 || c.cheaperThan(&r.Configurations[cheaper])):
			cheaper = at
		}
	}
	return cheaper, true
}

// primary is the difference of the first score, nil where it is not compared.
func (p *Pair) primary() *compare.Difference {
	if len(p.Differences) > 0 && p.Differences[0].Score {
		return &p.Differences[0]
	}
	return nil
}

// summaryRow is a configuration with what it is compared with; nil: nothing.
type summaryRow struct {
	*Configuration
	place int
	pair  *Pair
}

// summaryTable has the winner marked; the best rows stay the longest.
func (r *Report) summaryTable(winner, best int) page.Table {
	pairs := map[string]*Pair{}
	if r.Differences != nil {
		for i := range r.Differences.Pairs {
			pairs[r.Differences.Pairs[i].New.Configuration] = &r.Differences.Pairs[i]
		}
	}
	form := r.shownScore()
	fields := []page.Field[summaryRow]{
		{Column: page.Column{}, Cell: func(row summaryRow) page.Cell {
			cell := page.Name("  " + row.Name)
			if row.place == winner && len(r.Configurations) > 1 {
				cell.Text, cell.Look = "* "+row.Name, page.Best
			}
			return cell
		}},
		{Column: page.Column{About: r.Primary(), Right: true}, Cell: func(row summaryRow) page.Cell {
			return page.Number(row.primary(), form)
		}},
		{Column: page.Column{Optional: true}, Cell: func(row summaryRow) page.Cell { return page.Text(r.bar(row.primary())) }},
		{Column: page.Column{Head: "cost/run", Right: true}, Cell: func(row summaryRow) page.Cell { return page.Number(row.Cost.Mean.Value, r.dollars) }},
		{Column: page.Column{Head: "time/run", Right: true}, Cell: func(row summaryRow) page.Cell {
			return page.Number(row.Latency.Mean.Value, page.Seconds)
		}},
		{Column: page.Column{Head: "vs. baseline", Prose: true, Optional: true}, Cell: func(row summaryRow) page.Cell {
			if row.pair == nil {
				return page.Text(map[bool]string{true: "baseline"}[len(pairs) > 0 && row.Name == r.Baseline])
			}
			return row.pair.summary()
		}},
	}
	if r.Primary() == "" {
		fields[1].Column = page.Column{Head: "loop says\nsuccess", Right: true}
		fields[1].Cell = func(row summaryRow) page.Cell { return page.Number(row.primary(), page.Percent) }
	}
	rows := make([]summaryRow, len(r.Configurations))
	order := make([]int, len(rows))
	for i := range rows {
		rows[i], order[i] = summaryRow{&r.Configurations[i], i, pairs[r.Configurations[i].Name]}, i
	}
	rank := func(at int) int {
		switch {
		case at == winner, at == best:
			return 0
		case rows[at].Name == r.Baseline:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(rows[b].primary().Number, rows[a].primary().Number))
	})
	return page.Filled(page.Table{Keys: 1, Shares: &page.Shares{Order: order}}, fields, slices.Values(rows))
}

// barWidth is how many characters a bar takes.
const barWidth = 10

// bar shows scores from 0 to 1 as a share of 1, others as a share of the highest; ""
// where one is below 0.
func (r *Report) bar(v page.Value) string {
	most, unit := 0.0, true
	for c := range r.each() {
		if score := c.primary(); score.Known() {
			if score.Number < 0 {
				return ""
			}
			most, unit = max(most, score.Number), unit && (len(c.Scores) == 0 || c.Scores[0].unit)
		}
	}
	if unit {
		most = 1
	}
	if !v.Known() || most == 0 {
		return ""
	}
	return page.Bar(v.Number/most, barWidth)
}

// lookOf is how a verdict stands out.
func lookOf(v compare.Verdict) page.Look {
	return map[compare.Verdict]page.Look{compare.Better: page.Good, compare.Worse: page.Bad}[v]
}

// summary is what a pair says of the first score and of the cost. The factor of the
// cost is that of the means beside it.
func (p *Pair) summary() page.Cell {
	d := p.primary()
	if d == nil {
		return page.Cell{}
	}
	cell := page.Cell{Text: "inconclusive", Look: lookOf(d.Verdict)}
	switch d.Verdict {
	case compare.Same:
		cell.Text = "same"
	case compare.Better, compare.Worse:
		cell.Text = page.Gain(d.Value(d.Change), 2)
	}
	for cost := range page.EachOf(p.Differences) {
		switch {
		case cost.Score || cost.Name != "cost_usd" || cost.Verdict == compare.CannotTell:
		case cost.Verdict == compare.Same:
			cell.Text += ", same cost"
		case cost.Base > 0:
			cell.Text += ", cost ×" + factor(float64(cost.New/cost.Base))
		}
	}
	return cell
}

// factor has two digits that count.
func factor(x float64) string {
	switch {
	case x >= 9.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 0.995:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// gains are what each iteration adds to the first score; "" where there are fewer
// than three, or one is not known.
func (r *Report) gains(c *Configuration) page.Words {
	if len(c.Curve) < 3 {
		return ""
	}
	var gains []float64
	for i := range c.Curve {
		gain := c.Curve[i].Gain
		if i == 0 {
			gain = c.Curve[i].Score
		}
		if !gain.Known() {
			return ""
		}
		gains = append(gains, gain.Number)
	}
	last := &c.Curve[len(c.Curve)-1]
	text := fmt.Sprintf("gain per iteration of %s %s  iteration %d adds %s", page.Foreign(c.Name), page.Spark(gains), last.Iteration, page.Gain(last.Gain.Value, r.scoreDigits()))
	if last.ExtraCost.Known() {
		text += " for " + r.dollars(last.ExtraCost.Value)
	}
	for _, w := range c.Warnings {
		if w.Kind == CurveCut {
			text += fmt.Sprintf(" (%d of %d runs)", w.Of-w.Count, w.Of)
		}
	}
	return page.Words(text)
}

// mostLimited is the configuration of which the most runs end at a maximum of
// iterations above 1, and that stop; nil where fewer than a fifth of its runs do.
func (r *Report) mostLimited() (most *Configuration, at *Stop) {
	const worthTelling = 0.2
	for c := range r.each() {
		for stop := range page.EachOf(c.Stops) {
			if stop.Reason != record.ReasonMaxIterations || stop.Share.Number < worthTelling || stop.Iterations.Number <= 1 {
				continue
			}
			if at == nil || stop.Share.Number > at.Share.Number {
				most, at = c, stop
			}
		}
	}
	return most, at
}

// Summary is a row for each quantity of a pair, or for each of several pairs.
func (c *Comparison) Summary() page.Summary {
	s := page.Summary{Head: c.Heading(), State: c.Answer(), Table: c.summaryTable()}
	if c.allSimulated() {
		s.Head += " · SIMULATED"
	}
	for _, w := range c.WholeWarnings() {
		if w.Serious() && !(c.allSimulated() && isSimulated(w)) {
			s.Serious = append(s.Serious, w.Text())
		}
	}
	if len(c.Pairs) > 1 {
		for i := range c.Pairs {
			for _, w := range c.warningsOf(&c.Pairs[i]) {
				if w.Serious() {
					s.Serious = append(s.Serious, page.Words(page.Foreign(c.Pairs[i].Name)+": ")+w.Text())
				}
			}
		}
	}
	s.Lines = c.facts()
	if c.Again != "" {
		s.Next = []page.Command{{For: "all tables", Line: page.Words(c.Again + " --all"), Short: "the same command with --all"}}
	}
	return s
}

// facts are how the tasks came out, how many more it would take, and in how many
// places the specs differ.
func (c *Comparison) facts() (lines []page.Words) {
	for p := range page.EachOf(c.Pairs) {
		d, of := p.primary(), ""
		if d == nil || d.Tasks == 0 {
			continue
		}
		if len(c.Pairs) > 1 {
			of = " of " + page.Foreign(p.Name)
		}
		if d.Paired && len(c.Pairs) == 1 {
			lines = append(lines, page.Words(fmt.Sprintf("%s higher on %s, lower on %d, equal on %d", bars(d), page.Plural(d.Wins, "task", "tasks"), d.Losses, d.Ties)))
		}
		if needed := d.Judgement(); d.Verdict == compare.CannotTell && strings.HasPrefix(needed, "~ ") {
			lines = append(lines, page.Words(fmt.Sprintf("%s%s is inconclusive: a change of %s would show with about %s", page.Foreign(d.Name), of, page.Gain(d.Value(d.Change), compare.ShownDigits), strings.TrimPrefix(needed, "~ "))))
		}
	}
	var notes []string
	if n := len(c.Spec); n > 0 {
		notes = append(notes, "the specs differ in "+page.Plural(n, "place", "places"))
	}
	if len(c.Pairs) == 1 && slices.ContainsFunc(c.Pairs[0].Differences, func(d compare.Difference) bool { return d.Relative }) {
		notes = append(notes, "change in % is the ratio of the means")
	}
	if len(notes) > 0 {
		lines = append(lines, page.Words(strings.Join(notes, "; ")))
	}
	return lines
}

// bars are both sides of a score from 0 to 1 as bars, behind its name; of others the name.
func bars(d *compare.Difference) string {
	base, newest := d.Value(d.Base), d.Value(d.New)
	drawn := func(v page.Value) bool { return v.Known() && v.Number >= 0 && v.Number <= 1 }
	if !drawn(base) || !drawn(newest) {
		return page.Foreign(d.Name) + " is"
	}
	return fmt.Sprintf("%s %s → %s:", page.Foreign(d.Name), page.Bar(base.Number, barWidth), page.Bar(newest.Number, barWidth))
}

func (c *Comparison) summaryTable() page.Table {
	if len(c.Pairs) == 1 {
		return c.quantityRows()
	}
	fields := []page.Field[*Pair]{
		{Column: page.Column{Head: "configuration"}, Cell: func(p *Pair) page.Cell { return page.Name(p.Name) }},
		{Column: page.Column{Head: "base", About: c.Primary, Right: true}, Cell: func(p *Pair) page.Cell {
			return sideCell(p.primary(), func(d *compare.Difference) compare.Number { return d.Base })
		}},
		{Column: page.Column{Head: "new", About: c.Primary, Right: true}, Cell: func(p *Pair) page.Cell {
			return sideCell(p.primary(), func(d *compare.Difference) compare.Number { return d.New })
		}},
		{Column: page.Column{Head: "change"}, Cell: (*Pair).summary},
	}
	order := spaced(len(c.Pairs), len(c.Pairs))
	severity := map[compare.Verdict]int{compare.Worse: 0, compare.Better: 1, compare.CannotTell: 2, compare.Same: 3}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(severity[c.Pairs[a].verdict()], severity[c.Pairs[b].verdict()]) })
	return page.Filled(page.Table{Keys: 1, Shares: &page.Shares{Order: order}}, fields, page.EachOf(c.Pairs))
}

func (p *Pair) verdict() compare.Verdict {
	if d := p.primary(); d != nil {
		return d.Verdict
	}
	return compare.CannotTell
}

func sideCell(d *compare.Difference, of func(*compare.Difference) compare.Number) page.Cell {
	if d == nil {
		return page.Cell{}
	}
	return d.Mean(of(d), 0)
}

func (c *Comparison) quantityRows() page.Table {
	type row = *compare.Difference
	dollars := c.dollarDigits()
	fields := slices.Concat(
		page.Named("quantity", "", func(d row) string { return d.Name }),
		page.Of(page.Column{Head: "verdict"}, func(d row) page.Cell {
			text := string(d.Verdict)
			if d.Verdict == compare.CannotTell {
				text = "inconclusive"
			}
			return page.Cell{Text: text, Look: lookOf(d.Verdict)}
		}),
		page.Right("base", "", func(d row) page.Cell { return d.Mean(d.Base, dollars) }),
		page.Right("new", "", func(d row) page.Cell { return d.Mean(d.New, dollars) }),
		page.Right("change", "", func(d row) page.Cell { return d.ChangeCell(dollars) }),
		page.Right("95%", "", func(d row) page.Cell { return page.Text(d.IntervalText(dollars)) }))
	return page.Filled(page.Table{Keys: 1}, fields, page.EachOf(c.Pairs[0].Differences))
}
