package command

import (
	"context"
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
	var f repairFlags
	c := &cobra.Command{
		Use:     "repair DIR",
		Short:   "Repair a damaged result folder",
		GroupID: "look",
		Long: `Keeps every intact record, moves damaged lines to records.damaged.jsonl, drops
damaged scores and those of lost runs, and lists what was lost. Afterwards run --out DIR
reruns the lost runs. A damaged budget ledger is rebuilt from its whole entries. The
states of workspaces are read: those that are damaged are listed, and folders that a
killed session left are removed.

--release also returns to the budget what is in doubt: the possible cost of calls that
got no answer. --prune removes states of workspaces that no run has any more, such as
those of runs that were made again. --compact rewrites scores.jsonl without the scores
that later ones replaced. --dry-run changes nothing and exits with 1 if anything is damaged.`,
		Args: arguments(1, 1, "one result folder"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case f.look && f.release:
				return exit.Usage("agentbench plan "+exit.ShellWord(args[0])+" shows what is in doubt", "--dry-run and --release do not go together")
			case f.look && (f.prune || f.compact):
				return exit.Usage("", "--dry-run does not go together with --prune and --compact")
			}
			return p.repair(c.Context(), args[0], f)
		},
	}
	c.Flags().BoolVar(&f.look, "dry-run", false, "only list the damage")
	c.Flags().BoolVar(&f.release, "release", false, "return what is in doubt to the budget")
	c.Flags().BoolVar(&f.prune, "prune", false, "remove states of workspaces that no run has any more")
	c.Flags().BoolVar(&f.compact, "compact", false, "remove scores that later ones replaced")
	return c
}

type repairFlags struct{ look, release, prune, compact bool }

func (p *program) repair(ctx context.Context, dir string, f repairFlags) error {
	found, err := p.repaired(dir, f.look)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return exit.Usage(results.Hint(dir), "%s holds no results", dir)
	case err != nil:
		return results.Unresumable(dir, err)
	}
	states, pruned := &results.Damage{}, ""
	if !f.look || found.Moved == 0 { // damaged records do not say which states they name
		if states, pruned, err = p.repairStates(ctx, dir, f); err != nil {
			return results.Unresumable(dir, err)
		}
	}
	text := overview.Repaired(dir, exit.ShellWord(dir), found, overview.States(states.Faults, states.Lost, states.Left, f.look), f.look) + pruned
	if f.release {
		released, err := record.ReleaseLedger(dir)
		if err != nil {
			return results.Unresumable(dir, err)
		}
		text += overview.Released(dir, released)
	}
	if f.compact {
		done, err := record.CompactScores(dir, p.recording())
		if err != nil {
			return results.Unscorable(dir, err)
		}
		text += fmt.Sprintf("scores.jsonl: %d bytes, before %d\n", done.After, done.Before)
	}
	if _, err := fmt.Fprint(p.out, text); unlessClosed(err) != nil {
		return exit.Unmeasured(err)
	}
	if f.look && !(found.Whole() && states.None()) {
		return exit.Quiet(exit.AnswerNo)
	}
	return nil
}

// repairStates looks at the states of workspaces, removes what a killed session left beside
// them, and, where that is asked for, the states that no run has any more.
func (p *program) repairStates(ctx context.Context, dir string, f repairFlags) (states *results.Damage, pruned string, err error) {
	if !f.look {
		release, err := record.Hold(dir)
		if err != nil {
			return nil, "", err
		}
		defer release()
	}
	if states, err = results.DamagedStates(ctx, dir); err == nil && !f.look {
		err = results.ClearWorkspaces(dir)
	}
	if f.prune && err == nil {
		var freed int64
		freed, err = results.PruneStates(dir)
		pruned = overview.Pruned(freed)
	}
	return states, pruned, err
}

func (p *program) repaired(dir string, look bool) (*record.Repaired, error) {
	if look {
		return record.Inspect(dir)
	}
	return record.Repair(dir, record.Options{})
}
