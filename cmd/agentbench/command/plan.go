package command

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/overview"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/suites"
)

func (p *program) planCommand() *cobra.Command {
	var f selectionFlags
	var power powerFlags
	var shown reportFlags
	c := &cobra.Command{
		Use:     "plan SUITE|DIR",
		Short:   "Show what a suite would run and cost at most, or how much budget is left",
		GroupID: "run",
		Long: `For a suite: its runs, and the maximum of calls and cost, without running it.

For a result folder: its budget ledger: what is spent, what is in doubt because no
answer came, and what is left.`,
		Args: arguments(1, 1, "one suite, or one result folder"),
		RunE: func(c *cobra.Command, args []string) error {
			if results.IsFolder(args[0]) && !there(filepath.Join(args[0], suites.File)) {
				forSuites := false
				c.Flags().Visit(func(f *pflag.Flag) {
					forSuites = forSuites || !slices.Contains([]string{"format", "table", "write"}, f.Name)
				})
				if forSuites {
					return exit.Usage("agentbench plan "+exit.ShellWord(args[0])+" shows its ledger", "%s is a result folder, and these flags are for suites", args[0])
				}
				return p.planFolder(args[0], &shown)
			}
			o, planned, err := p.openPlan(args[0], &f, nil)
			if err != nil {
				return err
			}
			p.warn(o, nil)
			notes, err := p.powerNotes(o, planned, &power)
			if err != nil {
				return err
			}
			return p.tellPlan(o, planned, notes, &shown)
		},
	}
	f.declare(c)
	power.declare(c)
	shown.declare(c, append(slices.Clone(overview.PlanTables), overview.LedgerTables...))
	return c
}

// tellPlan writes the page of a plan, with notes before those that it has.
func (p *program) tellPlan(o *opened, planned *plan.Plan, notes []page.Words, f *reportFlags) error {
	worst, err := plan.WorstCaseOf(o.Suite, planned, o.Tasks())
	if err != nil {
		return exit.With(exit.WrongSpec, "", "%w", err)
	}
	sheet := overview.Plan(o.Suite, planned, worst, workers(o.Suite))
	sheet.Notes = append(notes, sheet.Notes...)
	return p.write(sheet, f)
}

// powerFlags ask how large a suite has to be.
type powerFlags struct {
	difference string // as it was written
	detect     float64
	from       []string
	changed    func(flag string) bool
}

func (f *powerFlags) declare(c *cobra.Command) {
	refusing(c, f.validate)
	c.Flags().StringVar(&f.difference, "detect", "", "show how many tasks or trials it takes to detect a score difference, for example 0.05 or 5%")
	c.Flags().StringArrayVar(&f.from, "from", nil, "earlier results or a baseline to take the variance from: one of two or more configurations, or two as in diff BASE NEW")
	f.changed = c.Flags().Changed
}

func (f *powerFlags) validate([]string) (err error) {
	if len(f.from) > 2 {
		return exit.Usage("agentbench plan SUITE --from BASE --from NEW", "--from is given %d times", len(f.from))
	}
	if !f.changed("detect") {
		return nil
	}
	number, isShare := strings.CutSuffix(f.difference, "%")
	if f.detect, err = strconv.ParseFloat(number, 64); isShare {
		f.detect /= 100
	}
	if err != nil || !(f.detect > 0 && f.detect < 1) {
		return exit.Usage("0.05 or 5% is 5 points", "--detect %s: want a number between 0 and 1", f.difference)
	}
	return nil
}

// powerNotes say which differences a plan can show, and what others would take.
func (p *program) powerNotes(o *opened, planned *plan.Plan, f *powerFlags) (notes []page.Words, err error) {
	switch {
	case f.from != nil: // by the variance of earlier records
		v, err := p.variation(f.from)
		if err != nil {
			return nil, err
		}
		notes = append(notes, v.Detectable(planned.Tasks, planned.Trials))
		if f.detect > 0 {
			notes = append(notes, page.Saying(v.Needed(f.detect, planned.Tasks, planned.Trials)))
		}
	case len(o.Suite.Scorers) > 0 && planned.Tasks > 0 && planned.Part == nil:
		notes = append(notes, page.Saying(reports.AssumedPower(planned.Tasks, planned.Trials)))
		if f.detect > 0 {
			notes = append(notes, page.Saying(reports.AssumedNeed(f.detect)))
		}
	}
	return notes, nil
}

// variation measures that of one place with several configurations, or that
// between two places.
func (p *program) variation(from []string) (*reports.Variation, error) {
	at, first, err := p.readFrom(from[0])
	if err != nil {
		return nil, err
	}
	if len(from) == 2 {
		return p.variationTo(at, first, from[1])
	}
	if at.Configuration != "" {
		return nil, exit.Usage("name "+exit.ShellWord(at.Path)+" alone, or two results: --from BASE --from NEW", "--from %s is one configuration; a difference needs two", from[0])
	}
	v, err := first.Variation()
	if err != nil {
		return nil, exit.Usage("name results of two configurations with scores, or two results: --from BASE --from NEW", "--from %s: %v", from[0], err)
	}
	return v, nil
}

// variationTo measures that between a place and another one.
func (p *program) variationTo(base *results.Place, before *reports.Report, text string) (*reports.Variation, error) {
	at, after, err := p.readFrom(text)
	if err != nil {
		return nil, err
	}
	if err := base.Distinct(at); err != nil {
		return nil, err
	}
	v, err := reports.VariationBetween(before, after, reports.DiffOptions{
		BaseName: base.Text, NewName: at.Text, BaseConfiguration: base.Configuration, NewConfiguration: at.Configuration,
	})
	if err != nil {
		return nil, exit.Usage("name two results of the same tasks, with scores", "--from %s --from %s: %v", base.Text, text, err)
	}
	return v, nil
}

func (p *program) readFrom(text string) (*results.Place, *reports.Report, error) {
	at, err := p.openPlace(text, results.BaselineFolder)
	if err != nil {
		return nil, nil, err
	}
	r, err := reports.Of(at.Results)
	return at, r, err
}

// openPlan loads a suite and plans its runs; narrow, unless nil, may narrow the selection to what the suite has.
func (p *program) openPlan(path string, f *selectionFlags, narrow func(*opened) error) (*opened, *plan.Plan, error) {
	o, err := p.openSuite(path, f.set)
	if err != nil {
		return nil, nil, err
	}
	if f.trials > 0 {
		o.Suite.Trials = f.trials
	}
	tasks, faults := o.CountTasks()
	p.print(faults)
	if faults.Err() != nil {
		return nil, nil, exit.Quiet(exit.WrongSpec)
	}
	if err := o.knowsTasks(f.tasks); err != nil {
		return nil, nil, err
	}
	if narrow != nil {
		if err := narrow(o); err != nil {
			return nil, nil, err
		}
	}
	planned, err := plan.New(o.Suite, tasks, plan.Selection{Configurations: f.configurations, Tasks: f.tasks, Limit: f.limit})
	if err != nil {
		return nil, nil, unknown(err)
	}
	return o, planned, p.shardPlan(o, planned, &f.shardFlags)
}

// knowsTasks refuses the ids of tasks that the suite does not have.
func (o *opened) knowsTasks(wanted []string) error {
	if len(wanted) == 0 {
		return nil
	}
	var known []string
	for task, err := range o.Tasks() {
		if err != nil {
			return exit.With(exit.WrongSpec, "", "%w", err)
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
	return exit.Usage(exit.DidYouMean(missing.Name, missing.Known, "there are: "+exit.Some(missing.Known)), "%w", err)
}
