package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
)

// judgedFlags are those of report.
type judgedFlags struct {
	reportFlags
	againstFlags
	thresholdFlags
}

func (p *program) reportCommand() *cobra.Command {
	var f judgedFlags
	c := &cobra.Command{
		Use:     "report DIR | FILE",
		Short:   "Compare the configurations in a result folder",
		GroupID: "look",
		Long: `Compares the configurations in a result folder, or in a baseline file. Reports of equal
runs are equal, byte for byte; what a cache saved and what was really paid is therefore
told on stderr, and in JSON under "volatile". Only thresholds given here make it fail.`,
		Args: arguments(1, 1, "one result folder or baseline file"),
		RunE: func(c *cobra.Command, args []string) error {
			err := firstOf(f.reportFlags.validate(), f.againstFlags.validate(), f.thresholdFlags.validate())
			if err != nil {
				return err
			}
			return p.report(c.Context(), args[0], &f)
		},
	}
	f.reportFlags.declare(c, reports.TableNames)
	f.againstFlags.declare(c)
	f.thresholdFlags.declare(c)
	return c
}

// report writes a report of a folder or of a baseline, and judges the thresholds
// that were given with it.
func (p *program) report(ctx context.Context, path string, f *judgedFlags) error {
	at, err := p.openPlace(path, f.baselines)
	if err != nil {
		return err
	}
	if at.configuration != "" {
		return usage("name "+shellWord(at.Path)+" alone", "%s is one configuration, and report compares all of them", path)
	}
	results := at.Results
	if err := f.recorded(&results.Manifest); err != nil {
		return err
	}
	defer leanly()()
	r, err := collectResults(results, wholeRecords)
	if err != nil {
		return err
	}
	p.tellDamage(r, results)
	if err := p.differ(r, results.Path, &results.Manifest, &f.againstFlags); err != nil {
		return err
	}
	unanswered := p.judgeReport(ctx, r, results, f.texts)
	if err := p.write(r, &f.reportFlags); err != nil {
		return err
	}
	if r.Volatile != nil {
		fmt.Fprintln(p.err, r.Volatile.Text())
	}
	if unanswered != nil {
		return unanswered
	}
	return p.thresholds(r.Thresholds, false)
}

// judgeReport puts into a report what thresholds say, or why that cannot be told.
func (p *program) judgeReport(ctx context.Context, r *reports.Report, results *record.Results, texts []string) error {
	if err := anyCounts(r, results.Path); err != nil && len(texts) == 0 {
		return err
	}
	m := &results.Manifest
	b, err := boundsOf(m)
	switch {
	case len(texts) == 0: // the suite's bounds are not read
		err = agentFailedError(results.Path, r)
	case err == nil:
		err = b.answerable(results.Path, m, m.Totals.Planned, r)
	}
	if err != nil {
		r.Unanswered = err.Error()
		return err
	}
	r.Thresholds = reports.Thresholds(ctx, r, reports.ThresholdOptions{Comparison: r.Differences, MinCoverage: b.coverage()}, texts)
	return nil
}

// anyCounts says so where nothing was measured at all.
func anyCounts(r *reports.Report, path string) error {
	for i := range r.Configurations {
		if r.Configurations[i].Runs > 0 {
			return nil
		}
	}
	return fail(notMeasured, "agentbench show "+shellWord(path)+" lists the runs", "there is no run that counts")
}

// garbageWhileCollecting is how much garbage may stand beside what is kept, in
// percent: lines that are read leave much more behind than their numbers.
const garbageWhileCollecting = 25

// leanly keeps garbage small until the function that it gives is called.
func leanly() (end func()) {
	before := debug.SetGCPercent(garbageWhileCollecting)
	return func() { debug.SetGCPercent(before) }
}

// records are what is read of the records while a report is collected.
type records int

const (
	neededRecords records = iota // those without signals
	wholeRecords                 // also the others, to find what is damaged
)

// mostChecked is how many bytes of records a report checks besides those that it
// needs; repair --dry-run checks all.
const mostChecked = 256 << 20

// collect reads what the records of a folder say.
func collect(dir string, m *record.Manifest, read records) (*reports.Report, error) {
	defer leanly()()
	return collectResults(&record.Results{Path: dir, Manifest: *m}, read)
}

// collectResults reads what a folder or a baseline says.
func collectResults(results *record.Results, read records) (*reports.Report, error) {
	signals := results.Signals()
	if read == wholeRecords && !results.Baseline() {
		damage, _, err := record.Damage(results.Path, mostChecked)
		if err != nil {
			return nil, fail(notMeasured, "", "reading the results: %w", err)
		}
		signals = withDamage(signals, damage)
	}
	r, err := reports.Collect(&results.Manifest, signals, results.Scores())
	if err != nil {
		return nil, fail(notMeasured, "", "reading the results: %w", err)
	}
	return r, nil
}

// withDamage adds bad lines of which the signals do not tell.
func withDamage(signals iter.Seq2[*record.Signals, error], damage []*record.Problem) iter.Seq2[*record.Signals, error] {
	return func(yield func(*record.Signals, error) bool) {
		told := map[string]bool{}
		for s, err := range signals {
			var problem *record.Problem
			if errors.As(err, &problem) {
				told[problem.Error()] = true
			}
			if !yield(s, err) {
				return
			}
		}
		for _, problem := range damage {
			if !told[problem.Error()] && !yield(nil, problem) {
				return
			}
		}
	}
}

// tellDamage says that a folder is damaged, as the report's footnotes do.
func (p *program) tellDamage(r *reports.Report, results *record.Results) {
	hint := "agentbench repair --dry-run " + shellWord(results.Path) + " says what is damaged"
	if results.Baseline() {
		hint = "take " + shellWord(results.Path) + " from git again, or make it anew with agentbench baseline set"
	}
	for _, w := range r.Warnings {
		if w.Kind == reports.BadLines {
			fmt.Fprintf(p.err, "agentbench: warning: %s\nhint: %s\n", w.Text(printable), hint)
		}
	}
}

// unlessClosed forgives a reader who has seen enough, such as head.
func unlessClosed(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}
