package reports_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/pagetest"
)

// effort is a folder of one run whose two calls cost a cent each as-if.
func effort(e record.Effort) *fixture {
	f := one(1)
	f.scored(f.run("a", 1, 0.5, 0.6), 0, 1)
	f.manifest.Totals.Add(f.signals[0])
	f.manifest.Volatile.Effort = e
	return f
}

func TestF82_WhatWasPaidIsToldWhereItDiffers(t *testing.T) {
	cents := func(calls int64) record.Usage {
		return record.Usage{Calls: calls, Cost: record.Money(calls) * record.USD / 100}
	}
	unpriced := record.Usage{Calls: 1, Unpriced: 1}
	for name, c := range map[string]struct {
		effort record.Effort
		want   string
	}{
		"an older version did not count": {record.Effort{}, ""},
		"all as it seems":                {record.Effort{Made: 2, Attempts: 2, Paid: cents(2)}, ""},
		"from the cache":                 {record.Effort{Cached: 2}, "cache: 2 hits, 0 misses; cost as if nothing were cached $0.02, paid $0"},
		"in part":                        {record.Effort{Cached: 1, Made: 1, Attempts: 1, Paid: cents(1)}, "cache: 1 hit, 1 miss; cost as if nothing were cached $0.02, paid $0.01"},
		"tried again": {record.Effort{Made: 2, Attempts: 3, Waited: 1500 * time.Millisecond, Paid: cents(2)},
			"cache: 0 hits, 2 misses; 3 requests sent, 1.50 s waited; cost as if nothing were cached $0.02, paid $0.02"},
		"a run made twice": {record.Effort{Made: 3, Attempts: 3, Paid: cents(3)}, "cache: 0 hits, 3 misses; cost as if nothing were cached $0.02, paid $0.03"},
		"unpriced":         {record.Effort{Cached: 1, Made: 1, Attempts: 1, Paid: unpriced}, "cache: 1 hit, 1 miss; cost as if nothing were cached $0.02, paid unpriced"},
	} {
		got := effort(c.effort).collect().Volatile
		switch {
		case got == nil && c.want == "":
		case got == nil || got.Text() != c.want:
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

// P3: what was paid is in no table, and in JSON only under "volatile".
func TestP3_ReportsDifferOnlyInWhatIsVolatile(t *testing.T) {
	made, cached := effort(record.Effort{Made: 2, Attempts: 2}).collect(), effort(record.Effort{Cached: 2}).collect()
	for _, format := range []string{"terminal", "markdown", "csv"} {
		if a, b := pagetest.Written(t, made, page.Options{Format: format}), pagetest.Written(t, cached, page.Options{Format: format}); a != b {
			t.Errorf("%s differs: %s", format, pagetest.FirstDifference(a, b))
		}
	}
	if text := pagetest.Written(t, cached, page.Options{Format: "json"}); !strings.Contains(text, `"volatile": {`) || !strings.Contains(text, `"cached": 2`) {
		t.Errorf("JSON does not tell of the cache:\n%s", text)
	}
	made.Volatile, cached.Volatile = nil, nil
	if a, b := pagetest.Written(t, made, page.Options{Format: "json"}), pagetest.Written(t, cached, page.Options{Format: "json"}); a != b {
		t.Errorf("JSON differs: %s", pagetest.FirstDifference(a, b))
	}
}

// F42: where a budget ended in the middle, each configuration says how many of
// its runs are missing, and the report that they are uneven.
func TestF42_UnequalNumbersOfRunsAreMarked(t *testing.T) {
	f := coach(24)
	f.manifest.Status = record.StateStopped
	half := f.signals[:0]
	for _, s := range f.signals {
		if s.Configuration == "single-pass" || s.Configuration == "default" && s.Trial < 3 {
			half = append(half, s)
		}
	}
	f.signals = half
	f.manifest.Configurations = f.manifest.Configurations[:2]
	r := f.collect()
	if hasWarning(r.Configurations[0].Warnings, reports.NotRun) || !hasWarning(r.Configurations[1].Warnings, reports.NotRun) {
		t.Errorf("missing runs: %v, %v", r.Configurations[0].Warnings, r.Configurations[1].Warnings)
	}
	if !hasWarning(r.Warnings, reports.UnevenRuns) || !hasWarning(r.Warnings, reports.NotComplete) {
		t.Errorf("of the report: %v", r.Warnings)
	}
	pagetest.Golden(t, "budget.txt", pagetest.Written(t, r, page.Options{Width: 100, Tables: []string{"configurations"}}))
	if even := coach(24).collect(); hasWarning(even.Warnings, reports.UnevenRuns) {
		t.Errorf("faults alone: %v", even.Warnings)
	}
}

// F41: the report shows the day of the prices.
func TestF41_TheDayOfThePricesIsShown(t *testing.T) {
	f := one(1)
	f.run("a", 1, 0.5)
	f.manifest.PricesAsOf = "2026-11-01"
	for _, format := range []string{"terminal", "markdown", "json"} {
		if text := pagetest.Written(t, f.collect(), page.Options{Format: format}); !strings.Contains(text, "2026-11-01") {
			t.Errorf("%s does not show it:\n%s", format, text)
		}
	}
}
