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
		Short:   "Repair a damaged result folder",
		GroupID: "look",
		Long: `Keeps every intact record, moves damaged lines to records.damaged.jsonl, rebuilds the
signals, drops scores of lost runs, and lists what was lost. Afterwards run --out DIR
reruns the lost runs. A damaged manifest.json is restored from its copy. A damaged
budget ledger is rebuilt: what its bad entries add up to counts as spent.

--release also returns to the budget what is in doubt: the possible cost of calls that
got no answer. --dry-run changes nothing and exits with 1 if anything is damaged.`,
		Args: arguments(1, 1, "one result folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if look && release {
				return exit.Usage("agentbench plan "+exit.ShellWord(args[0])+" shows what is in doubt", "--dry-run and --release do not go together")
			}
			return p.repair(args[0], look, release)
		},
	}
	c.Flags().BoolVar(&look, "dry-run", false, "only list the damage")
	c.Flags().BoolVar(&release, "release", false, "return what is in doubt to the budget")
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
			"%w, and it has no intact copy: it cannot be restored", err)
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
		return exit.With(exit.NotMeasured, "agentbench repair --release "+exit.ShellWord(dir)+" rebuilds the ledger from what the records prove was paid", "%w", found.LedgerLost)
	}
	return nil
}

func (p *program) repaired(dir string, look bool) (*record.Repaired, error) {
	if look {
		return record.Inspect(dir)
	}
	return record.Repair(dir, record.Options{})
}
