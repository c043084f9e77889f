package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/agentbench/agentbench/reports/calibrate"
	"github.com/agentbench/agentbench/scorers"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
	"github.com/spf13/cobra"
)

// calibrateFlags are the flags of calibrate.
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
		Short:   "Compare a judge, or any scorer, with what people say of the same outputs",
		GroupID: "look",
		Long: `Compares the scores of one scorer with labels that people gave: agreement and kappa with
their intervals, what is mistaken for what, bias, and how many labels are missing until
that is known well. The labels stand in a CSV file whose header is one of

  task,output,label               the outputs stand in the file, and are scored now
  run,label                       of runs in the folder of --results
  configuration,task,trial,label  the same

A label is yes or no (true and false, pass and fail, 1 and 0), a number of the scorer's range,
or one of the judge's choices; label2 may hold what another person said. Scores that runs
have are taken as they are; those that are missing, or of another version of the scorer, are
made, through the cache. docs/calibrate.md says what the numbers mean.

Exit codes: 0 it was measured; 1 kappa is below --min-kappa; 3 the suite or the labels are
wrong; 4 an interrupt or the budget ended it; 5 no labelled output has a score, or there is no kappa.`,
		Args: arguments(1, 1, "one suite"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			return p.calibrate(c.Context(), args[0], &f)
		},
	}
	f.reportFlags.declare(c, calibrate.TableNames)
	f.cacheFlags.declare(c)
	c.Flags().StringVar(&f.labels, "labels", "", "CSV file with what people said; - for stdin")
	c.Flags().StringVar(&f.scorer, "scorer", "", "the scorer (default: the only judge of the suite)")
	c.Flags().StringVar(&f.results, "results", "", "the result folder whose runs are labelled")
	c.Flags().Float64Var(&f.threshold, "threshold", 0.5, "a score of this or more is a yes")
	c.Flags().Float64Var(&f.precision, "precision", 0.1, "how far intervals should reach to both sides at most")
	c.Flags().Float64Var(&f.minKappa, "min-kappa", 0, "fail where kappa is below this")
	c.Flags().IntVar(&f.concurrency, "concurrency", 0, "outputs that are scored at the same time (default: the suite's, else 8)")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "no notes on stderr")
	f.changed = c.Flags().Changed
	return c
}

func (f *calibrateFlags) validate() error {
	switch {
	case f.labels == "":
		return usage("--labels labels.csv names them", "calibrate needs labels")
	case !(f.threshold >= 0 && f.threshold <= 1):
		return usage("scores are from 0 to 1", "--threshold %v: want a number from 0 to 1", f.threshold)
	case !(f.precision > 0 && f.precision < 1):
		return usage("--precision 0.1 wants intervals such as 0.5–0.7", "--precision %v: want a number between 0 and 1", f.precision)
	case !(f.minKappa >= -1 && f.minKappa <= 1):
		return usage("1 is perfect agreement, 0 is chance", "--min-kappa %v: want a number from -1 to 1", f.minKappa)
	case f.concurrency < 0 || f.concurrency == 0 && f.changed("concurrency"):
		return usage("--concurrency 1 is one output after the other", "--concurrency %d: want at least 1", f.concurrency)
	}
	return firstOf(f.cacheFlags.validate(), f.reportFlags.validate())
}

// calibration is a scorer that is held against labels.
type calibration struct {
	*program
	*opened
	flags  *calibrateFlags
	scorer *spec.Scorer
	labels *calibrate.File
	faults source.Faults // of the labels
	set    *scorers.Set  // of the scorer alone
	// version is the hash of the scorer.
	version string
	// items are the labelled outputs, in the order of the labels.
	items []labelledItem
}

func (p *program) calibrate(ctx context.Context, path string, f *calibrateFlags) error {
	o, err := p.openSuite(path, nil)
	if err != nil {
		return err
	}
	p.warn(o, nil)
	c := &calibration{program: p, opened: o, flags: f}
	if c.scorer, err = calibrated(o.Suite, f.scorer); err != nil {
		return err
	}
	if err := c.read(); err != nil {
		return err
	}
	if err := c.place(); err != nil {
		return err
	}
	if len(c.faults) > 0 {
		c.tellFaults()
		return quiet(wrongSpec)
	}
	ended, err := c.score(ctx)
	if err != nil {
		return err
	}
	return c.tell(ended)
}

// calibrated is the scorer of that name, or else the only judge.
func calibrated(s *spec.Suite, name string) (*spec.Scorer, error) {
	var names, judges []string
	for i := range s.Scorers {
		names = append(names, s.Scorers[i].Name)
		if s.Scorers[i].Type == "judge" {
			judges = append(judges, s.Scorers[i].Name)
		}
	}
	if name == "" && len(judges) == 1 {
		name = judges[0]
	}
	at := slices.IndexFunc(s.Scorers, func(scorer spec.Scorer) bool { return scorer.Name == name })
	switch {
	case len(names) == 0:
		return nil, usage("scorers: declares some", "the suite has no scorers")
	case name == "" && len(judges) == 0:
		return nil, usage("--scorer names one of "+some(names), "the suite has no judge")
	case name == "":
		return nil, usage("--scorer names one of "+some(judges), "the suite has %d judges", len(judges))
	case at < 0:
		return nil, usage(didYouMean(name, names, "there are: "+some(names)), "the suite has no scorer %q", name)
	case s.Scorers[at].Type == "pairwise":
		return nil, usage("of two outputs people say which is better, which is no label of one", "the scorer %q judges runs beside others, and cannot be held against labels", name)
	}
	return &s.Scorers[at], nil
}

// read reads the labels.
func (c *calibration) read() error {
	text, err := readAll(c.in, c.flags.labels)
	if errors.Is(err, fs.ErrNotExist) {
		return usage(didYouMean(c.flags.labels, nearby(c.flags.labels), ""), "there is no file %s", c.flags.labels)
	}
	if err != nil {
		return usage("", "reading the labels: %w", err)
	}
	c.labels, c.faults = calibrate.Read(c.flags.labels, text, scaleOf(c.scorer))
	return nil
}

func readAll(stdin io.Reader, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(path)
}

// scaleOf is how a scorer scores.
func scaleOf(s *spec.Scorer) calibrate.Scale {
	scale := calibrate.Scale{Not: s.Not}
	for _, choice := range s.Choices {
		scale.Choices = append(scale.Choices, calibrate.Level{Name: choice.Key, Value: choice.Value})
	}
	if len(s.Range) == 2 {
		scale.From, scale.To = s.Range[0], s.Range[1]
	}
	return scale
}

// mostLabelFaults are shown: who has exported the wrong column wants to read it once.
const mostLabelFaults = 20

func (c *calibration) tellFaults() {
	c.faults.Sort()
	more := len(c.faults) - mostLabelFaults
	if more > 0 {
		c.faults = c.faults[:mostLabelFaults]
	}
	c.faults.Print(c.err)
	if more > 0 {
		fmt.Fprintf(c.err, "and %s\n", count(more, "more fault", "more faults"))
	}
}

// tell writes what came of it.
func (c *calibration) tell(ended string) error {
	o := calibrate.Options{
		Suite: c.Suite.Name, Scorer: c.scorer.Name, Version: c.version, Labels: c.labels, Simulated: c.simulated(),
		Threshold: c.flags.threshold, Precision: c.flags.precision, Seed: uint64(c.Suite.Seed),
	}
	if c.flags.changed("min-kappa") {
		o.MinKappa = &c.flags.minKappa
	}
	told := calibrate.Of(c.pairs(), o)
	if err := c.write(told, &c.flags.reportFlags, calibrate.ShownTables...); err != nil {
		return err
	}
	kappa := told.Kappa()
	switch {
	case ended != "":
		return fail(stopped, "the same command goes on: what was paid is in the cache", "%s: %d of %s have a score", ended, told.Scored, count(told.Labels, "labelled output", "labelled outputs"))
	case told.Scored == 0:
		return fail(notMeasured, "--table unscored says why", "no labelled output has a score")
	case o.MinKappa == nil:
		return nil
	case !kappa.Known():
		return fail(notMeasured, "label outputs of which people say something else", "kappa is not defined, and --min-kappa wants %v", *o.MinKappa)
	case kappa.Number < *o.MinKappa:
		return fail(answerNo, "", "kappa is %s, and --min-kappa wants %v", kappa.Exact(), *o.MinKappa)
	}
	return nil
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
