package imports

import (
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/stop"
	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/expr"
)

// Importer reads logs by one mapping. The zero value is useless; see New.
type Importer struct {
	mapping  *spec.Import
	ids      *identities
	recorded map[string]*Recorded
	under    *underLimits
	order    []string
	inside   meter // of iterations
	overall  meter // of runs
	notes    Notes
}

// Notes are what an import found that a user should know, beside problems.
type Notes struct {
	Renamed int // runs whose task's id stood for another task
	Retried int // runs whose trial was there already
	// Regrouped are runs that give their task another cluster or group than its first
	// run.
	Regrouped int
	Restarts  int // counters that fell, and count anew
	// Parted are configurations that others were parted from, because their runs were
	// recorded under other limits.
	Parted  []string
	Untimed int // runs whose time is unknown
	// Contradicted are runs that go on after the limits that they are said to be
	// recorded under; First is the place of the first, and its iteration.
	Contradicted int
	First        string
}

// New makes an importer.
func New(m *spec.Import) *Importer {
	im := &Importer{mapping: m, ids: newIdentities(), recorded: map[string]*Recorded{}, under: newUnderLimits(m)}
	im.inside = meter{mapping: m, last: map[string]int64{}, restarts: &im.notes.Restarts}
	im.overall = meter{mapping: m, last: map[string]int64{}, restarts: &im.notes.Restarts}
	return im
}

// Notes are what was found so far.
func (im *Importer) Notes() Notes {
	n := im.notes
	n.Renamed, n.Retried, n.Regrouped = im.ids.renamed, im.ids.retried, im.ids.regrouped
	n.Parted = im.under.parted()
	return n
}

// Configurations are the names of the configurations found so far, in the order
// in which they were.
func (im *Importer) Configurations() []string { return im.order }

// Recorded is the loop that stands for the agent of a configuration.
func (im *Importer) Recorded(configuration string) (*Recorded, error) {
	if known, ok := im.recorded[configuration]; ok {
		return known, nil
	}
	loop, err := im.mapping.LoopUnder(configuration, im.under.limits(configuration))
	if err != nil {
		return nil, fmt.Errorf("making the loop of the log: %w", err)
	}
	im.recorded[configuration] = &Recorded{Loop: loop, rules: stop.Compile(loop)}
	return im.recorded[configuration], nil
}

// Imported is a run that was read.
type Imported struct {
	Run    *record.Run
	Scores []record.Score
	Task   *spec.Task
	// NewTask says that no run of the task was read before.
	NewTask bool
}

// Read reads a file: JSON, JSON lines or CSV by its name, a zip file by how it
// begins. What cannot be read is an error, a *Problem; what can be read follows.
func (im *Importer) Read(name string, r io.Reader) iter.Seq2[*Imported, error] {
	return func(yield func(*Imported, error) bool) {
		im.inside.begin(spec.CountsFile)
		im.overall.begin(spec.CountsFile)
		f := &file{name: name, shape: shapeOf(im.mapping.Each), zip: im.mapping.Zip}
		f.give = func(found row, problem *Problem) bool {
			if problem != nil {
				return yield(nil, problem)
			}
			imported, err := im.run(found)
			if err != nil {
				return yield(nil, &Problem{File: found.file, Line: found.line, What: err.Error()})
			}
			return yield(imported, nil)
		}
		f.read(r)
	}
}

// builder makes one run.
type builder struct {
	*Importer
	configuration string
	// elapsed is the last that the log told, elapsedBase what it counts from.
	elapsed, elapsedBase time.Duration
	lost                 bool // the duration of an iteration is unknown
	restarts             int
	contradicts          int // the iteration, from 1
}

// run makes a run of a row.
func (im *Importer) run(found row) (*Imported, error) {
	s := &scope{row: found}
	b := &builder{Importer: im, configuration: im.mapping.Name}
	im.inside.begin(spec.CountsRun)
	im.overall.begin(spec.CountsRun)
	var err error
	if im.mapping.Configuration != nil {
		if b.configuration, err = name(im.mapping.Configuration, s); err != nil {
			return nil, err
		}
	}
	if b.configuration, err = im.under.configuration(b.configuration, s); err != nil {
		return nil, err
	}
	recorded, err := im.Recorded(b.configuration)
	if err != nil {
		return nil, err
	}
	task, err := im.task(s)
	if err != nil {
		return nil, err
	}
	run := &record.Run{Version: record.Version, Configuration: b.configuration, Loop: recorded.Loop.Hash()}
	scored, err := b.fill(run, s)
	if err != nil {
		return nil, err
	}
	if err := b.end(run, recorded, task, s); err != nil {
		return nil, err
	}
	if err := b.faulted(run, s); err != nil {
		return nil, err
	}
	trial, err := im.trial(s)
	if err != nil {
		return nil, err
	}
	imported := &Imported{Run: run, Task: task}
	if err := im.identify(imported, s, trial); err != nil {
		return nil, err
	}
	imported.Scores = scored.all(run, im.mapping.WhenCut)
	im.note(b, run, s)
	return imported, nil
}

// fill makes the iterations of a run, and sums up what they used.
func (b *builder) fill(run *record.Run, s *scope) (*judged, error) {
	m := b.mapping
	scored := &judged{}
	var err error
	if scored.run, err = scores(m.Scores, s); err != nil {
		return nil, err
	}
	used, err := b.overall.read(m.Usage, m.CostUSD, s)
	if err != nil {
		return nil, err
	}
	found, err := parts(&m.Iterations, s)
	if err != nil {
		return nil, err
	}
	run.Iterations, run.Untimed = make([]record.Iteration, 0, len(found)), m.Iterations.Elapsed == nil && m.Iterations.Duration == nil
	for i := range found {
		s.entry, s.i, s.after = found[i].entry, i, found[i].after
		it, err := b.iteration(s, run.Elapsed)
		if err != nil {
			return nil, fmt.Errorf("iteration %d: %w", i+1, err)
		}
		judged, err := scores(m.Iterations.Scores, s)
		if err != nil {
			return nil, fmt.Errorf("iteration %d: %w", i+1, err)
		}
		run.Elapsed, run.Untimed = it.End, it.Untimed
		agent, _ := it.Spent()
		run.Usage = run.Usage.Plus(agent)
		run.Iterations = append(run.Iterations, it)
		scored.iterations = append(scored.iterations, judged)
	}
	run.Usage = used.overall(run.Usage)
	return scored, nil
}

// faulted marks a run that failed by no fault of the agent.
func (b *builder) faulted(run *record.Run, s *scope) error {
	failed, err := failure(b.mapping.Fault, s)
	if err != nil || failed == nil {
		return err
	}
	if !failed.Class.Fault() {
		run.Outcome = record.Outcome{Status: record.Failed}
	} else {
		run.Outcome = record.Outcome{Status: record.Faulted}
	}
	run.Outcome.Reason, run.Outcome.Class, run.Outcome.Fired, run.Outcome.Error = record.ReasonError, record.ByFault, string(failed.Class), failed
	return nil
}

// identify gives a run its ids.
func (im *Importer) identify(i *Imported, s *scope, declared int) error {
	input, err := expr.AppendJSON(nil, i.Task.Input)
	if err != nil {
		return fmt.Errorf("the input: %w", err)
	}
	i.Task.ID, i.NewTask = im.ids.task(i.Task.ID, input, s.file, s.line)
	i.Run.Task = i.Task.ID
	i.Task.Cluster = im.ids.named("cluster", i.Task.ID, i.NewTask, i.Task.Cluster)
	i.Task.Group = im.ids.named("group", i.Task.ID, i.NewTask, i.Task.Group)
	i.Run.Cluster, i.Run.Group = i.Task.Cluster, i.Task.Group
	i.Run.Trial = im.ids.trial(i.Run.Configuration, i.Run.Task, declared)
	i.Run.ID = record.RunID(i.Run.Configuration, i.Run.Task, i.Run.Trial)
	if !contains(im.order, i.Run.Configuration) {
		im.order = append(im.order, i.Run.Configuration)
	}
	return nil
}

func (im *Importer) note(b *builder, run *record.Run, s *scope) {
	im.notes.Restarts += b.restarts
	if run.Untimed {
		im.notes.Untimed++
	}
	if b.contradicts > 0 {
		if im.notes.Contradicted++; im.notes.Contradicted == 1 {
			im.notes.First = fmt.Sprintf("%s:%d, at iteration %d of %d", s.file, s.line, b.contradicts, len(run.Iterations))
		}
	}
}

// task makes the task of a row.
func (im *Importer) task(s *scope) (*spec.Task, error) {
	m := im.mapping
	task := &spec.Task{ID: s.place()}
	var err error
	if m.Task != nil {
		if task.ID, err = name(m.Task, s); err != nil {
			return nil, err
		}
	}
	if task.Input, err = value(m.Input, s); err != nil {
		return nil, err
	}
	if task.Target, err = value(m.Target, s); err != nil {
		return nil, err
	}
	if task.Vars, err = object(m.Vars, s); err != nil {
		return nil, err
	}
	if task.Metadata, err = object(m.Metadata, s); err != nil {
		return nil, err
	}
	if task.Cluster, err = grouped(m.Cluster, s, "cluster"); err != nil {
		return nil, err
	}
	task.Group, err = grouped(m.Group, s, "group")
	return task, err
}

// grouped is the name of a task's cluster or group, "" where it has none.
func grouped(e *spec.Expr, s *scope, what string) (string, error) {
	v, err := value(e, s)
	if err != nil {
		return "", err
	}
	name, ok := spec.ClusterName(v)
	if !ok {
		return "", wrong(e, "a %s is text, a number or a truth, got %s", what, describe(v))
	}
	return name, nil
}

func (im *Importer) trial(s *scope) (int, error) {
	if im.mapping.Trial == nil {
		return 0, nil
	}
	n, known, err := whole(im.mapping.Trial, s)
	switch {
	case err != nil:
		return 0, err
	case known && n < 1 || n > spec.MostTrials:
		return 0, wrong(im.mapping.Trial, "trials are counted from 1, got %d", n)
	}
	return int(n), nil
}
