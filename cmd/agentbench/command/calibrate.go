package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

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
	"github.com/agentbench/agentbench/spec/source"
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
	concurrencyFlag(c, &f.concurrency, "outputs that are scored")
	quietFlag(c, &f.quiet, "no notes")
	f.changed = c.Flags().Changed
	return c
}

func (f *calibrateFlags) validate() error {
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
	return f.reportFlags.validate()
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
		return exit.Quiet(exit.WrongSpec)
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
		return nil, exit.Usage("scorers: declares some", "the suite has no scorers")
	case name == "" && len(judges) == 0:
		return nil, exit.Usage("--scorer names one of "+exit.Some(names), "the suite has no judge")
	case name == "":
		return nil, exit.Usage("--scorer names one of "+exit.Some(judges), "the suite has %d judges", len(judges))
	case at < 0:
		return nil, exit.Usage(exit.DidYouMean(name, names, "there are: "+exit.Some(names)), "the suite has no scorer %q", name)
	case s.Scorers[at].Type == "pairwise":
		return nil, exit.Usage("of two outputs people say which is better, which is no label of one", "the scorer %q judges runs beside others, and cannot be held against labels", name)
	}
	return &s.Scorers[at], nil
}

// read reads the labels.
func (c *calibration) read() error {
	text, err := readAll(c.in, c.flags.labels)
	if errors.Is(err, fs.ErrNotExist) {
		return exit.Usage(exit.DidYouMean(c.flags.labels, nearby(c.flags.labels), ""), "there is no file %s", c.flags.labels)
	}
	if err != nil {
		return exit.Usage("", "reading the labels: %w", err)
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
		fmt.Fprintf(c.err, "and %s\n", page.Plural(more, "more fault", "more faults"))
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
		return exit.With(exit.Stopped, "the same command goes on: what was paid is in the cache", "%s: %d of %s have a score", ended, told.Scored, page.Plural(told.Labels, "labelled output", "labelled outputs"))
	case told.Scored == 0:
		return exit.With(exit.NotMeasured, "--table unscored says why", "no labelled output has a score")
	case o.MinKappa == nil:
		return nil
	case !kappa.Known():
		return exit.With(exit.NotMeasured, "label outputs of which people say something else", "kappa is not defined, and --min-kappa wants %v", *o.MinKappa)
	case kappa.Number < *o.MinKappa:
		return exit.With(exit.AnswerNo, "", "kappa is %s, and --min-kappa wants %v", kappa.Exact(), *o.MinKappa)
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

// labelledItem is what a label is of, and the score that it has.
type labelledItem struct {
	label *calibrate.Label
	id    string // of the run; "": the output stands beside the label
	of    string // its task
	unit  string
	task  *spec.Task
	run   *record.Run // nil: it is read once it is judged
	// lost says why there is nothing to judge; "": there is.
	lost  string
	score *record.Score // nil: none is known
}

// place finds what is labelled.
func (c *calibration) place() error {
	if err := c.placeable(); err != nil {
		return err
	}
	for i := range c.labels.Labels {
		c.items = append(c.items, labelledItem{label: &c.labels.Labels[i], of: c.labels.Labels[i].Task})
	}
	if c.labels.Texts {
		return c.placeTexts()
	}
	if len(c.items) == 0 {
		return nil
	}
	return c.placeRuns()
}

// placeable says whether labels and --results go together.
func (c *calibration) placeable() error {
	switch {
	case len(c.faults) > 0 && len(c.labels.Labels) == 0: // they say it
		return nil
	case c.labels.Texts && c.flags.results != "":
		return exit.Usage("leave out --results; or name the runs in a column run", "%s holds the outputs itself", c.flags.labels)
	case !c.labels.Texts && c.flags.results == "":
		return exit.Usage("--results DIR names their folder", "the labels of %s are of runs", c.flags.labels)
	}
	return nil
}

// placeTexts makes runs of outputs that stand beside their labels.
func (c *calibration) placeTexts() error {
	if err := c.findTasks(); err != nil {
		return err
	}
	trials := map[string]int{}
	for i := range c.items {
		at := &c.items[i]
		if at.task == nil {
			c.faults = append(c.faults, c.labels.Fault(at.label, "the column task holds the ids of tasks", "the suite has no task %q", at.of))
			continue
		}
		trials[at.of]++
		run, err := textRun(at, trials[at.of])
		if err != nil {
			return exit.With(exit.WrongSpec, "", "reading the labels: %w", err)
		}
		at.run, at.unit = run, cmp.Or(at.task.Cluster, at.of)
	}
	return nil
}

// textRun is a run of one iteration that gave an output.
func textRun(at *labelledItem, trial int) (*record.Run, error) {
	output, err := json.Marshal(at.label.Output)
	if err != nil {
		return nil, err
	}
	return &record.Run{
		Version: record.Version, ID: record.RunID("labels", at.of, trial), Configuration: "labels", Task: at.of, Trial: trial, Cluster: at.task.Cluster,
		Outcome:    record.Outcome{Status: record.Completed, Returned: 1},
		Iterations: []record.Iteration{{Output: output}},
	}, nil
}

// findTasks finds the tasks of what has no score yet.
func (c *calibration) findTasks() error {
	wanted := map[string][]*labelledItem{}
	for i := range c.items {
		if at := &c.items[i]; at.score == nil && at.lost == "" {
			wanted[at.of] = append(wanted[at.of], at)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for task, err := range c.Tasks() {
		if err != nil {
			return exit.With(exit.WrongSpec, "", "reading the tasks: %w", err)
		}
		for _, at := range wanted[task.ID] {
			at.task = task
		}
	}
	return nil
}

// placeRuns finds the labelled runs in their folder, and the scores that they have.
func (c *calibration) placeRuns() error {
	m, err := c.openManifest(c.flags.results)
	if err != nil {
		return err
	}
	wanted := c.runsWanted(&m)
	if err := c.findRuns(wanted); err != nil {
		return err
	}
	for i := range c.items {
		if at := &c.items[i]; at.of == "" {
			c.faults = append(c.faults, c.labels.Fault(at.label, "agentbench show "+exit.ShellWord(c.flags.results)+" lists the runs", "%s has no run %s", c.flags.results, at.id))
		}
	}
	if err := c.findScores(wanted); err != nil || len(c.faults) > 0 {
		return err
	}
	return c.findRunTasks(&m)
}

// runsWanted are the labelled runs by their ids. Two rows may name one run in two
// ways.
func (c *calibration) runsWanted(m *record.Manifest) map[string][]*labelledItem {
	wanted := map[string][]*labelledItem{}
	for i := range c.items {
		at := &c.items[i]
		at.id, at.of = at.label.Run, ""
		if at.id == "" {
			name := at.label.Configuration
			if head, ok := m.Configuration(name); ok {
				name = head.Name
			}
			at.id = record.RunID(name, at.label.Task, at.label.Trial)
		}
		if len(wanted[at.id]) > 0 {
			c.faults = append(c.faults, c.labels.Fault(at.label, "", "the run %s is labelled already, under another name of its configuration", at.id))
		}
		wanted[at.id] = append(wanted[at.id], at)
	}
	return wanted
}

// findRuns reads what the labelled runs are of. The last try of a run counts.
func (c *calibration) findRuns(wanted map[string][]*labelledItem) error {
	for s, err := range record.ReadSignals(c.flags.results) {
		var problem *record.Problem
		if errors.As(err, &problem) {
			continue
		}
		if err != nil {
			return exit.With(exit.NotMeasured, "", "reading the runs: %w", err)
		}
		for _, at := range wanted[s.ID] {
			at.of, at.unit, at.lost = s.Task, cmp.Or(s.Cluster, s.Task), ""
			if !s.Outcome.Counts() {
				at.lost = fmt.Sprintf("the run does not count: %s", s.Outcome.Status)
			}
		}
	}
	return nil
}

// findScores reads the scores that the scorer, as it is now, gave to labelled runs.
// What it could not judge it is asked again.
func (c *calibration) findScores(wanted map[string][]*labelledItem) error {
	var err error
	if c.version, err = c.versions(); err != nil {
		return err
	}
	for s, err := range record.ReadScores(c.flags.results) {
		var problem *record.Problem
		if errors.As(err, &problem) {
			continue
		}
		if err != nil {
			return exit.With(exit.NotMeasured, "", "reading the scores: %w", err)
		}
		if s.Name != c.scorer.Name || s.Iteration != 0 {
			continue
		}
		for _, at := range wanted[s.Run] {
			at.score = nil
			if !s.Removed && s.Unscored == "" && s.Scorer == c.version {
				at.score = &s
			}
		}
	}
	return nil
}

// findRunTasks finds the tasks of the runs without a score in the suite, whose data
// should be those that the runs were made of.
func (c *calibration) findRunTasks(m *record.Manifest) error {
	if err := c.findTasks(); err != nil {
		return err
	}
	missing := 0
	for i := range c.items {
		at := &c.items[i]
		if at.score != nil || at.lost != "" {
			continue
		}
		missing++
		if at.task == nil {
			at.lost = "the suite has no longer its task"
		}
	}
	if missing == 0 {
		return nil
	}
	folder, err := results.OpenManifest(c.flags.results, *m, results.Options{})
	if err != nil {
		return nil // what it was made of is not known
	}
	other, err := folder.OtherData(c.Document)
	if err == nil && len(other) > 0 {
		fmt.Fprintf(c.err, "agentbench: warning: %s: not the bytes that the runs were made of, so that tasks may differ\n", exit.Some(other))
	}
	return nil
}

// pairs are the labelled outputs with their scores.
func (c *calibration) pairs() []calibrate.Pair {
	pairs := make([]calibrate.Pair, len(c.items))
	for i := range c.items {
		at := &c.items[i]
		pairs[i] = calibrate.Pair{Name: cmp.Or(at.id, at.of), Unit: at.unit, Label: at.label.Value, Second: at.label.Second}
		switch s := at.score; {
		case at.lost != "":
			pairs[i].Unscored = at.lost
		case s == nil:
			pairs[i].Unscored = "it was interrupted before"
		case s.Unscored != "":
			pairs[i].Unscored = s.Unscored
		default:
			pairs[i].Score, pairs[i].Explanation = s.Value, s.Explanation
		}
	}
	return pairs
}

// versions compiles the scorer, once, and gives its version.
func (c *calibration) versions() (string, error) {
	if c.set == nil {
		set, faults := scorers.New(c.Suite.Scorers, scorers.Options{Resolved: c.Suite.Resolved, Baseline: c.Suite.Baseline})
		faults.Print(c.err)
		if faults.Err() != nil {
			return "", exit.Quiet(exit.WrongSpec)
		}
		c.set = set.Only(c.isCalibrated)
	}
	return c.set.Versions()[0].Hash, nil
}

func (c *calibration) isCalibrated(name string) bool { return name == c.scorer.Name }

// score makes the scores that are missing. It says what ended that before, "" where
// nothing did.
func (c *calibration) score(ctx context.Context) (ended string, err error) {
	var missing []*labelledItem
	for i := range c.items {
		if at := &c.items[i]; at.score == nil && at.lost == "" {
			missing = append(missing, at)
		}
	}
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

// wired compiles the scorer with those whom it asks.
func (c *calibration) wired(j *job) error {
	j.cache = c.openCache(j)
	parts, err := engine.NewParts(c.Document, engine.BuildOptions{
		Getenv: c.env, Budget: j.budget, Cache: j.cache, CacheMode: c.flags.mode, Shared: &j.shared,
	})
	if err != nil {
		return c.unwired(err)
	}
	set, faults := scorers.New(c.Suite.Scorers, scorers.Options{Resolved: c.Suite.Resolved, Baseline: c.Suite.Baseline, Outside: parts})
	if faults.Err() != nil {
		faults.Print(c.err)
		return exit.Quiet(exit.WrongSpec)
	}
	c.set = set.Only(c.isCalibrated)
	if err := c.set.Unable(); err != nil {
		return c.unwired(err)
	}
	return nil
}

// calibrateGrace is the time that judgements have to end after an interrupt.
const calibrateGrace = 30 * time.Second

// judgeAll judges outputs, many at the same time.
func (c *calibration) judgeAll(ctx context.Context, missing []*labelledItem) (interrupted bool, err error) {
	interrupts := c.interrupts(ctx, calibrateGrace, func() string { return "the same command goes on with the answers that are in the cache" })
	defer interrupts.stop()
	runs, err := c.openRuns()
	if err != nil {
		return false, err
	}
	if runs != nil {
		defer runs.Close()
	}
	todo := make(chan *labelledItem)
	var working sync.WaitGroup
	for range max(1, c.workers()) {
		working.Go(func() {
			for at := range todo {
				c.judge(interrupts.Context, runs, at)
			}
		})
	}
	feed(todo, missing, interrupts.Draining)
	working.Wait()
	return interrupts.interrupted(), nil
}

// feed gives items away until somebody wants it to stop.
func feed(todo chan<- *labelledItem, items []*labelledItem, stop <-chan struct{}) {
	defer close(todo)
	for _, at := range items {
		select {
		case todo <- at:
		case <-stop:
			return
		}
	}
}

func (c *calibration) workers() int {
	if c.flags.concurrency > 0 {
		return c.flags.concurrency
	}
	return workers(c.Suite)
}

// openRuns opens the folder of the labelled runs; nil where there is none.
func (c *calibration) openRuns() (*record.Runs, error) {
	if c.labels.Texts {
		return nil, nil
	}
	runs, err := record.OpenRuns(c.flags.results)
	if err != nil {
		return nil, exit.With(exit.NotMeasured, "", "reading the runs: %w", err)
	}
	return runs, nil
}

// judge judges what one label is of.
func (c *calibration) judge(ctx context.Context, runs *record.Runs, at *labelledItem) {
	run := at.run
	if run == nil {
		var err error
		if run, err = runs.Run(at.id); err != nil {
			at.lost = fmt.Sprintf("its record cannot be read: %v", err)
			return
		}
	}
	scores := c.set.At(ctx, at.task, run, []int{0})
	if len(scores) == 1 {
		at.score = &scores[0]
	}
}

// tellMade says what was made, and what it took.
func (c *calibration) tellMade(j *job, made []*labelledItem) {
	var used record.Usage
	for _, at := range made {
		if at.score != nil {
			used = used.Plus(at.score.Usage)
		}
	}
	fmt.Fprintf(c.err, "%s made", page.Plural(len(made), "score", "scores"))
	if used.Calls > 0 {
		fmt.Fprintf(c.err, ": %s, %s as if nothing were cached", page.Plural(int(used.Calls), "call", "calls"), trajectory.Cost(used))
	}
	if s := j.cache.Stats(); s.Hits+s.Misses > 0 {
		fmt.Fprintf(c.err, "; cache: %s, %s", page.Plural(int(s.Hits), "hit", "hits"), page.Plural(int(s.Misses), "miss", "misses"))
	}
	fmt.Fprintln(c.err)
}
