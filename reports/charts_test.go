package reports_test

import (
	"bytes"
	"cmp"
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
	for name, key := range map[string]string{"curve-score": "score", "curve-cost": "cost_usd"} {
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
	limits := csvOf(t, r, "limits")
	for i, d := range chartNamed(t, charts, "limits").Series[0].Dots {
		c.same("use of a limit", d.X, limits[i]["share"])
		c.sameRange("use of a limit", d.XRange, limits[i]["share_low"], limits[i]["share_high"])
	}
	differences := map[string]map[string]string{}
	for _, row := range csvOf(t, r, "differences") {
		differences[row["configuration"]+" · "+row["quantity"]] = row
	}
	chart := chartNamed(t, charts, "differences")
	for _, s := range chart.Series {
		for _, d := range s.Dots {
			row := differences[chart.Y.Labels[int(d.Y.Number)]]
			c.same("a difference", d.X, row["change"])
			c.sameRange("a difference", d.XRange, row["low"], row["high"])
		}
	}
	if c.n < 100 {
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
	for link := range links {
		if !ids[link] {
			t.Errorf("no row has the id %q", link)
		}
	}
	if len(links) < 5+5 || links[page.OfConfiguration(name)] == 0 {
		t.Errorf("%d links: %v", len(links), links)
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
	if strings.Count(a, "<svg class=\"chart\"") < 6 {
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
		if !strings.Contains(text, "chart-front-cost") {
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
	if curve := chartNamed(t, charts, "curve-score"); !slices.ContainsFunc(curve.Series, func(s page.Series) bool { return s.Name == "c299" }) {
		t.Error("the baseline has no curve")
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
	for _, s := range chartNamed(t, r.Charts(), "reliability").Series {
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
	tasks := compared.Pairs[0].Tasks
	if len(tasks) != 24 || !slices.IsSortedFunc(tasks, func(a, b reports.TaskChange) int { return cmp.Compare(a.New-a.Base, b.New-b.Base) }) {
		t.Errorf("%d tasks: %v", len(tasks), tasks)
	}
}
