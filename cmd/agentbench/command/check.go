package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine"
	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/reports/overview"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/spec/source"
)

func (p *program) checkCommand() *cobra.Command {
	var tune bool
	var f reportFlags
	c := &cobra.Command{
		Use:     "check FILE...",
		Short:   "Check suites, loops and mappings for errors",
		GroupID: "write",
		Long: `Reads suites, loops and mappings with all their files, and prints every error with its
place and a hint. FILE can be - for stdin, or the name of a suite that ships.
Exits with 3 if anything is wrong.

--tune lists the parameters, those under tune first: which values recorded runs can
answer for, and why not others.`,
		Args: arguments(1, -1, "one or more files"),
		RunE: func(c *cobra.Command, args []string) error { return p.checkAll(c.Context(), args, tune, &f) },
	}
	c.Flags().BoolVar(&tune, "tune", false, "list which parameters can be replayed, and which need new runs")
	f.declare(c, overview.ReplayTables)
	return c
}

// checkAll checks files, and ends with the highest code of all: faults are printed as
// they are found.
func (p *program) checkAll(ctx context.Context, paths []string, tune bool, f *reportFlags) error {
	var worst *exit.Error
	var fine []overview.Checked
	for _, path := range paths {
		checked, err := p.check(ctx, path)
		var e *exit.Error
		switch {
		case err == nil:
			fine = append(fine, *checked)
		case errors.As(err, &e) && (worst == nil || e.Code > worst.Code):
			worst = e
		}
	}
	sheet := overview.Files(fine)
	if f.format == "terminal" { // a line each
		for _, c := range fine {
			text := fmt.Sprintf("%s: %s %s is fine", c.File, c.Kind, page.Visible(c.Name))
			if c.About != "" {
				text += ": " + c.About
			}
			if n := len(c.Warnings); n > 0 {
				text += " (" + page.Plural(n, "warning", "warnings") + ")"
			}
			fmt.Fprintln(p.out, text)
		}
		sheet = &page.Sheet{}
	}
	if tune && len(fine) > 0 {
		of := overview.Replayable(fine)
		sheet.Kind, sheet.Head, sheet.Notes, sheet.List = of.Kind, of.Head, of.Notes, append(sheet.List, of.List...)
	}
	var failed error
	if len(sheet.List) > 0 {
		if f.format == "terminal" {
			fmt.Fprintln(p.out)
		}
		failed = p.write(sheet, f)
	}
	if worst != nil {
		return worst
	}
	return failed
}

// sandboxed refuses a suite or a loop whose sandbox cannot be had on this machine.
func (p *program) sandboxed(ctx context.Context, o *opened) error {
	if err := engine.CheckSandboxes(ctx, o.Document, p.env); err != nil {
		return exit.With(exit.WrongSpec, "", "%w", err)
	}
	return nil
}

// check reads a file with all that it names; its tasks, too, where it is a suite.
func (p *program) check(ctx context.Context, path string) (*overview.Checked, error) {
	o, err := p.open(path, nil)
	if err != nil {
		return nil, err
	}
	p.warn(o, nil)
	p.print(o.Hints())
	if err := p.sandboxed(ctx, o); err != nil {
		return nil, err
	}
	tasks := 0
	if o.Suite != nil {
		var faults source.Faults
		tasks, faults = o.CountTasks()
		p.print(faults)
		if faults.Err() != nil {
			return nil, exit.Quiet(exit.WrongSpec)
		}
	}
	checked := overview.Check(o.Document, path, tasks)
	if engine.Unboxed(o.Document) {
		checked.About = strings.TrimPrefix(checked.About+"; without a sandbox, its programs can read all files of this user", "; ")
	}
	return &checked, nil
}
