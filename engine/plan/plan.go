// Package plan decides which runs a suite is made of, before anything runs:
// suite x configuration x task x trial, each run with a stable id, and what
// they may cost at worst. It is pure.
package plan

import (
	"fmt"
	"iter"
	"slices"

	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/spec"
)

// Plan is the list of runs, not spread out: its memory does not grow with the
// number of tasks.
type Plan struct {
	Configurations []spec.Resolved
	Trials         int
	// Tasks is the number of tasks; -1: not counted.
	Tasks int
	// Part is the shard that the plan is; nil: it is the whole.
	Part  *Part
	only  []string
	limit int
}

// Selection narrows a plan. Its zero value selects everything.
type Selection struct {
	Configurations []string // by name or alias
	Tasks          []string // by id
	Limit          int      // the first so many tasks; 0: all
}

// Item is one run that is to be done.
type Item struct {
	ID            string
	Configuration int // index into Plan.Configurations
	Task          *spec.Task
	Trial         int // from 1
}

// New plans a suite of so many tasks. It fails where a selection names what
// does not exist.
func New(suite *spec.Suite, tasks int, only Selection) (*Plan, error) {
	p := &Plan{Configurations: suite.Resolved, Trials: max(1, suite.Trials), Tasks: tasks, only: only.Tasks, limit: only.Limit}
	if len(only.Configurations) > 0 {
		chosen, err := choose(suite.Resolved, only.Configurations)
		if err != nil {
			return nil, err
		}
		p.Configurations = chosen
	}
	if len(only.Tasks) > 0 {
		p.Tasks = len(slices.Compact(slices.Sorted(slices.Values(only.Tasks))))
	}
	if only.Limit > 0 && (p.Tasks < 0 || only.Limit < p.Tasks) {
		p.Tasks = only.Limit
	}
	return p, nil
}

// UnknownError says that a selection names something that does not exist.
type UnknownError struct {
	What, Name string
	Known      []string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no %s %q", e.What, e.Name) }

func choose(all []spec.Resolved, names []string) ([]spec.Resolved, error) {
	var chosen []spec.Resolved
	for i := range all {
		if slices.ContainsFunc(names, func(name string) bool { return goesBy(&all[i], name) }) {
			chosen = append(chosen, all[i])
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(c spec.Resolved) bool { return goesBy(&c, name) }) {
			return nil, &UnknownError{What: "configuration", Name: name, Known: configurationNames(all)}
		}
	}
	return chosen, nil
}

func goesBy(c *spec.Resolved, name string) bool {
	return c.Name == name || slices.Contains(c.Aliases, name)
}

func configurationNames(all []spec.Resolved) []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}

// Runs is the number of runs; -1: not counted.
func (p *Plan) Runs() int {
	if p.Tasks < 0 {
		return -1
	}
	return p.Tasks * p.Trials * len(p.Configurations)
}

// Once is the plan with one trial: the others are like it.
func (p *Plan) Once() *Plan {
	once := *p
	once.Trials = 1
	return &once
}

// Items gives the runs in their order: task by task, trial by trial, and
// within a trial one configuration after the other, so that tasks are read
// once and runs that may share calls stand together. It ends at the first error.
func (p *Plan) Items(tasks iter.Seq2[*spec.Task, error]) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for task, err := range p.selected(tasks) {
			if err != nil {
				yield(Item{}, err)
				return
			}
			if p.Part != nil && !p.Part.has(task.ID) {
				continue
			}
			if !p.ofTask(task, yield) {
				return
			}
		}
	}
}

// selected are the tasks that the plan is made of, those of all shards.
func (p *Plan) selected(tasks iter.Seq2[*spec.Task, error]) iter.Seq2[*spec.Task, error] {
	return func(yield func(*spec.Task, error) bool) {
		taken := 0
		for task, err := range tasks {
			if err == nil && len(p.only) > 0 && !slices.Contains(p.only, task.ID) {
				continue
			}
			if err == nil && p.limit > 0 && taken == p.limit {
				return
			}
			taken++
			if !yield(task, err) {
				return
			}
		}
	}
}

func (p *Plan) ofTask(task *spec.Task, yield func(Item, error) bool) bool {
	for trial := 1; trial <= p.Trials; trial++ {
		for c := range p.Configurations {
			id := record.RunID(p.Configurations[c].Name, task.ID, trial)
			if !yield(Item{ID: id, Configuration: c, Task: task, Trial: trial}, nil) {
				return false
			}
		}
	}
	return true
}
