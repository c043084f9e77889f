package reports

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
	"github.com/agentbench/agentbench/spec/expr"
)

// What gated differences fail on.
const (
	FailOnWorse      = "worse"
	FailOnCannotTell = "cannot-tell" // or worse
	FailOnNothing    = "none"
)

// Fails says whether a gated difference makes the comparison fail.
func (c *Comparison) Fails(d *Difference) bool {
	switch c.FailOn {
	case FailOnWorse:
		return d.Gated && d.Verdict == compare.Worse
	case FailOnCannotTell:
		return d.Gated && (d.Verdict == compare.Worse || d.Verdict == compare.CannotTell)
	}
	return false
}

// Checks are those of the thresholds, and the differences of each pair, after why
// there is no answer.
func (c *Comparison) Checks() iter.Seq[page.Check] {
	return func(yield func(page.Check) bool) {
		if !eachCheck(c.Thresholds, yield) {
			return
		}
		if c.Unanswered != "" && !yield(page.Check{Group: "suite", Name: c.Suite, State: page.Errored, Message: c.Unanswered, Loud: true}) {
			return
		}
		for row := range c.differences() {
			if !yield(c.check(&row)) {
				return
			}
		}
	}
}

// check is that of a difference. One that is worse and not gated is none of the
// failures: it passes, and its message says what it is.
func (c *Comparison) check(row *differenceRow) page.Check {
	d := row.Difference
	k := page.Check{Group: row.pair.Name, Name: d.Quantity, State: page.Passed, Message: d.told(), Loud: d.Gated}
	switch {
	case c.Fails(d):
		k.State = page.Failed
	case !d.Change.Known() && d.Gated:
		k.State, k.Message = page.Errored, "not compared: "+d.Change.Missing
	case !d.Change.Known():
		k.State, k.Message = page.Skipped, "not compared: "+d.Change.Missing
	case d.Verdict == compare.CannotTell:
		k.State = page.Skipped
	}
	return k
}

// told is the verdict with the numbers.
func (d *Difference) told() string {
	text := fmt.Sprintf("%s: %s -> %s, change %s", words(d.Verdict), d.Base.Exact(), d.New.Exact(), d.Change.Exact())
	if d.Low.Known() {
		text += fmt.Sprintf(" [%s, %s]", d.Low.Exact(), d.High.Exact())
	}
	if d.Relative {
		text += " of the base"
	}
	return text
}

// Answer is why there is none, or what fails, or what the primary score says.
func (c *Comparison) Answer(quote func(string) string) page.Answer {
	if c.Unanswered != "" {
		return page.Answer{State: page.Errored, Text: quote(c.Unanswered)}
	}
	thresholds := answerOf(c.Thresholds)
	if thresholds.State == page.Errored {
		return thresholds
	}
	if a, fails := c.failing(quote); fails {
		return a
	}
	if thresholds.State == page.Failed {
		return thresholds
	}
	return c.primary(quote)
}

// failing names the gated differences that fail.
func (c *Comparison) failing(quote func(string) string) (a page.Answer, fails bool) {
	var names []string
	for row := range c.differences() {
		if !c.Fails(row.Difference) {
			continue
		}
		name := quote(row.Quantity)
		if len(c.Pairs) > 1 {
			name += " of " + quote(row.pair.Name)
		}
		names = append(names, fmt.Sprintf("%s is %s", name, words(row.Verdict)))
	}
	const most = 3
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return page.Answer{State: page.Failed, Text: strings.Join(names, ", ")}, len(names) > 0
}

// primary is what the primary score says of the pairs.
func (c *Comparison) primary(quote func(string) string) page.Answer {
	verdicts := map[compare.Verdict]int{}
	for row := range c.differences() {
		if row.Quantity == c.Primary && row.Score {
			verdicts[row.Verdict]++
		}
	}
	var parts []string
	for _, v := range []compare.Verdict{compare.Worse, compare.Better, compare.Same, compare.CannotTell} {
		switch n := verdicts[v]; {
		case n > 0 && len(c.Pairs) == 1:
			parts = append(parts, words(v))
		case n > 0:
			parts = append(parts, fmt.Sprintf("%s (%d)", words(v), n))
		}
	}
	switch {
	case len(parts) == 0:
		return page.Answer{State: page.Undecided, Text: "no score is compared"}
	case verdicts[compare.Worse]+verdicts[compare.CannotTell] > 0:
		return page.Answer{State: page.Undecided, Text: quote(c.Primary) + ": " + strings.Join(parts, ", ")}
	}
	return page.Answer{State: page.Passed, Text: quote(c.Primary) + ": " + strings.Join(parts, ", ")}
}

// words are a verdict as people read it.
func words(v compare.Verdict) string { return strings.ReplaceAll(string(v), "_", " ") }

// Facts are how a pair was compared.
func (c *Comparison) Facts(group string) []page.Fact {
	at := slices.IndexFunc(c.Pairs, func(p Pair) bool { return p.Name == group })
	if at < 0 {
		return nil
	}
	p := &c.Pairs[at]
	same := func(text string) string { return text }
	return []page.Fact{
		{Name: "base", Value: p.Base.named(same)}, {Name: "new", Value: p.New.named(same)},
		{Name: "paired", Value: fmt.Sprint(p.How.Paired)}, {Name: "tasks", Value: fmt.Sprint(p.How.Tasks)},
		{Name: "runs", Value: fmt.Sprintf("%d -> %d", p.Base.Runs, p.New.Runs)},
	}
}

// metrics are the fields of `diff` that spec/expr declares in its places.go.
func (p *Pair) metrics(seen *readings) metrics {
	scores := expr.NewObject(len(p.Differences))
	fields := map[string]any{"configuration": p.Name, "scores": scores}
	for i := range p.Differences {
		d := &p.Differences[i]
		if d.Score {
			path := fmt.Sprintf("diff.scores[%q].", d.Quantity)
			scores.Set(d.Quantity, metrics{path: path, fields: d.metrics(), seen: seen})
			continue
		}
		name := fieldOf(d.Quantity)
		fields[name] = metrics{path: "diff." + name + ".", fields: d.metrics(), seen: seen}
	}
	return metrics{path: "diff.", fields: fields, seen: seen}
}

// fieldOf is the field of an amount, which is called there as it is under
// `configurations`.
func fieldOf(quantity string) string {
	if quantity == "latency_s" {
		return "latency"
	}
	return quantity
}

func (d *Difference) metrics() map[string]any {
	why := ""
	if !d.Change.Known() || d.Tasks == 0 {
		why = "nothing could be compared"
	}
	change := ranged{d.Change, d.Low, d.High}
	notWorse := fmt.Sprintf("%v (change %s, margin %.6g)", d.NotWorse, change.exact(), d.Margin)
	verdict := d.Verdict
	if verdict == "" {
		verdict = compare.CannotTell
	}
	return map[string]any{
		"verdict":   word{value: string(verdict), shown: string(verdict) + " (" + d.exactChange() + ")", missing: why},
		"not_worse": word{value: d.NotWorse, shown: notWorse, missing: why},
		"base":      d.Base, "new": d.New, "change": change, "low": d.Low, "high": d.High, "p": d.Adjusted,
		"n": int64(d.Tasks), "wins": int64(d.Wins), "losses": int64(d.Losses), "ties": int64(d.Ties),
	}
}

// exactChange is the change with its interval and the p by which it was judged.
func (d *Difference) exactChange() string {
	change := ranged{d.Change, d.Low, d.High}
	text := "change " + change.exact()
	if d.Adjusted.Known() {
		text += ", p " + d.Adjusted.Exact()
	}
	return text
}

// Numbers are both sides and their difference in one line.
func (d *Difference) Numbers() string {
	return d.Base.Exact() + " -> " + d.New.Exact() + ", " + d.exactChange()
}

// With fewer configurations their difference is a line of its own; with fewer
// values in rows that are not all equal the chi-squared distribution is too far
// from the statistic's own (M. W. Tate and S. M. Brown, JASA 65, 1970).
const (
	fewestAtOnce     = 3
	fewestDiffering  = 24
	fewestRowsAtOnce = 6
)

// anyDifference asks of the primary score whether the configurations differ at
// all, before any two of them are compared: one look in place of many. It is over
// the tasks, or clusters of them, of which all configurations have a score.
func (c *collector) anyDifference() (w Warning, ok bool) {
	if len(c.runs.scores) == 0 {
		return w, false
	}
	rows, configurations := c.runs.scoredByAll(len(c.sums))
	if configurations < fewestAtOnce || len(rows) < fewestRowsAtOnce || differingRows(rows)*configurations < fewestDiffering {
		return w, false
	}
	name := "Cochran's Q"
	test, ok := stats.CochranQ(rows)
	if !ok {
		name = "Friedman's chi-squared"
		test, ok = stats.Friedman(rows)
	}
	of, p := page.Plural(len(rows), "task", "tasks"), page.Chance(page.Known(test.P))
	if c.runs.clusters != nil {
		of = page.Plural(len(rows), "cluster", "clusters")
	}
	if !strings.HasPrefix(p, "<") {
		p = "= " + p
	}
	return Warning{
		Kind: AnyDifference, Name: c.runs.scores[0].name, Count: len(rows), Of: configurations,
		More: fmt.Sprintf("%s = %.3g over %s, p %s", name, test.Statistic, of, p),
	}, ok
}

// scoredByAll has a row for each task, or cluster of tasks, and in it the mean
// primary score of each configuration that has runs.
func (r *runs) scoredByAll(all int) (rows [][]float64, configurations int) {
	var with []int
	for i := range all {
		if len(r.ordered[i]) > 0 {
			with = append(with, i)
		}
	}
	configurations = len(with)
	cells, filled := make([]float64, len(r.tasks.all)*configurations), make([]int32, len(r.tasks.all))
	for column, i := range with {
		for group := range r.byTask(i) {
			task := r.all[group[0]].task
			if mean, ok := r.meanPrimary(group); ok {
				cells[int(task)*configurations+column] = settled(mean)
				filled[task]++
			}
		}
	}
	return r.filledRows(cells, filled, configurations), configurations
}

// filledRows are the rows of tasks that all configurations have a score of, and
// the means of those in a cluster.
func (r *runs) filledRows(cells []float64, filled []int32, configurations int) (rows [][]float64) {
	byCluster := map[string][][]float64{}
	var clusters []string
	for task, n := range filled {
		row := cells[task*configurations : (task+1)*configurations]
		switch cluster := r.clusterOf(int32(task)); {
		case int(n) < configurations:
		case cluster == "":
			rows = append(rows, row)
		default:
			if byCluster[cluster] == nil {
				clusters = append(clusters, cluster)
			}
			byCluster[cluster] = append(byCluster[cluster], row)
		}
	}
	for _, cluster := range clusters {
		rows = append(rows, meanRow(byCluster[cluster]))
	}
	return rows
}

func (r *runs) meanPrimary(group []int32) (mean float64, ok bool) {
	var scored []float64
	for _, at := range group {
		if score, ok := r.primary(at); ok {
			scored = append(scored, score)
		}
	}
	return stats.Mean(scored)
}

func meanRow(rows [][]float64) []float64 {
	means, column := make([]float64, len(rows[0])), make([]float64, len(rows))
	for i := range means {
		for at, row := range rows {
			column[at] = row[i]
		}
		mean, _ := stats.Mean(column)
		means[i] = settled(mean)
	}
	return means
}

// settled is a mean without what rounding adds to it: ranks tell any two numbers
// apart.
func settled(mean float64) float64 { return math.Round(mean*1e9) / 1e9 }

// differingRows counts the rows whose values are not all equal.
func differingRows(rows [][]float64) (n int) {
	for _, row := range rows {
		for _, value := range row {
			if value != row[0] {
				n++
				break
			}
		}
	}
	return n
}

// Holding says what becomes of a threshold within the intervals of the metrics
// that it reads. It is "" where it reads none that has an interval.
type Holding string

// The Holdings.
const (
	Throughout Holding = "throughout" // it holds over the whole interval
	InPart     Holding = "in_part"    // it holds, but not over the whole interval
	Possibly   Holding = "possibly"   // it does not hold, but would in a part of the interval
	Nowhere    Holding = "nowhere"    // it does not hold anywhere in the interval
)

// after adds to numbers what the Holding means.
func (h Holding) after(numbers string) string {
	switch h {
	case Throughout:
		return numbers + ": holds over the whole interval"
	case InPart:
		return numbers + ": holds, but not over the whole interval"
	case Possibly:
		return numbers + ": does not hold, though a part of the interval would"
	case Nowhere:
		return numbers + ": does not hold anywhere in the interval"
	}
	return numbers
}

// mostCorners bounds the metrics whose ends are tried in all combinations. Of
// more, all are at their low ends together, then all at their high ones.
const mostCorners = 3

// holding evaluates a threshold again with the ends of the intervals that it
// read in the place of the numbers.
func (j *judge) holding(ctx context.Context, program *expr.Program, pair *Pair, seen *readings, ok bool) Holding {
	wide := seen.wide()
	alike := true
	for {
		alike = j.alike(ctx, program, pair, seen, wide, ok)
		more := seen.wide()
		if len(more) == len(wide) {
			break
		}
		wide = more // at the ends it read more than before
	}
	switch {
	case len(wide) == 0:
		return ""
	case ok && alike:
		return Throughout
	case ok:
		return InPart
	case alike:
		return Nowhere
	}
	return Possibly
}

// alike says whether the threshold gives the same at all ends.
func (j *judge) alike(ctx context.Context, program *expr.Program, pair *Pair, seen *readings, wide []reading, ok bool) bool {
	alike := true
	for _, corner := range corners(wide) {
		there := readings{at: corner}
		holds, err := j.holds(ctx, program, pair, &there)
		alike = alike && (holds && err == nil) == ok
		for _, one := range there.all {
			seen.add(one)
		}
	}
	return alike
}

// wide are the readings that have an interval.
func (r *readings) wide() (wide []reading) {
	for _, one := range r.all {
		if one.isWide() {
			wide = append(wide, one)
		}
	}
	return wide
}

// corners are the combinations of ends that are tried, by the paths of the
// metrics.
func corners(wide []reading) []map[string]float64 {
	if len(wide) == 0 {
		return nil
	}
	all := []map[string]float64{}
	if len(wide) > mostCorners {
		low, high := map[string]float64{}, map[string]float64{}
		for _, one := range wide {
			low[one.path], high[one.path] = one.low.Number, one.high.Number
		}
		return append(all, low, high)
	}
	for bits := range 1 << len(wide) {
		corner := map[string]float64{}
		for i, one := range wide {
			corner[one.path] = one.low.Number
			if bits>>i&1 == 1 {
				corner[one.path] = one.high.Number
			}
		}
		all = append(all, corner)
	}
	return all
}
