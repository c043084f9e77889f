package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/agentbench/agentbench/suites"
)

// tuneFlags say what is tuned, and how one configuration is chosen. What a flag
// does not say, the suite's tune does.
type tuneFlags struct {
	reportFlags
	recordFlags
	tune.Asked
	alsoPage
	plan          bool
	suite         string
	configuration string
	set           []spec.Setting
	parameters    []sweep.Axis
	evaluate      bool
	apply         string         // the loop file that is changed, or applySuite; "": nothing is changed
	typed         *pflag.FlagSet // all of them
}

// applySuite is what --apply without a file means: the files of the suite are changed.
const applySuite = "the suite's files"

func (p *program) tuneCommand() *cobra.Command {
	var f tuneFlags
	c := &cobra.Command{
		Use:     "tune DIR | SUITE",
		Short:   "Recommend loop limits from recorded runs",
		GroupID: "look",
		Long: `Evaluates many configurations of a loop on recorded runs, without model calls, and
recommends one: by default the cheapest that keeps the score within 2 points. DIR is a
result folder; its runs answer for limits up to those they were recorded with. SUITE is
recorded first, under the loosest limits of its tune section. See docs/tune.md.

Exit codes: 0 a configuration is recommended, possibly the current one; 1 nothing meets
the constraints, or nothing is proven; 4 the recording was interrupted or its budget is
spent; 5 nothing to choose from, or fewer runs that count than min_coverage.`,
		Args: arguments(1, 1, "one result folder or suite"),
		RunE: func(c *cobra.Command, args []string) error { return p.tune(c.Context(), args[0], &f) },
	}
	refusing(c, f.validate)
	f.reportFlags.declare(c, tune.TableNames)
	f.declareAll(c)
	f.alsoPage.declare(c)
	f.recordFlags.declare(c, "result folder for recording a suite; runs of the same suite in it are resumed (default results/SUITE-TIME-…)")
	flags := c.Flags()
	flags.StringVar(&f.Objective, "objective", "", "CEL over the metrics of a configuration, to maximize (default: the mean of the first score)")
	flags.BoolVar(&f.Minimize, "minimize", false, "minimize the objective")
	flags.StringArrayVar(&f.Constraints, "constraint", nil, "CEL over the metrics that must hold, for example 'latency.mean < 5.0' (repeatable)")
	flags.StringVar(&f.Choose, "choose", "", "rule of choice: max_loss:0.02 or at_least:0.98 (default max_loss:0.02)")
	flags.StringVar(&f.Cost, "cost", "", "CEL over the metrics, to minimize (default: cost_usd.mean, else tokens.mean, else iterations.mean)")
	flags.IntVar(&f.Folds, "folds", 0, "folds of cross-validation over the tasks; 0: none (default 5)")
	flags.StringVar(&f.FoldBy, "fold-by", "", "CEL over task: tasks with the same value share a fold")
	flags.Int64Var(&f.Seed, "seed", 0, "seed of folds and bootstrap (default: the suite's)")
	flags.BoolVar(&f.plan, "plan", false, "only show what would be recorded and its maximum cost")
	flags.StringVar(&f.suite, "suite", "", "suite of the runs in DIR: for its tune section, its tasks, and the files that --apply changes")
	flags.StringVar(&f.configuration, "configuration", "", "tune the loop of this configuration (default: the baseline, else the only one)")
	evaluateFlag(c, &f.evaluate)
	setFlag(c, &f.set, "set a parameter in every configuration that is tried")
	axisFlag(c, &f.parameters, "parameter and values: path=1,2,5,off or path=1..10,off (repeatable; default: the suite's tune section, else the limits of the loop and what the suite sweeps)")
	flags.StringVar(&f.apply, "apply", "", "write the recommended values into the files of the suite, or only the limits into `LOOP.yaml`")
	flags.Lookup("apply").NoOptDefVal = applySuite
	f.typed, f.Given = flags, flags.Changed
	return c
}

func (f *tuneFlags) validate([]string) error {
	return f.Asked.Validate()
}

// tune recommends a configuration from what was recorded, or will be. What is wrong
// with flags, suite or folder is found before a call is made or a run is written.
func (p *program) tune(ctx context.Context, path string, f *tuneFlags) error {
	t, err := p.openTuning(ctx, path, f)
	switch {
	case err != nil:
		return err
	case f.plan:
		return t.live.tellPlan()
	}
	var ended error // why the recording ended before its end
	if t.live != nil {
		if ended, err = t.record(ctx); err != nil {
			return err
		}
	}
	return cmp.Or(ended, t.recommend(ctx))
}

// recommend chooses by the recorded runs, writes the page, and changes the YAML where
// that was asked for.
func (t *tuning) recommend(ctx context.Context) error {
	defer t.shared.Close()
	if err := t.grid(); err != nil {
		return err
	}
	of, err := t.Sweep(t.candidates)
	if err != nil {
		return err
	}
	if of, err = t.scored(ctx, of, t.flags.cacheFlags); err != nil {
		return err
	}
	if t.live != nil && !t.flags.quiet {
		text := fmt.Sprintf("recorded: %s\n", t.Path)
		if len(t.flags.tables) > 0 || t.flags.format != "terminal" { // else the summary says it
			text += fmt.Sprintf("more: agentbench tune %s --suite %s%s\n", exit.ShellWord(t.Path), exit.ShellWord(t.opened.path), t.flags.again())
		}
		defer fmt.Fprint(t.err, text)
	}
	m := &t.Folder.Manifest
	t.options.About.Suite, t.options.About.Simulated, t.options.About.PricesAsOf = m.Suite, m.Simulated, m.PricesAsOf
	t.options.About.Warnings = append(t.options.About.Warnings, t.left()...)
	if !t.noToday {
		t.options.Tuned = t.today().Name
	}
	t.options.All = slices.Contains(t.flags.tables, "all")
	tuned, err := tune.Choose(ctx, of, t.options)
	t.keepFound(ctx)
	if err != nil {
		return t.unchosen(err)
	}
	tuned.Again = "agentbench tune " + exit.ShellWord(t.Path)
	switch {
	case t.noToday, t.flags.apply != "":
	case t.opened != nil && t.opened.Editable(t.today().Name) != nil: // such as one of a sweep
	case t.opened != nil:
		tuned.Applies = tune.AppliesToSuite
	default:
		tuned.Applies = tune.AppliesToLoop
	}
	if t.opened != nil {
		tuned.Again += " --suite " + exit.ShellWord(t.opened.path)
	}
	if t.live != nil {
		tuned.AgainInShort = tuned.Again + " and the same flags"
	}
	tuned.Again += t.flags.again()
	if err = t.write(tuned, &t.flags.reportFlags); err != nil {
		return err
	}
	at := &results.Place{Text: t.Path, Results: &record.Results{Path: t.Path, Manifest: *m}}
	if err = t.writeAlso(&t.flags.alsoPage, tuned, t.sourcesOf(nil, at)); err != nil {
		return err
	}
	switch {
	case tuned.Recommended == nil && t.flags.apply != "":
		return exit.With(exit.AnswerNo, "", "--apply changes nothing: no configuration is recommended")
	case tuned.Recommended == nil && t.flags.format == "terminal":
		return exit.Quiet(exit.AnswerNo) // the page says why
	case tuned.Recommended == nil:
		return exit.With(exit.AnswerNo, page.InOneLine(tuned.Answer().More...).Visible(), "nothing is recommended: %s", tuned.WhyNone)
	case t.flags.apply == "":
		return nil
	}
	return t.apply(tuned)
}

// tuning is what is tuned, on what, and how one is chosen.
type tuning struct {
	*recordedRuns
	flags *tuneFlags
	// opened is the suite that is named; nil: none is.
	opened *opened
	live   *live       // what is recorded first; nil: it was recorded before
	target tune.Target // of --apply
	// noToday: several configurations are tuned, and none of them is today's.
	noToday    bool
	set        []spec.Assignment
	axes       []sweep.Axis
	options    tune.ChoiceOptions
	candidates []sweep.Candidate
}

// openTuning opens what is tuned, a result folder or a suite, and checks all that can
// be checked before runs are made or read.
func (p *program) openTuning(ctx context.Context, path string, f *tuneFlags) (*tuning, error) {
	t := &tuning{recordedRuns: &recordedRuns{program: p, Recorded: &results.Recorded{}}, flags: f, set: assigned(f.set)}
	folder := p.holdsResults(path) && !f.resumes(path)
	suite := cmp.Or(f.suite, path)
	switch {
	case !folder && f.suite != "":
		return nil, exit.Usage("leave it out", "--suite names the suite of a result folder, and %s is a suite", path)
	case folder && f.plan:
		return nil, exit.Usage("leave it out", "--plan is for a suite, and %s is a result folder: its runs are recorded already", path)
	case folder && f.suite == "":
		suite = ""
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && path != "-" && filepath.Ext(path) == "" && suite == path {
		if _, ships := suites.Find(path); !ships {
			return nil, notFound(path, "agentbench run SUITE --out "+exit.ShellWord(path)+" makes a result folder"+foldersIn(filepath.Dir(path)))
		}
	}
	if suite != "" {
		var err error
		if t.opened, err = p.openSuite(suite, nil); err != nil {
			return nil, err
		}
		p.warn(t.opened, nil)
	}
	if folder {
		runs, err := p.openRecordedRuns(path, &recordedFlags{suite: f.suite, opened: t.opened, evaluate: f.evaluate})
		if err != nil {
			return nil, err
		}
		t.recordedRuns = runs
	} else if f.Given("seed") {
		t.opened.Suite.Seed = f.Seed
	}
	if err := firstError(t.base, t.applicable, t.terms, t.parameters); err != nil {
		return nil, err
	}
	if folder {
		return t, nil
	}
	var err error
	t.live, err = t.openLive(ctx)
	return t, err
}

// resumes reports whether a path names a suite that ships and the folder of that name
// that it is recorded into.
func (f *tuneFlags) resumes(path string) bool {
	_, ships := suites.Find(path)
	return ships && f.out != "" && filepath.Clean(f.out) == path
}

// holdsResults reports whether a path is a result folder, or a file that openRecorded
// knows better than spec does.
func (p *program) holdsResults(path string) bool {
	at, _ := results.SplitPlace(path, results.BaselineFolder)
	info, err := os.Stat(at)
	if err != nil {
		return false
	}
	if info.IsDir() {
		return results.IsFolder(at)
	}
	return filepath.Ext(at) == ".jsonl"
}

// base finds the configuration whose loop is tuned: in the suite that is named, as it is
// now, else among those that were recorded.
func (t *tuning) base() error {
	wanted := cmp.Or(t.flags.configuration, t.Only)
	if t.Folder == nil {
		now, err := tune.ConfigurationOf(t.opened.Suite, t.opened.path, wanted)
		if err == nil {
			t.Bases = []sweep.Base{{Name: now.Name, Loop: now.Loop}}
		}
		return err
	}
	m := &t.Folder.Manifest
	recorded := m.Baseline
	if len(m.Configurations) == 1 {
		recorded = m.Configurations[0].Name
	}
	if t.opened != nil {
		now, err := tune.ConfigurationOf(t.opened.Suite, t.opened.path, wanted)
		if err == nil {
			t.Bases = []sweep.Base{{Name: now.Name, Loop: now.Loop}}
			return nil
		}
		if _, known := m.Configuration(wanted); !known && (wanted != "" || recorded != "") {
			return err
		}
	}
	if wanted = cmp.Or(wanted, recorded); wanted == "" {
		t.Bases, t.noToday = t.recordedRuns.All(), true
		slices.SortFunc(t.Bases, func(a, b sweep.Base) int { return cmp.Compare(a.Name, b.Name) }) // the order in the folder changes nothing
		return nil
	}
	t.Bases = nil
	return t.SetBases([]string{wanted})
}

// today is the configuration whose loop is tuned.
func (t *tuning) today() sweep.Base { return t.Bases[0] }

// declared is what the suite says of tuning; nil where it says nothing. The suite
// that is named comes before the one that was recorded.
func (t *tuning) declared() *spec.Tune {
	if t.opened != nil && (t.opened.Suite.Tune != nil || t.Folder == nil) {
		return t.opened.Suite.Tune
	}
	return t.Folder.Document.Suite.Tune
}

// terms reads how one is chosen.
func (t *tuning) terms() (err error) {
	var scores []string
	var seed int64
	if t.Folder != nil {
		scores, seed = t.Folder.Manifest.Scorers, t.Folder.Manifest.Seed
	} else {
		for i := range t.opened.Suite.Scorers {
			scores = append(scores, t.opened.Suite.Scorers[i].Name)
		}
		seed = t.opened.Suite.Seed
	}
	t.options, err = t.flags.Asked.Options(t.declared(), scores)
	if !t.flags.Given("seed") {
		t.options.Seed = uint64(seed)
	}
	return err
}

// parameters finds which parameters are tuned: those of the flags, else of the suite's
// tune section, else the limits of the loop and what the suite sweeps.
func (t *tuning) parameters() error {
	if t.axes = slices.Clone(t.flags.parameters); len(t.axes) == 0 && t.declared() != nil {
		for i := range t.declared().Parameters {
			t.axes = append(t.axes, sweep.AxisOf(&t.declared().Parameters[i]))
		}
	}
	if len(t.axes) == 0 {
		t.axes = sweep.LimitsOf(t.today().Loop, t.all(), t.Folder != nil)
		if t.Folder == nil && !t.flags.quiet {
			for _, line := range tune.Loosest(t.today(), t.all(), t.axes) {
				fmt.Fprintln(t.err, line)
			}
		}
		if t.Folder != nil && !t.noToday {
			for _, swept := range t.Swept(t.today().Loop) {
				if !slices.ContainsFunc(t.axes, func(a sweep.Axis) bool { return a.Path == swept.Path }) {
					t.axes = append(t.axes, swept)
				}
			}
		}
	}
	if len(t.axes) == 0 && t.Folder != nil && t.Folder.Imported {
		t.axes = sweep.UnknownLimits()
	}
	if len(t.axes) == 0 && !t.noToday {
		return exit.Usage("--parameter path=values names one", "the loop of %s has no limit that recorded runs can tune", page.Visible(t.today().Name))
	}
	return nil
}

// all are all configurations of the folder, or of the suite that is to be recorded.
func (t *tuning) all() (all []sweep.Base) {
	if t.Folder != nil {
		return t.recordedRuns.All()
	}
	for i := range t.opened.Suite.Resolved {
		all = append(all, sweep.Base{Name: t.opened.Suite.Resolved[i].Name, Loop: t.opened.Suite.Resolved[i].Loop})
	}
	return all
}

// byDefault reports whether nobody named parameters.
func (t *tuning) byDefault() bool { return len(t.flags.parameters) == 0 && t.declared() == nil }

// unusable is a mistake in what is tried: of whoever typed it, or of the suite where
// the parameters stand there.
func (t *tuning) unusable(err error) error {
	var f *exit.Error
	if !errors.As(err, &f) {
		err = results.Unusable(err)
	}
	if !errors.As(err, &f) || f.Code != exit.WrongUsage || len(t.flags.parameters)+len(t.flags.set) > 0 || t.declared() == nil {
		return err
	}
	wrong := *f
	wrong.Code = exit.WrongSpec
	return &wrong
}

// covered refuses to choose by runs of which too few could be measured, as run does.
func (t *tuning) covered() error {
	bounds, err := results.BoundsOf(&record.Results{Path: t.Path, Manifest: t.Folder.Manifest})
	if err != nil {
		return exit.With(exit.NotMeasured, "", "%w", err)
	}
	if t.opened != nil && t.opened.Suite.MinCoverage != nil {
		bounds.MinCoverage = *t.opened.Suite.MinCoverage
	}
	measured := 0
	for i := range t.Replayed {
		measured += len(t.Replayed[i].Runs)
	}
	all := measured + t.Notes.Faults
	if float64(measured) >= bounds.MinCoverage*float64(all) {
		return nil
	}
	return exit.With(exit.NotMeasured, "agentbench run makes runs with a fault again; agentbench replay "+exit.ShellWord(t.Path)+" shows what is known",
		"nothing is recommended: %d of %s could be measured; min_coverage is %v", measured, page.Plural(all, "run", "runs"), bounds.MinCoverage)
}

// grid reads the runs and makes the configurations: every combination of the values, and
// today's.
func (t *tuning) grid() error {
	loops, err := t.Probes(t.set, t.axes)
	if err != nil {
		return t.unusable(err)
	}
	if err := t.ReadFor(loops); err != nil {
		return err
	}
	if err := firstError(t.covered, func() error { return t.Told(loops) }, t.agentFailed); err != nil {
		return err
	}
	named := map[*source.Node]bool{}
	for i := range t.axes {
		for _, value := range t.axes[i].Values {
			named[value] = true
		}
		if err := t.Observe(t.set, t.axes, i); err != nil {
			return t.unusable(err)
		}
		if t.byDefault() {
			t.axes[i].KeepPossible(t.Bases, t.set)
		}
	}
	if t.byDefault() && len(t.axes) > 0 {
		sweep.Thin(t.axes, named)
		var tried []string
		for i := range t.axes {
			tried = append(tried, t.axes[i].Range())
		}
		t.options.About.Warnings = append(t.options.About.Warnings, tune.ReplayNote{Kind: tune.TriedLimits, Name: t.today().Name, More: strings.Join(tried, ", ")})
	}
	if today, faults := t.today().Loop.With(t.set...); faults.Err() == nil && !t.noToday {
		sweep.KeepToday(today, len(t.Bases), t.axes)
	}
	if t.candidates, err = sweep.Grid(t.Bases, t.set, t.axes); err != nil {
		return t.unusable(err)
	}
	t.options.Today = -1
	if !t.noToday {
		t.candidates, t.options.Today = sweep.WithToday(t.candidates, t.today())
	}
	return nil
}

func (t *tuning) unchosen(err error) error {
	var unknown *tune.UnknownScoreError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unknown):
		return exit.Usage(exit.DidYouMean(unknown.Name, unknown.Known, "there are: "+exit.Some(unknown.Known)), "%w", err)
	case errors.Is(err, tune.ErrNoScore) && t.Folder != nil:
		hint := "agentbench score " + exit.ShellWord(t.Path) + " --scorer 'passed=CEL'"
		if t.Folder.Imported {
			hint += ", or import the log again with --scores labels.csv"
		}
		return exit.With(exit.NotMeasured, hint, "tuning %s: %w, so that losses are unknown", t.Path, err)
	case errors.Is(err, tune.ErrNoScore):
		return exit.Usage("declare scorers", "tuning %s: the suite scores nothing", t.opened.path)
	case errors.Is(err, tune.ErrLossOfSmall):
		return exit.Usage("for example --choose at_least:0.98", "%w", err)
	case errors.Is(err, context.Canceled):
		return exit.With(exit.Stopped, "", "%w", err)
	case t.Folder == nil:
		return exit.With(exit.WrongUsage, "", "tuning %s: %w", t.opened.path, err)
	}
	return exit.With(exit.NotMeasured, "", "tuning %s: %w", t.Path, err)
}

// again are the flags that say what is tuned and how one is chosen, as they were given.
func (f *tuneFlags) again() string {
	var text strings.Builder
	f.typed.Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "minimize", "evaluate":
			if flag.Value.String() == "true" {
				text.WriteString(" --" + flag.Name)
			}
		case "configuration", "objective", "choose", "cost", "folds", "fold-by", "seed":
			text.WriteString(" " + exit.ShellWord("--"+flag.Name+"="+flag.Value.String()))
		case "constraint", "set", "parameter":
			for _, value := range flag.Value.(interface{ GetSlice() []string }).GetSlice() {
				text.WriteString(" --" + flag.Name + " " + exit.ShellWord(value))
			}
		}
	})
	return text.String()
}

// applicable refuses --apply where it could not change a file, before anything is
// computed.
func (t *tuning) applicable() error {
	switch {
	case !t.flags.Given("apply"):
		return nil
	case t.flags.apply == "":
		return exit.Usage("--apply alone changes the files of the suite", "--apply=: want a loop file")
	case t.noToday:
		return exit.Usage("--configuration NAME names it", "--apply changes one configuration, and %s holds several and no baseline", t.Path)
	case t.flags.apply != applySuite:
		loop, err := t.open(t.flags.apply, nil)
		switch {
		case err != nil:
			return err
		case loop.Loop == nil:
			return exit.Usage("--apply alone changes the files of the suite", "--apply=%s: the file is not a loop", t.flags.apply)
		}
		t.target = tune.Target{Name: t.today().Name, Loop: loop.Document, Path: loop.path, OfLog: t.Folder != nil && t.Folder.Imported}
		return nil
	case t.opened == nil:
		return exit.Usage("add --suite SUITE, or write --apply=LOOP.yaml", "--apply needs the suite or the loop file to change")
	}
	t.target = tune.Target{Name: t.today().Name, Suite: t.opened.Document, Path: t.opened.path}
	return t.unapplied(t.opened.Editable(t.today().Name))
}

// apply changes the files to what is recommended, and shows how.
func (t *tuning) apply(tuned *tune.Tuning) error {
	files, unchanged, err := t.target.Files(tuned, &t.candidates[tuned.Recommended.Candidate], t.set, t.axes)
	switch {
	case err != nil:
		return t.unapplied(err)
	case unchanged != "":
		fmt.Fprintln(t.err, "no file is changed: "+unchanged)
		return nil
	}
	if err := spec.ReplaceFiles(files); err != nil {
		return exit.With(exit.NotMeasured, "", "--apply: %w", err)
	}
	for _, f := range files {
		_, _ = t.err.Write(diff.Diff(f.File.Name, []byte(f.File.Text()), f.File.Name, f.Text))
	}
	return nil
}

func (t *tuning) unapplied(err error) error {
	var known *exit.Error
	var edit *spec.EditError
	var faults source.Faults
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.As(err, &edit):
		return exit.Usage(edit.Hint, "--apply: no file is changed: %w", err)
	case errors.As(err, &faults):
		fmt.Fprintln(t.err, "agentbench: --apply: no file is changed:")
		t.print(faults)
		return exit.Quiet(exit.WrongUsage)
	}
	return exit.With(exit.NotMeasured, "", "--apply: no file is changed: %w", err)
}
