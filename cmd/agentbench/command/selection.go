package command

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/spec"
)

// selectionFlags narrow or change what a suite runs.
type selectionFlags struct {
	tasks, configurations, set []string
	limit, trials              int
	shardFlags
	changed func(flag string) bool
}

func (f *selectionFlags) declare(c *cobra.Command) {
	// StringArray, because StringSlice parts values at commas.
	c.Flags().StringArrayVar(&f.tasks, "task", nil, "run only this task (repeatable)")
	c.Flags().StringArrayVar(&f.configurations, "configuration", nil, "run only this configuration (repeatable)")
	c.Flags().StringArrayVar(&f.set, "set", nil, "set a parameter in every configuration: path=value (repeatable)")
	c.Flags().IntVar(&f.limit, "limit", 0, "run only the first so many tasks")
	c.Flags().IntVar(&f.trials, "trials", 0, "repetitions of every task (default: the suite's, else 1)")
	f.shardFlags.declare(c)
	f.changed = c.Flags().Changed
}

func (f *selectionFlags) validate() error {
	if f.limit < 0 || f.limit == 0 && f.changed("limit") {
		return usage("", "--limit %d: want at least 1", f.limit)
	}
	if f.trials < 0 || f.trials == 0 && f.changed("trials") || f.trials > spec.MostTrials {
		return usage("", "--trials %d: want 1 to %d", f.trials, spec.MostTrials)
	}
	return nil
}

// openPlan loads a suite and plans its runs.
func (p *program) openPlan(path string, f *selectionFlags) (*opened, *plan.Plan, error) {
	set, err := settings(f.set)
	if err != nil {
		return nil, nil, err
	}
	o, err := p.openSuite(path, set)
	if err != nil {
		return nil, nil, err
	}
	if f.trials > 0 {
		o.Suite.Trials = f.trials
	}
	tasks, faults := o.CountTasks()
	faults.Print(p.err)
	if faults.Err() != nil {
		return nil, nil, quiet(wrongSpec)
	}
	if err := o.knowsTasks(f.tasks); err != nil {
		return nil, nil, err
	}
	planned, err := plan.New(o.Suite, tasks, plan.Selection{Configurations: f.configurations, Tasks: f.tasks, Limit: f.limit})
	if err != nil {
		return nil, nil, unknown(err)
	}
	return o, planned, p.dealPlan(o, planned, &f.shardFlags)
}

// knowsTasks refuses the ids of tasks that the suite does not have.
func (o *opened) knowsTasks(wanted []string) error {
	if len(wanted) == 0 {
		return nil
	}
	var known []string
	for task, err := range o.Tasks() {
		if err != nil {
			return fail(wrongSpec, "", "%w", err)
		}
		known = append(known, task.ID)
	}
	for _, id := range wanted {
		if !slices.Contains(known, id) {
			return unknown(&plan.UnknownError{What: "task", Name: id, Known: known})
		}
	}
	return nil
}

// unknown turns a name that does not exist into wrong usage with a hint.
func unknown(err error) error {
	var missing *plan.UnknownError
	if !errors.As(err, &missing) {
		return err
	}
	return usage(didYouMean(missing.Name, missing.Known, "there are: "+some(missing.Known)), "%w", err)
}
