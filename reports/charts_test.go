package reports_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
	"golang.org/x/net/html"
)

// chartNamed is one of the charts.
func chartNamed(t *testing.T, charts []page.Chart, name string) *page.Chart {
	t.Helper()
	at := slices.IndexFunc(charts, func(c page.Chart) bool { return c.Name == name })
	if at < 0 {
		t.Fatalf("no chart %q", name)
	}
	return &charts[at]
}

// csvOf is a table as machines read it: a map from column to cell for each row.
func csvOf(t *testing.T, p page.Page, table string) (rows []map[string]string) {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(pagetest.Written(t, p, page.Options{Format: "csv", Tables: []string{table}}))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range line {
			row[lines[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// comparing counts what a test compares, so that one that compares nothing fails.
type comparing struct {
	*testing.T
	n int
}

func (c *comparing) same(what string, v page.Value, cell string) {
	c.Helper()
	c.n++
	want, err := strconv.ParseFloat(cell, 64)
	if (err == nil) != v.Known() || v.Known() && math.Abs(v.Number-want) > 1e-9*math.Max(1, math.Abs(want)) {
		c.Errorf("%s is %v in the chart and %q in the table", what, v, cell)
	}
}

func (c *comparing) sameRange(what string, r page.Range, low, high string) {
	c.Helper()
	if r == (page.Range{}) {
		return // it has none in the chart
	}
	c.same(what+" low", r.Low, low)
	c.same(what+" high", r.High, high)
}

// The numbers of charts are those of the tables beside them: both are read, and compared.
func TestChartsShowTheNumbersOfTheTables(t *testing.T) {
	r := coach(24).collect()
	charts := r.Charts()
	c := &comparing{T: t}
	byName := map[string]map[string]string{}
	for _, row := range csvOf(t, r, "front") {
		byName[row["configuration"]] = row
	}
	for name, key := range map[string]string{"front-cost": "cost_usd", "front-latency": "latency_s"} {
		for _, s := range chartNamed(t, charts, name).Series {
			for _, d := range s.Dots {
				c.same(name+" "+d.Name, d.X, byName[d.Name][key])
				c.same(name+" score of "+d.Name, d.Y, byName[d.Name]["score"])
			}
		}
	}
	curve := map[string]map[string]string{}
	for _, row := range csvOf(t, r, "curve") {
		curve[row["configuration"]+" "+row["iteration"]] = row
	}
	for name, key := range map[string]string{"curve-score": "score", "curve-gain": "gain", "curve-cost": "cost_usd", "curve-latency": "latency_s", "curve-reached": "reached"} {
		for _, s := range chartNamed(t, charts, name).Series {
			for _, d := range s.Dots {
				if row := curve[fmt.Sprint(s.Name, " ", d.X.Number)]; !s.Guide {
					c.same(name, d.Y, row[key])
					if d.YRange.Known() {
						c.sameRange(name, d.YRange, row[key+"_low"], row[key+"_high"])
					}
				}
			}
		}
	}
	stops := map[string]string{}
	for _, row := range csvOf(t, r, "stops") {
		stops[row["configuration"]+" "+row["reason"]] = row["share"]
	}
	chart := chartNamed(t, charts, "stops-share")
	for _, s := range chart.Series {
		for _, d := range s.Dots {
			c.same("the share of "+s.Name, d.X, stops[chart.Y.Labels[int(d.Y.Number)]+" "+s.Name])
		}
	}
	limits := csvOf(t, r, "limits")
	for i, d := range chartNamed(t, charts, "limits-used").Series[0].Dots {
		c.same("use of a limit", d.X, limits[i]["share"])
		c.sameRange("use of a limit", d.XRange, limits[i]["share_low"], limits[i]["share_high"])
	}
	calibration := csvOf(t, r, "calibration")
	for i, key := range []string{"confirmed", "false_alarm", "missed"} {
		for _, d := range chartNamed(t, charts, "calibration-outcomes").Series[i].Dots {
			c.same(key, d.X, calibration[int(d.Y.Number)][key])
		}
	}
	tasks := map[string]string{}
	for _, row := range csvOf(t, r, "tasks") {
		tasks[row["task"]+" "+row["configuration"]] = row["score_mean"]
	}
	chart = chartNamed(t, charts, "tasks-scores")
	for _, tile := range chart.Tiles {
		c.same("a task", tile.Value, tasks[chart.Y.Labels[tile.Y]+" "+chart.X.Labels[tile.X]])
	}
	differences := map[string]map[string]string{}
	for _, row := range csvOf(t, r, "differences") {
		differences[row["configuration"]+" · "+row["quantity"]] = row
	}
	for _, name := range []string{"differences-scores", "differences-amounts"} {
		chart := chartNamed(t, charts, name)
		for _, s := range chart.Series {
			for _, d := range s.Dots {
				row := differences[chart.Y.Labels[int(d.Y.Number)]]
				c.same(name, d.X, row["change"])
				c.sameRange(name, d.XRange, row["low"], row["high"])
			}
		}
	}
	if c.n < 300 {
		t.Errorf("only %d numbers were compared", c.n)
	}
}

// Bins hold every run that calibration counts, and their means are its means.
func TestBinsAddUp(t *testing.T) {
	bins := 0
	for _, c := range coach(24).collect().Configurations {
		k := c.Calibration
		runs, confidence, score := 0, 0.0, 0.0
		for _, b := range k.Bins {
			bins, runs = bins+1, runs+b.Runs
			confidence, score = confidence+float64(b.Runs)*b.Confidence.Number, score+float64(b.Runs)*b.Score.Number
		}
		n := float64(runs)
		if runs != k.Runs || math.Abs(confidence/n-k.Confidence.Number) > 1e-9 || math.Abs(score/n-k.Score.Number) > 1e-9 {
			t.Errorf("%s: %d of %d runs, %v and %v", c.Name, runs, k.Runs, confidence/n, score/n)
		}
	}
	if bins < 10 {
		t.Errorf("%d bins", bins)
	}
}

// The dumbbells are the tasks of both sides, what got worse first.
func TestDumbbellsAreSortedByRegression(t *testing.T) {
	base, newer := coach(24), coach(24)
	for i := range newer.scores {
		if s := &newer.scores[i]; s.Name == "close" && strings.Contains(s.Run, "interview-3/") {
			s.Value = 0
		}
	}
	d, err := reports.Diff(base.collect(), newer.collect(), reports.DiffOptions{BaseConfiguration: "default", NewConfiguration: "default"})
	if err != nil {
		t.Fatal(err)
	}
	chart := chartNamed(t, d.Charts(), "flips-tasks")
	was, is := chart.Series[0].Dots, chart.Series[1].Dots
	if len(is) != 1 || chart.Y.Labels[0] != "interview-3" || is[0].X.Number != 0 || was[0].X.Number <= 0 {
		t.Errorf("%v: %v to %v", chart.Y.Labels, was, is)
	}
	if len(chart.Notes) != 1 || !strings.Contains(chart.Notes[0], "23 tasks are equal") {
		t.Errorf("notes: %q", chart.Notes)
	}
	d, err = reports.Diff(base.collect(), base.collect(), reports.DiffOptions{BaseConfiguration: "default", NewConfiguration: "single-pass"})
	if err != nil {
		t.Fatal(err)
	}
	chart = chartNamed(t, d.Charts(), "flips-tasks")
	before := math.Inf(-1)
	for i := range chart.Y.Labels {
		change := chart.Series[1].Dots[i].X.Number - chart.Series[0].Dots[i].X.Number
		if change < before {
			t.Errorf("row %d changes by %v, the one before by %v", i, change, before)
		}
		before = change
	}
	if before <= -1 || len(chart.Y.Labels) < 5 {
		t.Errorf("%d rows, the last changes by %v", len(chart.Y.Labels), before)
	}
}

// What a chart says of a configuration leads to a row that is there without a script.
func TestLinksOfChartsLeadToRows(t *testing.T) {
	f := coach(8)
	name := `a "b" <c> & 日本 +1`
	f.manifest.Configurations[1].Name = name
	for _, s := range f.signals {
		if s.Configuration == "default" {
			s.Configuration = name
		}
	}
	root, err := html.Parse(strings.NewReader(pagetest.Written(t, f.collect(), page.Options{Format: "html"})))
	if err != nil {
		t.Fatal(err)
	}
	ids, links := map[string]bool{}, map[string]int{}
	for node := range root.Descendants() {
		for _, a := range node.Attr {
			switch a.Key {
			case "id":
				if ids[a.Val] {
					t.Errorf("two elements have the id %q", a.Val)
				}
				ids[a.Val] = true
			case "href":
				links[strings.TrimPrefix(a.Val, "#")]++
			}
		}
	}
	found, several := 0, 0
	for link := range links {
		if strings.Contains(link, "%20task:") || strings.Contains(link, "%20stop:") {
			several++
		}
		if found++; !ids[link] {
			t.Errorf("no row has the id %q", link)
		}
	}
	if found < 5+5 || several < 5*8 || links[page.OfConfiguration(name)] == 0 {
		t.Errorf("%d links: %v", found, links)
	}
}

// Equal records make equal pages, in whatever order they come.
func TestChartsDoNotDependOnTheOrderOfRecords(t *testing.T) {
	one, other := coach(12), coach(12)
	slices.Reverse(other.signals)
	slices.Reverse(other.scores)
	a, b := pagetest.Written(t, one.collect(), page.Options{Format: "html"}), pagetest.Written(t, other.collect(), page.Options{Format: "html"})
	if a != b || a != pagetest.Written(t, one.collect(), page.Options{Format: "html"}) {
		t.Error("pages of equal records differ")
	}
	if strings.Count(a, "<svg class=\"chart\"") < 10 {
		t.Error("the page has few charts")
	}
}

// No name of a configuration, task, scorer, phase or condition gets out of a chart.
func TestNoChartObeysNames(t *testing.T) {
	t.Parallel()
	for _, name := range evil {
		f := coach(4)
		f.manifest.Suite, f.manifest.Scorers[0] = name, name
		for i := range f.scores {
			if f.scores[i].Name == "close" {
				f.scores[i].Name = name
			}
		}
		f.manifest.Configurations[1].Name = name
		for i, s := range f.signals {
			if s.Configuration == "default" {
				s.Configuration = name
			}
			s.Task += name
			if i%3 == 0 {
				s.Outcome.Reason, s.Outcome.Fired = record.ReasonWhen(name), name
			}
		}
		f.manifest.Metrics = nil
		r := f.collect()
		var out bytes.Buffer
		if err := page.Write(&out, r, page.Options{Format: "html"}); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if !strings.Contains(text, "chart-stops-share") {
			t.Fatalf("no chart of %q", name)
		}
		n := named{t, "html", name}
		checkHTML(n, text)
		checkPlain(n, text)
	}
}

// A page of nothing, and one of a single run, has no empty chart.
func TestNothingToDrawIsNotDrawn(t *testing.T) {
	for _, f := range []*fixture{one(1), one(2)} {
		for _, c := range f.collect().Charts() {
			marks := len(c.Tiles)
			for _, s := range c.Series {
				marks += len(s.Dots)
			}
			if marks == 0 {
				t.Errorf("the chart %s is empty", c.Name)
			}
		}
	}
	if charts := (&reports.Report{}).Charts(); charts != nil {
		t.Errorf("%d charts of nothing", len(charts))
	}
}

// What runs left over where a limit cut them is dashed, and a guard's cut begins there.
func TestWhatALimitCutIsDashed(t *testing.T) {
	f := coach(12)
	cut := 0
	for _, s := range f.signals {
		if n := len(s.Iterations); s.Configuration == "default" && n > 1 && n < 5 && cut == 0 {
			s.Outcome.Reason, s.Outcome.Class, s.Outcome.Fired = record.ReasonBudgetCost, record.ByGuard, "max_cost"
			cut = n
		}
	}
	if cut == 0 {
		t.Fatal("no run that ends early")
	}
	guides := 0
	for _, s := range chartNamed(t, f.collect().Charts(), "curve-score").Series {
		if s.Guide {
			guides++
			continue
		}
		for _, d := range s.Dots {
			if want := s.Name == "default" && int(d.X.Number) > cut; d.Censored != want {
				t.Errorf("%s at %v is censored: %v", s.Name, d.X.Number, d.Censored)
			}
		}
	}
	if guides == 0 {
		t.Error("no curve goes on beyond a maximum of iterations")
	}
}

// Charts of very many configurations have few marks and say what they leave out.
func TestChartsOfManyConfigurations(t *testing.T) {
	f := &fixture{manifest: record.Manifest{Suite: "many", Tasks: 60, Trials: 1, Scorers: []string{"close"}, Baseline: "c299"}}
	for i := range 300 {
		f.manifest.Configurations = append(f.manifest.Configurations, record.ConfigurationHead{Name: fmt.Sprintf("c%d", i), MaxIterations: 3, EffectiveMax: 3})
	}
	for i := range 300 {
		for task := range 2 {
			f.play(i, fmt.Sprint(task), 1, 2)
		}
	}
	charts := f.collect().Charts()
	for _, c := range charts {
		marks := len(c.Tiles)
		for _, s := range c.Series {
			marks += len(s.Dots)
		}
		if marks > 2000 {
			t.Errorf("%s has %d marks", c.Name, marks)
		}
		if len(c.Y.Labels) > 40 || len(c.X.Labels) > 40 {
			t.Errorf("%s has %d rows and %d columns", c.Name, len(c.Y.Labels), len(c.X.Labels))
		}
		if len(c.Notes) == 0 && !strings.HasPrefix(c.Name, "differences") {
			t.Errorf("%s leaves nothing out, of 300 configurations", c.Name)
		}
	}
	if stops := chartNamed(t, charts, "stops-share"); !slices.Contains(stops.Y.Labels, "c299") {
		t.Errorf("the baseline is not among %v", stops.Y.Labels)
	}
}

// What has no row, column or line of its own is not lost: the last row and column have its mean,
// and two lines its ends.
func TestChartsHaveWhatTheyDoNotShow(t *testing.T) {
	f := &fixture{manifest: record.Manifest{Suite: "many", Tasks: 50, Trials: 1, Scorers: []string{"close"}, Baseline: "c59"}}
	for i := range 60 {
		f.manifest.Configurations = append(f.manifest.Configurations, record.ConfigurationHead{Name: fmt.Sprintf("c%d", i), MaxIterations: 3, EffectiveMax: 3})
	}
	for i := range 60 {
		for task := range 50 {
			f.play(i, fmt.Sprint("t", task), 1, 2)
		}
	}
	r := f.collect()
	charts := r.Charts()
	c := &comparing{T: t}

	stops := chartNamed(t, charts, "stops-share")
	shown, last := map[string]bool{}, len(stops.Y.Labels)-1
	for _, label := range stops.Y.Labels {
		shown[label] = true
	}
	counts, all := map[string]int{}, 0
	for _, configuration := range r.Configurations {
		for i := range configuration.Stops {
			if s := &configuration.Stops[i]; !shown[configuration.Name] {
				counts[s.Name()], all = counts[s.Name()]+s.Runs, all+s.Runs
			}
		}
	}
	for _, s := range stops.Series {
		for _, d := range s.Dots {
			if int(d.Y.Number) == last {
				c.same("others that end by "+s.Name, d.X, fmt.Sprint(float64(counts[s.Name])/float64(all)))
			}
		}
	}
	if stops.Y.Labels[last] != "mean of 21 other configurations" {
		t.Errorf("the last row is %q", stops.Y.Labels[last])
	}

	tasks := chartNamed(t, charts, "tasks-scores")
	scores := map[[2]bool][]float64{} // by whether the task and the configuration are shown
	rows, columns := tasks.Y.Labels[:len(tasks.Y.Labels)-1], tasks.X.Labels[:len(tasks.X.Labels)-1]
	for _, row := range csvOf(t, r, "tasks") {
		if score, err := strconv.ParseFloat(row["score_mean"], 64); err == nil {
			at := [2]bool{slices.Contains(rows, row["task"]), slices.Contains(columns, row["configuration"])}
			scores[at] = append(scores[at], score)
		}
	}
	corner := tasks.Tiles[len(tasks.Tiles)-1]
	sum := 0.0
	for _, score := range scores[[2]bool{}] {
		sum += score
	}
	c.same("the mean of what has neither row nor column", corner.Value, fmt.Sprint(sum/float64(len(scores[[2]bool{}]))))
	if tasks.Y.Labels[39] != "mean of 11 other tasks" || tasks.X.Labels[39] != "mean of 21 other configurations" || corner.X != 39 || corner.Y != 39 || len(tasks.Tiles) != 1600 {
		t.Errorf("%d tiles, rows %q, columns %q", len(tasks.Tiles), tasks.Y.Labels, tasks.X.Labels)
	}

	curve := chartNamed(t, charts, "curve-score")
	low, high := map[string]float64{}, map[string]float64{}
	for _, row := range csvOf(t, r, "curve") {
		if slices.ContainsFunc(curve.Series, func(s page.Series) bool { return s.Name == row["configuration"] }) {
			continue
		}
		score, err := strconv.ParseFloat(row["score"], 64)
		if err != nil {
			t.Fatal(err)
		}
		if _, met := low[row["iteration"]]; !met {
			low[row["iteration"]], high[row["iteration"]] = score, score
		}
		low[row["iteration"]], high[row["iteration"]] = min(low[row["iteration"]], score), max(high[row["iteration"]], score)
	}
	for name, of := range map[string]map[string]float64{"lowest of 23 others": low, "highest of 23 others": high} {
		at := slices.IndexFunc(curve.Series, func(s page.Series) bool { return s.Name == name })
		if at < 0 || len(curve.Series[at].Dots) != len(of) {
			t.Fatalf("no %s of %d points", name, len(of))
		}
		for _, d := range curve.Series[at].Dots {
			c.same(name, d.Y, fmt.Sprint(of[fmt.Sprint(d.X.Number)]))
		}
	}
	if c.n < 8 {
		t.Errorf("only %d numbers were compared", c.n)
	}
}

// Configurations of a sweep have the colours of its values in the front.
func TestTheFrontOfASweep(t *testing.T) {
	f := coach(12)
	for i, value := range map[int]string{1: "5", 2: "3", 3: "5"} {
		f.manifest.Configurations[i].Params = []record.Param{{Path: "terminate.max_iterations", Value: []byte(value)}}
	}
	chart := chartNamed(t, f.collect().Charts(), "front-cost")
	tones := map[string]page.Tone{}
	for _, s := range chart.Series {
		for _, d := range s.Dots {
			tones[d.Name] = s.Tone
		}
	}
	if len(tones) != 5 || tones["default"] != tones["sweep[threshold=0.95,max_iterations=5]"] || tones["default"] == tones["sweep[threshold=0.75,max_iterations=3]"] {
		t.Errorf("the colours are %v", tones)
	}
	if !strings.Contains(chart.About, "Colour and shape are the value of terminate.max_iterations; hollow marks are beaten") {
		t.Errorf("about: %s", chart.About)
	}
}

// JSON has the numbers of charts that no table has: the bins of confidences, and the tasks of both sides.
func TestJSONHasTheNumbersOfCharts(t *testing.T) {
	r, c := coach(24).collect(), &comparing{T: t}
	type binned struct {
		Name        string
		Calibration *struct {
			Bins []struct {
				Runs                int
				Predicted, Observed float64
			}
		}
	}
	var report struct{ Configurations []binned }
	if err := json.Unmarshal([]byte(pagetest.Written(t, r, page.Options{Format: "json"})), &report); err != nil {
		t.Fatal(err)
	}
	for _, s := range chartNamed(t, r.Charts(), "calibration-reliability").Series {
		if s.Guide {
			continue
		}
		at := slices.IndexFunc(report.Configurations, func(of binned) bool { return of.Name == s.Name })
		for i, b := range report.Configurations[at].Calibration.Bins {
			c.same("confidence of a bin", s.Dots[i].X, fmt.Sprint(b.Predicted))
			c.same("score of a bin", s.Dots[i].Y, fmt.Sprint(b.Observed))
			if s.Dots[i].More != page.Plural(b.Runs, "run", "runs") {
				t.Errorf("%d runs, %s in the chart", b.Runs, s.Dots[i].More)
			}
		}
	}
	if c.n < 20 {
		t.Errorf("only %d numbers were compared", c.n)
	}
	d, err := reports.Diff(r, r, reports.DiffOptions{BaseConfiguration: "default", NewConfiguration: "single-pass"})
	if err != nil {
		t.Fatal(err)
	}
	var compared struct {
		Pairs []struct{ Tasks []reports.TaskChange }
	}
	if err := json.Unmarshal([]byte(pagetest.Written(t, d, page.Options{Format: "json"})), &compared); err != nil {
		t.Fatal(err)
	}
	dumbbells, tasks := chartNamed(t, d.Charts(), "flips-tasks"), compared.Pairs[0].Tasks
	if len(tasks) != 24 {
		t.Fatalf("%d tasks", len(tasks))
	}
	for i, label := range dumbbells.Y.Labels {
		at := slices.IndexFunc(tasks, func(of reports.TaskChange) bool { return of.Task == label })
		c.same("the base of "+label, dumbbells.Series[0].Dots[i].X, fmt.Sprint(tasks[at].Base))
		c.same("the new side of "+label, dumbbells.Series[1].Dots[i].X, fmt.Sprint(tasks[at].New))
	}
}
