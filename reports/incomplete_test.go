package reports_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

// What some shards of a suite say is never taken for what all of them say.
func TestAReportOfSomeShardsBeginsWithThat(t *testing.T) {
	m := record.Manifest{Suite: "dealt", Incomplete: "only shard 2 of 3, with 10 of 30 tasks", Tasks: 10, Trials: 1}
	none := func(func(*record.Signals, error) bool) {}
	r, err := reports.Collect(&m, none, func(func(record.Score, error) bool) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range page.Formats {
		var b bytes.Buffer
		if err := page.Write(&b, r, page.Options{Format: format, Width: 120}); err != nil {
			t.Fatal(err)
		}
		before, _, found := strings.Cut(b.String(), "only shard 2 of 3")
		if format == "csv" { // nothing but a table, which has no row
			found = strings.HasSuffix(strings.TrimSpace(b.String()), `,"incomplete"`)
		}
		if !found || strings.Contains(before, "0 configurations") {
			t.Errorf("%s begins with something else:\n%s", format, b.String())
		}
	}
}

// So does a comparison, whichever side it is; CSV has it in a column of its own.
func TestAComparisonWithSomeShardsBeginsWithThat(t *testing.T) {
	whole, part := small(3), small(3)
	part.manifest.Incomplete = "only shard 2 of 3"
	for name, c := range map[string]struct{ base, new *reports.Report }{"base": {part.collect(), whole.collect()}, "new": {whole.collect(), part.collect()}} {
		d := differing(t, c.base, c.new, reports.DiffOptions{})
		for _, format := range []string{"terminal", "markdown", "github", "html", "comment"} {
			before, _, found := strings.Cut(writtenDiff(t, d, page.Options{Format: format, Width: 120}), "only shard 2 of 3")
			if !found || strings.Contains(before, "compared with") || format != "comment" && strings.Contains(before, "right") {
				t.Errorf("%s, %s begins with something else: %s", name, format, before)
			}
		}
		lines := strings.Split(strings.TrimSpace(writtenDiff(t, d, page.Options{Format: "csv"})), "\r\n")
		for i, line := range lines {
			if i == 0 && !strings.HasSuffix(line, `,"incomplete"`) || i > 0 && !strings.HasSuffix(line, `only shard 2 of 3"`) {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	if text := writtenDiff(t, differing(t, whole.collect(), whole.collect(), reports.DiffOptions{BaseConfiguration: "once", NewConfiguration: "twice"}), page.Options{Format: "csv"}); strings.Contains(text, "incomplete") {
		t.Errorf("nothing lacks:\n%s", text)
	}
}
