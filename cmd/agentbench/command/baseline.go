package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/page"
)

// declareBaselines lets the user say where baselines are.
func declareBaselines(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "baselines", results.BaselineFolder, "folder with the baselines")
}

func (p *program) baselineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "baseline",
		Short:   "Keep results as a baseline for later comparisons",
		GroupID: "look",
		Long: `Keeps results as a small file that can be committed to git: scores and usage of every
run, without the trajectories. Files are baselines/NAME.jsonl; diff, run and report
find them by --baseline NAME.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error { return unknownCommand(c, args) },
	}
	c.AddCommand(p.baselineSetCommand(), p.baselineListCommand(), p.baselineRemoveCommand())
	return c
}

func (p *program) baselineSetCommand() *cobra.Command {
	var dir string
	var incomplete bool
	c := &cobra.Command{
		Use:   "set NAME DIR[:CONFIGURATION]",
		Short: "Save results as a baseline",
		Long: `Saves a result folder, or one of its configurations, as a baseline. A baseline of that
name is replaced. The same results give the same bytes.`,
		Args: arguments(2, 2, "a name and a result folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if !results.IsFolder(args[1]) && results.IsFolder(args[0]) {
				return exit.Usage("agentbench baseline set "+exit.ShellWord(args[1])+" "+exit.ShellWord(args[0]), "the name comes first: %s is a result folder", args[0])
			}
			if err := results.CheckBaseline(args[0]); err != nil {
				return err
			}
			from, err := p.openPlace(args[1], dir)
			if err != nil {
				return err
			}
			return p.setBaseline(args[0], dir, from, incomplete)
		},
	}
	declareBaselines(c, &dir)
	c.Flags().BoolVar(&incomplete, "allow-incomplete", false, "allow results that are not complete")
	return c
}

func (p *program) setBaseline(name, dir string, from *results.Place, incomplete bool) error {
	m := &from.Manifest
	if m.Status != record.StateComplete && !incomplete {
		return exit.With(exit.NotMeasured, "resume it with agentbench run, or use --allow-incomplete", "%s is not complete: it is %s", from.Path, m.Status)
	}
	if m.Incomplete != "" && !incomplete {
		return exit.With(exit.NotMeasured, "agentbench merge joins shards; --allow-incomplete saves the part that is there", "%s is not complete: %s", from.Path, page.Visible(m.Incomplete))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return exit.With(exit.NotMeasured, "name another folder with --baselines", "making the folder of the baselines: %w", err)
	}
	p.learnFolder(from.Results)
	options := record.BaselineOptions{Redact: p.secrets.Redact}
	if from.Configuration != "" {
		options.Configurations = []string{from.Configuration}
	}
	file := results.BaselineFile(dir, name)
	err := p.replaceFile(file, func(to io.Writer) error { return record.WriteBaseline(to, from.Results, options) })
	switch {
	case errors.Is(err, record.ErrNoneCounts):
		return exit.With(exit.NotMeasured, "agentbench show "+exit.ShellWord(from.Path)+" lists the runs", "%s holds no run that counts", from.Path)
	case err != nil:
		return exit.Unmeasured(err)
	}
	return p.tellBaseline(name, file)
}

// tellBaseline says what a baseline holds, as it is read back.
func (p *program) tellBaseline(name, file string) error {
	results, err := results.OpenBaseline(file)
	if err != nil {
		return err
	}
	m := &results.Manifest
	fmt.Fprintf(p.out, "%s: %s, %s of %s in %s\n", name, page.Visible(m.Suite), page.Plural(m.Totals.Runs(), "run", "runs"),
		page.Plural(len(m.Configurations), "configuration", "configurations"), file)
	return nil
}

func (p *program) baselineListCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the baselines",
		Args:  arguments(0, 0, "nothing"),
		RunE: func(*cobra.Command, []string) error {
			names, err := results.Baselines(dir)
			if err != nil {
				return exit.With(exit.NotMeasured, "", "reading the folder of the baselines: %w", err)
			}
			if len(names) == 0 {
				fmt.Fprintf(p.err, "no baselines in %s; agentbench baseline set NAME DIR saves one\n", dir)
			}
			var failed error
			for _, name := range names {
				if err := p.tellBaseline(name, results.BaselineFile(dir, name)); err != nil {
					fmt.Fprintf(p.err, "agentbench: warning: %v\n", err)
					failed = exit.Quiet(exit.NotMeasured)
				}
			}
			return failed
		},
	}
	declareBaselines(c, &dir)
	return c
}

func (p *program) baselineRemoveCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a baseline",
		Args:  arguments(1, 1, "one name"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := results.CheckBaseline(args[0]); err != nil {
				return err
			}
			err := os.Remove(results.BaselineFile(dir, args[0]))
			if errors.Is(err, fs.ErrNotExist) {
				return results.NoBaseline(args[0], dir)
			}
			if err != nil {
				return exit.With(exit.NotMeasured, "", "removing the baseline: %w", err)
			}
			return nil
		},
	}
	declareBaselines(c, &dir)
	return c
}
