package main

import (
	"fmt"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
)

// bounds are what a suite says about its results.
type bounds struct {
	Thresholds  []string
	MinCoverage *float64 `json:"min_coverage"`
}

// boundsOf reads the bounds in a manifest's resolved spec.
func boundsOf(m *record.Manifest) (bounds, error) {
	var resolved struct {
		Suite struct {
			Thresholds  []any
			MinCoverage *float64 `json:"min_coverage"`
		}
	}
	if len(m.Spec) == 0 { // it is not known how the records came to be
		return bounds{}, nil
	}
	if err := readSpec(m.Spec, &resolved); err != nil {
		return bounds{}, fail(notMeasured, "", "%w", err)
	}
	b := bounds{MinCoverage: resolved.Suite.MinCoverage}
	for _, t := range resolved.Suite.Thresholds {
		b.Thresholds = append(b.Thresholds, fmt.Sprint(t)) // YAML takes a bare true for no text
	}
	return b, nil
}

// coverage is the least share of runs that has to count.
func (b *bounds) coverage() float64 {
	if b.MinCoverage == nil {
		return defaultCoverage
	}
	return *b.MinCoverage
}

// answerable says why results have no answer, if they have none, of which so many
// runs are expected.
func (b *bounds) answerable(dir string, m *record.Manifest, expected int, report *reports.Report) error {
	if covered, least := measured(m), b.coverage(); covered == 0 || float64(covered) < least*float64(expected) {
		return fail(notMeasured, "agentbench show "+shellWord(dir)+" lists the runs",
			"%d of %s could be measured; min_coverage is %v", covered, count(expected, "run", "runs"), least)
	}
	return firstOf(agentFailedError(dir, report), unscoredError(dir, report))
}
