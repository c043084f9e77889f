package command

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/cache"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

// Flags that several commands have are declared here, or in a group of flags with a
// declare of its own: once. What can be told from a value alone is refused as soon as it
// is read, and what can be told from flags together before the command runs: every command
// refuses the same values with the same text, before anything is paid.

// refusing has a command validate its flags before it runs, in the order of these calls.
func refusing(c *cobra.Command, validate func(args []string) error) {
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if before != nil {
			if err := before(c, args); err != nil {
				return err
			}
		}
		return validate(args)
	}
}

// checked is a flag that refuses values as it reads them.
type checked struct {
	kind string // of value, as pflag calls it
	set  func(text string) error
	text func() string
}

func (v *checked) Set(text string) error { return v.set(text) }

func (v *checked) Type() string { return v.kind }

func (v *checked) String() string { return v.text() }

// wholeFlag declares a number from least to most; 0, where it is not given, is the
// command's own default.
func wholeFlag(c *cobra.Command, to *int, name string, least, most int, hint, use string) {
	c.Flags().Var(&checked{"int", func(text string) error {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil:
			return err
		case n < least && most == noMost:
			return exit.Usage(hint, "--%s %d: want at least %d", name, n, least)
		case n < least || n > most:
			return exit.Usage(hint, "--%s %d: want %d to %d", name, n, least, most)
		}
		*to = n
		return nil
	}, func() string { return strconv.Itoa(*to) }}, name, use)
}

const noMost = int(^uint(0) >> 1)

// listFlag declares a flag that is given once for each of several values.
func listFlag[T any](c *cobra.Command, to *[]T, name, short, use string, read func(text string) (T, error)) {
	l := &list{}
	l.checked = checked{"stringArray", func(text string) error {
		value, err := read(text)
		if err == nil {
			*to, l.texts = append(*to, value), append(l.texts, text)
		}
		return err
	}, func() string { return strings.Join(l.texts, " ") }}
	c.Flags().VarP(l, name, short, use)
}

// list is a flag of several values, which are kept as they were written.
type list struct {
	checked
	texts []string
}

func (l *list) GetSlice() []string { return l.texts }

// choiceFlag declares a flag whose value is one of a few words; an empty one keeps the default.
func choiceFlag(c *cobra.Command, to *string, name string, words []string, use string) {
	c.Flags().Var(&checked{"string", func(text string) error {
		switch {
		case text == "":
			return nil
		case !slices.Contains(words, text):
			return exit.Usage(exit.DidYouMean(text, words, "use one of: "+strings.Join(words, ", ")), "--%s %s: unknown value", name, text)
		}
		*to = text
		return nil
	}, func() string { return *to }}, name, use)
	// It fails only where there is no such flag.
	_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func concurrencyFlag(c *cobra.Command, to *int, what string) {
	wholeFlag(c, to, "concurrency", 1, noMost, "--concurrency 1 is one after the other", "maximum "+what+" at the same time (default: the suite's, else 8)")
}

func portFlag(c *cobra.Command, to *int, use string) {
	wholeFlag(c, to, "port", 0, 65535, "--port 0 takes a free port", use)
}

func quietFlag(c *cobra.Command, to *bool, what string) {
	c.Flags().BoolVarP(to, "quiet", "q", false, what+" on stderr")
}

func outFlag(c *cobra.Command, to *string, what string) {
	c.Flags().StringVarP(to, "out", "o", "", what)
}

func setFlag(c *cobra.Command, to *[]spec.Setting, use string) {
	listFlag(c, to, "set", "", use+": path=value (repeatable)", func(text string) (s spec.Setting, err error) {
		path, value, ok := strings.Cut(text, "=")
		if !ok || path == "" {
			return s, exit.Usage("for example --set terminate.max_iterations=5", "--set %s: want path=value", text)
		}
		s = spec.Setting{Path: path, Value: value}
		_, faults := s.Assign("--set")
		return s, wrongValue(faults)
	})
}

func assigned(set []spec.Setting) (all []spec.Assignment) {
	for _, s := range set {
		a, _ := s.Assign("--set") // the flag has refused what is no value
		all = append(all, a)
	}
	return all
}

// axisFlag declares parameters with the values that are tried.
func axisFlag(c *cobra.Command, to *[]sweep.Axis, use string) {
	listFlag(c, to, "parameter", "p", use, func(text string) (sweep.Axis, error) {
		axis, faults := sweep.AxisFrom("--parameter", text)
		return axis, wrongValue(faults)
	})
}

// wrongValue makes faults of a flag wrong usage.
func wrongValue(faults source.Faults) error {
	if faults.Err() == nil {
		return nil
	}
	return &exit.Error{Code: exit.WrongUsage, Err: faults}
}

// cacheFlags say what of the cache a run may use, and where it is.
type cacheFlags struct {
	mode cache.Mode
	dir  string
}

func (f *cacheFlags) declare(c *cobra.Command) {
	f.mode = cache.On
	choiceFlag(c, (*string)(&f.mode), "cache", cache.Modes, "response cache: "+strings.Join(cache.Modes, ", ")+" (never call a model)")
	c.Flags().StringVar(&f.dir, "cache-dir", "", "folder of the response cache (default: cache, next to the result folder)")
}

type recordFlags struct {
	cacheFlags
	out         string
	concurrency int
	quiet       bool
	grace       time.Duration
	attempts    int
}

func (f *recordFlags) declare(c *cobra.Command, out string) {
	f.cacheFlags.declare(c)
	f.grace, f.attempts = 30*time.Second, 3
	outFlag(c, &f.out, out)
	concurrencyFlag(c, &f.concurrency, "runs")
	quietFlag(c, &f.quiet, "hide progress and notes")
	c.Flags().Var(&checked{"duration", func(text string) error {
		d, err := time.ParseDuration(text)
		if err == nil && d < 0 {
			return exit.Usage("--grace 0s cancels them at once", "--grace %v: want no less than 0s", d)
		}
		f.grace = d
		return err
	}, func() string { return f.grace.String() }}, "grace", "grace period for running tasks after an interrupt")
	wholeFlag(c, &f.attempts, "attempts", 1, noMost, "", "maximum attempts of a run with faults, resumed sessions included")
}

// selectionFlags narrow or change what a suite runs.
type selectionFlags struct {
	tasks, configurations []string
	set                   []spec.Setting
	limit, trials         int
	shardFlags
}

func (f *selectionFlags) declare(c *cobra.Command) {
	// StringArray, because StringSlice parts values at commas.
	c.Flags().StringArrayVar(&f.tasks, "task", nil, "run only this task (repeatable)")
	c.Flags().StringArrayVar(&f.configurations, "configuration", nil, "run only this configuration (repeatable)")
	setFlag(c, &f.set, "set a parameter in every configuration")
	wholeFlag(c, &f.limit, "limit", 1, noMost, "", "run only the first N tasks")
	wholeFlag(c, &f.trials, "trials", 1, spec.MostTrials, "", "repetitions of every task (default: the suite's, else 1)")
	f.shardFlags.declare(c)
}

// compareFlags say how results are compared.
type compareFlags struct {
	margins  []string
	unpaired bool
}

func (f *compareFlags) declare(c *cobra.Command) {
	f.declareMargins(c)
	c.Flags().BoolVar(&f.unpaired, "unpaired", false, "use an unpaired test")
}

func (f *compareFlags) declareMargins(c *cobra.Command) {
	refusing(c, f.validate)
	c.Flags().StringArrayVar(&f.margins, "margin", nil, "smallest change that counts: 0.02 for scores, 5% for amounts, close=0.05 or cost_usd=10% for one (repeatable)")
}

func (f *compareFlags) validate([]string) error {
	for _, text := range f.margins {
		if _, _, err := results.ParseMargin(text); err != nil {
			return err
		}
	}
	return nil
}

// options are those of a comparison: what the suites say, the first of them first, and
// over that the flags.
func (f *compareFlags) options(suites ...*record.Results) (reports.DiffOptions, error) {
	of, err := results.MarginsOver(f.margins, suites...)
	if err != nil {
		return reports.DiffOptions{}, err
	}
	var o reports.DiffOptions
	o.ScoreMargin, o.RatioMargin, o.Margins, o.Unpaired = of.Take(spec.AllScores), of.Take(spec.AllAmounts), of, f.unpaired
	return o, nil
}

// thresholdFlags are CEL bounds from the command line.
type thresholdFlags struct{ texts []string }

func (f *thresholdFlags) declare(c *cobra.Command) {
	refusing(c, f.validate)
	c.Flags().StringArrayVar(&f.texts, "threshold", nil, `CEL condition; exit with 1 if it is false, for example 'diff.cost_usd.change < 0.1' (repeatable)`)
}

func (f *thresholdFlags) validate([]string) error {
	for _, text := range f.texts {
		if hint, err := reports.CheckThreshold(text); err != nil {
			return exit.Usage(cmp.Or(spec.ThresholdHint(err.Error(), spec.Readable{}), hint, "for example 'diff.cost_usd.change < 0.1'"), "--threshold %s: %w", text, err)
		}
	}
	return nil
}

// reportFlags say in which formats a report or a comparison is written.
type reportFlags struct {
	format string
	tables []string // to be written; none: all, or the command's own choice
	writes []string // FORMAT=FILE
	all    bool     // tables, in the place of a summary

	files []formatFile
	names []string // of the tables that there are
}

// formatFile is a file that gets a format of its own.
type formatFile struct{ format, path string }

func (f *reportFlags) declare(c *cobra.Command, tables []string) {
	f.names = tables
	refusing(c, f.validate)
	f.format = "terminal"
	formatFlag(c, &f.format, "output format: ")
	c.Flags().StringArrayVar(&f.tables, "table", nil, "show only this table (repeatable): "+strings.Join(tables, ", "))
	listFlag(c, &f.writes, "write", "", "also write a file: `FORMAT=FILE`, for example junit=junit.xml (repeatable)", func(text string) (string, error) {
		if _, path, ok := strings.Cut(text, "="); !ok || path == "" || path == "-" {
			return "", exit.Usage(writeHint(c, text), "--write %s: want FORMAT=FILE", text)
		}
		return text, nil
	})
	// Both fail only where there is no such flag.
	_ = c.RegisterFlagCompletionFunc("table", cobra.FixedCompletions(tables, cobra.ShellCompDirectiveNoFileComp))
}

// declareAll is for commands whose page has a summary.
func (f *reportFlags) declareAll(c *cobra.Command) {
	c.Flags().BoolVar(&f.all, "all", false, "show all tables instead of the summary")
}

// validate finds what is wrong with the flags, files that cannot be written to among it.
func (f *reportFlags) validate([]string) (err error) {
	if f.format, err = f.formatNamed(f.format); err != nil {
		return err
	}
	for _, name := range f.tables {
		if !slices.Contains(f.names, name) {
			return exit.Usage(exit.DidYouMean(name, f.names, "there are: "+strings.Join(f.names, ", ")), "unknown table %q", name)
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

// formatFlag declares a flag for a format. formatNamed refuses unknown formats.
func formatFlag(c *cobra.Command, to *string, use string) {
	c.Flags().StringVarP(to, "format", "f", *to, use+strings.Join(page.Formats, ", "))
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(page.Formats, cobra.ShellCompDirectiveNoFileComp))
}

func (f *reportFlags) formatNamed(name string) (string, error) {
	if name == "md" {
		name = "markdown"
	}
	if !slices.Contains(page.Formats, name) {
		return "", exit.Usage(exit.DidYouMean(name, page.Formats, "there are: "+strings.Join(page.Formats, ", ")), "unknown format %q", name)
	}
	if name == "csv" && len(f.tables) > 1 {
		return "", exit.Usage("name one with --table", "a CSV file holds one table")
	}
	return name, nil
}

// writeHint is for a --write that has no file. What it meant to tune once, --apply does.
func writeHint(c *cobra.Command, text string) string {
	if c.Name() == "tune" && !strings.Contains(text, "=") {
		return "--apply changes the YAML to what is recommended; --write json=tune.json writes the page to a file"
	}
	return "--write junit=junit.xml; what goes to stdout is for --format"
}

func (f *reportFlags) fileNamed(text string) (file formatFile, err error) {
	format, path, _ := strings.Cut(text, "=")
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
	return formatFile{format, path}, writableFolder("write", filepath.Dir(path))
}

// writableFolder makes a folder, if it is not there, and tries to write to it.
func writableFolder(flag, dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(dir, ".agentbench-*"); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	if err != nil {
		return exit.With(exit.NotMeasured, "name a file that can be written to", "--%s: %w", flag, err)
	}
	return nil
}

// againstFlags say what a report is compared with, and how.
type againstFlags struct {
	compareFlags
	baseline, baselines string
}

func (f *againstFlags) declare(c *cobra.Command) {
	refusing(c, f.validate)
	f.declareMargins(c)
	c.Flags().StringVar(&f.baseline, "baseline", "", "compare with this baseline (default: the suite's)")
	declareBaselines(c, &f.baselines)
}

// validate finds a baseline that is not there.
func (f *againstFlags) validate([]string) (err error) {
	if f.baseline != "" {
		_, err = results.OpenNamed(f.baseline, f.baselines)
	}
	return err
}

// recorded refuses thresholds that read what no result has.
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

// read refuses thresholds by what is wrong with the names that they read.
func (f *thresholdFlags) read(misreads func(reads []string) []spec.Misread) error {
	for _, text := range f.texts {
		for _, m := range misreads(reports.ThresholdReads(text)) {
			return exit.Usage(exit.DidYouMean(m.Name, m.Known, "there are: "+exit.Some(m.Known)), "--threshold %s: unknown %s %q", text, m.What, m.Name)
		}
	}
	return nil
}
