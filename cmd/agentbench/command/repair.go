package command

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/overview"
)

func (p *program) repairCommand() *cobra.Command {
	var look, release bool
	c := &cobra.Command{
		Use:     "repair DIR",
		Short:   "Make a damaged result folder whole again",
		GroupID: "look",
		Long: `Keeps every good line of the records, moves the damaged ones to records.damaged.jsonl,
makes the signals again, drops scores of runs that are no longer there, and says what
was lost. Then run with --out DIR makes the lost runs again. A damaged manifest.json is
restored from its copy, and a damaged ledger of the budget is written anew: what its
bad entries came to counts as spent.

With --release the budget is also given back what is in doubt: what calls may have cost
whose answers did not come. With --dry-run it changes nothing and exits with 1 where
something is damaged.`,
		Args: arguments(1, 1, "one result folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if look && release {
				return exit.Usage("agentbench plan "+exit.ShellWord(args[0])+" shows what is in doubt", "--dry-run and --release do not go together")
			}
			return p.repair(args[0], look, release)
		},
	}
	c.Flags().BoolVar(&look, "dry-run", false, "only say what is damaged")
	c.Flags().BoolVar(&release, "release", false, "release what is in doubt of the budget")
	return c
}

func (p *program) repair(dir string, look, release bool) error {
	found, err := p.repaired(dir, look)
	var manifest *record.DamagedManifest
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return exit.Usage(results.Hint(dir), "%s holds no results", dir)
	case errors.As(err, &manifest):
		return exit.With(exit.NotMeasured, results.MakeAgain,
			"%w, and there is no whole copy of it: nothing of it can be restored", err)
	case err != nil:
		return results.Unresumable(dir, err)
	}
	text := overview.Repaired(dir, exit.ShellWord(dir), found, look)
	if release {
		released, err := record.ReleaseLedger(dir)
		if err != nil {
			return results.Unresumable(dir, err)
		}
		found.LedgerLost = nil
		text += overview.Released(dir, released)
	}
	if _, err := fmt.Fprint(p.out, text); unlessClosed(err) != nil {
		return exit.Unmeasured(err)
	}
	switch {
	case look && !found.Whole():
		return exit.Quiet(exit.AnswerNo)
	case found.LedgerLost != nil:
		return exit.With(exit.NotMeasured, "agentbench repair --release "+exit.ShellWord(dir)+" begins the ledger anew with what the records prove was paid", "%w", found.LedgerLost)
	}
	return nil
}

func (p *program) repaired(dir string, look bool) (*record.Repaired, error) {
	if look {
		return record.Inspect(dir)
	}
	return record.Repair(dir, record.Options{})
}
