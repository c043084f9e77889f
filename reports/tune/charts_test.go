package tune_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/reports/tune/coachtest"
)

// chosenAmong tunes the coach by two parameters, of which the recording answers for most.
func chosenAmong(t *testing.T, o tune.ChoiceOptions) *tune.Tuning {
	t.Helper()
	o.All, o.Choose = true, tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.8}
	r, err := tune.Choose(context.Background(), coachtest.Sweep(t, coachtest.Candidates(t), coachtest.Recording(t, 60)), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The cells of the map are the candidates with the numbers that the tables have, and what
// is recommended and today's is marked.
func TestTheMapShowsTheNumbersOfTheTables(t *testing.T) {
	r := chosenAmong(t, tune.ChoiceOptions{Today: 2})
	if r.Map == nil {
		t.Fatal("no map")
	}
	objectives := map[string]page.Value{}
	for _, row := range r.All {
		objectives[row.Name] = row.Objective
	}
	exact, marked, today := 0, 0, 0
	for _, cell := range r.Map.Cells {
		if want, ok := objectives[cell.Name]; ok {
			exact++
			if cell.Objective != want || cell.Label != "exact" {
				t.Errorf("%s is %v (%s) in the map, %v in the table", cell.Name, cell.Objective, cell.Label, want)
			}
		} else if cell.Objective.Known() {
			t.Errorf("%s (%s) has the objective %v", cell.Name, cell.Label, cell.Objective)
		}
		if cell.Recommended {
			marked++
			if cell.Name != r.Recommended.Name {
				t.Errorf("%s is marked, %s recommended", cell.Name, r.Recommended.Name)
			}
		}
		if cell.Today {
			today++
			if cell.Name != r.Today.Name {
				t.Errorf("%s is marked, %s is today's", cell.Name, r.Today.Name)
			}
		}
	}
	if exact < 2 || marked != 1 || today != 1 {
		t.Errorf("%d exact cells, %d recommended, %d today's: %s", exact, marked, today, r.WhyNone)
	}
	text := pagetest.Written(t, r, page.Options{Format: "html"})
	for _, want := range []string{`id="chart-map"`, `id="chart-front-cost"`, `id="chart-front-latency"`, `id="chart-curve-score"`, "recommended"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	links := regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(text, -1)
	for _, link := range links {
		if !strings.Contains(text, ` id="`+link[1]+`"`) {
			t.Errorf("a link leads to %q, which is not there", link[1])
		}
	}
	if len(links) < 20 {
		t.Errorf("%d links", len(links))
	}
}

// Whiskers are the intervals of the tasks that a mark is of, both ways.
func TestFrontsHaveWhiskers(t *testing.T) {
	r := chosenAmong(t, tune.ChoiceOptions{Today: 2})
	rows := map[string]*tune.FrontRow{}
	for i := range r.Front {
		rows[r.Front[i].Name] = &r.Front[i]
	}
	recommended := rows[r.Recommended.Name]
	if recommended == nil || recommended.Intervals != r.Recommended.Intervals {
		t.Fatalf("the intervals of the front are %+v, of the recommended one %+v", recommended, r.Recommended.Intervals)
	}
	all, none := map[string]tune.Intervals{r.Recording.Name: r.Recording.Intervals, r.Today.Name: r.Today.Intervals, r.Best.Name: r.Best.Intervals}, page.Range{}
	beside := map[string]bool{"recorded": true}
	drawn := map[bool]int{}
	for _, c := range r.Charts() {
		if c.Name != "front-cost" && c.Name != "front-latency" {
			continue
		}
		for _, s := range c.Series {
			for _, d := range s.Dots {
				name, _, _ := strings.Cut(d.More, ", ")
				of := all[name]
				if row := rows[name]; row != nil && !beside[d.Name] {
					of = row.Intervals
				}
				if d.Name == "" {
					if d.XRange != none || d.YRange != none {
						t.Errorf("%s: %s has no role, and the whiskers %v and %v", c.Name, name, d.XRange, d.YRange)
					}
					continue
				}
				drawn[s.Tone == page.Grey]++
				want, is := of.CostInterval, d.X
				if c.Name == "front-latency" {
					want = of.LatencyInterval
				}
				if middle := (want.Low.Number + want.High.Number) / 2; d.XRange != want || d.YRange != of.ObjectiveInterval || want.Low.Number >= want.High.Number || math.Abs(middle-is.Number) > 1e-9*is.Number {
					t.Errorf("%s: %s is %v with the whiskers %v and %v, the row has %+v", c.Name, d.More, d.X, d.XRange, d.YRange, of)
				}
			}
		}
	}
	if drawn[false] < 2 || drawn[true] < 2 {
		t.Errorf("%v marks have whiskers, grey ones: true", drawn)
	}
}

// Where the two strongest parameters were never changed without a third one, the next pair has the map, and
// does not call itself the strongest.
func TestTheMapMayBeOfWeakerParameters(t *testing.T) {
	all := map[limits][]cell{{1, 1, 1}: cells(20, 10, 1, 1), {2, 1, 2}: cells(20, 20, 1, 2), {1, 2, 2}: cells(20, 0, 1, 3), {1, 1, 2}: cells(20, 10, 1, 4)}
	source := made(20, 1, all, limits{1, 1, 1}, limits{2, 1, 2}, limits{1, 2, 2}, limits{1, 1, 2})
	r := tuned(t, source, tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.5}, Today: -1})
	if r.Map == nil || !r.Map.Weaker || len(r.Map.Cells) != 3 {
		t.Fatalf("the map is %+v", r.Map)
	}
	if charts := r.Charts(); charts[0].Name != "map" || strings.Contains(charts[0].About, "change it the most") {
		t.Errorf("%s: %s", charts[0].Name, charts[0].About)
	}
}

// What is beaten is grey, and stands for what it is beaten by; of many some are drawn, and the description says of how many.
func TestFrontsShowWhatIsBeaten(t *testing.T) {
	for _, n := range []int{12, 300} {
		scores, cents := make([][]float64, n), make([]int64, n)
		for i := range scores { // the first is the front
			scores[i], cents[i] = []float64{1, 1, 0, 1}, int64(i+1)
		}
		r := tuned(t, drawable(scores, cents), tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.5}, Today: -1})
		shown := min(n-1, 100)
		if len(r.Front) != 1 || r.BeatenInAll != n-1 || len(r.Beaten) != shown {
			t.Fatalf("%d on the front, %d beaten of %d", len(r.Front), len(r.Beaten), r.BeatenInAll)
		}
		if last := r.Beaten[shown-1]; r.Beaten[0].Name != "[2 0 0]" || last.Name != fmt.Sprintf("[%d 0 0]", n) || last.BeatenBy != "[1 0 0]" {
			t.Errorf("beaten are %+v to %+v", r.Beaten[0], last)
		}
		c := r.Charts()[slices.IndexFunc(r.Charts(), func(c page.Chart) bool { return c.Name == "front-cost" })]
		says := fmt.Sprintf("Of %d points that are beaten 100 are shown", n-1)
		if strings.Contains(c.About, says) != (n > 101) {
			t.Errorf("%s", c.About)
		}
		marks := 0
		for _, s := range c.Series {
			for _, d := range s.Dots {
				if i := slices.IndexFunc(r.Beaten, func(b tune.BeatenRow) bool { return strings.HasPrefix(d.More, b.Name+", beaten by [1 0 0]") }); i >= 0 && d.X == r.Beaten[i].ChoiceCost && d.Y == r.Beaten[i].Objective && (s.Tone == page.Grey) {
					marks++
				}
			}
		}
		if marks < shown-2 { // but the best and today's, which have a role
			t.Errorf("%d of %d are drawn: %+v", marks, shown, c.Series)
		}
	}
}

// What no paired test, corrected as comparisons are, distinguishes from the recommended configuration says so.
func TestTheFrontTellsWhatIsNotDistinguished(t *testing.T) {
	of := func(right int) []float64 {
		all := make([]float64, 40)
		for i := range right {
			all[i] = 1
		}
		return all
	}
	r := tuned(t, drawable([][]float64{of(5), of(20), of(23), of(40)}, []int64{1, 2, 3, 4}), tune.ChoiceOptions{Choose: tune.ChoiceRule{Rule: tune.AtLeast, Number: 0.45}, Today: -1})
	if len(r.Front) != 4 || !r.Front[1].Recommended {
		t.Fatalf("%+v", r.Front)
	}
	// Of three tasks that differ, all in one direction, p is 2/8; of fifteen it is 2/2^15, of twenty 2/2^20. Holm takes
	// these by 1, 2 and 3.
	for i, want := range []float64{2 * 2 / math.Pow(2, 15), 1, 0.25, 3 * 2 / math.Pow(2, 20)} {
		if got := r.Front[i].P; math.Abs(got.Number-want) > 1e-9 {
			t.Errorf("p of row %d is %v, want %v", i, got, want)
		}
	}
	text := pagetest.Written(t, r, page.Options{Format: "html"})
	if n := strings.Count(text, "[3 0 0], not distinguished from the recommended one"); n < 2 { // what a pointer shows, and the table
		t.Errorf("it is said %d times", n)
	}
}

// The curve has the interval of each point, by tasks, and is dashed where runs were cut.
func TestTheCurveHasIntervals(t *testing.T) {
	r := chosenAmong(t, tune.ChoiceOptions{Today: 2})
	whole := r.Curve[len(r.Curve)-1]
	same := func(a, b page.Range) bool {
		return math.Abs(a.Low.Number-b.Low.Number) < 1e-9 && math.Abs(a.High.Number-b.High.Number) < 1e-9
	}
	cost := r.Recording.CostInterval // of the mean
	cost.Low.Number, cost.High.Number = cost.Low.Number*float64(r.Runs), cost.High.Number*float64(r.Runs)
	if !whole.ScoreInterval.Known() || !same(whole.ScoreInterval, r.Recording.ObjectiveInterval) || !same(whole.CostInterval, cost) {
		t.Errorf("at its end the curve has %v and %v, the recording %v and %v", whole.ScoreInterval, whole.CostInterval, r.Recording.ObjectiveInterval, cost)
	}
	for i := range r.Curve { // as if guards had ended some
		r.Curve[i].Cut = i / 2
	}
	bands := 0
	for _, c := range r.Charts() {
		if c.Beside != "curve" {
			continue
		}
		for i, d := range c.Series[0].Dots {
			if d.Censored != (i/2 > 0) || strings.Contains(d.More, "cut before") != d.Censored {
				t.Errorf("%s: point %d is censored: %v (%s)", c.Name, i, d.Censored, d.More)
			}
			want := map[string]page.Range{"curve-score": r.Curve[i].ScoreInterval, "curve-cost": r.Curve[i].CostInterval}[c.Name]
			if c.Series[0].Band && d.YRange != want {
				t.Errorf("%s: point %d has the band %v, want %v", c.Name, i, d.YRange, want)
			}
		}
		if bands += len(map[bool]int{c.Series[0].Band: 1}); !strings.Contains(c.About, "Dashed") || c.Series[0].Band != strings.Contains(c.About, "band") {
			t.Errorf("%s: %s", c.Name, c.About)
		}
	}
	if bands != 2 {
		t.Errorf("%d curves", bands)
	}
}

// A map of made-up cells has what is bounded and what is not known hatched, and says which
// parameters are fixed.
func TestTheMapIsHatched(t *testing.T) {
	none := page.Missing(page.Nothing)
	r := &tune.Tuning{Terms: tune.Terms{Objective: `scores["right"].mean`, Score: "right", Cost: "cost_usd.mean"}, Map: &tune.Map{
		X: tune.MapAxis{Path: "terminate.max_iterations", Values: []string{"1", "3", "off"}}, Y: tune.MapAxis{Path: "terminate.confidence.threshold", Values: []string{"0.8", "0.9"}},
		Fixed: []tune.FixedParam{{Path: "patience", Value: "2"}}, Center: "recommended",
		Cells: []tune.MapCell{
			{X: 0, Y: 0, Name: "a", Label: "exact", Objective: known(0.5), Least: none, Cost: known(0.1), Recommended: true, Today: true, Folds: 2},
			{X: 1, Y: 0, Name: "b", Label: "bounded", Objective: none, Least: known(0.6), Cost: none},
			{X: 2, Y: 1, Name: "c", Label: "needs calls", Objective: none, Least: none, Cost: none},
		},
	}}
	c := r.Charts()[0]
	want := []page.Tile{
		{X: 0, Y: 0, Value: known(0.5), Shade: 0, Text: "0.500", Frame: page.BothFrames, Dot: true, More: "exact, cost_usd.mean $0.10, recommended, today, chosen without 2 folds"},
		{X: 1, Y: 0, Value: none, Shade: 1, Text: "≥0.600", Hatch: page.Hatched, More: "bounded"},
		{X: 2, Y: 1, Value: none, Shade: -1, Hatch: page.Crossed, More: "needs calls"},
	}
	for i := range want {
		if fmt.Sprint(c.Tiles[i]) != fmt.Sprint(want[i]) {
			t.Errorf("tile %d is\n%+v\nwant\n%+v", i, c.Tiles[i], want[i])
		}
	}
	if !strings.Contains(c.About, "Of 3 parameters these two change it the most; the others are those of the recommended configuration: patience 2.") {
		t.Errorf("%q", c.About)
	}
	var legend []string
	for _, key := range c.Legend {
		legend = append(legend, key.Name)
	}
	if got := strings.Join(legend, "; "); got != "0.500; 0.600; bounded; not known: needs calls or counterfactual; recommended; today; chosen on other folds" {
		t.Errorf("the legend is %q", got)
	}
}

// One parameter makes a line, its values in their order.
func TestTheMapOfOneParameterIsALine(t *testing.T) {
	none := page.Missing(page.Nothing)
	r := &tune.Tuning{Terms: tune.Terms{Objective: `scores["right"].mean`, Score: "right", Cost: "cost_usd.mean"}, Map: &tune.Map{
		X: tune.MapAxis{Path: "terminate.max_iterations", Values: []string{"1", "3", "9"}},
		Cells: []tune.MapCell{
			{X: 1, Name: "b", Label: "exact", Objective: known(0.7), Least: none, Cost: none, Recommended: true},
			{X: 0, Name: "a", Label: "exact", Objective: known(0.5), Least: none, Cost: none, Today: true},
			{X: 2, Name: "c", Label: "bounded", Objective: none, Least: known(0.6), Cost: none},
		},
	}}
	c := r.Charts()[0]
	if len(c.Series) != 2 || len(c.Tiles) > 0 || c.Series[0].Dots[0].X.Number != 0 || !c.Series[0].Dots[0].Ring || c.Series[0].Dots[1].Name != "recommended" || c.Series[1].Dots[0].Y.Number != 0.6 {
		t.Errorf("%+v", c.Series)
	}
}

// JSON has the numbers of the map.
func TestJSONHasTheMap(t *testing.T) {
	r := chosenAmong(t, tune.ChoiceOptions{Today: 2})
	chart := r.Charts()[0]
	var read struct {
		Map struct {
			X, Y  struct{ Values []string }
			Cells []struct {
				X, Y               int
				Objective          *float64
				AtLeast            *float64 `json:"at_least"`
				Recommended, Today bool
			}
		}
	}
	if err := json.Unmarshal([]byte(pagetest.Written(t, r, page.Options{Format: "json"})), &read); err != nil {
		t.Fatal(err)
	}
	if chart.Name != "map" || !slices.Equal(read.Map.X.Values, chart.X.Labels) || !slices.Equal(read.Map.Y.Values, chart.Y.Labels) || len(read.Map.Cells) != len(chart.Tiles) || len(chart.Tiles) < 4 {
		t.Fatalf("%d tiles of %s: %+v", len(chart.Tiles), chart.Name, read.Map)
	}
	for i, cell := range read.Map.Cells {
		tile := chart.Tiles[i]
		if cell.X != tile.X || cell.Y != tile.Y || (cell.Objective != nil) != tile.Value.Known() || cell.Objective != nil && math.Abs(*cell.Objective-tile.Value.Number) > 1e-9 || (cell.AtLeast != nil) != (tile.Hatch == page.Hatched) || (cell.Recommended || cell.Today) != (tile.Frame != page.NoFrame) {
			t.Errorf("cell %d is %+v, its tile %+v", i, cell, tile)
		}
	}
}
