package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/model/pace"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/scorers"
)

// versions compiles the scorer, once, and gives its version.
func (c *calibration) versions() (string, error) {
	if c.set == nil {
		set, faults := scorers.New(c.Suite.Scorers, scorers.Options{Resolved: c.Suite.Resolved, Baseline: c.Suite.Baseline})
		faults.Print(c.err)
		if faults.Err() != nil {
			return "", quiet(wrongSpec)
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
		opened: c.opened, flags: &runFlags{cacheFlags: c.flags.cacheFlags}, dir: c.flags.results, budget: pace.OfSuite(c.Suite.Budget),
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
		return quiet(wrongSpec)
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
		return nil, fail(notMeasured, "", "reading the runs: %w", err)
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
	fmt.Fprintf(c.err, "%s made", count(len(made), "score", "scores"))
	if used.Calls > 0 {
		fmt.Fprintf(c.err, ": %s, %s as if nothing were cached", count(int(used.Calls), "call", "calls"), costOf(used))
	}
	if s := j.cache.Stats(); s.Hits+s.Misses > 0 {
		fmt.Fprintf(c.err, "; cache: %s, %s", count(int(s.Hits), "hit", "hits"), count(int(s.Misses), "miss", "misses"))
	}
	fmt.Fprintln(c.err)
}
