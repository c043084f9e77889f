package results

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/replay"
	"github.com/agentbench/agentbench/engine/replay/sweep"
	"github.com/agentbench/agentbench/spec"
)

// Selection is what is read of a folder.
type Selection struct {
	// Configurations are the names of those that are read; none: all.
	Configurations []string
	// Texts says that outputs and tool calls are needed as they are. Without them a
	// run has hashes in their place, takes a fraction of the memory, and can be
	// replayed only where nothing reads them: see [sweep.NeedsTexts].
	Texts bool
}

// Notes count what is not among the runs.
type Notes struct {
	Faults, Cancelled int
	// Strangers are runs of configurations that the manifest does not have.
	Strangers int
	// Others were made by a loop that is not the recorded one of their configuration:
	// results of several specs were mixed.
	Others int
	// Repeated are runs that stood in the folder already.
	Repeated int
	// Taskless are runs of tasks that are not among the tasks at hand.
	Taskless int
	// BadLines could not be read; FirstBad tells of the first.
	BadLines int
	FirstBad string
}

// Read reads the runs that count, a recording for each configuration that has
// some, in the order of the manifest.
func (f *Folder) Read(s Selection) ([]sweep.Recording, Notes, error) {
	c := &collection{folder: f, selection: s, places: map[string]place{}, tasks: map[string]*spec.Task{}, words: map[string]string{}}
	for run, err := range c.runs() {
		if err == nil {
			c.add(run)
		} else if err = c.unread(err); err != nil {
			return nil, c.notes, fmt.Errorf("reading the runs: %w", err)
		}
	}
	for score, err := range record.ReadScores(f.Path) {
		if err == nil {
			c.score(&score)
		} else if err = c.unread(err); err != nil {
			return nil, c.notes, fmt.Errorf("reading the scores: %w", err)
		}
	}
	c.forgetRemoved()
	if err := f.tasksOf(c.tasks); err != nil {
		return nil, c.notes, err
	}
	return c.recordings(), c.notes, nil
}

// collection is a folder that is being read.
type collection struct {
	folder    *Folder
	selection Selection
	all       []sweep.Run
	scores    []string
	places    map[string]place // by the id of a run
	tasks     map[string]*spec.Task
	words     map[string]string // that many runs have in common, each kept once
	alike     alike
	notes     Notes
}

// place is where a run is kept.
type place struct{ at int }

// runs are records, or signals in the form of records.
func (c *collection) runs() iter.Seq2[*record.Run, error] {
	if c.selection.Texts {
		return record.ReadRuns(c.folder.Path)
	}
	return func(yield func(*record.Run, error) bool) {
		for s, err := range record.ReadSignals(c.folder.Path) {
			var run *record.Run
			if err == nil {
				run = replay.WithoutTexts(s)
			}
			if !yield(run, err) {
				return
			}
		}
	}
}

// unread counts lines that cannot be read; any other error is one.
func (c *collection) unread(err error) error {
	var problem *record.Problem
	if !errors.As(err, &problem) {
		return err
	}
	if c.notes.BadLines == 0 {
		c.notes.FirstBad = problem.Error()
	}
	c.notes.BadLines += max(1, problem.Lines)
	return nil
}

func (c *collection) add(run *record.Run) {
	head, known := c.folder.Manifest.Configuration(run.Configuration)
	_, repeated := c.places[run.ID]
	switch {
	case !known:
		c.notes.Strangers++
	case !c.wanted(head.Name):
	case run.Outcome.Status == record.Cancelled:
		c.notes.Cancelled++
	case !run.Outcome.Counts():
		c.notes.Faults++
	case run.Loop != "" && head.Loop != "" && run.Loop != head.Loop:
		c.notes.Others++
	case repeated:
		c.notes.Repeated++
	default:
		c.share(run)
		c.places[run.ID] = place{len(c.all)}
		c.tasks[run.Task] = nil
		c.all = append(c.all, sweep.Run{Recorded: replay.Recorded{Run: run}})
	}
}

// share keeps words that many runs have in common once.
func (c *collection) share(run *record.Run) {
	for _, word := range []*string{&run.Configuration, &run.Task, &run.Loop, &run.Cluster, &run.Group, &run.Outcome.Fired} {
		c.once(word)
	}
	for i := range run.Iterations {
		it := &run.Iterations[i]
		c.once(&it.Phase)
		c.once(&it.Strategy)
		for k := range it.Calls {
			call := &it.Calls[k]
			c.once(&call.Model)
			if call.Request == it.Request {
				call.Request = it.Request
			}
		}
		if it.Evaluation != nil {
			for k := range it.Evaluation.Checks {
				c.once(&it.Evaluation.Checks[k].Name)
			}
		}
		if !c.selection.Texts {
			c.alike.share(it)
		}
	}
}

func (c *collection) once(word *string) {
	if *word == "" {
		return
	}
	known, ok := c.words[*word]
	if !ok {
		known = *word
		c.words[known] = known
	}
	*word = known
}

func (c *collection) wanted(configuration string) bool {
	return len(c.selection.Configurations) == 0 || slices.Contains(c.selection.Configurations, configuration)
}

// recordings are the runs by configuration.
func (c *collection) recordings() []sweep.Recording {
	var all []sweep.Recording
	reads := c.folder.reads(c.scores)
	for i := range c.folder.Manifest.Configurations {
		name := c.folder.Manifest.Configurations[i].Name
		runs := c.runsOf(name)
		if len(runs) == 0 {
			continue
		}
		all = append(all, sweep.Recording{Configuration: name, Loop: c.folder.Loop(name), Announced: c.folder.Announced,
			Scores: c.scores, Reads: reads, Runs: runs})
	}
	return all
}

// runsOf are those of a configuration with their tasks, ordered by task and
// trial.
func (c *collection) runsOf(configuration string) []sweep.Run {
	var runs []sweep.Run
	for i := range c.all {
		if run := c.all[i]; run.Run.Configuration == configuration {
			run.Task = c.task(run.Run.Task)
			runs = append(runs, run)
		}
	}
	slices.SortFunc(runs, func(a, b sweep.Run) int {
		return cmp.Or(strings.Compare(a.Run.Task, b.Run.Task), cmp.Compare(a.Run.Trial, b.Run.Trial))
	})
	return runs
}

// task is that of an id; where it is not at hand, one that has nothing else.
func (c *collection) task(id string) *spec.Task {
	task := c.tasks[id]
	if task == nil {
		if c.folder.tasks != nil {
			c.notes.Taskless++
		}
		return &spec.Task{ID: id, Input: ""}
	}
	return task
}
