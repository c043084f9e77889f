package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
)

// execute runs a job, reports on it, and says what its end means.
func (p *program) execute(ctx context.Context, j *job) error {
	manifest, end, err := p.make(ctx, j)
	if err != nil {
		return err
	}
	return p.conclude(ctx, j, manifest, end)
}

// make makes the runs of a job, and puts them down.
func (p *program) make(ctx context.Context, j *job) (*record.Manifest, ending, error) {
	closeEvents, err := p.observe(j)
	if err != nil {
		return nil, ending{}, err
	}
	manifest, journal, err := p.begin(j)
	if err != nil {
		return nil, ending{}, errors.Join(err, closeEvents())
	}
	end, err := p.drive(ctx, j, journal)
	j.shared.Close()
	err = errors.Join(err, closeEvents())
	err = errors.Join(err, p.close(j, journal, manifest, end, err))
	if err != nil {
		return nil, end, fail(notMeasured, safe(j)+"once the cause is gone, this goes on: "+j.again(), "%w", err)
	}
	return manifest, end, nil
}

// begin makes the result folder, or opens it where it is to be gone on with.
func (p *program) begin(j *job) (*record.Manifest, *record.Journal, error) {
	if err := newFolder(j.dir); err != nil {
		return nil, nil, err
	}
	manifest, err := p.manifest(j)
	if err != nil {
		return nil, nil, fail(notMeasured, "", "%w", err)
	}
	journal, err := p.openResults(j, &manifest)
	if err != nil {
		return nil, nil, err
	}
	if err := p.keepLedger(j, &manifest, journal); err != nil {
		return nil, nil, errors.Join(err, journal.Close())
	}
	return &manifest, journal, nil
}

// keepLedger opens the ledger of a job, and notes it in the manifest, so that it is
// missed should it be lost.
func (p *program) keepLedger(j *job, m *record.Manifest, journal *record.Journal) (err error) {
	before := m
	if j.earlier.found != nil {
		before = &j.earlier.found.Manifest
	}
	if j.ledger, err = p.openLedger(j.dir, before, j.Suite, j.budget, j.earlier.effort.Paid); err != nil || j.ledger == nil {
		return err
	}
	sealed := j.ledger.Sealed()
	m.Volatile.Ledger = &sealed
	if err := journal.WriteManifest(*m); err != nil {
		return errors.Join(fail(notMeasured, "", "%w", err), j.ledger.Close())
	}
	return nil
}

// observe lets the events of all runs be written, if they are asked for. It comes
// before there is a folder, unless that is where they go.
func (p *program) observe(j *job) (end func() error, err error) {
	path := j.flags.events
	if path == "" {
		return func() error { return nil }, nil
	}
	if filepath.Dir(path) == filepath.Clean(j.dir) {
		if err := newFolder(j.dir); err != nil {
			return nil, err
		}
	}
	events, err := p.openEvents(path)
	if err != nil {
		return nil, err
	}
	j.engine.Observe = events.write
	return func() error {
		if err := unlessClosed(events.end()); err != nil {
			return fmt.Errorf("writing the events: %w", err)
		}
		return nil
	}, nil
}

// safe says that finished runs are not lost, where there are any.
func safe(j *job) string {
	if j.earlier.found == nil && !j.tally.any.Load() {
		return ""
	}
	return "the finished runs are safe; "
}

// ending is how a plan ended.
type ending struct {
	engine.Summary
	interrupted bool
	cancelled   bool // by a second signal: whoever waits wants it to end
}

// drive runs the plan with everything that watches it.
func (p *program) drive(ctx context.Context, j *job, journal *record.Journal) (ending, error) {
	interrupts := p.interrupts(ctx, j.flags.grace, func() string { return safe(j) + "this goes on: " + j.again() })
	defer interrupts.stop()
	traced, endTrace := p.trace(interrupts.Context, j.Suite)
	defer endTrace()
	j.engine.Journal, j.engine.Skip, j.draining = journal, j.earlier.done, interrupts.Draining
	j.engine.Executor = draining{j.engine.Executor, interrupts.Draining, j.tally.executed}
	if j.around != nil {
		j.engine.Executor = j.around(j.engine.Executor)
	}
	summary, err := p.finish(traced, j, journal)
	return ending{summary, interrupts.interrupted(), interrupts.cancelled()}, err
}

// finish does what former sessions left to be done: scores first, whose calls
// count against the suite's budget like others, then runs.
func (p *program) finish(ctx context.Context, j *job, journal *record.Journal) (engine.Summary, error) {
	if err := j.rescore(ctx, journal); err != nil {
		return engine.Summary{}, err
	}
	summary := engine.Summary{Stopped: record.ReasonSuiteBudget}
	var err error
	if !j.budget.Exhausted() || j.earlier.left(j.plan.Runs()) == 0 {
		summary, err = p.watched(ctx, j)
		if err == nil && summary.Stopped == "" && !closed(j.draining) {
			var spent bool
			if spent, err = j.scorePairs(ctx, journal); spent {
				summary.Stopped, j.unpaired = record.ReasonSuiteBudget, true
			}
		}
	}
	return summary, err
}

// watched runs the plan and tells its progress.
func (p *program) watched(ctx context.Context, j *job) (engine.Summary, error) {
	if !j.flags.quiet {
		view := &progress{
			out: p.err, live: p.isTerminal(p.err), width: p.width(p.err), now: p.now,
			total: j.plan.Runs(), budget: j.Suite.Budget, score: primary(j),
			pace: j.pace, before: j.plan.Runs() - j.earlier.left(j.plan.Runs()), usage: j.earlier.effort.Paid,
		}
		j.tally.view = view
		view.start()
		defer view.finish()
	}
	return j.engine.Run(ctx, j.plan, j.Tasks())
}

// primary is the scorer that is followed, "" where there is none.
func primary(j *job) string {
	if len(j.Suite.Scorers) == 0 {
		return ""
	}
	return j.Suite.Scorers[0].Name
}

// draining is an executor that takes no more items once a channel is closed, and
// tells of each run that was executed, before it is put down.
type draining struct {
	engine.Executor
	stop     <-chan struct{}
	executed func()
}

// Execute implements engine.Executor.
func (d draining) Execute(ctx context.Context, items iter.Seq2[plan.Item, error], run engine.RunFunc, deliver engine.DeliverFunc) error {
	until := func(yield func(plan.Item, error) bool) {
		for item, err := range items {
			select {
			case <-d.stop:
				return
			default:
			}
			if !yield(item, err) {
				return
			}
		}
	}
	return d.Executor.Execute(ctx, until, run, func(ctx context.Context, item plan.Item, r *record.Run) {
		d.executed()
		deliver(ctx, item, r)
	})
}

// close puts the state of the results down and closes the journal.
func (p *program) close(j *job, journal *record.Journal, m *record.Manifest, end ending, failed error) error {
	err := errors.Join(journal.Close(), j.sumUp(m))
	if j.ledger != nil {
		err = errors.Join(err, j.ledger.Close())
		sealed := j.ledger.Sealed()
		m.Volatile.Ledger = &sealed
	}
	now := p.now()
	m.Volatile.Finished = now.UTC()
	m.Volatile.Wall = j.earlier.wall + max(0, now.Sub(j.began)) // the clock may be set back
	m.Volatile.Effort = j.earlier.effort.Plus(j.tally.effort)
	switch {
	case failed != nil || err != nil:
		m.Status = record.StateFailed
	case measured(m)+m.Totals.Faults < m.Totals.Planned, j.unpaired:
		m.Status = record.StateStopped
	default:
		m.Status = record.StateComplete
	}
	tellShard(m)
	if j.raced != nil {
		j.raced(m)
	}
	return errors.Join(err, journal.WriteManifest(*m))
}

// conclude reports on results that are safe, and gives their verdict.
func (p *program) conclude(ctx context.Context, j *job, m *record.Manifest, end ending) error {
	if end.cancelled {
		return stoppedError(j, m, end)
	}
	report, err := collect(j.dir, m, neededRecords)
	if err != nil {
		return err
	}
	unanswered := p.judge(ctx, j, m, report, end)
	write := func() error {
		return p.write(report, &j.flags.reportFlags, "configurations", "metrics", "curve", "judges")
	}
	if j.flags.events == "-" {
		write = func() error { return p.writeFiles(report, &j.flags.reportFlags) }
	}
	if err := write(); err != nil {
		return err
	}
	p.tellOvershoot(j.budget)
	if !j.flags.quiet {
		p.tellCache(j, m)
		fmt.Fprintf(p.err, "\nresults: %s\nmore: agentbench report %s, agentbench show %s\n", j.dir, j.dir, j.dir)
	}
	if unanswered != nil {
		return unanswered
	}
	return p.thresholds(report.Thresholds, j.flags.quiet)
}
