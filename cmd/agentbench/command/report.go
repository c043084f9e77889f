package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
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
			err := cmp.Or(f.reportFlags.validate(), f.againstFlags.validate(), f.thresholdFlags.validate())
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
	if at.Configuration != "" {
		return exit.Usage("name "+exit.ShellWord(at.Path)+" alone", "%s is one configuration, and report compares all of them", path)
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
func (p *program) judgeReport(ctx context.Context, r *reports.Report, of *record.Results, texts []string) error {
	if err := anyCounts(r, of.Path); err != nil && len(texts) == 0 {
		return err
	}
	m := &of.Manifest
	b, err := results.BoundsOf(m)
	switch {
	case len(texts) == 0: // the suite's bounds are not read
		err = agentFailedError(of.Path, r)
	case err == nil:
		err = answerableBy(&b, of.Path, m, m.Totals.Planned, r)
	}
	if err != nil {
		r.Unanswered = err.Error()
		return err
	}
	r.Thresholds = reports.Thresholds(ctx, r, reports.ThresholdOptions{Comparison: r.Differences, MinCoverage: b.MinCoverage}, texts)
	return nil
}

// anyCounts says so where nothing was measured at all.
func anyCounts(r *reports.Report, path string) error {
	for i := range r.Configurations {
		if r.Configurations[i].Runs > 0 {
			return nil
		}
	}
	return exit.With(exit.NotMeasured, "agentbench show "+exit.ShellWord(path)+" lists the runs", "there is no run that counts")
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
			return nil, exit.With(exit.NotMeasured, "", "reading the results: %w", err)
		}
		signals = withDamage(signals, damage)
	}
	r, err := reports.Collect(&results.Manifest, signals, results.Scores())
	if err != nil {
		return nil, exit.With(exit.NotMeasured, "", "reading the results: %w", err)
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
	hint := "agentbench repair --dry-run " + exit.ShellWord(results.Path) + " says what is damaged"
	if results.Baseline() {
		hint = "take " + exit.ShellWord(results.Path) + " from git again, or make it anew with agentbench baseline set"
	}
	for _, w := range r.Warnings {
		if w.Kind == reports.BadLines {
			fmt.Fprintf(p.err, "agentbench: warning: %s\nhint: %s\n", w.Text(page.Visible), hint)
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

// reportFlags say in which formats a report or a comparison is written.
type reportFlags struct {
	format string
	tables []string // to be written; none: all, or the command's own choice
	writes []string // FORMAT=FILE

	files []formatFile
	names []string // of the tables that there are
}

// formatFile is a file that gets a format of its own.
type formatFile struct{ format, path string }

func (f *reportFlags) declare(c *cobra.Command, tables []string) {
	f.names = tables
	c.Flags().StringVarP(&f.format, "format", "f", "terminal", strings.Join(page.Formats, ", "))
	c.Flags().StringArrayVar(&f.tables, "table", nil, "only this table (repeatable): "+strings.Join(tables, ", "))
	c.Flags().StringArrayVar(&f.writes, "write", nil, "also write FORMAT=FILE, for example junit=junit.xml (repeatable)")
	// Both fail only where there is no such flag.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(page.Formats, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("table", cobra.FixedCompletions(tables, cobra.ShellCompDirectiveNoFileComp))
}

// validate finds what is wrong with the flags, files that cannot be written to
// among it: who pays for runs wants to know before.
func (f *reportFlags) validate() (err error) {
	if f.format, err = f.formatNamed(f.format); err != nil {
		return err
	}
	for _, name := range f.tables {
		if !slices.Contains(f.names, name) {
			return exit.Usage(exit.DidYouMean(name, f.names, "there are: "+strings.Join(f.names, ", ")), "there is no table %q", name)
		}
	}
	f.files = nil
	for _, text := range f.writes {
		file, err := f.fileNamed(text)
		if err != nil {
			return err
		}
		f.files = append(f.files, file)
	}
	return nil
}

func (f *reportFlags) formatNamed(name string) (string, error) {
	if name == "md" {
		name = "markdown"
	}
	if !slices.Contains(page.Formats, name) {
		return "", exit.Usage(exit.DidYouMean(name, page.Formats, "there are: "+strings.Join(page.Formats, ", ")), "there is no format %q", name)
	}
	if name == "csv" && len(f.tables) > 1 {
		return "", exit.Usage("name one with --table", "a CSV file holds one table")
	}
	return name, nil
}

// fileNamed reads FORMAT=FILE.
func (f *reportFlags) fileNamed(text string) (file formatFile, err error) {
	format, path, ok := strings.Cut(text, "=")
	if !ok || path == "" || path == "-" {
		return file, exit.Usage("--write junit=junit.xml; what goes to stdout is for --format", "--write %s: want FORMAT=FILE", text)
	}
	if format, err = f.formatNamed(format); err != nil {
		return file, err
	}
	same := func(other formatFile) bool { return filepath.Clean(other.path) == filepath.Clean(path) }
	if slices.ContainsFunc(f.files, same) {
		return file, exit.Usage("give each format a file of its own", "--write %s: %s is written already", text, path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return file, exit.Usage("name a file in it", "--write %s: %s is a folder", text, path)
	}
	if results.Holds(path) {
		return file, exit.Usage("name another file", "--write %s: %s holds results", text, path)
	}
	return formatFile{format, path}, writableFolder(filepath.Dir(path))
}

// writableFolder makes a folder, if it is not there, and tries to write to it.
func writableFolder(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(dir, ".agentbench-*"); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	if err != nil {
		return exit.With(exit.NotMeasured, "name a file that can be written to", "--write: %w", err)
	}
	return nil
}

// write puts a page on stdout and into the files that were asked for. Where the
// user names no tables, people read these.
func (p *program) write(of page.Page, f *reportFlags, tables ...string) error {
	for _, name := range f.tables {
		if all := of.Tables(page.Machines); !slices.ContainsFunc(all, func(t page.Table) bool { return t.Name == name }) {
			return exit.Usage("it has: "+all[0].Name, "there is no table %q here", name)
		}
	}
	options := page.Options{Format: f.format, Width: p.width(p.out), Color: p.colored(p.out), Tables: f.tables}
	if len(options.Tables) == 0 && (f.format == "terminal" || f.format == "markdown") {
		options.Tables = tables
		if f.format == "markdown" && len(tables) > 0 {
			options.Tables = append([]string{"thresholds"}, tables...)
		}
	}
	write := func(w io.Writer) error { return page.Write(w, of, options) }
	var err error
	if f.format == "github" {
		err = p.obeyed(write)
	} else {
		err = write(p.out)
	}
	if unlessClosed(err) != nil {
		return exit.Unmeasured(err)
	}
	p.tellEmpty(of, f.tables)
	return p.writeFiles(of, f)
}

// tellEmpty says of which tables that the user named there is nothing to show.
func (p *program) tellEmpty(of page.Page, named []string) {
	for _, t := range of.Tables(page.Machines) {
		switch {
		case t.Count > 0 || !slices.Contains(named, t.Name):
		case t.Name == page.Thresholds:
			fmt.Fprintln(p.err, "the table thresholds is empty: none was judged; --threshold gives one")
		default:
			fmt.Fprintf(p.err, "the table %s is empty\n", t.Name)
		}
	}
}

// writeFiles writes what --write asks for, and the summary that goes with
// annotations.
func (p *program) writeFiles(of page.Page, f *reportFlags) error {
	summary := f.format == "github"
	for _, file := range f.files {
		options := page.Options{Format: file.format, Width: defaultWidth, Tables: f.tables}
		err := p.replaceFile(file.path, func(w io.Writer) error { return page.Write(w, of, options) })
		if err != nil {
			return exit.With(exit.NotMeasured, "", "--write %s=%s: %w", file.format, file.path, err)
		}
		summary = summary || file.format == "github"
	}
	if !summary {
		return nil
	}
	if err := p.writeSummary(of, f); err != nil {
		return exit.With(exit.NotMeasured, "GITHUB_STEP_SUMMARY names the file", "writing the summary of the step: %w", err)
	}
	return nil
}

// replaceFile writes a file whole or not at all. What is there and no file, such
// as a pipe, is written to as it is.
func (p *program) replaceFile(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return p.writeTo(path, os.O_WRONLY, write)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".agentbench-*")
	if err != nil {
		return err
	}
	hiding := p.secrets.Writer(temporary)
	err = errors.Join(write(hiding), hiding.Flush(), temporary.Chmod(0o644), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}

// writeTo opens a file that is there, or may be made, and writes to it.
func (p *program) writeTo(path string, flags int, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	hiding := p.secrets.Writer(file)
	return errors.Join(write(hiding), hiding.Flush(), file.Close())
}

// writeSummary adds a page to the summary of a step on GitHub, if there is one.
func (p *program) writeSummary(of page.Page, f *reportFlags) error {
	path := p.env("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	var before int64
	if info, err := os.Stat(path); err == nil {
		before = info.Size()
	}
	return p.writeTo(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, func(w io.Writer) error {
		return page.WriteSummary(w, of, page.Options{Format: "markdown", Tables: f.tables}, before)
	})
}

// againstFlags say what a report is compared with, and how.
type againstFlags struct {
	compareFlags
	baseline, baselines string
}

func (f *againstFlags) declare(c *cobra.Command) {
	f.declareMargins(c)
	c.Flags().StringVar(&f.baseline, "baseline", "", "compare with the baseline of this name, not with the suite's")
	declareBaselines(c, &f.baselines)
}

// validate finds a baseline that is not there: who pays for runs wants to know
// before.
func (f *againstFlags) validate() error {
	if f.baseline != "" {
		if _, err := results.OpenNamed(f.baseline, f.baselines); err != nil {
			return err
		}
	}
	return f.compareFlags.validate()
}

// differ puts into a report what differs from the baseline that was asked for,
// else from the suite's.
func (p *program) differ(r *reports.Report, path string, m *record.Manifest, f *againstFlags) error {
	options, err := f.options(m)
	if err != nil {
		return err
	}
	if f.baseline == "" {
		r.Differences, err = reports.DiffBaseline(r, options)
	} else {
		r.Differences, err = p.differFrom(r, path, m, f, options)
	}
	if err != nil {
		return incomparable(err)
	}
	if r.Differences != nil {
		r.Differences.DropFlips()
	}
	return nil
}

// differFrom compares a report with the baseline that was asked for.
func (p *program) differFrom(r *reports.Report, path string, m *record.Manifest, f *againstFlags, options reports.DiffOptions) (*reports.Comparison, error) {
	at, err := results.OpenNamed(f.baseline, f.baselines)
	if err != nil {
		return nil, err
	}
	base, err := p.collectPlace(at)
	if err != nil {
		return nil, err
	}
	s := &sides{base: at, new: &results.Place{Text: path, Results: &record.Results{Path: path, Manifest: *m}}}
	if options.Spec, err = changes(s, nil); err != nil {
		return nil, err
	}
	options.BaseName = f.baseline
	return reports.Diff(base, r, options)
}

// comparable refuses a suite whose thresholds read diff where there is nothing to
// compare with, and a baseline that has nothing to do with what is planned.
func (f *runFlags) comparable(s *spec.Suite, planned *plan.Plan) error {
	if f.baseline != "" {
		return f.coupled(planned)
	}
	if s.Baseline != "" {
		return nil
	}
	texts := slices.Clone(f.texts)
	for i := range s.Thresholds {
		texts = append(texts, s.Thresholds[i].Text)
	}
	for _, text := range texts {
		if reports.ReadsDiff(text) {
			return exit.With(exit.WrongSpec, "declare baseline: in the suite, or give --baseline NAME", "a threshold reads diff, and there is no baseline to compare with: %s", text)
		}
	}
	return nil
}

// named refuses thresholds of the command line that read what the suite does not
// have: who pays for runs wants to know before.
func (f *thresholdFlags) named(s *spec.Suite) error { return f.read(s.Misreads) }

// recorded refuses those that read what no result has.
func (f *thresholdFlags) recorded(newest *record.Manifest, others ...*record.Manifest) error {
	known := spec.Readable{Configurations: results.Names(newest), Scorers: slices.Clone(newest.Scorers)}
	for i := range newest.Metrics {
		known.Metrics = append(known.Metrics, newest.Metrics[i].Name)
	}
	for _, m := range others {
		known.Scorers = append(known.Scorers, m.Scorers...)
	}
	return f.read(func(reads []string) []spec.Misread { return spec.Misreads(reads, known) })
}

func (f *thresholdFlags) read(misreads func(reads []string) []spec.Misread) error {
	for _, text := range f.texts {
		program, _ := expr.Threshold().Compile(text, expr.WantBool)
		if program == nil {
			continue // validate has refused it
		}
		for _, m := range misreads(program.Reads()) {
			return exit.Usage(exit.DidYouMean(m.Name, m.Known, "there are: "+exit.Some(m.Known)), "--threshold %s: there is no %s %q", text, m.What, m.Name)
		}
	}
	return nil
}

// coupled refuses a baseline with which no planned configuration belongs
// together.
func (f *runFlags) coupled(planned *plan.Plan) error {
	at, err := results.OpenNamed(f.baseline, f.baselines)
	if err != nil {
		return err
	}
	var m record.Manifest
	for i := range planned.Configurations {
		c := &planned.Configurations[i]
		m.Configurations = append(m.Configurations, record.ConfigurationHead{Name: c.Name, Aliases: c.Aliases})
	}
	if len(results.Couples(at, &results.Place{Results: &record.Results{Manifest: m}})) == 0 {
		return exit.Usage("the baseline has: "+exit.Some(results.Names(&at.Manifest)), "no configuration of the suite has the name of one in the baseline %q", f.baseline)
	}
	return nil
}
