package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/spec/expr"
)

// concludeMerge reports on merged results and judges them, as run does.
func (p *program) concludeMerge(ctx context.Context, m *record.Manifest, f *mergeFlags) error {
	report, err := collect(f.out, m, neededRecords)
	if err != nil {
		return err
	}
	unanswered := p.judgeMerged(ctx, m, report, f)
	if err := p.write(report, &f.reportFlags, "configurations", "curve"); err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(p.err, "\nresults: %s\nmore: agentbench report %s, agentbench show %s\n", f.out, f.out, f.out)
	}
	if unanswered != nil {
		return unanswered
	}
	return p.thresholds(report.Thresholds, f.quiet)
}

// judgeMerged puts into a report what its thresholds say, or why that cannot be
// told, which is an error of its own.
func (p *program) judgeMerged(ctx context.Context, m *record.Manifest, report *reports.Report, f *mergeFlags) error {
	b, err := boundsOf(m)
	if f.incomplete && m.Incomplete != "" { // who allows that wants to see what is there
		b.MinCoverage = new(float64)
	}
	if err == nil {
		err = b.answerable(f.out, m, report)
	}
	if err == nil {
		err = p.differ(report, f.out, m, &f.againstFlags)
	}
	if err != nil {
		report.Unanswered = err.Error()
		return err
	}
	options := reports.ThresholdOptions{Comparison: report.Differences, MinCoverage: b.coverage()}
	report.Thresholds = reports.Thresholds(ctx, report, options, append(p.readable(m, b.Thresholds, f.quiet), f.texts...))
	return nil
}

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
	if err := json.Unmarshal(m.Spec, &resolved); err != nil {
		return bounds{}, fail(notMeasured, "", "reading the resolved spec: %w", err)
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

// answerable says why merged results have no answer, if they have none.
func (b *bounds) answerable(dir string, m *record.Manifest, report *reports.Report) error {
	if covered, least := measured(m), b.coverage(); covered == 0 || float64(covered) < least*float64(m.Totals.Planned) {
		return fail(notMeasured, "agentbench show "+shellWord(dir)+" lists the runs",
			"%d of %s could be measured; min_coverage is %v", covered, count(m.Totals.Planned, "run", "runs"), least)
	}
	return unscoredError(dir, report)
}

// readable are the thresholds that read nothing of configurations which no shard
// ran.
func (p *program) readable(m *record.Manifest, texts []string, quiet bool) (readable []string) {
	for _, text := range texts {
		absent := absentIn(m, text)
		if absent == "" {
			readable = append(readable, text)
		} else if !quiet {
			fmt.Fprintf(p.err, "threshold not judged, because %s was left out: %s\n", printable(absent), text)
		}
	}
	return readable
}

// absentIn names a configuration that a threshold reads and that is not there.
func absentIn(m *record.Manifest, text string) string {
	program, _ := expr.Threshold().Compile(text, expr.WantBool)
	if program == nil {
		return "" // judging it says what is wrong
	}
	for _, read := range program.Reads() {
		path, ok := strings.CutPrefix(read, "configurations.")
		if ok && !reads(m, path) {
			name, _, _ := strings.Cut(path, ".")
			return name
		}
	}
	return ""
}

// reads says whether a path begins with the name or alias of a configuration.
func reads(m *record.Manifest, path string) bool {
	for i := range m.Configurations {
		for _, name := range append([]string{m.Configurations[i].Name}, m.Configurations[i].Aliases...) {
			if path == name || strings.HasPrefix(path, name+".") {
				return true
			}
		}
	}
	return false
}
