package reports_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

func TestGoldenSummaries(t *testing.T) {
	var out strings.Builder
	show := func(name string, of page.Page) {
		out.WriteString("===== " + name + "\n" + pagetest.Written(t, of, page.Options{Summary: true}))
	}
	r := coach(24).simulated("default").collect()
	r.Where = "results/coach"
	show("coach", r)
	all := edges()
	for _, name := range []string{"no runs", "all faults", "unpriced", "unscored", "one task", "no scorers", "no success", "simulated"} {
		show(name, all[name].collect())
	}
	show("a winner", rates(100, rate{"first", 0.2, 1}, rate{"second", 0.8, 2}).collect())
	show("a cheaper one that is the same", rates(400, rate{"dear", 0.8, 2}, rate{"cheap", 0.8, 1}, rate{"bad", 0.1, 1}).collect())
	one, err := reports.Diff(r, r, reports.DiffOptions{BaseConfiguration: "single-pass", NewConfiguration: "default", BaseName: "a", NewName: "b"})
	if err != nil {
		t.Fatal(err)
	}
	one.Again = "agentbench diff a b"
	show("a pair", one)
	several, err := reports.DiffBaseline(r, reports.DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	show("several pairs", several)
	pagetest.Golden(t, "summaries.txt", out.String())
}

// rate is a configuration whose runs are right at a share of the tasks, the same ones
// for the same share, and its cost a run.
type rate struct {
	name  string
	right float64
	cost  int64
}

func rates(tasks int, of ...rate) *fixture {
	return ratesBy(tasks, func(c rate, task int) bool { return float64(task) < c.right*float64(tasks) }, of...)
}

func ratesBy(tasks int, right func(c rate, task int) bool, of ...rate) *fixture {
	f := &fixture{manifest: record.Manifest{Suite: "rates", Status: record.StateComplete, Tasks: tasks, Trials: 1, Scorers: []string{"right"}}}
	for _, c := range of {
		f.manifest.Configurations = append(f.manifest.Configurations, record.ConfigurationHead{Name: c.name, MaxIterations: 1, EffectiveMax: 1})
		for task := range tasks {
			s := &record.Run{
				ID: record.RunID(c.name, fmt.Sprint(task), 1), Configuration: c.name, Task: fmt.Sprint(task), Trial: 1, Elapsed: time.Second,
				Outcome:    record.Outcome{Status: record.Completed, Reason: record.ReasonMaxIterations, Class: record.ByCondition, Returned: 1},
				Usage:      record.Usage{Calls: 1, InputTokens: 10, OutputTokens: 10, Cost: record.Money(c.cost * 1e9)},
				Iterations: []record.Iteration{{N: 1, Output: []byte(`"x"`)}},
			}
			f.signals = append(f.signals, s)
			f.scores = append(f.scores, record.Score{Run: s.ID, Name: "right", Value: number(right(c, task))})
		}
	}
	return f
}

// A summary fits a terminal of 80 columns and 24 lines, whatever it is of.
func TestSummaryFitsAScreen(t *testing.T) {
	for configurations := 1; configurations <= 30; configurations += 1 + configurations/4 {
		for _, name := range []string{"c%d", "sweep[terminate.max_iterations=%d,terminate.confidence.threshold=0.85]", "本番%d"} {
			var of []rate
			for i := range configurations {
				of = append(of, rate{fmt.Sprintf(name, i), float64(i) / 40, int64(i + 1)})
			}
			f := rates(12, of...)
			f.manifest.Baseline = of[0].name
			for i, s := range f.signals {
				s.Usage.Unpriced = int64(i % 3 / 2)
				if i%5 == 0 {
					s.Outcome = record.Outcome{Status: record.Faulted, Class: record.ByFault, Error: &record.Error{Class: record.Server}}
				}
			}
			r := f.collect()
			r.Where = "results/2026-11-23"
			comparison, err := reports.DiffBaseline(r, reports.DiffOptions{})
			if err != nil {
				t.Fatal(err)
			}
			pages := []page.Page{r}
			if comparison != nil {
				comparison.Again = "agentbench diff results/2026-11-23"
				pages = append(pages, comparison)
			}
			for _, of := range pages {
				text := pagetest.Written(t, of, page.Options{Summary: true})
				if lines := strings.Count(text, "\n"); lines > page.SummaryLines {
					t.Errorf("%d configurations named %s take %d lines:\n%s", configurations, name, lines, text)
				}
				for line := range strings.Lines(text) {
					if page.Width(strings.TrimSuffix(line, "\n")) > 80 {
						t.Errorf("a line of more than 80 columns: %s", line)
					}
				}
				if !strings.Contains(text, "! ") {
					t.Errorf("no warning of faults in\n%s", text)
				}
			}
		}
	}
}

// winnerOf is the name of the marked configuration, "" where none is.
func winnerOf(t *testing.T, r *reports.Report) string {
	t.Helper()
	for line := range strings.Lines(pagetest.Written(t, r, page.Options{Summary: true})) {
		if name, ok := strings.CutPrefix(line, "* "); ok {
			return strings.Fields(name)[0]
		}
	}
	return ""
}

func TestWinner(t *testing.T) {
	for name, c := range map[string]struct {
		tasks int
		of    []rate
		want  string
	}{
		"clearly better":              {100, []rate{{"a", 0.2, 1}, {"b", 0.8, 2}}, "b"},
		"too few tasks":               {4, []rate{{"a", 0.25, 1}, {"b", 0.75, 2}}, ""},
		"the same, and one cheaper":   {400, []rate{{"a", 0.8, 2}, {"b", 0.8, 1}}, "b"},
		"the same, at the same cost":  {400, []rate{{"a", 0.8, 1}, {"b", 0.8, 1}}, "a"},
		"within the margin, cheaper":  {2000, []rate{{"a", 0.505, 3}, {"b", 0.5, 1}}, "b"},
		"better than one of two":      {100, []rate{{"a", 0.2, 1}, {"b", 0.8, 2}, {"c", 0.78, 1}}, ""},
		"one configuration":           {100, []rate{{"a", 0.2, 1}}, ""},
		"better, and a cheaper equal": {400, []rate{{"a", 0.1, 1}, {"b", 0.8, 3}, {"c", 0.8, 2}}, "c"},
	} {
		if got := winnerOf(t, rates(c.tasks, c.of...).collect()); got != c.want {
			t.Errorf("%s: the winner is %q, want %q", name, got, c.want)
		}
	}
}

// One of which nothing was measured may be the best: none wins beside it.
func TestNoWinnerBesideWhatWasNotMeasured(t *testing.T) {
	f := rates(100, rate{"a", 0.2, 1}, rate{"b", 0.8, 2})
	f.manifest.Configurations = append(f.manifest.Configurations, record.ConfigurationHead{Name: "c", MaxIterations: 1, EffectiveMax: 1})
	if got := winnerOf(t, f.collect()); got != "" {
		t.Errorf("the winner is %q", got)
	}
}

// Without a margin nothing is the same, and so nothing wins by being cheaper.
func TestWinnerWithoutAMargin(t *testing.T) {
	f := rates(400, rate{"a", 0.8, 2}, rate{"b", 0.8, 1})
	f.manifest.Baseline = "a"
	r := f.collect()
	r.Options.ScoreMargin = -1
	if got := winnerOf(t, r); got != "" {
		t.Errorf("the winner is %q", got)
	}
}

// Where all configurations are equally good, none may win often: a winner that is not
// the best is one in alpha of the suites at most.
func TestWinnerByChanceIsRare(t *testing.T) {
	t.Parallel()
	const suites = 400
	won := 0
	for suite := range suites {
		f := ratesBy(40, func(c rate, task int) bool { return draw("luck", suite, c.name, task) < c.right },
			rate{"a", 0.5, 1}, rate{"b", 0.5, 2}, rate{"c", 0.5, 3}, rate{"d", 0.5, 4})
		if winnerOf(t, f.collect()) != "" {
			won++
		}
	}
	if most := int(compare.DefaultAlpha * suites); won > most {
		t.Errorf("%d of %d suites of equals have a winner, want at most %d", won, suites, most)
	}
}

func TestBars(t *testing.T) {
	for share, want := range map[float64]string{0: "░░░░", 1: "████", 0.5: "██░░", 0.53: "██▏░", 0.99: "████", -1: "░░░░", 7: "████"} {
		if got := page.Bar(share, 4); got != want {
			t.Errorf("a bar of %v is %q, want %q", share, got, want)
		}
	}
	for want, values := range map[string][]float64{"█▅▁": {2, 1, 0}, "▁▁": {0, 0}, "": nil, "▁█": {-1, 1}} {
		if got := page.Spark(values); got != want {
			t.Errorf("sparks of %v are %q, want %q", values, got, want)
		}
	}
}
