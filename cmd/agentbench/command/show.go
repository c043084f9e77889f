package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/imports"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/reports/trajectory"
)

// showFlags are the flags of show.
type showFlags struct {
	reportFlags
	trajectory.Filter
	status             string
	json, events, full bool
	atif               bool // the format of one run
}

func (p *program) showCommand() *cobra.Command {
	var f showFlags
	c := &cobra.Command{
		Use:     "show DIR [RUN]",
		Short:   "List the runs in a result folder, or show one and why it stopped",
		GroupID: "look",
		Long: `Without RUN: lists the runs. With the id of a run, such as default/task-1/1: shows every
iteration with its output, evaluation and usage, why the run stopped, and what it returned.
--format atif prints it in the Agent Trajectory Interchange Format.`,
		Args: arguments(1, 2, "a result folder, and perhaps a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.validate(len(args) == 2); err != nil {
				return err
			}
			m, err := p.openManifest(args[0])
			if err != nil {
				return err
			}
			for i, name := range f.Configurations {
				if head, ok := m.Configuration(name); ok {
					f.Configurations[i] = head.Name
				}
			}
			switch {
			case len(args) == 2:
				return p.show(args[0], &m, args[1], &f)
			case f.json:
				return p.listRecords(args[0], &f)
			}
			sheet, err := trajectory.List(args[0], &m, f.Filter, func(err error) { fmt.Fprintln(p.err, "agentbench: warning:", err) })
			if err != nil {
				return err
			}
			return p.write(sheet, &f.reportFlags)
		},
	}
	c.Flags().IntVar(&f.Most, "limit", 20, "list at most N runs of each configuration; 0: all")
	c.Flags().StringVar(&f.status, "status", "", "list only runs with this status: completed, failed, fault, cancelled")
	c.Flags().StringArrayVar(&f.Configurations, "configuration", nil, "list only runs of this configuration (repeatable)")
	c.Flags().StringArrayVar(&f.Tasks, "task", nil, "list only runs of this task (repeatable)")
	c.Flags().BoolVar(&f.json, "json", false, "print the records as JSON Lines")
	c.Flags().BoolVar(&f.events, "events", false, "print the events of the run as JSON Lines")
	c.Flags().BoolVar(&f.full, "full", false, "show outputs and feedback in full")
	f.reportFlags.declare(c, trajectory.TableNames)
	return c
}

func (f *showFlags) validate(one bool) error {
	states := []string{string(record.Completed), string(record.Failed), string(record.Faulted), string(record.Cancelled)}
	if f.Status = record.Status(f.status); f.status != "" && !slices.Contains(states, f.status) {
		return exit.Usage("there are: "+strings.Join(states, ", "), "unknown status %q", f.status)
	}
	if f.atif = one && f.format == "atif"; f.atif {
		f.format = "terminal"
	}
	if f.format == "atif" {
		return exit.Usage("agentbench show DIR RUN --format atif; all runs: agentbench export atif DIR --out FOLDER", "--format atif needs the name of a run")
	}
	if err := f.reportFlags.validate(); err != nil || !one {
		return err
	}
	if f.format != "terminal" || len(f.writes) > 0 {
		return exit.Usage("--json prints its record, --format atif its trajectory", "--format and --write are for the list of runs")
	}
	return nil
}

// show tells one run.
func (p *program) show(dir string, m *record.Manifest, id string, f *showFlags) error {
	run, scores, err := trajectory.Find(dir, m, id)
	switch {
	case err != nil:
		return err
	case f.events:
		for event := range record.Events(run) {
			if err := p.line(event); err != nil {
				return err
			}
		}
		return nil
	case f.json:
		return p.line(run)
	case f.atif:
		text, err := imports.ATIF(run, scores)
		if err != nil {
			return exit.Unmeasured(err)
		}
		_, err = p.out.Write(text)
		return unlessClosed(err)
	}
	fmt.Fprint(p.out, trajectory.Tell(run, trajectory.Options{Full: f.full, Width: p.width(p.out), Scores: scores}))
	return nil
}

// listRecords prints the records themselves, in the order in which they finished.
func (p *program) listRecords(dir string, f *showFlags) error {
	for run, err := range record.ReadRuns(dir) {
		switch {
		case record.Unreadable(err):
			return exit.Unmeasured(err)
		case err != nil:
			fmt.Fprintln(p.err, "agentbench:", err)
		case f.Wants(run.Configuration, run.Task, run.Outcome.Status):
			if err := p.line(run); err != nil {
				return err
			}
		}
	}
	return nil
}
