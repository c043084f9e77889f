package reports_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

func differing(t testing.TB, base, new *reports.Report, options reports.DiffOptions) *reports.Comparison {
	t.Helper()
	c, err := reports.Diff(base, new, options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func writtenDiff(t *testing.T, c *reports.Comparison, options page.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.Write(&out, c, options); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func quantity(t *testing.T, p *reports.Pair, name string) *compare.Difference {
	t.Helper()
	for i := range p.Differences {
		if p.Differences[i].Name == name {
			return &p.Differences[i]
		}
	}
	t.Fatalf("%s is not compared", name)
	return nil
}

// better is the suite of coach a while later: the default is a little better,
// single-pass is as it was, and phased is gone.
func better() *fixture {
	f := coach(24)
	f.manifest.Configurations = f.manifest.Configurations[:4]
	f.signals = slices.DeleteFunc(f.signals, func(s *record.Run) bool { return s.Configuration == "phased" })
	for i := range f.scores {
		if s := &f.scores[i]; s.Name == "close" && strings.HasPrefix(s.Run, "default/interview-1") {
			s.Value = 1
		}
	}
	return f
}

func TestDiffGolden(t *testing.T) {
	old, new := coach(24).collect(), better().collect()
	spec := []reports.SpecDifference{
		{Path: "configurations.default.agent.model", Base: `"small"`, New: `"large"`, Declared: true},
		{Path: "configurations.default.prompt", Base: `"Answer."`, New: `"Answer step by step."`},
		{Path: "configurations.phased", Base: `{"loop": "phased.loop.yaml"}`},
	}
	all := differing(t, old, new, reports.DiffOptions{BaseName: "results/monday", NewName: "results/tuesday", Spec: spec})
	one := differing(t, old, new, reports.DiffOptions{BaseName: "results/monday", NewName: "results/tuesday",
		BaseConfiguration: "single-pass", NewConfiguration: "default", Spec: spec[:1]})
	for name, got := range map[string]func() string{
		"diff.80.txt":          func() string { return writtenDiff(t, one, page.Options{}) },
		"diff.200.txt":         func() string { return writtenDiff(t, all, page.Options{Width: 200}) },
		"diff.md":              func() string { return writtenDiff(t, all, page.Options{Format: "markdown"}) },
		"diff.differences.csv": func() string { return writtenDiff(t, all, page.Options{Format: "csv"}) },
		"diff.flips.csv": func() string {
			return writtenDiff(t, one, page.Options{Format: "csv", Tables: []string{"flips"}})
		},
		"diff.spec.csv": func() string { return writtenDiff(t, all, page.Options{Format: "csv", Tables: []string{"spec"}}) },
		"diff.json":     func() string { return writtenDiff(t, one, page.Options{Format: "json"}) },
	} {
		pagetest.Golden(t, name, got())
	}
}

func TestDiffPairsConfigurations(t *testing.T) {
	old, new := coach(3).collect(), better().collect()
	lone := small(3)
	lone.manifest.Configurations = lone.manifest.Configurations[:1]
	lone.manifest.Configurations[0].Name = "renamed"
	lone.signals = nil
	lone.scores = nil
	for task := range 3 {
		lone.play(0, fmt.Sprint("interview-", task+1), 1, 2)
	}
	only := lone.collect()
	for _, c := range []struct {
		name      string
		base, new *reports.Report
		options   reports.DiffOptions
		want      []string // base>new
		err       string
	}{
		{name: "the same names", base: old, new: new, want: []string{
			"single-pass>single-pass", "default>default",
			"sweep[threshold=0.75,max_iterations=3]>sweep[threshold=0.75,max_iterations=3]", "sweep[threshold=0.95,max_iterations=5]>sweep[threshold=0.95,max_iterations=5]"}},
		{name: "one chosen", base: old, new: new, options: reports.DiffOptions{BaseConfiguration: "default"}, want: []string{"default>default"}},
		{name: "an alias", base: old, new: new, options: reports.DiffOptions{NewConfiguration: "sweep[threshold=0.85,max_iterations=5]"}, want: []string{"default>default"}},
		{name: "both chosen", base: old, new: old, options: reports.DiffOptions{BaseConfiguration: "default", NewConfiguration: "phased"}, want: []string{"default>phased"}},
		{name: "the only ones", base: only, new: new, options: reports.DiffOptions{NewConfiguration: "default"}, want: []string{"renamed>default"}},
		{name: "no name in common", base: only, new: new, err: `no configuration of the base ("renamed") has the name of one of the new side`},
		{name: "no such name", base: old, new: new, options: reports.DiffOptions{BaseConfiguration: "nobody", BaseName: "r"}, err: `"r" has no configuration "nobody", it has "single-pass", "default"`},
	} {
		_, err := reports.Diff(c.base, c.new, c.options)
		if c.err != "" {
			if !errors.Is(err, reports.ErrNoPair) || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %s", c.name, err, c.err)
			}
			continue
		}
		var pairs []string
		for _, p := range differing(t, c.base, c.new, c.options).Pairs {
			pairs = append(pairs, p.Base.Configuration+">"+p.New.Configuration)
		}
		if err != nil || !slices.Equal(pairs, c.want) {
			t.Errorf("%s: %q, %v; want %q", c.name, pairs, err, c.want)
		}
	}
}

// A cut of the table of flips is shared: each configuration shows its worst, and says how many it does not.
func TestFlipsOfEveryConfigurationAreShown(t *testing.T) {
	side := func(right func(configuration, task int) bool) *reports.Report {
		f := one(40)
		f.manifest.Configurations = nil
		for c, name := range []string{"early", "late", "last"} {
			f.manifest.Configurations = append(f.manifest.Configurations, record.ConfigurationHead{Name: name, MaxIterations: 5, EffectiveMax: 5})
			for task := range 40 {
				s := f.run(fmt.Sprintf("task-%02d", task), 1, 0.5)
				s.ID, s.Configuration = record.RunID(name, s.Task, 1), name
				value := 0.0
				if right(c, task) {
					value = 1
				}
				f.scored(s, 0, value)
			}
		}
		return f.collect()
	}
	base := side(func(_, task int) bool { return task < 35 })
	new := side(func(c, task int) bool { return task >= []int{30, 5, 0}[c] }) // so many get worse, and 5 of each get better
	text := writtenDiff(t, differing(t, base, new, reports.DiffOptions{}), page.Options{Width: 120, Tables: []string{"flips"}})
	rows := regexp.MustCompile(`(?m)^(early|late|last)? +(right)? +task-\d\d`).FindAllString(text, -1)
	at := strings.Index(text, "late ")
	if len(rows) != 20 || at < 0 || strings.Count(text[at:], "task-0")/2 != 5 {
		t.Errorf("%d rows are shown:\n%s", len(rows), text)
	}
	if want := "… and 30 more (early 20, late 5, last 5): --format csv --table flips"; !strings.Contains(text, want) {
		t.Errorf("it lacks %q:\n%s", want, text)
	}
}

func TestDiffOfNothing(t *testing.T) {
	none, all := edges()["no runs"].collect(), small(3).collect()
	other := small(3)
	for _, s := range other.signals {
		s.Task += "!"
		s.ID = record.RunID(s.Configuration, s.Task, s.Trial)
	}
	for name, c := range map[string]struct {
		base, new *reports.Report
		want      string
	}{
		"no run":         {none, all, `configuration "once" of the base has no run that counts`},
		"no run, turned": {all, none, `configuration "once" of the new side has no run that counts`},
		"no common task": {all, other.collect(), `no task in common: 3 of suite "small", 3 of suite "small"`},
	} {
		if _, err := reports.Diff(c.base, c.new, reports.DiffOptions{}); !errors.Is(err, compare.ErrNoCommonTask) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if c, err := reports.DiffBaseline(all, reports.DiffOptions{}); c != nil || err != nil {
		t.Errorf("without a baseline: %v, %v", c, err)
	}
	if _, err := reports.DiffBaseline(all, reports.DiffOptions{BaseConfiguration: "nobody"}); !errors.Is(err, reports.ErrNoPair) {
		t.Errorf("a baseline that is not there: %v", err)
	}
}

func TestDiffWarns(t *testing.T) {
	kinds := func(warnings []reports.Warning) (all []string) {
		for _, w := range warnings {
			all = append(all, strings.TrimPrefix(w.Side+" "+string(w.Kind), " "))
		}
		return all
	}
	base := small(30)
	for i := range base.scores {
		base.scores[i].Scorer = "old"
	}
	for name, c := range map[string]struct {
		change  func(f *fixture)
		options reports.DiffOptions
		want    []string
	}{
		"nothing": {func(*fixture) {}, reports.DiffOptions{}, nil},
		"suite":   {func(f *fixture) { f.manifest.Suite = "other" }, reports.DiffOptions{}, []string{"other_suite"}},
		"killed":  {func(f *fixture) { f.manifest.Status = record.StateRunning }, reports.DiffOptions{}, []string{"new not_complete"}},
		"scorers": {func(f *fixture) { f.manifest.Scorers = append(f.manifest.Scorers, "more") }, reports.DiffOptions{}, []string{"new one_sided_score"}},
		"versions": {func(f *fixture) {
			for i := range f.scores {
				f.scores[i].Scorer = "newer"
			}
		}, reports.DiffOptions{}, []string{"other_scorer"}},
		"few tasks": {func(f *fixture) { *f = *small(19) }, reports.DiffOptions{}, []string{"one_sided", "few_common"}},
		"unpaired":  {func(*fixture) {}, reports.DiffOptions{Options: compare.Options{Unpaired: true}}, []string{"not_paired"}},
		"spec": {func(*fixture) {}, reports.DiffOptions{Spec: []reports.SpecDifference{{Path: "a"}, {Path: "b", Declared: true}}},
			[]string{"specs_differ"}},
		"declared": {func(*fixture) {}, reports.DiffOptions{Spec: []reports.SpecDifference{{Path: "b", Declared: true}}}, nil},
		"configurations": {func(f *fixture) { f.manifest.Configurations[1].Name = "thrice" },
			reports.DiffOptions{}, []string{"base not_compared", "new unknown_runs"}},
		"trials": {func(f *fixture) {
			f.signals[0].Trial = 2
			f.signals[0].ID = record.RunID("once", "a", 2)
		}, reports.DiffOptions{}, []string{"lone_trials"}},
		"faults": {func(f *fixture) { f.signals[0].Outcome.Status = record.Faulted }, reports.DiffOptions{},
			[]string{"one_sided", "coverage_differs", "new faults"}},
		"simulated": {func(f *fixture) { f.simulated("once") }, reports.DiffOptions{}, []string{"new simulated"}},
	} {
		new := small(30)
		c.change(new)
		got := differing(t, base.collect(), new.collect(), c.options)
		all := append(kinds(got.Pairs[0].Warnings), kinds(got.Warnings)...)
		if !slices.Equal(all, c.want) {
			t.Errorf("%s: %q, want %q", name, all, c.want)
		}
		for _, w := range append(got.Pairs[0].Warnings, got.Warnings...) {
			if text := w.Text().Raw(); strings.Contains(text, "%!") || text == strings.ReplaceAll(string(w.Kind), "_", " ") {
				t.Errorf("%s: %q", name, text)
			}
		}
	}
}

func TestDiffLeavesOutWhatIsUnknown(t *testing.T) {
	base, new := small(30), small(30)
	new.signals[0].Usage.Unpriced = 1
	for i := range base.signals {
		base.signals[i].Usage.Unreported = 1
	}
	new.scores[1].Unscored = "no target"
	c := differing(t, base.collect(), new.collect(), reports.DiffOptions{})
	p := &c.Pairs[0]
	if d := quantity(t, p, "right"); d.LeftOut != 1 || d.Tasks != 29 {
		t.Errorf("an unscored run: %+v", d)
	}
	for _, name := range []string{"cost_usd", "tokens", "calls"} {
		if d := quantity(t, p, name); d.Tasks != 0 || d.Value(d.Change).Missing != "unknown" || d.Verdict != compare.CannotTell {
			t.Errorf("%s where a program did not say: %+v", name, d)
		}
	}
	if d := quantity(t, p, "latency_s"); d.Tasks != 30 || !d.Relative {
		t.Errorf("latency: %+v", d)
	}
	text := writtenDiff(t, c, page.Options{Width: 120})
	for _, want := range []string{"unknown", "1 of 30 pairs of runs have no right on a side and are left out"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The order of the records makes no difference to any byte.
func TestDiffIsTheSameInAnyOrder(t *testing.T) {
	turned := coach(12)
	slices.Reverse(turned.signals)
	slices.Reverse(turned.scores)
	want := differing(t, coach(12).collect(), better().collect(), reports.DiffOptions{})
	got := differing(t, turned.collect(), better().collect(), reports.DiffOptions{})
	for _, format := range []string{"terminal", "json"} {
		if a, b := writtenDiff(t, want, page.Options{Format: format}), writtenDiff(t, got, page.Options{Format: format}); a != b {
			t.Errorf("%s differs: %s", format, pagetest.FirstDifference(a, b))
		}
	}
}

func TestDiffOfClusters(t *testing.T) {
	grouping := func(size int, value float64) *reports.Report {
		f := small(30)
		for i, s := range f.signals {
			if size > 1 {
				s.Cluster = fmt.Sprint("group ", i%30/size)
			}
		}
		for i := range f.scores {
			f.scores[i].Value = max(value, f.scores[i].Value)
		}
		return f.collect()
	}
	alone := quantity(t, &differing(t, grouping(1, 0), grouping(1, 1), reports.DiffOptions{}).Pairs[0], "right")
	grouped := quantity(t, &differing(t, grouping(5, 0), grouping(5, 1), reports.DiffOptions{}).Pairs[0], "right")
	if alone.Test != compare.McNemar || grouped.Test != compare.SignFlip || !(grouped.P > 10*alone.P) {
		t.Errorf("30 tasks: %s p %v; in 6 groups: %s p %v", alone.Test, alone.P, grouped.Test, grouped.P)
	}
	text := writtenDiff(t, differing(t, grouping(15, 0), grouping(15, 1), reports.DiffOptions{}), page.Options{Width: 200})
	if !strings.Contains(text, "only 2 clusters differ: with fewer than 6 no test shows anything") {
		t.Errorf("the footnote does not count clusters:\n%s", text)
	}
	strictly := reports.DiffOptions{Options: compare.Options{Alpha: 0.001}}
	text = writtenDiff(t, differing(t, grouping(5, 0), grouping(5, 1), strictly), page.Options{Width: 200})
	if !strings.Contains(text, "only 6 clusters differ: with fewer than 11 no test shows anything") {
		t.Errorf("the footnote does not go by alpha:\n%s", text)
	}
}

// A report has the table where its suite has a baseline.
func TestReportHasDifferences(t *testing.T) {
	text := pagetest.Written(t, coach(24).collect(), page.Options{Format: "csv", Tables: []string{"differences"}})
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 1+4*7 {
		t.Errorf("%d rows, %v; want one for each of 4 configurations and 7 quantities", len(rows), err)
	}
	var all struct {
		Differences *struct {
			Correction string
			Pairs      []struct{ Flips []reports.Flip }
		}
	}
	if err := json.Unmarshal([]byte(pagetest.Written(t, coach(24).collect(), page.Options{Format: "json"})), &all); err != nil || all.Differences == nil {
		t.Fatal(all, err)
	}
	if all.Differences.Correction != "holm" || len(all.Differences.Pairs) != 4 || len(all.Differences.Pairs[0].Flips) > 0 {
		t.Errorf("%+v", all.Differences)
	}
	if text := pagetest.Written(t, small(24).collect(), page.Options{}); strings.Contains(text, "Differences") {
		t.Errorf("a table without a baseline:\n%s", text)
	}
}

func TestDiffOfHostileNames(t *testing.T) {
	evil := "=cmd()|\x1b[31m<img src=x onerror=alert(1)>\u202e\n| x |"
	f := func() *reports.Report {
		f := small(25)
		f.manifest.Suite = evil
		f.manifest.Configurations = f.manifest.Configurations[:1]
		f.manifest.Configurations[0].Name = evil
		f.signals = f.signals[:25]
		for _, s := range f.signals {
			s.Configuration, s.Task = evil, s.Task+evil
		}
		return f.collect()
	}
	c := differing(t, f(), f(), reports.DiffOptions{BaseName: evil, NewName: evil, Spec: []reports.SpecDifference{{Path: evil, Base: evil, New: evil}}})
	for _, format := range page.Formats {
		text := writtenDiff(t, c, page.Options{Format: format})
		if strings.ContainsAny(text, "\x1b\u202e") || format != "json" && strings.Contains(text, "\n| x |") {
			t.Errorf("%s holds what a terminal obeys:\n%s", format, text)
		}
	}
}

// What is the same is so within a margin, and the footnote says within which: a
// quantity may have its own.
func TestSameIsToldWithItsMargin(t *testing.T) {
	for name, c := range map[string]struct {
		options compare.Options
		want    string
		not     string
	}{
		"the defaults": {compare.Options{}, "within the margin: 5% of amounts", "by name"},
		"of amounts":   {compare.Options{RatioMargin: 0.5}, "within the margin: 50% of amounts", "by name"},
		"of a score": {compare.Options{Margins: map[string]float64{"right": 0.5}},
			"within the margin: 5% of amounts, by name right ±0.5", "of scores"},
		"of two amounts": {compare.Options{Margins: map[string]float64{"tokens": 0.1, "calls": 0.2}},
			"within the margin: 5% of amounts, by name tokens 10%, calls 20%", "±"},
		"of what is not the same": {compare.Options{Margins: map[string]float64{"right": 1e-9}}, "within the margin: 5% of amounts", "right ±"},
	} {
		d := differing(t, small(30).collect(), small(30).collect(), reports.DiffOptions{Options: c.options,
			BaseConfiguration: "once", NewConfiguration: "once"})
		text := strings.Join(strings.Fields(writtenDiff(t, d, page.Options{Width: 200})), " ")
		if !strings.Contains(text, "same: the whole interval is "+c.want) || strings.Contains(text, c.not) {
			t.Errorf("%s: want %q and no %q in\n%s", name, c.want, c.not, text)
		}
	}
}

// A pair without a common task has a row that says so, beside pairs that have
// something to compare.
func TestNothingCommonStandsInTheTable(t *testing.T) {
	new := small(30)
	for _, s := range new.signals {
		if s.Configuration == "twice" {
			s.Task += "!"
			s.ID = record.RunID(s.Configuration, s.Task, s.Trial)
		}
	}
	c := differing(t, small(30).collect(), new.collect(), reports.DiffOptions{})
	if len(c.Pairs) != 2 || len(c.Pairs[0].Differences) == 0 || len(c.Pairs[1].Differences) != 0 {
		t.Fatalf("%+v", c.Pairs)
	}
	for _, format := range []string{"terminal", "markdown", "html", "comment"} {
		text := strings.Join(strings.Fields(writtenDiff(t, c, page.Options{Format: format, Width: 100})), " ")
		if !strings.Contains(text, "nothing to compare: the configurations have no common task") {
			t.Errorf("%s: nothing says so in\n%s", format, text)
		}
	}
	if lines := strings.Count(writtenDiff(t, c, page.Options{Format: "csv"}), `"twice"`); lines != 1 {
		t.Errorf("%d lines of CSV, want one without numbers", lines)
	}
}

// pairOf is two configurations with these scores: a task, then a trial.
func pairOf(base, other [][]float64) *fixture {
	f := one(len(base))
	f.manifest.Trials = len(base[0])
	f.manifest.Configurations = []record.ConfigurationHead{{Name: "base"}, {Name: "other"}}
	for c, scores := range [][][]float64{base, other} {
		for task := range scores {
			for trial, value := range scores[task] {
				s := f.run(fmt.Sprint(task), trial+1, 0.5)
				s.Configuration = f.manifest.Configurations[c].Name
				s.ID = record.RunID(s.Configuration, s.Task, s.Trial)
				f.scored(s, 0, value)
			}
		}
	}
	return f
}

func TestVariationOfPairs(t *testing.T) {
	// The differences are 0, 1, 0, 0, of variance 1/4.
	v, err := pairOf([][]float64{{0}, {0}, {1}, {1}}, [][]float64{{0}, {1}, {1}, {1}}).collect().Variation()
	if err != nil || v.Pairs != 1 || v.Tasks != 4 || !v.OneTrial || v.Paired.Between != 0.25 || v.Paired.WithinA != 0 || v.Score != "right" {
		t.Errorf("one trial: %+v, %v", v, err)
	}
	// Trials of the base vary by 1/2 each, which more than explains that the
	// differences 1/2, 1/2, -1/2 vary by 1/3.
	v, err = pairOf([][]float64{{0, 1}, {0, 1}, {0, 1}}, [][]float64{{1, 1}, {1, 1}, {0, 0}}).collect().Variation()
	if err != nil || v.OneTrial || v.Paired.WithinA != 0.5 || v.Paired.WithinB != 0 || !near(page.Value{Number: v.Paired.Between}, 1.0/3-1.0/4, 1e-12) {
		t.Errorf("two trials: %+v, %v", v, err)
	}
	if variance, ok := v.Variance(4); !ok || !near(page.Value{Number: variance}, 1.0/12+1.0/8, 1e-12) {
		t.Errorf("four trials: a variance of %v", variance)
	}
	few, many := pairOf([][]float64{{0}, {0}, {1}}, [][]float64{{0}, {1}, {1}}).collect(), pairOf([][]float64{{0, 1}, {0, 1}, {1, 1}}, [][]float64{{0, 1}, {1, 1}, {0, 1}}).collect()
	v, err = reports.VariationBetween(few, many, reports.DiffOptions{BaseConfiguration: "base", NewConfiguration: "other"})
	if err != nil || !v.OneTrial || v.Paired.WithinB == 0 {
		t.Errorf("one trial of the base alone, whose trials vary nobody knows how much: %+v, %v", v, err)
	}
	for name, f := range map[string]*fixture{"a lone configuration": tauBench(), "two tasks": pairOf([][]float64{{0}, {1}}, [][]float64{{1}, {1}})} {
		if v, err := f.collect().Variation(); err == nil {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
