package reports_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

// priced is what a run of a configuration costs in cents, and how long it takes.
type priced struct {
	cents   int64
	seconds int
}

// rivals are configurations with a score for each task, NaN for a task that it did
// not run, and the same price for each run.
func rivals(scores map[string][]float64, prices map[string]priced) *fixture {
	f := &fixture{manifest: record.Manifest{Suite: "s", Status: record.StateComplete, Trials: 1, Scorers: []string{"right"}}}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range scores {
			if !yield(name) {
				return
			}
		}
	}) {
		f.manifest.Configurations = append(f.manifest.Configurations, record.ConfigurationHead{Name: name, MaxIterations: 1, EffectiveMax: 1})
		f.manifest.Tasks = max(f.manifest.Tasks, len(scores[name]))
		for task, score := range scores[name] {
			if math.IsNaN(score) {
				continue
			}
			id, price := fmt.Sprint("t", task), prices[name]
			s := &record.Run{ID: record.RunID(name, id, 1), Configuration: name, Task: id, Trial: 1, Elapsed: time.Duration(price.seconds) * time.Second,
				Outcome:    record.Outcome{Status: record.Completed, Reason: record.ReasonMaxIterations, Returned: 1},
				Iterations: []record.Iteration{{N: 1, Evaluation: &record.Evaluation{Confidence: 1}}},
				Usage:      record.Usage{Calls: 1, InputTokens: 10 * price.cents, OutputTokens: 1, Cost: record.Money(price.cents * 1e10)},
			}
			if price.cents == 0 {
				s.Usage.Unpriced = 1
			}
			f.signals = append(f.signals, s)
			f.scored(s, 0, score)
		}
	}
	return f
}

func frontOf(t *testing.T, r *reports.Report) map[string]reports.FrontRow {
	t.Helper()
	pagetest.Written(t, r, page.Options{Format: "json"})
	if r.Front == nil {
		t.Fatal("there is no front")
	}
	rows := map[string]reports.FrontRow{}
	for _, row := range r.Front.Rows {
		rows[row.Name] = row
	}
	return rows
}

// All 27 ways to draw 3 tasks: the dear one is better unless the third is not drawn.
func TestFrontOfAReport(t *testing.T) {
	f := rivals(map[string][]float64{"cheap": {1, 1, 0}, "dear": {1, 1, 1}, "bad": {0, 0, 0}, "twin": {1, 1, 0}, "unpriced": {1, 1, 1}},
		map[string]priced{"cheap": {1, 1}, "dear": {2, 1}, "bad": {3, 1}, "twin": {1, 1}, "unpriced": {0, 1}})
	r := f.collect()
	rows := frontOf(t, r)
	for name, want := range map[string]struct {
		front bool
		share float64
	}{"cheap": {true, 1}, "twin": {true, 1}, "dear": {true, 19.0 / 27}, "bad": {false, 0}} {
		if got := rows[name]; got.Front != want.front || math.Abs(got.Share.Number-want.share) > 1e-12 || !got.Share.Known() {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if got := rows["bad"].BeatenBy; got != "cheap" {
		t.Errorf("the bad one is beaten by %q", got)
	}
	if got := rows["unpriced"]; got.Apart != "cost unpriced" || got.Front || got.Share.Known() || got.Cost.Known() || got.Quality.Number != 1 {
		t.Errorf("the unpriced one is %+v", got)
	}
	if last := r.Front.Rows[len(r.Front.Rows)-1].Name; last != "unpriced" || r.Front.Rows[0].Name != "cheap" || r.Front.Rows[3].Name != "bad" {
		t.Errorf("the order is %+v", r.Front.Rows)
	}
}

func TestFrontKnowsLatencyAndWithoutPricesTokens(t *testing.T) {
	scores := map[string][]float64{"a": {1, 1, 0}, "b": {1, 1, 0}, "c": {1, 1, 0}}
	rows := frontOf(t, rivals(scores, map[string]priced{"a": {1, 3}, "b": {2, 2}, "c": {3, 4}}).collect())
	if !rows["a"].Front || !rows["b"].Front || rows["c"].Front {
		t.Errorf("the front is %+v, want the cheap one and the fast one", rows)
	}
	f := rivals(scores, map[string]priced{"a": {1, 3}, "b": {2, 3}, "c": {3, 3}})
	for _, s := range f.signals {
		s.Usage.Unpriced = 1
	}
	r := f.collect()
	if rows := frontOf(t, r); r.Front.Cost != "tokens" || !rows["a"].Front || rows["b"].Front {
		t.Errorf("by %s the front is %+v, want by tokens the one with fewest", r.Front.Cost, rows)
	}
}

// Only tasks that all have are compared; one that has few of them is apart.
func TestFrontIsOverCommonTasks(t *testing.T) {
	none := math.NaN()
	f := rivals(map[string][]float64{"a": {0, 0, 1, 1}, "b": {none, 1, 1, 1}, "c": {none, none, none, 1}},
		map[string]priced{"a": {1, 1}, "b": {2, 1}, "c": {1, 1}})
	r := f.collect()
	rows := frontOf(t, r)
	if r.Front.Tasks != 3 || r.Front.Of != 4 || math.Abs(rows["a"].Quality.Number-2.0/3) > 1e-9 || rows["b"].Quality.Number != 1 || rows["c"].Apart != "only 1 of 4 tasks" {
		t.Errorf("%+v", r.Front)
	}
	text := pagetest.Written(t, r, page.Options{Tables: []string{"front"}, Width: 140})
	if !strings.Contains(text, "over the 3 of 4 tasks that all have") || !strings.Contains(text, "only 1 of 4 tasks") {
		t.Errorf("the table is\n%s", text)
	}
	if alone := rivals(map[string][]float64{"a": {0, 1}}, map[string]priced{"a": {1, 1}}).collect(); strings.Contains(pagetest.Written(t, alone, page.Options{Format: "json"}), `"front"`) {
		t.Error("one configuration alone has a front")
	}
}

// Tasks of a cluster are drawn together: of two clusters the dear one is better in
// three of four draws, where the six tasks alone would say so in nearly all.
func TestFrontDrawsClusters(t *testing.T) {
	f := rivals(map[string][]float64{"cheap": {0, 0, 0, 1, 1, 1}, "dear": {1, 1, 1, 1, 1, 1}}, map[string]priced{"cheap": {1, 1}, "dear": {2, 1}})
	for _, s := range f.signals {
		s.Cluster = map[bool]string{true: "x", false: "y"}[s.Task < "t3"]
	}
	if got := frontOf(t, f.collect())["dear"].Share.Number; got != 0.75 {
		t.Errorf("the dear one is on the front in %v of the draws, want 3 of 4", got)
	}
}

// A comparison has the configurations of both sides on one front.
func TestFrontOfADiff(t *testing.T) {
	base := rivals(map[string][]float64{"agent": {1, 0, 0}}, map[string]priced{"agent": {1, 1}}).collect()
	newest := rivals(map[string][]float64{"agent": {1, 1, 1}}, map[string]priced{"agent": {1, 1}}).collect()
	c, err := reports.Diff(base, newest, reports.DiffOptions{BaseName: "old", NewName: "new"})
	if err != nil {
		t.Fatal(err)
	}
	text := pagetest.Written(t, c, page.Options{Format: "csv", Tables: []string{"front"}})
	if len(c.Front.Rows) != 2 || !c.Front.Rows[0].Front || c.Front.Rows[0].Name != "new:agent" || c.Front.Rows[1].BeatenBy != "new:agent" {
		t.Errorf("the front is %+v\n%s", c.Front, text)
	}
	if want := `"old:agent","","false",0.01,0.3333333333,1,`; !strings.Contains(text, want) {
		t.Errorf("no %s in\n%s", want, text)
	}
}
