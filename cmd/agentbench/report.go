package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
)

// reportFlags say how a report is written.
type reportFlags struct {
	format string
	tables []string
}

func (f *reportFlags) declare(c *cobra.Command) {
	c.Flags().StringVarP(&f.format, "format", "f", "terminal", strings.Join(reports.Formats, ", "))
	c.Flags().StringArrayVar(&f.tables, "table", nil, "only this table (repeatable): "+strings.Join(reports.TableNames, ", "))
	// Both fail only where there is no such flag.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(reports.Formats, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("table", cobra.FixedCompletions(reports.TableNames, cobra.ShellCompDirectiveNoFileComp))
}

func (f *reportFlags) validate() error {
	if f.format == "md" {
		f.format = "markdown"
	}
	if !slices.Contains(reports.Formats, f.format) {
		return usage(didYouMean(f.format, reports.Formats, "there are: "+strings.Join(reports.Formats, ", ")), "there is no format %q", f.format)
	}
	for _, name := range f.tables {
		if !slices.Contains(reports.TableNames, name) {
			return usage(didYouMean(name, reports.TableNames, "there are: "+strings.Join(reports.TableNames, ", ")), "there is no table %q", name)
		}
	}
	return nil
}

// orTables are the flags with these tables where the user names none. CSV, of
// one table, and JSON, of all, stay as they are.
func (f *reportFlags) orTables(names ...string) *reportFlags {
	if len(f.tables) > 0 || f.format == "csv" || f.format == "json" {
		return f
	}
	return &reportFlags{format: f.format, tables: names}
}

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
	f.declare(c)
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

// write puts a report on stdout.
func (p *program) write(r *reports.Report, f *reportFlags) error {
	options := reports.Options{Format: f.format, Width: p.width(p.out), Color: p.colored(p.out), Tables: f.tables}
	if err := unlessClosed(reports.Write(p.out, r, options)); err != nil {
		return fail(notMeasured, "", "%w", err)
	}
	return nil
}

// unlessClosed forgives a reader who has seen enough, such as head.
func unlessClosed(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}
