package main

import (
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

func (p *program) reportCommand() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:     "report DIR",
		Short:   "Compare the configurations in a result folder",
		GroupID: "look",
		Long: `Compares the configurations in a result folder. Reports of equal runs are equal, byte
for byte; what a cache saved and what was really paid is therefore told on stderr, and
in JSON under "volatile".`,
		Args: arguments(1, 1, "one result folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			m, err := openManifest(args[0])
			if err != nil {
				return err
			}
			r, err := collect(args[0], &m, wholeRecords)
			if err != nil {
				return err
			}
			p.tellDamage(r, args[0])
			if err := p.write(r, &f); err != nil {
				return err
			}
			if r.Volatile != nil {
				fmt.Fprintln(p.err, r.Volatile.Text())
			}
			return nil
		},
	}
	f.declare(c, reports.TableNames)
	return c
}

// garbageWhileCollecting is how much garbage may stand beside what is kept, in
// percent: lines that are read leave much more behind than their numbers.
const garbageWhileCollecting = 25

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
	defer debug.SetGCPercent(debug.SetGCPercent(garbageWhileCollecting))
	signals := record.ReadSignals(dir)
	if read == wholeRecords {
		damage, _, err := record.Damage(dir, mostChecked)
		if err != nil {
			return nil, fail(notMeasured, "", "reading the results: %w", err)
		}
		signals = withDamage(signals, damage)
	}
	r, err := reports.Collect(m, signals, record.ReadScores(dir))
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
func (p *program) tellDamage(r *reports.Report, dir string) {
	for _, w := range r.Warnings {
		if w.Kind == reports.BadLines {
			fmt.Fprintf(p.err, "agentbench: warning: %s\nhint: agentbench repair --dry-run %s says what is damaged\n", w.Text(printable), shellWord(dir))
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
