package reports

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

func (c *Comparison) About() (kind, suite string) { return "diff", c.Suite }

// Heading names both sides, and says how many tasks are compared.
func (c *Comparison) Heading() page.Words {
	if c.Incomplete != "" {
		return page.Words("incomplete: " + page.Foreign(c.Incomplete) + " · " + c.compared())
	}
	return page.Words(c.compared())
}

func (c *Comparison) compared() string {
	if len(c.Pairs) != 1 {
		return page.Foreign(c.Suite) + " · " + page.Plural(len(c.Pairs), "configuration", "configurations") + " compared with " + c.against()
	}
	p := &c.Pairs[0]
	how := "not paired"
	if p.How.Paired {
		how = page.Plural(p.How.Common, "task", "tasks") + " paired"
		if p.How.Runs > p.How.Common {
			how = fmt.Sprintf("%s, %d runs", how, p.How.Runs)
		}
	}
	return page.Foreign(c.Suite) + " · " + page.Foreign(p.Base.named()) + " → " + page.Foreign(p.New.named()) + " · " + how
}

func (c *Comparison) Lacks() string { return c.Incomplete }

// against is what several configurations are compared with.
func (c *Comparison) against() string {
	if len(c.Pairs) == 0 {
		return "nothing"
	}
	first := &c.Pairs[0].Base
	if slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.Base.Configuration != first.Configuration }) {
		return cmp.Or(page.Foreign(first.Where), "the base")
	}
	return page.Foreign(first.named())
}

// named is the side with its place, if it has one.
func (s *PairSide) named() string {
	if s.Where == "" {
		return s.Configuration
	}
	return s.Where + ":" + s.Configuration
}

func (c *Comparison) Remark() page.Words {
	if !c.allSimulated() {
		return ""
	}
	return page.SimulatedBy(c.Simulated)
}

// allSimulated reports whether no number comes from a real model.
func (c *Comparison) allSimulated() bool {
	for i := range c.Pairs {
		sides := 0
		for _, w := range c.Pairs[i].Warnings {
			sides += number(w.Kind == SimulatedModel)
		}
		if sides < 2 {
			return false
		}
	}
	return len(c.Pairs) > 0 && len(c.Simulated) > 0
}

// warningsOf are the warnings on a pair, without what holds for all of them.
func (c *Comparison) warningsOf(p *Pair) []Warning {
	if !c.allSimulated() {
		return p.Warnings
	}
	return slices.DeleteFunc(slices.Clone(p.Warnings), func(w Warning) bool { return w.Kind == SimulatedModel })
}

// Tables are all tables of a comparison, in the order in which people read
// them.
func (c *Comparison) Tables(page.Audience) []page.Table {
	return []page.Table{differencesTable(c), c.front().table(compare.ShownDigits), flipsTable(c), specTable(c), thresholdsTable(c.Thresholds)}
}

// WholeWarnings are those on a pair, too, where it is the only one and no cell
// names it.
func (c *Comparison) WholeWarnings() []page.Warning {
	var whole []page.Warning
	if c.allSimulated() {
		whole = append(whole, Warning{Kind: SimulatedModel, Name: strings.Join(c.Simulated, ", ")})
	}
	if len(c.Pairs) == 1 {
		whole = append(whole, c.notesOn(&c.Pairs[0])...)
	}
	return append(whole, page.Warnings(c.Warnings)...)
}

// Warned are all warnings, those on a pair with its name.
func (c *Comparison) Warned() iter.Seq2[string, page.Warning] {
	all := NotedOn(nil, "", c.Warnings)
	for p := range page.EachOf(c.Pairs) {
		all = NotedOn(all, p.Name, p.Warnings)
	}
	return all.Each
}

func (c *Comparison) WriteJSON(w io.Writer) error {
	c.front()
	for i, of := range c.couples {
		if p := &c.Pairs[i]; c.base != nil && p.primary() != nil {
			p.Tasks = c.changes(of)
		}
	}
	return page.WriteObject(w, c)
}

// DiffTableNames are the tables of a comparison, in the order in which people read
// them.
var DiffTableNames = []string{"differences", "front", "flips", "spec", page.Thresholds}

// differenceRow is a difference of a pair.
type differenceRow struct {
	pair *Pair
	*compare.Difference
}

// pairFields name a row's configuration, where there are several pairs, and, for
// machines, the simulated models of either side.
func pairFields[T any](c *Comparison, of func(T) *Pair, warned bool) page.Fields[T] {
	return page.Of(page.Column{Head: "configuration", Key: "configuration", Only: c.severalPairs()}, func(row T) page.Cell {
		if !warned {
			return page.Name(of(row).Name)
		}
		return page.Name(of(row).Name, c.notesOn(of(row))...)
	})
}

// ofPairs fills a table of rows of the pairs, which is told where there are several.
func ofPairs[T any](c *Comparison, t page.Table, fields page.Fields[T], rows iter.Seq[T]) page.Table {
	if t.Keys = 2; c.severalPairs() == page.Machines {
		t.Keys = 1
	}
	return page.Filled(t, fields, rows)
}

// differencesTable has one row for each configuration and quantity.
func differencesTable(c *Comparison) page.Table {
	fields := slices.Concat(c.quantityFields("quantity"),
		page.Of(page.Column{Head: "verdict", Warnings: page.Warnings(c.explain())}, func(row differenceRow) page.Cell { return page.Text(row.Judgement()) }).ForPeople(),
		c.numberFields(), countFields())
	return ofPairs(c, page.Table{Name: "differences", Title: "Differences", Whole: true}, fields, pairRows(c, func(p *Pair) []compare.Difference {
		if len(p.Differences) == 0 { // a row says so
			none := compare.Number(math.NaN())
			return []compare.Difference{{Base: none, New: none, Change: none, Low: none, High: none, P: none, Adjusted: none, Verdict: compare.CannotTell}}
		}
		return p.Differences
	}, newDifferenceRow))
}

// quantityFields say of which pair and of what a difference is.
func (c *Comparison) quantityFields(called string) page.Fields[differenceRow] {
	return slices.Concat(pairFields(c, func(row differenceRow) *Pair { return row.pair }, true),
		page.Named("", "simulated", func(row differenceRow) string { return row.pair.simulatedBy() }).ForMachines(),
		page.Named(called, called, func(row differenceRow) string { return row.Name }))
}

// simulatedBy are the models of which either side's numbers come.
func (p *Pair) simulatedBy() string {
	for _, w := range p.Warnings {
		if w.Kind == SimulatedModel {
			return w.Name
		}
	}
	return ""
}

func pairRows[T, R any](c *Comparison, of func(*Pair) []T, row func(*Pair, *T) R) iter.Seq[R] {
	return func(yield func(R) bool) {
		for i := range c.Pairs {
			all := of(&c.Pairs[i])
			for k := range all {
				if !yield(row(&c.Pairs[i], &all[k])) {
					return
				}
			}
		}
	}
}

func newDifferenceRow(p *Pair, d *compare.Difference) differenceRow { return differenceRow{p, d} }

func (c *Comparison) differences() iter.Seq[differenceRow] {
	return pairRows(c, func(p *Pair) []compare.Difference { return p.Differences }, newDifferenceRow)
}

func (c *Comparison) numberFields() page.Fields[differenceRow] {
	dollars := c.dollarDigits()
	mean := func(head string, of func(differenceRow) compare.Number) page.Fields[differenceRow] {
		return page.Right(head, head, func(row differenceRow) page.Cell { return row.Mean(of(row), dollars) })
	}
	machine := func(key string, of func(differenceRow) compare.Number) page.Fields[differenceRow] {
		return page.Valued("", key, page.Whole, func(row differenceRow) page.Value { return row.Value(of(row)) }).ForMachines()
	}
	adjusted := func(row differenceRow) compare.Number { return row.Adjusted }
	return slices.Concat(
		mean("base", func(row differenceRow) compare.Number { return row.Base }),
		mean("new", func(row differenceRow) compare.Number { return row.New }),
		page.Right("change", "change", func(row differenceRow) page.Cell {
			return row.ChangeCell(dollars, page.Warnings(warningsAbout(row.Difference))...)
		}),
		page.Right("95%", "", func(row differenceRow) page.Cell { return page.Text(row.IntervalText(dollars)) }).ForPeople(),
		machine("low", func(row differenceRow) compare.Number { return row.Low }),
		machine("high", func(row differenceRow) compare.Number { return row.High }),
		page.Valued("p", "", page.Or(page.Nothing, page.Chance), func(row differenceRow) page.Value { return row.Value(adjusted(row)) }).ForPeople(),
		machine("p", func(row differenceRow) compare.Number { return row.P }),
		machine("p_adjusted", adjusted))
}

// outcomeField counts the tasks that were won, lost or equal.
func outcomeField() page.Fields[differenceRow] {
	return page.Right("won/lost\n/equal", "", func(row differenceRow) page.Cell {
		if !row.Paired || row.Tasks == 0 {
			return page.Text("")
		}
		return page.Text(fmt.Sprintf("%d/%d/%d", row.Wins, row.Losses, row.Ties))
	}).Optional().ForPeople()
}

func countFields() page.Fields[differenceRow] {
	n := func(key string, of func(differenceRow) int) page.Fields[differenceRow] {
		return page.Counted("", key, of).ForMachines()
	}
	word := func(key string, of func(differenceRow) string) page.Fields[differenceRow] {
		return page.Worded("", key, of).ForMachines()
	}
	return slices.Concat(outcomeField(),
		word("verdict", func(row differenceRow) string { return string(row.Verdict) }),
		word("not_worse", func(row differenceRow) string { return strconv.FormatBool(row.NotWorse) }),
		n("wins", func(row differenceRow) int { return row.Wins }),
		n("losses", func(row differenceRow) int { return row.Losses }),
		n("ties", func(row differenceRow) int { return row.Ties }),
		n("tasks", func(row differenceRow) int { return row.Tasks }),
		n("tasks_needed", func(row differenceRow) int { return row.Needed }),
		n("clusters", func(row differenceRow) int { return row.Clusters }),
		n("clusters_needed", func(row differenceRow) int { return row.ClustersNeeded }),
		n("left_out", func(row differenceRow) int { return row.LeftOut }),
		word("test", func(row differenceRow) string { return string(row.Test) }))
}

func warningsAbout(d *compare.Difference) (warnings []Warning) {
	if d.LeftOut > 0 && d.Tasks > 0 {
		warnings = append(warnings, Warning{Kind: LeftOut, Name: d.Name, Count: d.LeftOut, Of: d.Runs + d.LeftOut})
	}
	if !d.Score && !d.Relative && d.Tasks > 0 && d.Wins+d.Losses > 0 {
		warnings = append(warnings, Warning{Kind: ByDifferences, Name: d.Name})
	}
	if d.AssumesNoRareLoss && (d.Verdict == compare.Same || d.NotWorse) {
		warnings = append(warnings, Warning{Kind: NoRareLoss, Name: d.Name})
	}
	if d.Contrary {
		warnings = append(warnings, Warning{Kind: RanksDisagree})
	}
	few := Warning{Kind: TooFewDiffer, Name: "task", Count: d.Differing, Of: d.Fewest}
	if d.Clusters > 0 {
		few.Name = "cluster"
	}
	if d.TooFew && (d.Clusters > 0 || d.Differing == d.Wins+d.Losses) {
		warnings = append(warnings, few)
	}
	return warnings
}

// dollarDigits is how many digits amounts of money have, as in a report.
func (c *Comparison) dollarDigits() int {
	var costs []page.Value
	for row := range c.differences() {
		if row.Name == "cost_usd" && !row.Score {
			costs = append(costs, row.Value(row.Base), row.Value(row.New))
		}
	}
	return page.DollarDigits(slices.Values(costs))
}

// specTable lists what differs between the specs, what was not declared first.
func specTable(c *Comparison) page.Table {
	fields := slices.Concat(page.Named("path", "path", func(d SpecDifference) string { return d.Path }),
		page.Prose("base", "base", func(d SpecDifference) string { return d.Base }), page.Prose("new", "new", func(d SpecDifference) string { return d.New }),
		page.Of(page.Column{Head: "declared", Key: "declared"}, func(d SpecDifference) page.Cell {
			return page.Cell{Text: map[bool]string{true: "yes", false: "no"}[d.Declared], Raw: strconv.FormatBool(d.Declared)}
		}))
	sorted := slices.Clone(c.Spec)
	slices.SortStableFunc(sorted, func(a, b SpecDifference) int { return number(a.Declared) - number(b.Declared) })
	return page.Filled(page.Table{Name: "spec", Title: "What differs between the specs", Blocks: 1}, fields, slices.Values(sorted))
}

// flipRow is a flip of a pair.
type flipRow struct {
	pair *Pair
	*Flip
}

// flipsTable lists the tasks whose success changed, those that got worse first.
func flipsTable(c *Comparison) page.Table {
	ids := func(head, key string, of func(*Flip) string) page.Fields[flipRow] {
		return page.Named(head, key, func(row flipRow) string { return of(row.Flip) })
	}
	fields := slices.Concat(pairFields(c, func(row flipRow) *Pair { return row.pair }, false),
		ids("score", "score", func(f *Flip) string { return f.Score }),
		ids("task", "task", func(f *Flip) string { return f.Task }),
		page.Valued("base", "base", page.Short, func(row flipRow) page.Value { return page.Known(float64(row.Base)) }),
		page.Valued("new", "new", page.Short, func(row flipRow) page.Value { return page.Known(float64(row.New)) }),
		ids("run", "", func(f *Flip) string { return f.shown(f.BaseRuns, true) }).Optional().ForPeople(),
		ids("base run", "", func(f *Flip) string { return f.shown(f.BaseRuns, false) }).Optional().ForPeople(),
		ids("new run", "", func(f *Flip) string { return f.shown(f.NewRuns, false) }).Optional().ForPeople(),
		ids("", "base_runs", func(f *Flip) string { return strings.Join(f.BaseRuns, " ") }).ForMachines(),
		ids("", "new_runs", func(f *Flip) string { return strings.Join(f.NewRuns, " ") }).ForMachines())
	return page.Filled(page.Table{Name: "flips", Title: "Tasks that flipped", Blocks: 1, Shares: c.shareFlips()}, fields,
		pairRows(c, func(p *Pair) []Flip { return p.Flips }, func(p *Pair, f *Flip) flipRow { return flipRow{p, f} }))
}

// shareFlips has each configuration and score show its worst where not all flips
// can be shown: what got worse comes before what got better, and of each as many
// before any shows more.
func (c *Comparison) shareFlips() *page.Shares {
	type place struct {
		better, round int
		change        float64
	}
	var places []place
	var pairs []*Pair
	for i := range c.Pairs {
		met := map[string]int{}
		for flip := range page.EachOf(c.Pairs[i].Flips) {
			p := place{change: -math.Abs(float64(flip.New - flip.Base))}
			if flip.New > flip.Base {
				p.better = 1
			}
			of := fmt.Sprint(p.better, flip.Score)
			p.round, met[of] = met[of], met[of]+1
			places, pairs = append(places, p), append(pairs, &c.Pairs[i])
		}
	}
	s := &page.Shares{Order: spaced(len(places), len(places)), Group: func(at int) string {
		if len(c.Pairs) < 2 {
			return ""
		}
		return pairs[at].Name
	}}
	slices.SortFunc(s.Order, func(a, b int) int {
		x, y := places[a], places[b]
		return cmp.Or(cmp.Compare(x.better, y.better), cmp.Compare(x.round, y.round), cmp.Compare(x.change, y.change), cmp.Compare(a, b))
	})
	return s
}

// severalPairs says who needs to be told of which pair a row is.
func (c *Comparison) severalPairs() page.Audience {
	if len(c.Pairs) < 2 {
		return page.Machines
	}
	return page.Everyone
}

// shown are the ids of runs where those of both sides are the same, as in two folders of one suite, or where they
// are not: the first and the last of a task, default/t/1…3.
func (f *Flip) shown(ids []string, same bool) string {
	switch {
	case slices.Equal(f.BaseRuns, f.NewRuns) != same:
		return ""
	case len(ids) < 2:
		return strings.Join(ids, "")
	}
	last := ids[len(ids)-1]
	return ids[0] + "…" + last[strings.LastIndexByte(last, '/')+1:]
}
