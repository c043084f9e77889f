package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports"
)

// execute runs a job, reports on it, and says what its end means.
func (p *program) execute(ctx context.Context, j *job) error {
	if err := newFolder(j.dir); err != nil {
		return err
	}
	manifest, err := p.manifest(j)
	if err != nil {
		return fail(notMeasured, "", "%w", err)
	}
	journal, err := record.Create(j.dir, manifest, record.Options{})
	if err != nil {
		return fail(notMeasured, "name another folder with --out", "making the results: %w", err)
	}
	end, err := p.drive(ctx, j, journal)
	err = errors.Join(err, p.close(j, journal, &manifest, end, err))
	if err != nil {
		return fail(notMeasured, "the finished runs are safe in "+j.dir, "%w", err)
	}
	return p.conclude(ctx, j, &manifest, end)
}

// ending is how a plan ended.
type ending struct {
	engine.Summary
	interrupted bool
}

// drive runs the plan with everything that watches it.
func (p *program) drive(ctx context.Context, j *job, journal *record.Journal) (ending, error) {
	interrupts := p.interrupts(ctx, j.flags.grace)
	defer interrupts.stop()
	j.engine.Journal = journal
	j.engine.Executor = draining{j.engine.Executor, interrupts.Draining}
	var events *eventWriter
	if j.flags.events != "" {
		var err error
		if events, err = p.openEvents(j.flags.events); err != nil {
			return ending{}, err
		}
		j.engine.Observe = events.write
	}
	summary, err := p.watched(interrupts.Context, j)
	if events != nil {
		err = errors.Join(err, unlessClosed(events.end()))
	}
	return ending{summary, interrupts.interrupted()}, err
}

// watched runs the plan and tells its progress.
func (p *program) watched(ctx context.Context, j *job) (engine.Summary, error) {
	if !j.flags.quiet {
		view := &progress{
			out: p.err, live: p.isTerminal(p.err), width: p.width(p.err), now: p.now,
			total: j.plan.Runs(), budget: j.Suite.Budget, score: primary(j),
		}
		j.tally.next = view
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

// draining is an executor that takes no more items once a channel is closed.
type draining struct {
	engine.Executor
	stop <-chan struct{}
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
	return d.Executor.Execute(ctx, until, run, deliver)
}

// close puts the state of the results down and closes the journal.
func (p *program) close(j *job, journal *record.Journal, m *record.Manifest, end ending, failed error) error {
	err := journal.Close()
	planned := m.Totals.Planned
	m.Totals = j.tally.totals
	m.Totals.Planned = planned
	m.Volatile.Finished = p.now().UTC()
	m.Volatile.Wall = m.Volatile.Finished.Sub(m.Volatile.Started)
	m.Volatile.Paid = j.tally.paid
	switch {
	case failed != nil || err != nil:
		m.Status = record.StateFailed
	case end.stoppedEarly():
		m.Status = record.StateStopped
	default:
		m.Status = record.StateComplete
	}
	return errors.Join(err, journal.WriteManifest(*m))
}

func (e ending) stoppedEarly() bool { return e.interrupted || e.Stopped != "" }

// conclude reports on results that are safe, and gives their verdict.
func (p *program) conclude(ctx context.Context, j *job, m *record.Manifest, end ending) error {
	report, err := collect(j.dir, m)
	if err != nil {
		return err
	}
	if j.flags.events != "-" {
		if err := p.write(report, &j.flags.reportFlags); err != nil {
			return err
		}
	}
	if !j.flags.quiet {
		fmt.Fprintf(p.err, "\nresults: %s\n", j.dir)
	}
	return p.verdict(ctx, j, m, report, end)
}

// verdict turns results into an exit code: first whether there is an answer,
// then whether it is yes.
func (p *program) verdict(ctx context.Context, j *job, m *record.Manifest, report *reports.Report, end ending) error {
	if end.stoppedEarly() {
		return stoppedError(j, m, end)
	}
	least := defaultCoverage
	if j.Suite.MinCoverage != nil {
		least = *j.Suite.MinCoverage
	}
	if covered := m.Totals.Completed + m.Totals.Failed; covered == 0 || float64(covered) < least*float64(m.Totals.Planned) {
		return coverageError(j, m, least)
	}
	return p.thresholds(ctx, j, report)
}

const defaultCoverage = 0.95

func stoppedError(j *job, m *record.Manifest, end ending) error {
	hint := "the finished runs are safe: agentbench report " + j.dir
	why := "interrupted"
	if end.Stopped == record.ReasonSuiteBudget {
		why = "the suite's budget is spent"
		hint += "; a larger budget finishes the suite"
	}
	return fail(stopped, hint, "%s after %d of %d runs", why, m.Totals.Completed+m.Totals.Failed, m.Totals.Planned)
}

func coverageError(j *job, m *record.Manifest, least float64) error {
	hint := "agentbench show " + j.dir + " lists the runs"
	if j.tally.fault != nil {
		hint = "one of the faults: " + printable(firstLine(j.tally.fault.Error()))
	}
	return fail(notMeasured, hint, "%d of %d runs could be measured; min_coverage is %v", m.Totals.Completed+m.Totals.Failed, m.Totals.Planned, least)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// thresholds says which bounds of the suite do not hold.
func (p *program) thresholds(ctx context.Context, j *job, report *reports.Report) error {
	var texts []string
	for i := range j.Suite.Thresholds {
		texts = append(texts, j.Suite.Thresholds[i].Text)
	}
	wrong, broken := 0, 0
	for _, v := range reports.Thresholds(ctx, report, texts) {
		switch {
		case v.Err != nil:
			broken++
			fmt.Fprintf(p.err, "threshold cannot be judged: %s\n  %v\n", v.Text, v.Err)
		case !v.OK:
			wrong++
			fmt.Fprintf(p.err, "threshold does not hold: %s\n  %s\n", v.Text, v.Detail)
		}
	}
	n := len(texts)
	switch {
	case broken > 0:
		return fail(notMeasured, "", "%d of %s cannot be judged", broken, count(n, "threshold", "thresholds"))
	case wrong > 0:
		return fail(answerNo, "", "%d of %s do not hold", wrong, count(n, "threshold", "thresholds"))
	}
	return nil
}
