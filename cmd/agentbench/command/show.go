package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/trajectory"
)

type showFlags struct {
	reportFlags
	trajectory.Filter
	status             string
	json, events, full bool
	diff               bool
	files              string // the folder for the returned files
}

func (p *program) showCommand() *cobra.Command {
	var f showFlags
	c := &cobra.Command{
		Use:     "show DIR [RUN]",
		Short:   "List the runs in a result folder, or show one and why it stopped",
		GroupID: "look",
		Long: `Without RUN: lists the runs. With the id of a run, such as default/task-1/1: shows every
iteration with its output, evaluation and usage, why the run stopped, and what it returned.

Of a run with a workspace, --diff prints what each iteration changed, and --files FOLDER
writes the files of the iteration that was returned; export workspace writes others.`,
		Args: arguments(1, 2, "a result folder, and perhaps a run"),
		RunE: func(c *cobra.Command, args []string) error {
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
				return p.show(c.Context(), args[0], &m, args[1], &f)
			case f.json:
				return p.listRecords(args[0], &f)
			}
			sheet, err := trajectory.List(args[0], &m, f.Filter)
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
	c.Flags().BoolVar(&f.diff, "diff", false, "print what each iteration changed of the run's workspace")
	c.Flags().StringVar(&f.files, "files", "", "write the files of the returned iteration into a new `FOLDER`")
	refusing(c, f.validate)
	f.reportFlags.declare(c, trajectory.TableNames)
	return c
}

func (f *showFlags) validate(args []string) error {
	one := len(args) == 2
	states := []string{string(record.Completed), string(record.Failed), string(record.Faulted), string(record.Cancelled)}
	if f.Status = record.Status(f.status); f.status != "" && !slices.Contains(states, f.status) {
		return exit.Usage("there are: "+strings.Join(states, ", "), "unknown status %q", f.status)
	}
	ways := 0
	for _, asked := range []bool{f.json, f.events, f.diff, f.files != ""} {
		if asked {
			ways++
		}
	}
	switch err := f.reportFlags.validate(args); {
	case err != nil:
		return err
	case !one && (f.diff || f.files != ""):
		return exit.Usage("agentbench show DIR RUN", "--diff and --files are for one run")
	case !one:
		return nil
	case ways > 1 && (f.diff || f.files != ""):
		return exit.Usage("", "give one of --diff, --files, --json and --events")
	}
	if f.format != "terminal" || len(f.writes) > 0 {
		return exit.Usage("--json prints its record", "--format and --write are for the list of runs")
	}
	return nil
}

func (p *program) show(ctx context.Context, dir string, m *record.Manifest, id string, f *showFlags) error {
	run, scores, err := trajectory.Find(dir, m, id)
	switch {
	case err != nil:
		return err
	case f.diff:
		return p.showDifferences(ctx, dir, run)
	case f.files != "":
		return p.restore(ctx, dir, run, results.Moment{Run: run.ID}, f.files)
	case f.events:
		for event := range record.Events(run) {
			if err := p.line(event); err != nil {
				return err
			}
		}
		return nil
	case f.json:
		return p.line(run)
	}
	fmt.Fprint(p.out, trajectory.Tell(run, trajectory.Options{Full: f.full, Width: p.width(p.out), Scores: scores}))
	return nil
}

// showDifferences tells what the iterations of a run changed in its workspace.
func (p *program) showDifferences(ctx context.Context, dir string, run *record.Run) (err error) {
	if run.Seed == "" {
		return results.NoWorkspace(run)
	}
	states, err := results.OpenStates(dir)
	if err != nil {
		return err
	}
	defer states.Close()
	made, err := states.Differences(ctx, run)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(p.out, p.secrets.String(trajectory.Differences(run, made)))
	return unlessClosed(err)
}

// restore writes the state of a run's workspace into a new folder.
func (p *program) restore(ctx context.Context, dir string, run *record.Run, at results.Moment, out string) error {
	tree, err := results.Tree(run, at)
	if err != nil {
		return err
	}
	states, err := results.OpenStates(dir)
	if err != nil {
		return err
	}
	defer states.Close()
	if err := states.Restore(ctx, tree, out); err != nil {
		return err
	}
	redacted, err := p.redactFiles(out)
	if err != nil {
		return exit.Unmeasured(err)
	}
	n := at.Iteration
	if n == 0 {
		n = run.Outcome.Returned
	}
	fmt.Fprintf(p.out, "%s: the workspace of %s after iteration %d\n", out, page.Visible(run.ID), n)
	if redacted > 0 {
		fmt.Fprintf(p.err, "agentbench: warning: secrets in %s of it were redacted\n", page.Plural(redacted, "file", "files"))
	}
	return nil
}

// redactFiles hides secrets in the files below a folder, and counts those that held some. It follows no link.
func (p *program) redactFiles(dir string) (redacted int, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := root.ReadFile(path)
		if err != nil {
			return err
		}
		if hidden := p.secrets.Redact(text); !bytes.Equal(hidden, text) {
			redacted++
			info, err := e.Info()
			if err = errors.Join(err, root.Remove(path)); err != nil { // it may not be written to
				return err
			}
			return root.WriteFile(path, hidden, info.Mode().Perm())
		}
		return nil
	})
	return redacted, err
}

// listRecords prints the records themselves, in the order in which they finished.
func (p *program) listRecords(dir string, f *showFlags) error {
	for run, err := range record.ReadRuns(dir) {
		switch {
		case err != nil:
			return exit.Unmeasured(err)
		case f.Wants(run.Configuration, run.Task, run.Outcome.Status):
			if err := p.line(run); err != nil {
				return err
			}
		}
	}
	return nil
}
