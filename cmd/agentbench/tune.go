package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/tune"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/suites"
)

func (p *program) tuneCommand() *cobra.Command {
	var f tuneFlags
	c := &cobra.Command{
		Use:     "tune DIR | SUITE",
		Short:   "Find the limits that give the most for the least, from recorded runs",
		GroupID: "look",
		Long: `Tries many configurations of a loop on runs that were recorded, without a call, and
recommends one: by default the cheapest that loses hardly a success. DIR is a result
folder; it answers for what stops no later than it did. SUITE is recorded first, under
the loosest limits, as its tune says. docs/tune.md tells the whole story.

Exit codes: 0 there is a recommendation, even if it is today's configuration; 1 nothing
satisfies what was asked for; 4 the budget or an interrupt ended the recording; 5 there is
nothing to choose from.`,
		RunE: func(c *cobra.Command, args []string) error {
			args = f.given(args)
			if err := arguments(1, 1, "one result folder or suite")(c, args); err != nil {
				return err
			}
			if err := f.validate(); err != nil {
				return err
			}
			return p.tune(c.Context(), args[0], &f)
		},
	}
	f.declare(c, tune.TableNames)
	return c
}

// tune recommends a configuration from what was recorded, or will be.
func (p *program) tune(ctx context.Context, path string, f *tuneFlags) error {
	if !holdsResultsAt(path) || f.resumes(path) {
		return p.tuneRecording(ctx, path, f)
	}
	var suite *opened
	if f.suite != "" {
		var err error
		if suite, err = p.openSuite(f.suite, nil); err != nil {
			return err
		}
		p.warn(suite, nil)
	}
	return p.tuneFolder(ctx, path, suite, f)
}

// resumes reports whether a path names a suite that ships and the folder of that name
// that it is recorded into.
func (f *tuneFlags) resumes(path string) bool {
	_, ships := suites.Find(path)
	return ships && f.out != "" && filepath.Clean(f.out) == path
}

// holdsResultsAt says that a path is a result folder, or a file that openRecorded
// knows better than spec does.
func holdsResultsAt(path string) bool {
	at, _ := splitPlace(path, baselineFolder)
	info, err := os.Stat(at)
	if err != nil {
		return false
	}
	if info.IsDir() {
		return resultFolder(at)
	}
	return filepath.Ext(at) == ".jsonl"
}

// tuning is what is tuned, on what, and how one is chosen.
type tuning struct {
	*recordedRuns
	flags *tuneFlags
	suite *opened // whose files --write changes; nil: not named
	// noToday: several configurations are tuned, and none of them is today's.
	noToday    bool
	set        []spec.Assignment
	axes       []sweep.Axis
	options    tune.ChoiceOptions
	candidates []sweep.Candidate
}

// tuneFolder recommends from the runs of a folder.
func (p *program) tuneFolder(ctx context.Context, dir string, suite *opened, f *tuneFlags) error {
	runs, err := p.openRecordedRuns(dir, &recordedFlags{suite: f.suite})
	if err != nil {
		return err
	}
	t := &tuning{recordedRuns: runs, flags: f, suite: suite}
	if err := firstFailing(t.baseOnly, t.editable, t.ask, t.asked); err != nil {
		return err
	}
	if err := t.grid(); err != nil {
		return err
	}
	of, err := t.sweep(t.candidates)
	if err != nil {
		return err
	}
	if of, err = t.scored(ctx, of, f.cacheFlags); err != nil {
		return err
	}
	return t.choose(ctx, of)
}

// firstFailing takes steps until one fails.
func firstFailing(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// baseOnly finds the configuration whose loop is tuned: in the suite that is named,
// as it is now, else among those that were recorded.
func (t *tuning) baseOnly() error {
	m := &t.folder.Manifest
	recorded := m.Baseline
	if len(m.Configurations) == 1 {
		recorded = m.Configurations[0].Name
	}
	wanted := cmp.Or(t.flags.configuration, t.only)
	if t.suite != nil {
		now, err := tunedIn(t.suite, wanted)
		if err == nil {
			t.bases = []sweep.Base{{Name: now.Name, Loop: now.Loop}}
			return nil
		}
		if _, known := m.Configuration(wanted); !known && (wanted != "" || recorded != "") {
			return err
		}
	}
	if wanted = cmp.Or(wanted, recorded); wanted == "" {
		t.bases, t.noToday = t.all(), true
		slices.SortFunc(t.bases, func(a, b sweep.Base) int { return cmp.Compare(a.Name, b.Name) }) // the order in the folder changes nothing
		return nil
	}
	t.bases = nil
	return t.base([]string{wanted})
}

// editable refuses --write where it could not write, before anything is computed.
func (t *tuning) editable() error {
	if !t.flags.edit {
		return nil
	}
	switch {
	case t.suite == nil:
		return usage("--suite SUITE names it", "--write changes the files of a suite, and no suite is named")
	case t.noToday:
		return usage("--configuration NAME names it", "--write changes one configuration, and %s holds several and no baseline", t.place)
	}
	return t.unedited(t.suite.Editable(t.today().Name))
}

// today is the configuration whose loop is tuned.
func (t *tuning) today() sweep.Base { return t.bases[0] }

// declared is what the suite says of tuning; nil where it says nothing. The suite
// that is named comes before the one that was recorded.
func (t *tuning) declared() *spec.Tune {
	if t.suite != nil && t.suite.Suite.Tune != nil {
		return t.suite.Suite.Tune
	}
	return t.folder.Document.Suite.Tune
}

// ask reads how one is chosen.
func (t *tuning) ask() (err error) {
	m := &t.folder.Manifest
	t.options, err = t.terms(&t.flags.termFlags, t.declared(), m.Scorers)
	if !t.flags.termFlags.changed("seed") {
		t.options.Seed = uint64(m.Seed)
	}
	t.options.About = tune.ReplayOptions{Suite: m.Suite, Simulated: m.Simulated, PricesAsOf: m.PricesAsOf}
	return err
}

// choose recommends, says so, and changes the YAML where that was asked for.
func (t *tuning) choose(ctx context.Context, of tune.Candidates) error {
	t.options.About.Warnings = append(t.options.About.Warnings, t.left...)
	if !t.noToday {
		t.options.Tuned = t.today().Name
	}
	t.options.All = slices.Contains(t.flags.tables, "all")
	defer leanly()()
	tuned, err := tune.Choose(ctx, of, t.options)
	if err != nil {
		return t.untuned(err)
	}
	if err := t.write(tuned, &t.flags.reportFlags); err != nil {
		return err
	}
	switch {
	case tuned.Recommended == nil && t.flags.format == "terminal":
		return quiet(answerNo) // the page says why
	case tuned.Recommended == nil:
		return fail(answerNo, tuned.Answer(printable).More, "nothing is recommended: %s", tuned.WhyNone)
	}
	if !t.flags.edit {
		return nil
	}
	return t.edit(tuned)
}

// untuned says why nothing can be chosen.
func (t *tuning) untuned(err error) error {
	const aloneHint = "it takes more tasks, or others that belong together"
	var unknown *tune.UnknownScoreError
	var alone *tune.OneGroupError
	switch {
	case errors.As(err, &unknown):
		return usage(didYouMean(unknown.Name, unknown.Known, "there are: "+some(unknown.Known)), "%w", err)
	case errors.As(err, &alone) && t.flags.termFlags.changed("hold-out"):
		return usage(aloneHint, "--hold-out %v: %w", t.options.HoldOut, err)
	case errors.As(err, &alone):
		return fail(wrongSpec, aloneHint, "tune.folds.hold_out: %w", err)
	case errors.Is(err, tune.ErrLossOfSmall):
		return usage("for example --choose within_one_se", "%w", err)
	case errors.Is(err, context.Canceled):
		return fail(stopped, "", "%w", err)
	}
	return fail(notMeasured, "", "tuning %s: %w", t.place, err)
}
