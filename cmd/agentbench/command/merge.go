package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	if err := mergeable(parts, f.incomplete); err != nil {
		return err
	}
	if f.out == "" {
		f.out = results.Fresh(parts[0].Manifest.Suite, p.now())
	}
	merged, err := record.Merge(f.out, parts, record.Options{})
	if err != nil {
		return unmerged(f.out, err)
	}
	m := &merged.Manifest
	for _, dropped := range merged.Dropped {
		fmt.Fprintf(p.err, "agentbench: warning: dropped: %v\n", dropped)
	}
	if !f.quiet {
		fmt.Fprintf(p.err, "merged %s of %d: %s\n", heldBy(m.Volatile.Shards), m.Volatile.Shards.Of, page.Plural(m.Totals.Runs(), "run", "runs"))
	}
	return p.concludeMerge(ctx, m, f)
}

// unmerged says why shards could not be joined, and what to do.
func unmerged(out string, err error) error {
	var damaged *record.Damaged
	var contradiction *record.Contradiction
	var busy *record.InUse
	switch {
	case errors.Is(err, fs.ErrExist):
		var beside *fs.PathError
		if errors.As(err, &beside) {
			out = beside.Path
		}
		return exit.Usage("name another folder with --out", "there is something at %s already", out)
	case errors.As(err, &damaged):
		return exit.With(exit.NotMeasured, "agentbench repair "+exit.ShellWord(damaged.Dir)+" moves what is damaged aside and keeps the rest", "%w", err)
	case errors.As(err, &contradiction):
		return exit.With(exit.NotMeasured, "agentbench show DIR "+exit.ShellWord(contradiction.Run)+" prints it; leave out the folder that is wrong", "%w", err)
	case errors.As(err, &busy):
		return exit.With(exit.NotMeasured, "wait until it ends, or name another folder with --out", "%w", err)
	}
	return exit.With(exit.NotMeasured, "", "merging: %w", err)
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

// mergeable refuses parts that do not belong together, or lack something.
func mergeable(parts []record.Part, incomplete bool) error {
	for i := range parts[1:] {
		if err := alike(&parts[0], &parts[i+1]); err != nil {
			return err
		}
	}
	all, err := joined(parts)
	if err != nil {
		return err
	}
	if text := lacking(all, parts); text != "" && !incomplete {
		return exit.With(exit.NotMeasured, "run what is missing, or merge what is there with --allow-incomplete", "%s", text)
	}
	return nil
}

// joined are the shards of all parts; it refuses one that is there twice.
func joined(parts []record.Part) (*record.Shards, error) {
	holder := map[int]string{}
	all := &record.Shards{Of: parts[0].Manifest.Volatile.Shards.Of}
	for i := range parts {
		s := parts[i].Manifest.Volatile.Shards
		for _, number := range numbersOf(s) {
			if before, held := holder[number]; held {
				return nil, exit.Usage("leave one of them out", "%s and %s both hold shard %d of %d", before, parts[i].Dir, number, s.Of)
			}
			holder[number] = parts[i].Dir
		}
		all = all.Joined(s)
	}
	return all, nil
}

// lacking says which shards are missing, and which did not finish.
func lacking(all *record.Shards, parts []record.Part) string {
	var texts []string
	if missing := all.Missing(); len(missing) > 0 {
		is := "is"
		if len(missing) > 1 {
			is = "are"
		}
		texts = append(texts, fmt.Sprintf("%s of %d %s missing", record.ShardNumbers(missing), all.Of, is))
	}
	for i := range parts {
		held := parts[i].Manifest.Volatile.Shards.Held
		for s := range held {
			if held[s].Unfinished() {
				texts = append(texts, fmt.Sprintf("shard %d in %s did not finish", held[s].Number, parts[i].Dir))
			}
		}
	}
	return strings.Join(texts, "; ")
}

// alike refuses two parts that are not of one suite, made and dealt in one way.
func alike(one, other *record.Part) error {
	lines, err := partDifferences(&one.Manifest, &other.Manifest)
	if err != nil {
		return exit.With(exit.NotMeasured, "", "comparing the specs: %w", err)
	}
	if len(lines) > 0 {
		what := strings.Join(append([]string{fmt.Sprintf("%s and %s do not belong together:", one.Dir, other.Dir)}, fewest(lines)...), "\n  ")
		return exit.With(exit.WrongSpec, "shards are of one suite, with one seed, the same data and one version of agentbench", "%s", what)
	}
	s, t := one.Manifest.Volatile.Shards, other.Manifest.Volatile.Shards
	switch {
	case s.Of != t.Of:
		return exit.Usage("deal a suite in one way", "%s is one of %d shards, %s one of %d", one.Dir, s.Of, other.Dir, t.Of)
	case s.Deal != t.Deal || s.By != t.By:
		return exit.Usage("give all shards the same --task, --limit and --shard-weights", "the tasks of %s and %s were dealt otherwise: by %s of %s, by %s of %s",
			one.Dir, other.Dir, s.By, page.Plural(s.Tasks, "task", "tasks"), t.By, page.Plural(t.Tasks, "task", "tasks"))
	}
	return nil
}

// partDifferences says in a line each what differs between the manifests of two
// parts, and may not.
func partDifferences(one, other *record.Manifest) ([]string, error) {
	var all results.Differences
	all.Compare("suite", one.Suite, other.Suite)
	all.Compare("agentbench", one.Agentbench, other.Agentbench)
	all.Compare("trials", one.Trials, other.Trials)
	all.Compare("configurations", strings.Join(headNames(one), ", "), strings.Join(headNames(other), ", "))
	lines := linesOf(all)
	if one.SpecHash == other.SpecHash {
		return lines, nil
	}
	within, err := results.DifferencesBetween(one, other)
	for _, line := range linesOf(within) {
		if !strings.HasPrefix(line, "suite:") { // told already
			lines = append(lines, line)
		}
	}
	return lines, err
}

func headNames(m *record.Manifest) []string {
	names := make([]string, len(m.Configurations))
	for i := range m.Configurations {
		names[i] = m.Configurations[i].Name
	}
	return names
}

// fewest are the first of many lines.
func fewest(lines []string) []string {
	if more := len(lines) - mostDifferences; more > 0 {
		return append(lines[:mostDifferences:mostDifferences], "and "+page.Plural(more, "more difference", "more differences"))
	}
	return lines
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
