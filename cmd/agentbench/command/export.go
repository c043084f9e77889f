package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/trajectory"
)

func (p *program) exportCommand() *cobra.Command {
	var out string
	to := "csv"
	c := &cobra.Command{
		Use:     "export DIR",
		Short:   "Write recorded runs as tables",
		GroupID: "look",
		Long: `Writes a result folder as four tables: runs, iterations, scores and scores at steps, with one file
each. csv is for spreadsheets; jsonl is JSON Lines, which keeps types and unknown values.

export workspace writes the files of one run.`,
		Example: `  agentbench export results/quickstart --to jsonl --out tables`,
		Args:    arguments(1, 1, "a result folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return exit.Usage("--out FOLDER", "export: where to?")
			}
			if _, err := p.openManifest(args[0]); err != nil {
				return err
			}
			if entries, err := os.ReadDir(out); len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
				return exit.Usage("name a new folder with --out", "%s is not empty", out)
			}
			return p.exportTables(args[0], out, to)
		},
	}
	c.AddCommand(p.exportWorkspaceCommand())
	outFlag(c, &out, "new folder for the files")
	choiceFlag(c, &to, "to", results.TableFormats, "format: csv or jsonl")
	return c
}

func (p *program) exportWorkspaceCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "workspace DIR RUN[@ITERATION[.STEP]]",
		Short: "Write the files that a run had in its workspace",
		Long: `Writes the workspace of a run as it was after an iteration into a new folder. Without an
iteration it is the one that the run returned.`,
		Example: `  agentbench export workspace results/bugs fix/task-1/1@2 --out files`,
		Args:    arguments(2, 2, "a result folder and a run"),
		RunE: func(c *cobra.Command, args []string) error {
			if out == "" {
				return exit.Usage("--out FOLDER", "export workspace: where to?")
			}
			m, err := p.openManifest(args[0])
			if err != nil {
				return err
			}
			at := results.ParseMoment(args[1])
			run, _, err := trajectory.Find(args[0], &m, at.Run)
			if err != nil {
				return err
			}
			return p.restore(c.Context(), args[0], run, at, out)
		},
	}
	outFlag(c, &out, "new folder for the files")
	return c
}

func (p *program) exportTables(dir, out, format string) error {
	n, err := results.WriteTables(dir, out, format, page.CellText)
	if err != nil {
		return exit.Unmeasured(err)
	}
	text := fmt.Sprintf("%s: %s, %s, %s", out, page.Plural(n.Runs, "run", "runs"), page.Plural(n.Iterations, "iteration", "iterations"), page.Plural(n.Scores, "score", "scores"))
	if n.Steps > 0 {
		text += ", " + page.Plural(n.Steps, "score at steps", "scores at steps")
	}
	fmt.Fprintln(p.out, text)
	return nil
}
