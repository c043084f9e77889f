package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/tune"
)

// recording is what a live tuning left behind.
type recording struct {
	dir string
	// paths are the recorded configurations that are left, the best first.
	paths []string
	// raced tells of the race; nil where there was only one path.
	raced *tune.RaceNews
	// ended says why the recording ended before its end; nil: it did not.
	ended error
}

// record runs the paths, or goes on with them where they were begun in the same
// folder. Several paths race.
func (l *live) record(ctx context.Context) (*recording, error) {
	j, err := l.job()
	if err != nil {
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

// job is the recording, ready to be made.
func (l *live) job() (*job, error) {
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
	return j, l.wire(j)
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
