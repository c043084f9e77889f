package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

func (t *Tuning) Charts() []page.Chart {
	return slices.Concat(t.mapCharts(), t.frontCharts(), t.limitsChart(), t.curveCharts())
}

// mapCharts are a heat map of two parameters, or a line of one.
func (t *Tuning) mapCharts() []page.Chart {
	switch {
	case t.Map == nil:
		return nil
	case t.Map.Y.Path == "":
		return []page.Chart{t.lineOf(t.Map)}
	}
	return []page.Chart{t.mapChart(t.Map)}
}

// mapChart is a heat map.
func (t *Tuning) mapChart(m *Map) page.Chart {
	x, y := lastPart(m.X.Path), lastPart(m.Y.Path)
	if x == y {
		x, y = m.X.Path, m.Y.Path
	}
	c := page.Chart{
		Name: "map", Title: fmt.Sprintf("%s by %s and %s", t.Terms.objectiveName(), x, y), Beside: "choice", About: t.aboutMap(m),
		X: page.Axis{Name: m.X.Path, Kind: page.Category, Labels: m.X.Values}, Y: page.Axis{Name: m.Y.Path, Kind: page.Ordinal, Labels: m.Y.Values},
		Notes: m.left(),
	}
	linked := t.rows()
	least, most := m.ends()
	for _, cell := range m.Cells {
		tile := page.Tile{X: cell.X, Y: cell.Y, Shade: -1, Value: cell.Objective, More: t.told(&cell), Dot: cell.Folds > 0, Frame: cell.frame()}
		if linked[cell.Name] {
			tile.Link = page.OfConfiguration(cell.Name)
		}
		switch {
		case cell.Objective.Known():
			tile.Text, tile.Shade = objectiveForm(cell.Objective), shade(cell.Objective, least, most)
		case cell.Least.Known():
			tile.Text, tile.Shade, tile.Hatch = "≥"+objectiveForm(cell.Least), shade(cell.Least, least, most), page.Hatched
		default:
			tile.Hatch = page.Crossed
		}
		c.Tiles = append(c.Tiles, tile)
	}
	c.Legend = m.legend(least, most)
	return c
}

// lastPart is a parameter without the path to it.
func lastPart(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

func (t *Tuning) aboutMap(m *Map) string {
	what := "The objective of the replayed configurations; the stronger the colour, the higher."
	switch {
	case m.Y.Path == "":
		what = "The objective of the replayed configurations by " + m.X.Path + ", the only parameter that was tried."
	case len(m.Fixed) > 0:
		fixed := make([]string, len(m.Fixed))
		for i, f := range m.Fixed {
			fixed[i] = f.Path + " " + f.Value
		}
		of := "The others"
		if !m.Weaker {
			of = fmt.Sprintf("Of %d parameters these two change it the most; the others", len(m.Fixed)+2)
		}
		what += fmt.Sprintf(" %s are those of the %s configuration: %s.", of, m.Center, strings.Join(fixed, ", "))
	}
	return what
}

// left says which values are not shown.
func (m *Map) left() (notes []string) {
	for _, a := range []MapAxis{m.X, m.Y} {
		if a.Left > 0 {
			notes = append(notes, fmt.Sprintf("%s of %s not shown", page.Plural(a.Left, "value", "values"), a.Path))
		}
	}
	return notes
}

// rows are the configurations that have a row in a table.
func (t *Tuning) rows() map[string]bool {
	named := map[string]bool{}
	for row := range t.choices() {
		named[row.Name] = true
	}
	for i := range t.Front {
		named[t.Front[i].Name] = true
	}
	for i := range t.All {
		named[t.All[i].Name] = true
	}
	return named
}

// told is what a mark of the map does not show.
func (t *Tuning) told(cell *MapCell) string {
	parts := []string{cell.Label}
	if cell.Cost.Known() {
		parts = append(parts, t.Terms.Cost+" "+t.costForm(t.meanCosts()...)(cell.Cost))
	}
	add := func(is bool, text string) {
		if is {
			parts = append(parts, text)
		}
	}
	add(cell.Recommended, "recommended")
	add(cell.Today, "today")
	add(cell.Folds > 0, "chosen without "+page.Plural(cell.Folds, "fold", "folds"))
	add(len(t.Terms.Constraints) > 0 && !cell.Within && cell.Label == "exact", "outside of the constraints")
	return strings.Join(parts, ", ")
}

func (cell *MapCell) frame() page.Frame {
	switch {
	case cell.Recommended && cell.Today:
		return page.BothFrames
	case cell.Recommended:
		return page.Framed
	case cell.Today:
		return page.DashedFrame
	}
	return page.NoFrame
}

// ends are the least and the greatest objective of a map.
func (m *Map) ends() (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, cell := range m.Cells {
		for _, v := range []page.Value{cell.Objective, cell.Least} {
			if v.Known() {
				least, most = min(least, v.Number), max(most, v.Number)
			}
		}
	}
	return least, most
}

func shade(v page.Value, least, most float64) float64 {
	if most <= least {
		return 0.5
	}
	return (v.Number - least) / (most - least)
}

func (m *Map) legend(least, most float64) (keys []page.Key) {
	if least <= most {
		for _, end := range slices.Compact([]float64{least, most}) {
			keys = append(keys, page.Key{Name: objectiveForm(page.Known(end)), Tile: page.Tile{Shade: shade(page.Known(end), least, most)}})
		}
	}
	add := func(name string, tile page.Tile, is func(*MapCell) bool) {
		if slices.ContainsFunc(m.Cells, func(cell MapCell) bool { return is(&cell) }) {
			tile.Shade = -1
			keys = append(keys, page.Key{Name: name, Tile: tile})
		}
	}
	add("bounded", page.Tile{Hatch: page.Hatched}, func(cell *MapCell) bool { return cell.Least.Known() })
	add("not known: needs calls or counterfactual", page.Tile{Hatch: page.Crossed}, func(cell *MapCell) bool { return !cell.Objective.Known() && !cell.Least.Known() })
	add("recommended", page.Tile{Frame: page.Framed}, func(cell *MapCell) bool { return cell.Recommended })
	add("today", page.Tile{Frame: page.DashedFrame}, func(cell *MapCell) bool { return cell.Today })
	add("chosen on other folds", page.Tile{Dot: true}, func(cell *MapCell) bool { return cell.Folds > 0 })
	return keys
}

// lineOf is the map of one parameter: places that have an order, for off is no number.
func (t *Tuning) lineOf(m *Map) page.Chart {
	c := page.Chart{
		Name: "map", Title: t.Terms.objectiveName() + " by " + lastPart(m.X.Path), Beside: "choice", About: t.aboutMap(m), Notes: m.left(),
		X: page.Axis{Name: m.X.Path, Kind: page.Category, Labels: m.X.Values}, Y: page.Axis{Name: t.Terms.objectiveName(), Form: objectiveForm},
	}
	exact, bounded := page.Series{Name: "exact", Line: true}, page.Series{Name: "bounded: at least", Tone: 1}
	linked := t.rows()
	for _, cell := range m.Cells {
		d := page.Dot{X: page.Known(float64(cell.X)), Y: cell.Objective, More: t.told(&cell), Ring: cell.Today}
		if linked[cell.Name] {
			d.Link = page.OfConfiguration(cell.Name)
		}
		if cell.Recommended {
			d.Name = "recommended"
		}
		if cell.Least.Known() {
			d.Y = cell.Least
			bounded.Dots = append(bounded.Dots, d)
		} else {
			exact.Dots = append(exact.Dots, d)
		}
	}
	slices.SortStableFunc(exact.Dots, func(a, b page.Dot) int { return cmp.Compare(a.X.Number, b.X.Number) })
	c.Series = []page.Series{exact}
	if len(bounded.Dots) > 0 {
		c.Series = append(c.Series, bounded)
	}
	if slices.ContainsFunc(m.Cells, func(cell MapCell) bool { return cell.Today }) {
		c.Legend = []page.Key{{Ring: true, Name: "today"}}
	}
	return c
}

// frontCharts show the front by the cost of the choice and by the latency, where that is another.
func (t *Tuning) frontCharts() []page.Chart {
	cost := page.Axis{Name: t.Terms.Cost, Unit: t.costUnit(), Form: t.costForm(t.meanCosts()...)}
	charts := t.frontChart("front-cost", cost, func(r *FrontRow) page.Value { return r.ChoiceCost }, func(r *BeatenRow) page.Value { return r.ChoiceCost }, func(c *Choice) page.Value { return c.ChoiceCost }, func(i *Intervals) page.Range { return i.CostInterval })
	if cost.Unit == page.InSeconds {
		return charts
	}
	latency := page.Axis{Name: "latency per run", Unit: page.InSeconds, Form: page.Or(page.Nothing, page.Seconds)}
	return append(charts, t.frontChart("front-latency", latency, func(r *FrontRow) page.Value { return r.Seconds }, func(r *BeatenRow) page.Value { return r.Seconds }, func(c *Choice) page.Value { return c.Latency.Mean }, func(i *Intervals) page.Range { return i.LatencyInterval })...)
}

const aboutWhiskers = "Whiskers are 95% intervals of what matters to the choice, each of one configuration alone and not corrected for choosing: the table of differences compares them."

// frontChart shows the front, and what else matters to the choice, against an amount of which less
// is better.
func (t *Tuning) frontChart(name string, x page.Axis, onFront func(*FrontRow) page.Value, beaten func(*BeatenRow) page.Value, chosen func(*Choice) page.Value, interval func(*Intervals) page.Range) []page.Chart {
	c := page.Chart{
		Name: name, Title: "Front: " + t.Terms.objectiveName() + " against " + x.Name, Beside: "front",
		X: x, Y: page.Axis{Name: t.Terms.objectiveName(), Form: objectiveForm},
	}
	roles := map[int]choiceRow{}
	for row := range t.choices() {
		if row.Objective.Known() && chosen(row.Choice).Known() && row.role != roleNext && row.role != roleTradeOff {
			roles[row.Candidate] = row
		}
	}
	beside, tested := map[int]bool{}, t.testedAgainst()
	on, other := page.Series{Name: "on the front"}, page.Series{Name: "not on the front", Tone: page.Grey}
	var costs []page.Value
	for r := range page.EachOf(t.Front) {
		d := page.Dot{X: onFront(r), Y: r.Objective, More: r.Name, Link: t.link(r.Candidate, r.Name)}
		if t.alike(r) && !r.Recommended {
			d.More += ", not distinguished from the " + tested
		}
		if row, ok := roles[r.Candidate]; ok {
			d.Name, d.XRange, d.YRange, d.Ring = row.role, interval(&r.Intervals), r.ObjectiveInterval, strings.Contains(row.role, "today")
			delete(roles, r.Candidate)
		}
		on.Dots, costs = append(on.Dots, d), append(costs, d.X)
	}
	for row := range t.choices() {
		if _, left := roles[row.Candidate]; left {
			beside[row.Candidate] = true
			d := page.Dot{Name: row.role, X: chosen(row.Choice), Y: row.Objective, XRange: interval(&row.Intervals), YRange: row.ObjectiveInterval, More: row.Name, Link: t.link(row.Candidate, row.Name), Ring: strings.Contains(row.role, "today")}
			other.Dots, costs = append(other.Dots, d), append(costs, d.X)
		}
	}
	for r := range page.EachOf(t.Beaten) {
		if !beside[r.Candidate] {
			d := page.Dot{X: beaten(r), Y: r.Objective, More: r.Name + ", beaten by " + r.BeatenBy, Link: t.link(r.Candidate, r.Name)}
			other.Dots, costs = append(other.Dots, d), append(costs, d.X)
		}
	}
	if known := func(v page.Value) bool { return v.Known() }; len(costs) < 2 || !slices.ContainsFunc(costs, known) {
		return nil
	}
	c.X.Kind, c.Series = page.ScaleOf(costs), []page.Series{on}
	if len(other.Dots) > 0 {
		c.Series = append(c.Series, other)
	}
	if !t.Terms.Minimize {
		c.Stairs = page.StairsOf(on.Dots)
	}
	c.About = t.aboutFront()
	if t.Today != nil {
		c.Legend = append(c.Legend, page.Key{Ring: true, Name: "today"})
	}
	return []page.Chart{c}
}

// aboutFront is how to read a chart of the front.
func (t *Tuning) aboutFront() string {
	text := "Up and to the left is better: the steps join what no other replayed configuration beats in these two numbers. "
	if t.Terms.Minimize {
		text = "To the left is cheaper, below is better. "
	}
	text += aboutWhiskers
	if t.BeatenInAll > len(t.Beaten) {
		text += fmt.Sprintf(" Of %s points that are beaten %d are shown, evenly by their cost.", page.Whole(page.Known(float64(t.BeatenInAll))), len(t.Beaten))
	}
	return text
}

// testedAgainst is what the front is tested against.
func (t *Tuning) testedAgainst() string {
	if t.Recommended == nil {
		return "best one"
	}
	return "recommended one"
}

// alike reports whether no paired test distinguishes a configuration on the front from what it is tested against.
func (t *Tuning) alike(r *FrontRow) bool { return r.P.Known() && r.P.Number >= 1-t.Level }

// link leads to the runs of a candidate that was recorded, and to the row of one that was replayed.
func (t *Tuning) link(candidate int, name string) string {
	if candidate == theRecording && t.Reference != "" {
		name = t.Reference
	}
	return page.OfConfiguration(name)
}

// costUnit is what the cost of the choice is counted in.
func (t *Tuning) costUnit() page.Unit {
	switch name, _, _ := strings.Cut(t.Terms.Cost, "."); name {
	case "cost_usd":
		return page.InDollars
	case "latency":
		return page.InSeconds
	}
	return page.InNumbers
}

func (t *Tuning) limitsChart() []page.Chart {
	var chart reports.LimitsChart
	for l := range page.EachOf(t.Limits) {
		chart.Add(l.Of+" · "+l.Path, l.Share, page.Dot{Text: fmt.Sprintf("%s of %d", page.Whole(l.Used), l.Limit), More: page.Percent(l.Reached) + " of the runs reach it"})
	}
	return chart.Charts()
}

// curveCharts show what the recorded runs gain and pay by the iteration.
func (t *Tuning) curveCharts() (charts []page.Chart) {
	if len(t.Curve) < 2 {
		return nil
	}
	var costs []page.Value
	for i := range t.Curve {
		costs = append(costs, t.Curve[i].Cost, t.Curve[i].PerSuccess)
	}
	cost := t.costForm(costs...)
	x := page.Axis{Name: "every recorded run stops at iteration", Unit: page.InCounts, Form: page.Whole}
	ends := t.stopsForALimit()
	for _, of := range []struct {
		name, title, about string
		y                  page.Axis
		of                 func(*CurveStep) (page.Value, page.Range)
	}{
		{"curve-score", "Score if every recorded run stopped at an iteration", "What the recorded runs would have scored.", page.Axis{Name: t.Terms.Score, Form: score},
			func(s *CurveStep) (page.Value, page.Range) { return s.Score, s.ScoreInterval }},
		{"curve-cost", "Cost if every recorded run stopped at an iteration", "The sum over all runs up to the iteration.", page.Axis{Name: t.Terms.Cost + " in all", Unit: t.costUnit(), Shown: []float64{0}, Form: cost},
			func(s *CurveStep) (page.Value, page.Range) { return s.Cost, s.CostInterval }},
	} {
		line := page.Series{Line: true, Band: true}
		known, cut := 0, false
		for s := range page.EachOf(t.Curve) {
			d := page.Dot{X: page.Known(float64(s.Iteration)), Censored: s.Cut > 0, More: page.Plural(s.Extra, "extra success", "extra successes")}
			d.Y, d.YRange = of.of(s)
			if known += count(d.Y.Known()); s.Cut > 0 {
				cut, d.More = true, fmt.Sprintf("%s, %s cut before", d.More, page.Plural(s.Cut, "run", "runs"))
			}
			line.Dots = append(line.Dots, d)
		}
		if known < 2 {
			continue
		}
		c := page.Chart{Name: of.name, Title: of.title, About: of.about, Beside: "curve", X: x, Y: of.y, Series: []page.Series{line}}
		if slices.ContainsFunc(line.Dots, func(d page.Dot) bool { return d.YRange.Known() }) {
			c.About += " The band is the 95% interval."
		}
		if ends {
			c.Series, cut = append(c.Series, line.Beyond()), true
		}
		if cut {
			c.About += page.AboutCut
		}
		charts = append(charts, c)
	}
	return charts
}

// stopsForALimit reports whether a maximum of iterations ended some recorded runs.
func (t *Tuning) stopsForALimit() bool {
	return t.Recording != nil && slices.ContainsFunc(t.Recording.Stops, func(s StopCount) bool { return s.Reason == record.ReasonMaxIterations })
}
