package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/agentbench/agentbench/engine/record"
)

// earlier is what former sessions left in the result folder of a job. Its zero
// value is a new folder's.
type earlier struct {
	found *record.Recovered // nil: a new folder
	tries int               // after which a run with faults is given up
	// remaining is how many of the planned runs are still to be made.
	remaining int
	effort    record.Effort
	wall      time.Duration
}

// done says whether a run needs nothing any more: it counts, or it was given up.
func (e *earlier) done(run string) bool {
	if e.found == nil {
		return false
	}
	if _, finished := e.found.Finished[run]; finished {
		return true
	}
	return e.found.Faults[run] >= e.tries
}

// retried is how many runs had a fault and are tried again, and how many are
// given up.
func (e *earlier) retried() (again, givenUp int) {
	for _, tries := range e.found.Faults {
		if tries < e.tries {
			again++
		} else {
			givenUp++
		}
	}
	return again, givenUp
}

// left is how many of the planned runs are still to be made.
func (e *earlier) left(planned int) int {
	if e.found == nil {
		return planned
	}
	return e.remaining
}

// openResults opens the journal of a job, whose results may have been begun
// before. The manifest is then that of all sessions together.
func (p *program) openResults(j *job, m *record.Manifest) (*record.Journal, error) {
	if _, err := record.ReadManifest(j.dir); errors.Is(err, fs.ErrNotExist) {
		return p.createResults(j, m)
	}
	before, err := p.openManifest(j.dir)
	if err != nil {
		return nil, err
	}
	if err := p.sameSpec(j, &before, m); err != nil {
		return nil, err
	}
	if err := sameShard(j.dir, &before, m); err != nil {
		return nil, err
	}
	journal, found, err := record.Resume(j.dir, p.recording())
	if err != nil {
		return nil, unresumable(j.dir, err)
	}
	if err := j.takeUp(found, m); err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	p.tellEarlier(j, m)
	if err := journal.WriteManifest(*m); err != nil {
		return nil, errors.Join(fail(notMeasured, "", "%w", err), journal.Close())
	}
	return journal, nil
}

func (p *program) createResults(j *job, m *record.Manifest) (*record.Journal, error) {
	journal, err := record.Create(j.dir, *m, p.recording())
	var busy *record.InUse
	switch {
	case errors.As(err, &busy):
		return nil, unresumable(j.dir, err)
	case err != nil:
		return nil, fail(notMeasured, "name a folder that can be written to with --out", "making the results: %w", err)
	}
	return journal, nil
}

// unresumable says why results cannot be gone on with, and what to do.
func unresumable(dir string, err error) error {
	var busy *record.InUse
	var damage *record.Problem
	switch {
	case errors.As(err, &busy):
		return fail(notMeasured, "wait until it ends, or name another folder with --out", "%w", err)
	case errors.As(err, &damage):
		return fail(notMeasured, "agentbench repair "+shellWord(dir)+" moves what is damaged aside and keeps the rest", "%w", err)
	}
	return fail(notMeasured, "the finished runs are safe; once the cause is gone, the same command goes on", "%w", err)
}

// mostDifferences are shown of two specs.
const mostDifferences = 8

// sameSpec refuses to mix runs of different specs, unless it is forced to.
func (p *program) sameSpec(j *job, before, now *record.Manifest) error {
	if before.SpecHash == now.SpecHash {
		return nil
	}
	p.learnResolved(before)
	found, err := specDifferences(before, now)
	if err != nil {
		return fail(notMeasured, "", "comparing the specs: %w", err)
	}
	if len(found) == 0 { // other configurations only
		return nil
	}
	lines := found.lines()
	if more := len(lines) - mostDifferences; more > 0 {
		lines = append(lines[:mostDifferences:mostDifferences], "and "+count(more, "more difference", "more differences"))
	}
	what := strings.Join(append([]string{j.dir + " was made with another spec:"}, lines...), "\n  ")
	if j.flags.force {
		now.Mixed = append(now.Mixed, before.SpecHash)
		fmt.Fprintf(p.err, "agentbench: warning: %s\nagentbench: warning: the runs of both are mixed from now on\n", what)
		return nil
	}
	hint := "another --out starts afresh"
	if j.flags.all.Lookup("force") != nil {
		hint += "; --force adds runs of this spec to those of the other one"
	}
	if scorersOnly(found) {
		hint = "agentbench score " + shellWord(j.dir) + " " + shellWord(j.path) + " judges the runs by these scorers, and then this goes on; " + hint
	}
	return fail(wrongSpec, hint, "%s", what)
}

// scorersOnly says that specs differ in nothing but how runs are judged.
func scorersOnly(found differences) bool {
	return !slices.ContainsFunc(found, func(d difference) bool {
		return !strings.HasPrefix(d.path, "scorers") && !strings.HasPrefix(d.path, "metrics")
	})
}

// takeUp puts into a job and its manifest what former sessions did.
func (j *job) takeUp(found *record.Recovered, m *record.Manifest) error {
	before := &found.Manifest
	effort := before.Volatile.Effort
	if before.Status == record.StateRunning { // it was killed
		var err error
		if effort, err = record.EffortOf(j.dir); err != nil {
			return fail(notMeasured, "", "%w", err)
		}
	}
	j.earlier = earlier{found: found, tries: j.flags.attempts, effort: effort, wall: before.Volatile.Wall}
	m.Volatile = record.ManifestVolatile{Started: before.Volatile.Started, Wall: j.earlier.wall, Shards: m.Volatile.Shards, Effort: effort, Ledger: before.Volatile.Ledger}
	if err := keepEarlier(before, m); err != nil {
		return fail(notMeasured, "", "%w", err)
	}
	var err error
	if j.earlier.remaining, err = j.countLeft(); err != nil {
		return fail(wrongSpec, "", "%w", err)
	}
	return nil
}

// tellEarlier says what of a suite is done already, and what was lost.
func (p *program) tellEarlier(j *job, m *record.Manifest) {
	found := j.earlier.found
	for _, problem := range found.Problems {
		fmt.Fprintf(p.err, "agentbench: warning: dropped in %s: %v\n", j.dir, problem)
	}
	if j.flags.quiet {
		return
	}
	text := fmt.Sprintf("continuing %s: %d of %s done", j.dir, len(found.Finished), count(m.Totals.Planned, "run is", "runs are"))
	again, givenUp := j.earlier.retried()
	if again > 0 {
		text += fmt.Sprintf(", %d with a fault to be tried again", again)
	}
	if givenUp > 0 {
		text += fmt.Sprintf(", %d given up after %s (--attempts)", givenUp, count(j.earlier.tries, "fault", "faults"))
	}
	if found.Rebuilt > 0 {
		text += fmt.Sprintf(", signals of %d made again", found.Rebuilt)
	}
	fmt.Fprintln(p.err, text)
}

// sumUp counts the runs of all sessions together.
func (j *job) sumUp(m *record.Manifest) error {
	if j.earlier.found != nil {
		return countRuns(j.dir, m)
	}
	planned := m.Totals.Planned
	m.Totals = j.tally.totals
	m.Totals.Planned = planned
	return nil
}

// countRuns puts into a manifest what the runs of its folder come to. That of a
// session which was killed does not say it.
func countRuns(dir string, m *record.Manifest) error {
	m.Totals = record.Totals{Planned: m.Totals.Planned}
	for s, err := range record.ReadSignals(dir) {
		if unreadable(err) {
			return fmt.Errorf("counting the runs: %w", err)
		}
		if err == nil {
			m.Totals.Add(s)
		}
	}
	return nil
}
