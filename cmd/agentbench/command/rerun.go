package command

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/plan"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports"
	"github.com/agentbench/agentbench/reports/page"
)

type rerunFlags struct {
	// lastFailed is the folder whose failed tasks are run again: newestResults, or its path; "": all tasks are run.
	lastFailed string
}

// newestResults selects the newest results of the suite.
const newestResults = "newest"

func (f *rerunFlags) declare(c *cobra.Command) {
	c.Flags().StringVar(&f.lastFailed, "last-failed", "", "run only tasks that scored below 1 or had faults in the newest results of the suite, or in `DIR`")
	c.Flags().Lookup("last-failed").NoOptDefVal = newestResults
}

// onlyFailed narrows a selection to the tasks that failed before, and to the configurations that failed in any of them.
func (p *program) onlyFailed(o *opened, f *runFlags) error {
	if !f.typed.Changed("last-failed") {
		return nil
	}
	at, dir, err := p.lastResults(o, f)
	if err != nil {
		return err
	}
	planned, err := plan.New(o.Suite, 0, plan.Selection{Configurations: f.configurations}) // it knows their aliases, and refuses others
	if err != nil {
		return unknown(err)
	}
	failed, rest, err := p.failedIn(at, dir)
	if err != nil {
		return err
	}
	configurations, tasks, err := f.still(o, planned, failed)
	if err != nil {
		return err
	}
	if len(tasks) == 0 {
		text := "no failed tasks in " + dir
		if len(configurations) > 0 || len(failed) > 0 && len(f.configurations) == 0 {
			text += " are in the suite and selected"
		}
		p.note(text + rest)
		return cmp.Or(p.writeNone(at.Manifest, text, &f.reportFlags), exit.Quiet(0))
	}
	if !f.quiet {
		p.note(fmt.Sprintf("rerunning %s of %s in %s", page.Plural(len(tasks), "failed task", "failed tasks"), page.Plural(len(configurations), "configuration", "configurations"), dir))
	}
	f.tasks, f.configurations = tasks, configurations
	return f.typed.Set("last-failed", dir) // the command that resumes names the folder
}

// writeNone writes what --format and --write ask for where nothing is run again: a report of no runs, so that no file of
// an earlier command is taken for that of this one.
func (p *program) writeNone(m record.Manifest, why string, f *reportFlags) error {
	m.Configurations, m.Metrics, m.Totals, m.Status, m.Volatile = nil, nil, record.Totals{}, record.StateComplete, record.ManifestVolatile{}
	none, err := reports.Collect(&m, func(func(*record.Run, error) bool) {}, func(func(record.Score, error) bool) {})
	if err != nil {
		return exit.Unmeasured(err)
	}
	none.NothingToRun, none.TaskCount, none.Baseline, none.Warnings = why, 0, "", []reports.Warning{}
	if f.format == "terminal" {
		return p.writeFiles(none, f)
	}
	return p.write(none, f)
}

// lastResults opens the earlier results of a suite.
func (p *program) lastResults(o *opened, f *runFlags) (at *results.Place, dir string, err error) {
	switch dir = f.lastFailed; dir {
	case "":
		return nil, "", exit.Usage("--last-failed alone takes the newest results of the suite", "--last-failed= names no folder")
	case newestResults:
		if dir = results.Newest(o.Suite.Name); dir == "" {
			return nil, "", exit.Usage("run the suite first, or name its results: --last-failed=DIR", "--last-failed: no results of the suite %s found in results", page.Visible(o.Suite.Name))
		}
	}
	if at, err = p.openPlace(dir, f.baselines); err != nil {
		return nil, "", err
	}
	if f.out != "" && at.Same(&results.Place{Results: &record.Results{Path: f.out}}) {
		return nil, "", exit.Usage("name another folder with --out", "--last-failed: %s holds the earlier results, and the new ones need another folder", dir)
	}
	if at.Manifest.Suite != o.Suite.Name {
		return nil, "", exit.Usage("name results of this suite: --last-failed=DIR", "--last-failed: %s holds results of the suite %s, not of %s", dir, page.Visible(at.Manifest.Suite), page.Visible(o.Suite.Name))
	}
	return at, dir, nil
}

// failedIn are the tasks that failed, by configuration, and what is to be said of runs that were not made.
func (p *program) failedIn(at *results.Place, dir string) (failed map[string][]string, rest string, err error) {
	report, err := reports.Of(at.Results)
	if err != nil {
		return nil, "", err
	}
	failed = map[string][]string{}
	passed, unscored := 0, 0
	for c := range report.Checks() {
		switch {
		case !c.Score || at.Configuration != "" && c.Group != at.Configuration:
		case c.Name == reports.RestNotRun:
			rest += fmt.Sprintf("; %s: %s", page.Visible(c.Group), c.Message)
		case c.State == page.Failed || c.State == page.Errored:
			failed[c.Group] = append(failed[c.Group], c.Name)
		case c.State == page.Skipped:
			unscored++
		default:
			passed++
		}
	}
	if len(failed) == 0 && passed == 0 && unscored > 0 {
		return nil, "", exit.Usage("agentbench score "+exit.ShellWord(at.Path)+" scores its runs", "--last-failed: %s has no scores", dir)
	}
	return failed, rest, nil
}

// still are the configurations and tasks of failures that are in the suite and selected.
func (f *runFlags) still(o *opened, planned *plan.Plan, failed map[string][]string) (configurations, tasks []string, err error) {
	any := map[string]bool{} // tasks that failed in any of the configurations
	for i := range planned.Configurations {
		c, fails := &planned.Configurations[i], false
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			for _, task := range failed[name] {
				any[task], fails = true, true
			}
		}
		if fails {
			configurations = append(configurations, c.Name)
		}
	}
	for task, err := range o.Tasks() {
		if err != nil {
			return nil, nil, exit.With(exit.WrongSpec, "", "%w", err)
		}
		if any[task.ID] && (len(f.tasks) == 0 || slices.Contains(f.tasks, task.ID)) {
			tasks = append(tasks, task.ID)
		}
	}
	return configurations, tasks, nil
}
