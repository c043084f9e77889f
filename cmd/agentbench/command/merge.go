package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

type mergeFlags struct {
	judgedFlags
	out        string
	incomplete bool
	quiet      bool
}

func (p *program) mergeCommand() *cobra.Command {
	var f mergeFlags
	c := &cobra.Command{
		Use:     "merge DIR...",
		Short:   "Merge the shards of a suite and compare its configurations",
		GroupID: "run",
		Long: `Merges result folders of run --shard into a new one, equal to that of one run of the
whole suite, prints the comparison and checks the thresholds. The order of the folders
makes no difference, and merged folders can be merged again.

Shards of another suite, seed, data set or version of agentbench are refused. So are
missing and unfinished shards, unless --allow-incomplete is given.`,
		Args: arguments(1, -1, "the result folders of shards"),
		RunE: func(c *cobra.Command, args []string) error { return p.merge(c.Context(), args, &f) },
	}
	f.reportFlags.declare(c, reports.TableNames)
	f.declareAll(c)
	f.againstFlags.declare(c)
	f.thresholdFlags.declare(c)
	outFlag(c, &f.out, "result folder (default results/SUITE-TIME-…)")
	c.Flags().BoolVar(&f.incomplete, "allow-incomplete", false, "merge even if shards are missing or unfinished; reports will say so")
	quietFlag(c, &f.quiet, "hide notes")
	return c
}

// merge joins shards, reports on what they make, and gives their verdict.
func (p *program) merge(ctx context.Context, dirs []string, f *mergeFlags) error {
	parts, err := results.OpenShards(dirs, p.openManifest)
	if err != nil {
		return err
	}
	if err := results.Mergeable(parts, f.incomplete); err != nil {
		return err
	}
	if f.out == "" {
		f.out = results.Fresh(parts[0].Manifest.Suite, p.now())
	}
	m, err := record.Merge(f.out, parts, record.Options{})
	if err != nil {
		return results.Unmerged(f.out, err)
	}
	if err := results.JoinStates(ctx, f.out, parts); err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(p.err, "merged %s of %d: %s\n", results.HeldBy(m.Volatile.Shards), m.Volatile.Shards.Of, page.Plural(m.Totals.Runs(), "run", "runs"))
	}
	return p.concludeMerge(ctx, m, f)
}

// concludeMerge reports on merged results and judges them, as run does.
func (p *program) concludeMerge(ctx context.Context, m *record.Manifest, f *mergeFlags) error {
	report, err := reports.Of(&record.Results{Path: f.out, Manifest: *m})
	if err != nil {
		return err
	}
	report.Where = exit.ShellWord(f.out)
	adviseRecorded(report, &record.Results{Path: f.out, Manifest: *m})
	unanswered := p.judgeMerged(ctx, m, report, f)
	if err := p.write(report, &f.reportFlags, "configurations", "curve"); err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(p.err, "results: %s\n", f.out)
	}
	return p.verdict(report, unanswered, &f.reportFlags, f.quiet, true)
}

// judgeMerged puts into a report what its thresholds say, or why that cannot be
// told, which is an error of its own.
func (p *program) judgeMerged(ctx context.Context, m *record.Manifest, report *reports.Report, f *mergeFlags) error {
	b, err := results.BoundsOf(&record.Results{Path: f.out, Manifest: *m})
	expected, ofMade := m.Totals.Planned, f.incomplete && m.Incomplete != ""
	if ofMade { // who allows that wants to see what is there, but no faults
		expected = m.Totals.Runs() - m.Totals.Cancelled
	}
	if err == nil {
		err = report.Answerable(f.out, m, expected, b.MinCoverage)
	}
	if err == nil {
		err = p.differ(report, &record.Results{Path: f.out, Manifest: *m}, &f.againstFlags)
	}
	var texts []string
	for _, text := range b.Thresholds {
		absent := results.AbsentIn(m, reports.ThresholdReads(text))
		if absent == "" {
			texts = append(texts, text)
		} else if !f.quiet && err == nil {
			fmt.Fprintf(p.err, "threshold not judged, because %s was left out: %s\n", page.Visible(absent), text)
		}
	}
	return answered(ctx, report, err, reports.ThresholdOptions{MinCoverage: b.MinCoverage, OfMade: ofMade}, append(texts, f.texts...))
}
