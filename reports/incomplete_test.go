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
		if format == "csv" { // nothing but a table
			continue
		}
		var b bytes.Buffer
		if err := page.Write(&b, r, page.Options{Format: format, Width: 120}); err != nil {
			t.Fatal(err)
		}
		before, _, found := strings.Cut(b.String(), "only shard 2 of 3")
		if !found || strings.Contains(before, "0 configurations") {
			t.Errorf("%s begins with something else:\n%s", format, b.String())
		}
	}
}
