package main

import (
	"context"
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
	expected, ofMade := m.Totals.Planned, f.incomplete && m.Incomplete != ""
	if ofMade { // who allows that wants to see what is there, but no faults
		expected = m.Totals.Runs() - m.Totals.Cancelled
	}
	if err == nil {
		err = b.answerable(f.out, m, expected, report)
	}
	if err == nil {
		err = p.differ(report, f.out, m, &f.againstFlags)
	}
	if err != nil {
		report.Unanswered = err.Error()
		return err
	}
	options := reports.ThresholdOptions{Comparison: report.Differences, MinCoverage: b.coverage(), OfMade: ofMade}
	report.Thresholds = reports.Thresholds(ctx, report, options, append(p.readable(m, b.Thresholds, f.quiet), f.texts...))
	return nil
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
