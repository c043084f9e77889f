package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec"
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
		return nil, errors.Join(exit.Unmeasured(err), journal.Close())
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
		return nil, exit.With(exit.NotMeasured, "name a folder that can be written to with --out", "making the results: %w", err)
	}
	return journal, nil
}

// unresumable says why results cannot be gone on with, and what to do.
func unresumable(dir string, err error) error {
	var busy *record.InUse
	var damage *record.Problem
	switch {
	case errors.As(err, &busy):
		return exit.With(exit.NotMeasured, "wait until it ends, or name another folder with --out", "%w", err)
	case errors.As(err, &damage):
		return exit.With(exit.NotMeasured, "agentbench repair "+exit.ShellWord(dir)+" moves what is damaged aside and keeps the rest", "%w", err)
	}
	return exit.With(exit.NotMeasured, "the finished runs are safe; once the cause is gone, the same command goes on", "%w", err)
}

// mostDifferences are shown of two specs.
const mostDifferences = 8

// sameSpec refuses to mix runs of different specs, unless it is forced to.
func (p *program) sameSpec(j *job, before, now *record.Manifest) error {
	if before.SpecHash == now.SpecHash {
		return nil
	}
	p.learnResolved(before)
	found, err := results.DifferencesBetween(before, now)
	if err != nil {
		return exit.With(exit.NotMeasured, "", "comparing the specs: %w", err)
	}
	if len(found) == 0 { // other configurations only
		return nil
	}
	what := strings.Join(append([]string{j.dir + " was made with another spec:"}, fewest(linesOf(found))...), "\n  ")
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
		hint = "agentbench score " + exit.ShellWord(j.dir) + " " + exit.ShellWord(j.path) + " judges the runs by these scorers, and then this goes on; " + hint
	}
	return exit.With(exit.WrongSpec, hint, "%s", what)
}

// scorersOnly says that specs differ in nothing but how runs are judged.
func scorersOnly(found results.Differences) bool {
	return !slices.ContainsFunc(found, func(d results.Difference) bool {
		return !strings.HasPrefix(d.Path, "scorers") && !strings.HasPrefix(d.Path, "metrics")
	})
}

// takeUp puts into a job and its manifest what former sessions did.
func (j *job) takeUp(found *record.Recovered, m *record.Manifest) error {
	before := &found.Manifest
	effort := before.Volatile.Effort
	if before.Status == record.StateRunning { // it was killed
		var err error
		if effort, err = record.EffortOf(j.dir); err != nil {
			return exit.Unmeasured(err)
		}
	}
	j.earlier = earlier{found: found, tries: j.flags.attempts, effort: effort, wall: before.Volatile.Wall}
	m.Volatile = record.ManifestVolatile{Started: before.Volatile.Started, Wall: j.earlier.wall, Shards: m.Volatile.Shards, Effort: effort, Ledger: before.Volatile.Ledger}
	if err := keepEarlier(before, m); err != nil {
		return exit.Unmeasured(err)
	}
	var err error
	if j.earlier.remaining, err = j.countLeft(); err != nil {
		return exit.With(exit.WrongSpec, "", "%w", err)
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
	text := fmt.Sprintf("continuing %s: %d of %s done", j.dir, len(found.Finished), page.Plural(m.Totals.Planned, "run is", "runs are"))
	again, givenUp := j.earlier.retried()
	if again > 0 {
		text += fmt.Sprintf(", %d with a fault to be tried again", again)
	}
	if givenUp > 0 {
		text += fmt.Sprintf(", %d given up after %s (--attempts)", givenUp, page.Plural(j.earlier.tries, "fault", "faults"))
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
		if record.Unreadable(err) {
			return fmt.Errorf("counting the runs: %w", err)
		}
		if err == nil {
			m.Totals.Add(s)
		}
	}
	return nil
}

// keepEarlier leaves in a manifest what the folder holds already: who selects or
// declares less than before does not make it smaller.
func keepEarlier(before, m *record.Manifest) error {
	m.Tasks, m.Trials = max(m.Tasks, before.Tasks), max(m.Trials, before.Trials)
	if err := results.KeepConfigurations(before, m); err != nil {
		return err
	}
	for _, hash := range before.Mixed {
		if hash != m.SpecHash && !slices.Contains(m.Mixed, hash) {
			m.Mixed = append(m.Mixed, hash)
		}
	}
	m.Totals = before.Totals
	m.Totals.Planned = m.Tasks * m.Trials * len(m.Configurations)
	return nil
}

// countLeft counts the planned runs that are still to be made.
func (j *job) countLeft() (left int, err error) {
	for item, err := range j.plan.Items(j.Tasks()) {
		if err != nil {
			return 0, fmt.Errorf("counting what is to be done: %w", err)
		}
		if !j.earlier.done(item.ID) {
			left++
		}
	}
	return left, nil
}

// writtenSpec is a resolved spec as a manifest has it: without secrets, so that a new
// key is no other spec.
func (p *program) writtenSpec(r *results.Resolved) (json.RawMessage, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("writing the resolved spec: %w", err)
	}
	return p.secrets.Redact(text), nil
}

// linesOf say in a line each what differs between specs.
func linesOf(found results.Differences) (lines []string) {
	for i := range found {
		lines = append(lines, page.Visible(found[i].Line()))
	}
	return lines
}

// tally counts what becomes of the runs, and lets the progress be told.
type tally struct {
	view *progress   // nil: nobody looks
	any  atomic.Bool // a run was executed

	mu     sync.Mutex
	totals record.Totals
	effort record.Effort
	fault  *record.Error // of the run with a fault whose id comes first
	of     string        // that run
}

// Started implements engine.Watcher.
func (t *tally) Started(item plan.Item) {
	if t.view != nil {
		t.view.Started(item)
	}
}

// Finished implements engine.Watcher.
func (t *tally) Finished(run *record.Run, scores []record.Score) {
	t.count(run)
	if t.view != nil {
		t.view.Finished(run, scores)
	}
}

// executed counts a run that is not put down yet.
func (t *tally) executed() {
	t.any.Store(true)
	if t.view != nil {
		t.view.Executed()
	}
}

func (t *tally) count(run *record.Run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.totals.Add(&record.Signals{Outcome: run.Outcome, Usage: run.Usage, Judging: run.Judging, User: run.User})
	t.effort.Add(run)
	if run.Outcome.Status == record.Faulted && (t.fault == nil || run.ID < t.of) {
		t.fault, t.of = run.Outcome.Error, run.ID
	}
}

// manifest says under which spec the results of a job come to be.
func (p *program) manifest(j *job) (record.Manifest, error) {
	resolved, err := results.Resolve(j.Suite, j.plan.Configurations)
	if err != nil {
		return record.Manifest{}, err
	}
	text, err := p.writtenSpec(resolved)
	if err != nil {
		return record.Manifest{}, err
	}
	m := record.Manifest{
		Suite: j.Suite.Name, Agentbench: version(), Seed: j.Suite.Seed, Status: record.StateRunning,
		Spec:     text,
		Baseline: j.baseline(), Tasks: j.plan.Tasks, Trials: j.plan.Trials, Scorers: []string{},
		PricesAsOf: j.Suite.PricesAsOf,
		Totals:     record.Totals{Planned: j.plan.Runs()},
		Volatile:   record.ManifestVolatile{Started: p.now().UTC(), Shards: shardsOf(j.plan)},
	}
	m.Incomplete = m.Volatile.Shards.Incomplete()
	for i := range j.Suite.Scorers {
		m.Scorers = append(m.Scorers, j.Suite.Scorers[i].Name)
	}
	m.Metrics = metricHeads(j.Suite.SingleMetrics())
	for i := range j.Suite.Models {
		if j.Suite.Models[i].Value.Provider == "simulate" {
			m.Simulated = append(m.Simulated, j.Suite.Models[i].Key)
		}
	}
	for i := range j.plan.Configurations {
		head, err := configurationHead(&j.plan.Configurations[i])
		if err != nil {
			return m, err
		}
		m.Configurations = append(m.Configurations, head)
	}
	if m.Data, err = j.data(); err != nil {
		return m, err
	}
	m.SpecHash, err = results.Hash(&m)
	return m, err
}

// metricHeads are the metrics as manifests have them.
func metricHeads(all []spec.SingleMetric) (heads []record.MetricHead) {
	for _, m := range all {
		heads = append(heads, record.MetricHead{Name: m.Name, Score: m.Score, Reduce: m.Reduce, K: m.K, Threshold: m.Threshold, By: m.By})
	}
	return heads
}

// data are the files that tasks and recorded answers come from.
func (j *job) data() ([]record.DataFile, error) {
	files, err := j.DataFiles()
	if err != nil {
		return nil, fmt.Errorf("hashing the data: %w", err)
	}
	var data []record.DataFile
	for _, f := range files {
		data = append(data, record.DataFile(f))
	}
	return data, nil
}

// baseline is the suite's, where its configuration is part of the plan.
func (j *job) baseline() string {
	for i := range j.plan.Configurations {
		if c := &j.plan.Configurations[i]; c.Name == j.Suite.Baseline || slices.Contains(c.Aliases, j.Suite.Baseline) {
			return c.Name
		}
	}
	return ""
}

func configurationHead(c *spec.Resolved) (record.ConfigurationHead, error) {
	limit, derived, _ := c.Loop.EffectiveMax()
	head := record.ConfigurationHead{Name: c.Name, Aliases: c.Aliases, Loop: c.Hash, EffectiveMax: limit}
	if !derived {
		head.MaxIterations = limit
	}
	for _, phase := range c.Loop.Phases {
		head.Phases = append(head.Phases, record.PhaseHead{Name: phase.Name, Limit: phase.MaxIterations})
	}
	for _, limit := range c.Loop.StepLimits() {
		head.Steps = append(head.Steps, record.StepsHead(limit))
	}
	head.Completes = slices.ContainsFunc(c.Loop.Stages(), func(s spec.Stage) bool { return len(s.Agent.Completing()) > 0 })
	for _, param := range c.Params {
		value, err := json.Marshal(param.Value)
		if err != nil {
			return head, fmt.Errorf("writing the parameter %s of %s: %w", param.Path, c.Name, err)
		}
		head.Params = append(head.Params, record.Param{Path: param.Path, Value: value})
	}
	return head, nil
}
