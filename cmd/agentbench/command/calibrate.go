package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/calibrate"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/trajectory"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/spec"
)

type calibrateFlags struct {
	reportFlags
	cacheFlags
	labels, scorer, results        string
	threshold, precision, minKappa float64
	concurrency                    int
	quiet                          bool
	changed                        func(flag string) bool
}

func (p *program) calibrateCommand() *cobra.Command {
	var f calibrateFlags
	c := &cobra.Command{
		Use:     "calibrate SUITE --labels FILE",
		Short:   "Measure how well a judge or other scorer agrees with human labels",
		GroupID: "look",
		Long: `Compares the scores of one scorer with human labels. The labels are a CSV file with one of these headers:

  task,output,label               outputs are in the file, and are scored now
  run,label                       labels of runs in the folder of --results
  configuration,task,trial,label  the same

A label is yes or no, a number in the scorer's range, or one of the judge's choices; label2 may hold the label of a
second person. Missing or outdated scores are computed, through the cache. docs/scorers.md explains the numbers.

Exit codes: 1 kappa is below --min-kappa; 3 the suite or the labels are wrong; 4 interrupted, or the budget is spent;
5 no labelled output has a score, or kappa is undefined.`,
		Args: arguments(1, 1, "one suite"),
		RunE: func(c *cobra.Command, args []string) error { return p.calibrate(c.Context(), args[0], &f) },
	}
	refusing(c, f.validate)
	f.reportFlags.declare(c, calibrate.TableNames)
	f.cacheFlags.declare(c)
	c.Flags().StringVar(&f.labels, "labels", "", "CSV `FILE` with the labels; - for stdin")
	c.Flags().StringVar(&f.scorer, "scorer", "", "scorer to calibrate (default: the only judge of the suite)")
	c.Flags().StringVar(&f.results, "results", "", "result folder with the labelled runs")
	c.Flags().Float64Var(&f.threshold, "threshold", 0.5, "scores from here on count as yes")
	c.Flags().Float64Var(&f.precision, "precision", 0.1, "wanted half-width of intervals")
	c.Flags().Float64Var(&f.minKappa, "min-kappa", 0, "exit with 1 if kappa is below this")
	concurrencyFlag(c, &f.concurrency, "outputs scored")
	quietFlag(c, &f.quiet, "hide notes")
	f.changed = c.Flags().Changed
	return c
}

func (f *calibrateFlags) validate([]string) error {
	switch {
	case f.labels == "":
		return exit.Usage("--labels labels.csv names them", "calibrate needs labels")
	case !(f.threshold >= 0 && f.threshold <= 1):
		return exit.Usage("scores are from 0 to 1", "--threshold %v: want a number from 0 to 1", f.threshold)
	case !(f.precision > 0 && f.precision < 1):
		return exit.Usage("--precision 0.1 wants intervals such as 0.5–0.7", "--precision %v: want a number between 0 and 1", f.precision)
	case !(f.minKappa >= -1 && f.minKappa <= 1):
		return exit.Usage("1 is perfect agreement, 0 is chance", "--min-kappa %v: want a number from -1 to 1", f.minKappa)
	}
	return nil
}

// calibration is a scorer that is held against labels.
type calibration struct {
	*program
	*opened
	flags  *calibrateFlags
	scorer *spec.Scorer
	labels *calibrate.Labels
	set    *scorers.Set // of the scorer alone
	// version is the hash of the scorer.
	version string
}

func (p *program) calibrate(ctx context.Context, path string, f *calibrateFlags) error {
	o, err := p.openSuite(path, nil)
	if err != nil {
		return err
	}
	p.warn(o, nil)
	c := &calibration{program: p, opened: o, flags: f}
	if c.scorer, err = calibrate.Calibrated(o.Suite, f.scorer); err != nil {
		return err
	}
	if err := c.read(); err != nil {
		return err
	}
	if err := c.place(); err != nil {
		return err
	}
	if len(c.labels.Faults) > 0 {
		c.tellFaults()
		return exit.Quiet(exit.WrongSpec)
	}
	ended, err := c.score(ctx)
	if err != nil {
		return err
	}
	return c.tell(ended)
}

func (c *calibration) read() error {
	var text []byte
	var err error
	if c.flags.labels == "-" {
		text, err = io.ReadAll(c.in)
	} else {
		text, err = os.ReadFile(c.flags.labels)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notFound(c.flags.labels, "")
	case err != nil:
		return exit.Usage("", "reading the labels: %w", err)
	}
	file, faults := calibrate.Read(c.flags.labels, text, calibrate.ScaleOf(c.scorer))
	c.labels = calibrate.NewLabels(file, faults, c.flags.results)
	return nil
}

// place finds what is labelled, and the scores that there are.
func (c *calibration) place() error {
	switch {
	case len(c.labels.Faults) > 0 && len(c.labels.Items) == 0: // they say it
		return nil
	case c.labels.Texts && c.flags.results != "":
		return exit.Usage("leave out --results; or name the runs in a column run", "%s holds the outputs itself", c.flags.labels)
	case !c.labels.Texts && c.flags.results == "":
		return exit.Usage("--results DIR names their folder", "the labels of %s are of runs", c.flags.labels)
	case c.labels.Texts:
		return c.labels.PlaceTexts(c.Tasks())
	case len(c.labels.Items) == 0:
		return nil
	}
	m, err := c.openManifest(c.flags.results)
	if err != nil {
		return err
	}
	if c.version, err = c.versions(); err != nil {
		return err
	}
	unscored, err := c.labels.PlaceRuns(&m, c.scorer.Name, c.version, c.Tasks())
	if err != nil || unscored == 0 {
		return err
	}
	folder, err := results.Open(&record.Results{Path: c.flags.results, Manifest: m}, nil)
	if err != nil {
		return nil // what it was made of is not known
	}
	if other, err := folder.OtherData(c.Document); err == nil && len(other) > 0 {
		fmt.Fprintf(c.err, "agentbench: warning: %s: not the bytes that the runs were made of, so that tasks may differ\n", exit.Some(other))
	}
	return nil
}

// mostLabelFaults are shown: who has exported the wrong column wants to read it once.
const mostLabelFaults = 20

func (c *calibration) tellFaults() {
	c.labels.Faults.Sort()
	more := len(c.labels.Faults) - mostLabelFaults
	if more > 0 {
		c.labels.Faults = c.labels.Faults[:mostLabelFaults]
	}
	c.print(c.labels.Faults)
	if more > 0 {
		fmt.Fprintf(c.err, "and %s\n", page.Plural(more, "more fault", "more faults"))
	}
}

func (c *calibration) tell(ended string) error {
	o := calibrate.Options{
		Suite: c.Suite.Name, Scorer: c.scorer.Name, Version: c.version, Labels: c.labels.File, Simulated: c.simulated(),
		Threshold: c.flags.threshold, Precision: c.flags.precision, Seed: uint64(c.Suite.Seed),
	}
	if c.flags.changed("min-kappa") {
		o.MinKappa = &c.flags.minKappa
	}
	told := calibrate.Of(c.labels.Pairs(), o)
	if err := c.write(told, &c.flags.reportFlags, calibrate.ShownTables...); err != nil {
		return err
	}
	return told.Verdict(ended, o.MinKappa)
}

// simulated are the judging models whose answers are simulated.
func (c *calibration) simulated() (names []string) {
	asked := append(slices.Clone(c.scorer.Models), c.scorer.Model)
	for i := range c.Suite.Models {
		if m := &c.Suite.Models[i]; m.Value.Provider == "simulate" && slices.Contains(asked, m.Key) {
			names = append(names, m.Key)
		}
	}
	return names
}

// compile compiles the scorer; outside are the models and programs that it calls, nil: none.
func (c *calibration) compile(outside scorers.Outside) error {
	set, err := c.scorers(c.Suite.Scorers, scorers.Options{Resolved: c.Suite.Resolved, Baseline: c.Suite.Baseline, Outside: outside})
	if err == nil {
		c.set = set.Only(func(name string) bool { return name == c.scorer.Name })
	}
	return err
}

// versions compiles the scorer, once, and gives its version.
func (c *calibration) versions() (string, error) {
	if c.set == nil {
		if err := c.compile(nil); err != nil {
			return "", err
		}
	}
	return c.set.Versions()[0].Hash, nil
}

// score makes the scores that are missing. It says what ended that before, "" where
// nothing did.
func (c *calibration) score(ctx context.Context) (ended string, err error) {
	missing := c.labels.Missing()
	if c.version, err = c.versions(); err != nil || len(missing) == 0 {
		return "", err
	}
	made := &job{
		opened: c.opened, flags: &runFlags{recordFlags: recordFlags{cacheFlags: c.flags.cacheFlags}}, dir: c.flags.results, budget: pace.OfSuite(c.Suite.Budget),
	}
	if made.dir == "" {
		made.dir = filepath.Join("results", "labels") // the cache is that of runs
	}
	if err := c.wired(made); err != nil {
		return "", err
	}
	defer made.shared.Close()
	interrupted, err := c.judgeAll(ctx, missing)
	switch {
	case interrupted:
		ended = "interrupted"
	case made.budget.Refused():
		ended = "the suite's budget is spent"
	}
	if err == nil && !c.flags.quiet {
		c.tellMade(made, missing)
	}
	return ended, err
}

// wired lets the scorer ask models.
func (c *calibration) wired(j *job) error {
	j.cache = c.cacheAt(c.flags.beside(j.dir))
	parts, err := engine.NewParts(c.Document, engine.BuildOptions{
		Getenv: c.env, Budget: j.budget, Cache: j.cache, CacheMode: c.flags.mode, Shared: &j.shared,
	})
	if err != nil {
		return c.unwired(err)
	}
	if err := c.compile(parts); err != nil {
		return err
	}
	if err := c.set.Unable(); err != nil {
		return c.unwired(err)
	}
	return nil
}

// calibrateGrace is the time that judgements have to end after an interrupt.
const calibrateGrace = 30 * time.Second

func (c *calibration) judgeAll(ctx context.Context, missing []*calibrate.Labelled) (interrupted bool, err error) {
	interrupts := c.interrupts(ctx, calibrateGrace, func() string { return "rerun the same command to continue with the cached answers" })
	defer interrupts.stop()
	var runs *record.Runs // nil: the outputs stand beside the labels
	if !c.labels.Texts {
		if runs, err = record.OpenRuns(c.flags.results); err != nil {
			return false, exit.With(exit.NotMeasured, "", "reading the runs: %w", err)
		}
		defer runs.Close()
	}
	var judging errgroup.Group
	judging.SetLimit(max(1, cmp.Or(c.flags.concurrency, workers(c.Suite))))
	for _, at := range missing {
		judging.Go(func() error {
			if !interrupts.interrupted() {
				c.judge(interrupts.Context, runs, at)
			}
			return nil
		})
	}
	err = judging.Wait()
	return interrupts.interrupted(), err
}

func (c *calibration) judge(ctx context.Context, runs *record.Runs, at *calibrate.Labelled) {
	run := at.Run
	if run == nil {
		var err error
		if run, err = runs.Run(at.ID); err != nil {
			at.Lost = fmt.Sprintf("its record cannot be read: %v", err)
			return
		}
	}
	scores := c.set.At(ctx, at.Task, run, 0)
	if len(scores) == 1 {
		at.Score = &scores[0]
	}
}

func (c *calibration) tellMade(j *job, made []*calibrate.Labelled) {
	var used record.Usage
	for _, at := range made {
		if at.Score != nil {
			used = used.Plus(at.Score.Usage)
		}
	}
	fmt.Fprintf(c.err, "%s made", page.Plural(len(made), "score", "scores"))
	if used.Calls > 0 {
		fmt.Fprintf(c.err, ": %s, uncached cost %s", page.Plural(int(used.Calls), "call", "calls"), trajectory.Cost(used))
	}
	if s := j.cache.Stats(); s.Hits+s.Misses > 0 {
		fmt.Fprintf(c.err, "; cache: %s, %s", page.Plural(int(s.Hits), "hit", "hits"), page.Plural(int(s.Misses), "miss", "misses"))
	}
	fmt.Fprintln(c.err)
}
