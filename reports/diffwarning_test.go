package reports_test

import (
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/compare"
	"github.com/agentbench/agentbench/reports/page"
)

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
		if !strings.Contains(text, "there is nothing to compare: the configurations have no common task") {
			t.Errorf("%s: nothing says so in\n%s", format, text)
		}
	}
	if lines := strings.Count(writtenDiff(t, c, page.Options{Format: "csv"}), `"twice"`); lines != 1 {
		t.Errorf("%d lines of CSV, want one without numbers", lines)
	}
}
