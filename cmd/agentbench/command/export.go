package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
	"github.com/agentbench/agentbench/reports/trajectory"
)

func (p *program) exportCommand() *cobra.Command {
	var out, to string
	formats := append([]string{"atif"}, results.TableFormats...)
	c := &cobra.Command{
		Use:     "export [FORMAT] DIR",
		Short:   "Write recorded runs in a format that other tools read",
		GroupID: "look",
		Long: `Writes a result folder for other tools.

  parquet, csv  four tables: runs, iterations, scores and scores at steps, with one file each
  atif          a file for each run, FOLDER/CONFIGURATION/TASK/TRIAL.json: the Agent Trajectory Interchange
                Format of Harbor. agentbench show DIR RUN --format atif prints one run

export workspace writes the files of one run.`,
		Example: `  agentbench export results/quickstart --to parquet --out tables
  agentbench export atif results/quickstart --out trajectories`,
		Args: arguments(1, 2, "a result folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 {
				if to != "" && to != args[0] {
					return exit.Usage("", "the format is given twice: %s and %s", args[0], to)
				}
				to, args = args[0], args[1:]
			}
			switch {
			case to == "":
				return exit.Usage("agentbench export "+args[0]+" --to parquet --out FOLDER; formats: "+strings.Join(formats, ", "), "export: which format?")
			case !slices.Contains(formats, to):
				return exit.Usage(exit.DidYouMean(to, formats, "formats: "+strings.Join(formats, ", ")), "unknown format %q", to)
			case out == "":
				return exit.Usage("--out FOLDER", "export: where to?")
			}
			if _, err := p.openManifest(args[0]); err != nil {
				return err
			}
			if entries, err := os.ReadDir(out); len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
				return exit.Usage("name a new folder with --out", "%s is not empty", out)
			}
			if to == "atif" {
				written, err := results.WriteTrajectories(args[0], out, func(err error) { fmt.Fprintln(p.err, "agentbench: warning:", err) })
				if err == nil {
					fmt.Fprintf(p.out, "%s: exported %s\n", out, page.Plural(written, "run", "runs"))
				}
				return exit.Unmeasured(err)
			}
			return p.exportTables(args[0], out, to)
		},
	}
	c.AddCommand(p.exportWorkspaceCommand())
	outFlag(c, &out, "new folder for the files")
	c.Flags().StringVar(&to, "to", "", "format: "+strings.Join(formats, ", "))
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
	n, err := results.WriteTables(dir, out, format, page.CellText, func(err error) { fmt.Fprintln(p.err, "agentbench: warning:", err) })
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
