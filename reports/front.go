package reports

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/stats"
)

// Front tells which configurations no other beats: none is as cheap, as good and as
// fast, and better in one of these. It is a staircase: a mix of two configurations
// is no configuration.
type Front struct {
	// Cost is what is to be small: cost_usd where that of any configuration is known,
	// else tokens, else iterations. Score is what is to be large: the primary score,
	// "" for the share of the runs in which the loop believed to have succeeded.
	Cost  string `json:"cost"`
	Score string `json:"score,omitempty"`
	// Tasks are those that all configurations compared have, of the Of that any has:
	// the numbers are means over them.
	Tasks int `json:"tasks"`
	Of    int `json:"of"`
	// Rows are the front, the cheapest first, then what is beaten, then what is
	// apart.
	Rows []FrontRow `json:"rows"`
}

// FrontRow is a configuration beside the others.
type FrontRow struct {
	Name  string `json:"configuration"`
	Front bool   `json:"front"`
	// BeatenBy is the cheapest on the front that is as cheap, as good and as fast.
	BeatenBy string `json:"beaten_by,omitempty"`
	// Apart is why it could not be compared.
	Apart   string     `json:"apart,omitempty"`
	Cost    page.Value `json:"cost"`
	Quality page.Value `json:"score"`
	Seconds page.Value `json:"latency_s"`
	// Share is how often it is on the front when the tasks, or clusters, are drawn
	// anew, 2,000 times: how sure it is to belong there.
	Share page.Value `json:"share"`

	of *contender
}

// contender is a configuration that may be on a front.
type contender struct {
	name   string
	side   string // of a comparison of two results: base or new
	report *Report
	at     int // its number in the report

	tasks  []string // with a score, in their natural order
	points []stats.Point
	apart  string
}

// frontOf compares configurations of one report, or of several, whose tasks are
// the same by their ids. It is nil where fewer than two can be compared.
func frontOf(all []*contender, seed int64) *Front {
	all = slices.DeleteFunc(all, func(c *contender) bool { return len(c.runs()) == 0 })
	if len(all) < 2 {
		return nil
	}
	f := &Front{Score: all[0].report.Primary()}
	cost := f.costOf(all)
	var compared []*contender
	for _, c := range all {
		c.measure(cost)
		if c.apart = c.lacks(cost); c.apart == "" {
			compared, f.Of = append(compared, c), max(f.Of, len(c.tasks))
		}
	}
	compared = slices.DeleteFunc(compared, func(c *contender) bool { return c.tooFew(f.Of) })
	if len(compared) < 2 || !f.rank(compared, seed) {
		return nil
	}
	for _, c := range all {
		if c.apart != "" {
			f.Rows = append(f.Rows, c.aside())
		}
		c.tasks, c.points = nil, nil
	}
	return f
}

func (c *contender) runs() []int32 { return c.report.runs.ordered[c.at] }

// costOf is the amount that is to be small.
func (f *Front) costOf(all []*contender) (cost *amount) {
	for _, f.Cost = range []string{"cost_usd", "tokens", "iterations"} {
		cost = amountNamed(f.Cost)
		if slices.ContainsFunc(all, func(c *contender) bool { return c.lacks(cost) == "" }) {
			break
		}
	}
	return cost
}

// lacks is why an amount is not known of each run, "" where it is.
func (c *contender) lacks(of *amount) string {
	for _, at := range c.runs() {
		if why := of.missing(&c.report.runs.all[at]); why != "" {
			return strings.TrimSuffix(of.name, "_usd") + " " + why
		}
	}
	return ""
}

// measure finds the tasks that have a score, and their means. A delay that is not
// known is the same for all.
func (c *contender) measure(cost *amount) {
	r, latency := c.report.runs, amountNamed("latency_s")
	timed := c.lacks(latency) == ""
	for group := range r.byTask(c.at) {
		quality, ok := r.meanSuccess(group)
		if !ok {
			continue
		}
		p := stats.Point{Cost: r.mean(group, cost), Quality: quality}
		if timed {
			p.Delay = r.mean(group, latency)
		}
		c.tasks, c.points = append(c.tasks, r.tasks.all[r.all[group[0]].task]), append(c.points, p)
	}
}

// meanSuccess is the mean primary score of a task's runs; where nothing is scored,
// of what the loop believed.
func (r *runs) meanSuccess(group []int32) (mean float64, ok bool) {
	if len(r.scores) > 0 {
		return stats.Mean(r.primaries(group))
	}
	var believed []float64
	for _, at := range group {
		if r.all[at].assessed {
			believed = append(believed, numberOf(r.all[at].believed))
		}
	}
	return stats.Mean(believed)
}

func (r *runs) mean(group []int32, of *amount) float64 {
	sum := 0.0
	for _, at := range group {
		sum += of.of(&r.all[at])
	}
	return sum / float64(len(group))
}

// tooFew sets a configuration apart that has less than half of the tasks of
// another: only the tasks that all have are compared.
func (c *contender) tooFew(most int) bool {
	switch n := len(c.tasks); {
	case n == 0:
		c.apart = "no score"
	case 2*n < most:
		c.apart = fmt.Sprintf("only %d of %s", n, page.Plural(most, "task", "tasks"))
	default:
		return false
	}
	return true
}

// rank compares configurations over the tasks that all of them have, if there are
// any.
func (f *Front) rank(all []*contender, seed int64) bool {
	common := all[0].tasks
	for _, c := range all[1:] {
		common = commonNames(common, c.tasks)
	}
	if f.Tasks = len(common); f.Tasks == 0 {
		return false
	}
	units, of := unitsOf(all, common)
	timed := !slices.ContainsFunc(all, func(c *contender) bool { return c.lacks(amountNamed("latency_s")) != "" })
	points, rows := make([]stats.Point, len(all)), make([][]stats.Point, len(all))
	for i, c := range all {
		rows[i] = c.sums(common, units, of, timed)
		points[i] = meanPoint(rows[i], f.Tasks)
	}
	standings, _ := stats.Standings(points, func(at int) ([]stats.Point, error) { return rows[at], nil }, func(int) bool { return false }, uint64(seed))
	for i := range standings {
		for _, at := range standings[i].At {
			f.Rows = append(f.Rows, all[at].row(&standings[i], timed))
		}
	}
	f.beaten()
	return true
}

// beaten puts what is not on the front in the order of its cost, and says by what it
// is beaten.
func (f *Front) beaten() {
	first := len(f.Rows)
	if at := slices.IndexFunc(f.Rows, func(r FrontRow) bool { return !r.Front }); at >= 0 {
		first = at
	}
	front, behind := f.Rows[:first], f.Rows[first:]
	slices.SortStableFunc(behind, func(a, b FrontRow) int { return cmp.Compare(a.Cost.Number, b.Cost.Number) })
	for i := range behind {
		by := slices.IndexFunc(front, func(r FrontRow) bool { return r.beats(&behind[i]) })
		behind[i].BeatenBy = front[by].Name
	}
}

// commonNames are the names in both of two lists in their natural order.
func commonNames(a, b []string) (common []string) {
	for len(a) > 0 && len(b) > 0 {
		order := 0
		if a[0] != b[0] {
			order = naturally(a[0], b[0])
		}
		if order == 0 {
			common = append(common, a[0])
		}
		if order <= 0 {
			a = a[1:]
		}
		if order >= 0 {
			b = b[1:]
		}
	}
	return common
}

// unitsOf numbers what is independent of others among tasks: clusters, as the first
// report has them that has any, else the tasks.
func unitsOf(all []*contender, tasks []string) (units []int, of int) {
	clusters := map[string]string{}
	if i := slices.IndexFunc(all, func(c *contender) bool { return c.report.runs.clusters != nil }); i >= 0 {
		runs := all[i].report.runs
		for at, task := range runs.tasks.all {
			clusters[task] = runs.clusterOf(int32(at))
		}
	}
	numbered := map[string]int{}
	for _, task := range tasks {
		number, known := numbered[clusters[task]]
		if !known || clusters[task] == "" {
			number, of = of, of+1
			numbered[clusters[task]] = number
		}
		units = append(units, number)
	}
	return units, of
}

// sums are those of the tasks' points by unit, with delays only where they are known
// of all configurations.
func (c *contender) sums(tasks []string, units []int, of int, timed bool) []stats.Point {
	sums, at := make([]stats.Point, of), 0
	for i, task := range tasks {
		for c.tasks[at] != task {
			at++
		}
		sum, p := &sums[units[i]], c.points[at]
		sum.Cost, sum.Quality = sum.Cost+p.Cost, sum.Quality+p.Quality
		if timed {
			sum.Delay += p.Delay
		}
	}
	return sums
}

// meanPoint is the mean over tasks, without what rounding adds to it: it would tell
// equal configurations apart.
func meanPoint(sums []stats.Point, tasks int) (mean stats.Point) {
	for _, p := range sums {
		mean.Cost, mean.Quality, mean.Delay = mean.Cost+p.Cost, mean.Quality+p.Quality, mean.Delay+p.Delay
	}
	n := float64(tasks)
	return stats.Point{Cost: precise(mean.Cost / n), Quality: precise(mean.Quality / n), Delay: precise(mean.Delay / n)}
}

// precise keeps ten digits.
func precise(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow(10, 9-math.Floor(math.Log10(math.Abs(x))))
	if rounded := math.Round(x*unit) / unit; rounded-rounded == 0 {
		return rounded
	}
	return x // which is next to nothing
}

func (c *contender) row(of *stats.Standing, timed bool) FrontRow {
	r := FrontRow{
		of: c, Name: c.name, Front: of.Front, Cost: page.Known(of.Cost), Quality: page.Known(of.Quality),
		Seconds: page.Known(of.Delay), Share: page.ValueOf(of.Share, of.Drawn),
	}
	if !timed {
		r.Seconds = page.Missing(page.Unknown)
	}
	return r
}

// aside is a configuration that was not compared. What is known of it is over all
// of its tasks.
func (c *contender) aside() FrontRow {
	none := page.Missing(page.Nothing)
	r := FrontRow{of: c, Name: c.name, Apart: c.apart, Cost: none, Quality: none, Seconds: none, Share: none}
	if mean := meanPoint(c.points, len(c.points)); len(c.points) > 0 {
		r.Quality, r.Seconds = page.Known(mean.Quality), page.Known(mean.Delay)
	}
	if c.lacks(amountNamed("latency_s")) != "" {
		r.Seconds = page.Missing(page.Unknown)
	}
	return r
}

// beats reports whether a row is as cheap, as good and as fast as another one.
func (r *FrontRow) beats(other *FrontRow) bool {
	return r.Cost.Number <= other.Cost.Number && r.Quality.Number >= other.Quality.Number && r.Seconds.Number <= other.Seconds.Number
}

// FrontPoint is what a front tells of a configuration.
type FrontPoint struct{ Cost, Quality, Seconds, Share page.Value }

// FrontFields are the columns of a front: what is small, what is large, the latency,
// and how sure a row is to be on it. Cost and quality come with their heads and keys.
func FrontFields[T any](cost, quality page.Column, dollars, score func(page.Value) string, share []page.Warning, of func(T) FrontPoint) page.Fields[T] {
	cost.Right, quality.Right = true, true
	return slices.Concat(
		page.Of(cost, func(row T) page.Cell { return page.Number(of(row).Cost, dollars) }),
		page.Of(quality, func(row T) page.Cell { return page.Number(of(row).Quality, score) }),
		page.Right("latency", "latency_s", func(row T) page.Cell {
			if seconds := of(row).Seconds; seconds.Known() {
				return page.Number(seconds, page.Seconds)
			}
			return page.Cell{}
		}).Optional(),
		page.Of(page.Column{Head: "on the\nfront", Key: "share", Right: true, Warnings: share}, func(row T) page.Cell {
			return page.Number(of(row).Share, page.Or(page.Nothing, page.Percent))
		}))
}

// table has a row for each configuration, those on the front first.
func (f *Front) table(digits int) page.Table {
	if f == nil {
		f = &Front{}
	}
	quality := page.Column{About: f.Score, Key: "score"}
	if f.Score == "" {
		quality.Head = "loop says\nsuccess"
	}
	fields := slices.Concat(
		page.Of(page.Column{Head: "configuration", Key: "configuration"}, func(r *FrontRow) page.Cell {
			cell := page.Name(r.Name, r.of.report.nameCell(r.of.configuration()).Warnings...)
			cell.Runs = r.of.terms()
			return cell
		}),
		page.Named("", "simulated", func(r *FrontRow) string { return r.of.configuration().simulatedBy() }).ForMachines(),
		page.Worded("", "front", func(r *FrontRow) string { return strconv.FormatBool(r.Front) }).ForMachines(),
		FrontFields(page.Column{Head: f.costHead(), Key: f.Cost}, quality, f.costForm(), func(v page.Value) string { return page.Score(v, digits) },
			nil, func(r *FrontRow) FrontPoint { return FrontPoint{r.Cost, r.Quality, r.Seconds, r.Share} }),
		page.Named("beaten by", "beaten_by", func(r *FrontRow) string { return r.BeatenBy }).Optional(),
		page.Worded("apart", "apart", func(r *FrontRow) string { return r.Apart }).Optional())
	return page.Filled(page.Table{Name: "front", Title: f.title()}, fields, f.each())
}

// title says what the front is of, and what the shares are.
func (f *Front) title() string {
	over := ""
	if f.Tasks < f.Of {
		over = fmt.Sprintf(" (over the %d of %d tasks that all have)", f.Tasks, f.Of)
	}
	return "Pareto front, with how often each is on it in bootstrap samples" + over
}

// terms are the filter for its runs, whose configuration has no name of a result before it.
func (c *contender) terms() []string {
	terms := []string{page.Term("config", c.configuration().Name)}
	if c.side != "" {
		terms = append(terms, page.Term("side", c.side))
	}
	return terms
}

func (c *contender) configuration() *Configuration { return &c.report.Configurations[c.at] }

func (f *Front) each() iter.Seq[*FrontRow] { return page.EachOf(f.Rows) }

func (f *Front) costForm() func(page.Value) string {
	if f.Cost != "cost_usd" {
		return page.Whole
	}
	digits := digitsOf(f.each(), func(r *FrontRow) page.Value { return r.Cost })
	return page.Or(page.Nothing, func(v page.Value) string { return page.Dollars(v, digits) })
}

// front compares the configurations of a report, once.
func (r *Report) front() *Front {
	if r.Front != nil || r.runs == nil || r.fronted {
		return r.Front
	}
	r.fronted = true
	all := make([]*contender, len(r.Configurations))
	for i := range all {
		all[i] = &contender{name: r.Configurations[i].Name, report: r, at: i}
	}
	r.Front = frontOf(all, r.Seed)
	return r.Front
}

// front compares all configurations of both sides that are compared, once.
func (c *Comparison) front() *Front {
	if c.Front != nil || c.fronted {
		return c.Front
	}
	c.fronted = true
	var all []*contender
	add := func(s *PairSide, side string, of *Report, at int) {
		if s.Where == "" { // it is of the only result
			side = ""
		}
		if !slices.ContainsFunc(all, func(known *contender) bool { return known.report == of && known.at == at }) {
			all = append(all, &contender{name: s.named(), side: side, report: of, at: at})
		}
	}
	for i, of := range c.couples {
		add(&c.Pairs[i].Base, "base", c.base, of.base)
		add(&c.Pairs[i].New, "new", c.new, of.new)
	}
	if len(all) > 0 {
		c.Front = frontOf(all, c.new.Seed)
	}
	return c.Front
}
