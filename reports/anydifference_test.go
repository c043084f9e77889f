package reports_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
)

// table is a suite with these scores: a task a row, a configuration a column.
func table(rows [][]float64) *fixture {
	f := one(len(rows))
	f.manifest.Configurations = nil
	for c := range rows[0] {
		name := fmt.Sprint("c", c)
		f.manifest.Configurations = append(f.manifest.Configurations, record.ConfigurationHead{Name: name})
		for task := range rows {
			s := f.run(fmt.Sprint(task), 1, 0.5)
			s.Configuration, s.ID = name, record.RunID(name, s.Task, 1)
			f.scored(s, 0, rows[task][c])
		}
	}
	return f
}

func anyDifference(r *reports.Report) string {
	for _, w := range r.Warnings {
		if w.Kind == reports.AnyDifference {
			return w.Text(func(s string) string { return s })
		}
	}
	return ""
}

// By hand. Of 12 tasks 4 are solved by the first alone, 4 by the first and the
// second, 4 by all: the columns add up to 12, 8 and 4 of 24, and Q is
// 2 (3 (144+64+16) - 576) / (4*1*2 + 4*2*1 + 0) = 12, whose tail of 2 degrees is
// exp(-6) = 0.0025. In ranks, of 3: 3, 1.5, 1.5 four times, 2.5, 2.5, 1 four
// times, and four ties: 30, 24 and 18, which gives 12 as well, corrected for ties.
func TestAnyDifferenceBetweenSeveralConfigurations(t *testing.T) {
	var rows [][]float64
	for i := range 12 {
		rows = append(rows, []float64{1, number(i >= 4), number(i >= 8)})
	}
	want := fmt.Sprintf("any difference at all in right between the 3 configurations: Cochran's Q = 12 over 12 tasks, p = %.3f", math.Exp(-6))
	if got := anyDifference(table(rows).collect()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, row := range rows {
		for c := range row {
			row[c] /= 2
		}
	}
	if got := anyDifference(table(rows).collect()); !strings.HasSuffix(got, "Friedman's chi-squared = 12 over 12 tasks, p = 0.002") {
		t.Errorf("graded: %q", got)
	}
	grouped := table(append(rows, rows...)) // tasks 0 and 12 are one cluster, and so on
	for i, s := range grouped.signals {
		s.Cluster = fmt.Sprint(i % 12)
	}
	if got := anyDifference(grouped.collect()); !strings.Contains(got, "Friedman's chi-squared = 12 over 12 clusters,") {
		t.Errorf("clusters of equal tasks are worth one each: %q", got)
	}
	missing := table(rows)
	missing.scores = append(missing.scores[:11], missing.scores[12:]...) // of the last task, by the first configuration
	if got := anyDifference(missing.collect()); !strings.Contains(got, "over 11 tasks") {
		t.Errorf("a task that one configuration has no score of: %q", got)
	}
	for name, f := range map[string]*fixture{"few tasks differ": table(rows[:7]), "two configurations": small(30), "equal ones": table([][]float64{{1, 1, 1}, {0, 0, 0}})} {
		if got := anyDifference(f.collect()); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// In binary (0.1 + 0.2 + 0.3) / 3 is not what (0.3 + 0.2 + 0.1) / 3 is, nor 0.2.
func TestRoundingIsNoDifference(t *testing.T) {
	var rows [][]float64
	for range 12 {
		rows = append(rows, []float64{0.1, 0.3, 0.2}, []float64{0.2, 0.2, 0.2}, []float64{0.3, 0.1, 0.2})
	}
	f := table(rows)
	for i, s := range f.signals {
		s.Cluster = fmt.Sprint(i % len(rows) / 3)
	}
	if got := anyDifference(f.collect()); got != "" {
		t.Errorf("clusters of equal means: %q", got)
	}
}
