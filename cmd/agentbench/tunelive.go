package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/reports/choose"
	"github.com/agentbench/agentbench/reports/race"
	"github.com/agentbench/agentbench/spec"
)

// live is a suite that is recorded in order to be tuned. What replay answers
// exactly is recorded once, under the loosest values; parameters that need calls
// make paths, each of which is recorded, and which race: see [race.Race].
type live struct {
	*program
	*opened // its configurations are the paths
	flags   *runFlags
	paths   []sweep.Candidate
	axes    []sweep.Axis // all
	// replayed are those that replay answers on each of the paths.
	replayed []sweep.Axis
	race     *race.Race
	terms    raceTerms
}

// raceTerms are what a race is about.
type raceTerms struct {
	score    string // the objective is its mean; "": it is something else
	minimize bool
	margin   float64 // that the rule of choice may give away
}

// recording is what a live tuning left behind.
type recording struct {
	dir string
	// paths are the recorded configurations that are left, the best first.
	paths []string
	// raced tells of the race; nil where there was only one path.
	raced *race.Told
	// ended says why the recording ended before its end; nil: it did not.
	ended error
}

// openLive says what is to be recorded to tune a configuration of a suite. The
// error is that of wrong usage, with a hint.
func (p *program) openLive(o *opened, base *spec.Resolved, axes []sweep.Axis, terms *choose.Options, f *runFlags) (*live, error) {
	l := &live{program: p, flags: f, terms: raceTermsOf(o.Suite, terms)}
	var loosest []spec.Assignment
	var needCalls []sweep.Axis
	l.axes = slices.Clone(axes)
	for i := range l.axes {
		a := &l.axes[i]
		switch {
		case !needsCalls(base.Loop, a):
			l.replayed = append(l.replayed, *a)
			loosest = append(loosest, a.Loosest(base.Loop)...)
		case a.Whole():
			needCalls = append(needCalls, *a)
		default:
			return nil, usage("name the values: "+a.Path+"=a,b,c", "%s needs calls for each value, so that none can be observed before", a.Path)
		}
	}
	var err error
	if l.paths, err = pathsOf(base, loosest, needCalls); err != nil {
		return nil, err
	}
	l.opened = o.with(l.paths)
	return l, nil
}

// needsCalls says that recorded runs do not answer for other values of a
// parameter.
func needsCalls(l *spec.Loop, a *sweep.Axis) bool {
	switch replay.AnalysePath(l, spec.FullPath(a.Path)).Class {
	case replay.Calls, replay.Partly:
		return true
	}
	return false
}

// pathsOf are the configurations to be recorded: one for every combination of
// what needs calls.
func pathsOf(base *spec.Resolved, loosest []spec.Assignment, needCalls []sweep.Axis) ([]sweep.Candidate, error) {
	paths, err := sweep.Grid([]sweep.Base{{Name: base.Name, Loop: base.Loop}}, loosest, needCalls)
	if err != nil {
		return nil, err
	}
	for i := range paths {
		if len(paths[i].Params) > 0 {
			paths[i].Name = base.Name + "[" + paths[i].Name + "]"
		}
		paths[i].Params = append(slices.Clone(base.Params), paths[i].Params...)
	}
	return paths, nil
}

// with is the suite with other configurations.
func (o *opened) with(configurations []sweep.Candidate) *opened {
	document, suite := *o.Document, *o.Suite
	suite.Resolved, suite.Baseline = nil, ""
	for _, c := range configurations {
		suite.Resolved = append(suite.Resolved, spec.Resolved{Name: c.Name, Loop: c.Loop, Params: c.Params, Hash: c.Loop.Hash()})
	}
	document.Suite = &suite
	return &opened{Document: &document, path: o.path}
}

// plan is the list of runs of all paths.
func (l *live) plan() (*plan.Plan, error) {
	tasks, faults := l.CountTasks()
	if faults.Err() != nil {
		faults.Print(l.err)
		return nil, quiet(wrongSpec)
	}
	planned, err := plan.New(l.Suite, tasks, plan.Selection{Tasks: l.flags.tasks, Limit: l.flags.limit})
	if err != nil {
		return nil, unknown(err)
	}
	return planned, nil
}

// record runs the paths, or goes on with them where they were begun in the same
// folder. Several paths race.
func (l *live) record(ctx context.Context) (*recording, error) {
	planned, err := l.plan()
	if err != nil {
		return nil, err
	}
	if l.flags.concurrency > 0 {
		l.Suite.Concurrency = l.flags.concurrency
	}
	if err := l.runnable(l.opened); err != nil {
		return nil, err
	}
	j := &job{opened: l.opened, plan: planned, flags: l.flags, dir: l.flags.out, began: l.now(), command: "tune"}
	if j.dir == "" {
		j.dir = freshFolder(l.Suite.Name, l.now())
	}
	if err := l.wire(j); err != nil {
		return nil, err
	}
	var r *racing
	if len(l.paths) > 1 {
		if r, err = l.racing(j); err != nil {
			return nil, err
		}
	}
	m, end, err := l.make(ctx, j)
	if err != nil {
		return nil, err
	}
	made := &recording{dir: j.dir, paths: l.pathNames()}
	if r != nil && r.failed != nil {
		return nil, fail(notMeasured, safe(j)+"once the cause is gone, this goes on: "+j.again(), "%w", r.failed)
	}
	if r != nil {
		made.paths, made.raced = r.left(), l.race.Told(l.pathNames(), l.terms.score)
	}
	return made, made.end(j, m, end)
}

// end says why a recording ended before its end, so that what is there can be told
// before that; the error is one after which there is nothing to be told.
func (r *recording) end(j *job, m *record.Manifest, end ending) error {
	if end.Stopped != "" || end.interrupted || end.cancelled || end.Blown != nil {
		r.ended = stoppedError(j, m, end)
	}
	if end.cancelled || end.Blown != nil {
		return r.ended
	}
	least, ran := defaultCoverage, *m
	if j.Suite.MinCoverage != nil {
		least = *j.Suite.MinCoverage
	}
	ran.Totals.Planned = measured(m) + m.Totals.Faults // a race runs less than was planned
	if r.ended == nil && float64(measured(m)) < least*float64(ran.Totals.Planned) {
		return coverageError(j, &ran, least)
	}
	return nil
}

func (l *live) pathNames() []string {
	names := make([]string, len(l.paths))
	for i := range l.paths {
		names[i] = l.paths[i].Name
	}
	return names
}

// raceTermsOf are those of a race by an objective that is the mean of a score.
func raceTermsOf(s *spec.Suite, o *choose.Options) raceTerms {
	t := raceTerms{minimize: o.Minimize}
	if o.Objective == nil && len(s.Scorers) > 0 {
		t.score = s.Scorers[0].Name
	}
	for i := range s.Scorers {
		if o.Objective != nil && isMeanOf(o.Objective.Text, s.Scorers[i].Name) {
			t.score = s.Scorers[i].Name
		}
	}
	switch o.Choose.Rule {
	case "":
		t.margin = choose.DefaultMaxLoss
	case choose.MaxLoss:
		t.margin = o.Choose.Number
	case choose.AtLeast:
		t.margin = 1 - o.Choose.Number
	}
	return t
}

// isMeanOf says whether an objective is the mean of a score and nothing else.
func isMeanOf(objective, score string) bool {
	forms := []string{fmt.Sprintf("scores[%q].mean", score), fmt.Sprintf("scores['%s'].mean", score), "scores." + score + ".mean"}
	return slices.Contains(forms, objective)
}

// recordFlags say how a suite is recorded, as those of run do.
type recordFlags struct {
	cacheFlags
	out         string
	concurrency int
	quiet       bool
	grace       time.Duration
	attempts    int
}

func (f *recordFlags) declare(c *cobra.Command) {
	f.cacheFlags.declare(c)
	c.Flags().StringVarP(&f.out, "out", "o", "", "folder for what a suite's runs record; recorded runs of the same suite are gone on with (default results/SUITE-TIME-…)")
	c.Flags().IntVar(&f.concurrency, "concurrency", 0, "runs at the same time (default: the suite's, else 8)")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "no progress and no notes on stderr")
	c.Flags().DurationVar(&f.grace, "grace", 30*time.Second, "time that runs in flight have to end after an interrupt")
	c.Flags().IntVar(&f.attempts, "attempts", 3, "how often a run with faults is tried, all sessions together")
}

func (f *recordFlags) validate() error {
	if f.concurrency < 0 {
		return usage("--concurrency 1 is one run after the other", "--concurrency %d: want at least 1", f.concurrency)
	}
	if f.attempts < 1 {
		return usage("", "--attempts %d: want at least 1", f.attempts)
	}
	return f.cacheFlags.validate()
}

// running are the flags of a run that records; all are those of the command.
func (f *recordFlags) running(all *pflag.FlagSet) *runFlags {
	return &runFlags{
		selectionFlags: selectionFlags{changed: func(string) bool { return false }},
		cacheFlags:     f.cacheFlags, out: f.out, concurrency: f.concurrency, quiet: f.quiet, grace: f.grace, attempts: f.attempts, all: all,
	}
}
