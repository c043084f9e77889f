package command

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec/expr"
)

// mergeFlags are the flags of merge.
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
		Short:   "Join the shards of a suite, and compare its configurations",
		GroupID: "run",
		Long: `Joins result folders that run --shard made into a new one, which is what one run of the
whole suite would have left behind, prints its comparison and judges its thresholds.
The order of the folders makes no difference, and some shards may be merged first.

Shards of other suites, seeds, data or versions of agentbench are refused, and so are
missing shards and those that did not finish, unless --allow-incomplete is given.`,
		Args: arguments(1, -1, "the result folders of shards"),
		RunE: func(c *cobra.Command, args []string) error {
			err := cmp.Or(f.reportFlags.validate(), f.againstFlags.validate(), f.thresholdFlags.validate())
			if err != nil {
				return err
			}
			return p.merge(c.Context(), args, &f)
		},
	}
	f.reportFlags.declare(c, reports.TableNames)
	f.againstFlags.declare(c)
	f.thresholdFlags.declare(c)
	outFlag(c, &f.out, "folder for the results (default results/SUITE-TIME-…)")
	c.Flags().BoolVar(&f.incomplete, "allow-incomplete", false, "merge what is there, though shards are missing or did not finish; reports begin with that")
	quietFlag(c, &f.quiet, "no notes")
	return c
}

// merge joins shards, reports on what they make, and gives their verdict.
func (p *program) merge(ctx context.Context, dirs []string, f *mergeFlags) error {
	parts, err := p.openShards(dirs)
	if err != nil {
		return err
	}
	if err := results.Mergeable(parts, f.incomplete); err != nil {
		return err
	}
	if f.out == "" {
		f.out = results.Fresh(parts[0].Manifest.Suite, p.now())
	}
	merged, err := record.Merge(f.out, parts, record.Options{})
	if err != nil {
		return results.Unmerged(f.out, err)
	}
	m := &merged.Manifest
	for _, dropped := range merged.Dropped {
		fmt.Fprintf(p.err, "agentbench: warning: dropped: %v\n", dropped)
	}
	if !f.quiet {
		fmt.Fprintf(p.err, "merged %s of %d: %s\n", results.HeldBy(m.Volatile.Shards), m.Volatile.Shards.Of, page.Plural(m.Totals.Runs(), "run", "runs"))
	}
	return p.concludeMerge(ctx, m, f)
}

// openShards reads the manifests of folders that hold shards, each named once.
func (p *program) openShards(dirs []string) ([]record.Part, error) {
	var parts []record.Part
	var infos []os.FileInfo
	for _, dir := range withoutCaches(dirs) {
		if within, _ := filepath.Glob(filepath.Join(dir, "*", "manifest.json")); len(within) > 0 && !results.IsFolder(dir) {
			return nil, exit.Usage("agentbench merge "+exit.ShellWord(dir)+"/* joins those in it", "%s itself is no shard", dir)
		}
		m, err := p.openManifest(dir)
		if err != nil {
			return nil, err
		}
		if m.Volatile.Shards == nil {
			return nil, exit.Usage("merge joins folders that were made with run --shard", "%s holds no shard, but results of the whole suite %s", dir, page.Visible(m.Suite))
		}
		info, err := os.Stat(dir)
		if err != nil {
			return nil, exit.Unmeasured(err)
		}
		for i := range infos {
			if os.SameFile(infos[i], info) {
				return nil, exit.Usage("name each folder once", "%s and %s are one folder", parts[i].Dir, dir)
			}
		}
		infos = append(infos, info)
		parts = append(parts, record.Part{Dir: dir, Manifest: m})
	}
	return parts, nil
}

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
	b, err := results.BoundsOf(m)
	expected, ofMade := m.Totals.Planned, f.incomplete && m.Incomplete != ""
	if ofMade { // who allows that wants to see what is there, but no faults
		expected = m.Totals.Runs() - m.Totals.Cancelled
	}
	if err == nil {
		err = answerableBy(&b, f.out, m, expected, report)
	}
	if err == nil {
		err = p.differ(report, f.out, m, &f.againstFlags)
	}
	if err != nil {
		report.Unanswered = err.Error()
		return err
	}
	options := reports.ThresholdOptions{Comparison: report.Differences, MinCoverage: b.MinCoverage, OfMade: ofMade}
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
			fmt.Fprintf(p.err, "threshold not judged, because %s was left out: %s\n", page.Visible(absent), text)
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
