package command

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/exit"
	"github.com/agentbench/agentbench/engine/record"
	"github.com/agentbench/agentbench/engine/results"
	"github.com/agentbench/agentbench/reports/overview"
	"github.com/agentbench/agentbench/reports/page"
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
		return exit.With(exit.NotMeasured, "the runs stand in records.jsonl, one a line; run with another --out makes the suite again, and with the cache pays for little",
			"%w, and there is no whole copy of it: nothing of it can be restored", err)
	case err != nil:
		return results.Unresumable(dir, err)
	}
	text := repairText(dir, found, look)
	if release {
		released, err := record.ReleaseLedger(dir)
		if err != nil {
			return results.Unresumable(dir, err)
		}
		found.LedgerLost = nil
		text += releaseText(dir, released)
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

// releaseText says what was released.
func releaseText(dir string, b *record.Balance) string {
	switch doubt := b.InDoubt(); {
	case !b.Kept:
		return dir + ": there is no ledger, and nothing is in doubt\n"
	case doubt == record.Usage{}:
		return fmt.Sprintf("%s: nothing is in doubt; %s are paid\n", dir, overview.Spending(b.Paid))
	default:
		return fmt.Sprintf("%s: released %s; %s are paid\n", dir, overview.Spending(doubt), overview.Spending(b.Paid))
	}
}

func (p *program) repaired(dir string, look bool) (*record.Repaired, error) {
	if look {
		return record.Inspect(dir)
	}
	return record.Repair(dir, record.Options{})
}

// repairText tells the damage of a folder and what became of it.
func repairText(dir string, r *record.Repaired, look bool) string {
	kept := page.Plural(r.Kept, "record is", "records are") + " whole"
	if r.Whole() {
		return fmt.Sprintf("%s: %s, and nothing is damaged\n", dir, kept)
	}
	var b strings.Builder
	verb := func(done string) string {
		if look {
			return "to be " + done
		}
		return done
	}
	if r.Manifest != nil {
		fmt.Fprintf(&b, "%v; %s from manifest.copy.json\n", r.Manifest, verb("restored"))
	}
	for _, problem := range r.Ledger.Damage {
		fmt.Fprintln(&b, problem)
	}
	if lost := r.Ledger.Doubt[record.CauseLost]; lost != (record.Usage{}) && r.LedgerLost == nil {
		fmt.Fprintf(&b, "what is missing of the ledger counts as spent: %s\n", overview.Spending(lost))
	}
	for _, problem := range r.Damage {
		fmt.Fprintln(&b, problem)
	}
	if r.Unsignalled > 0 {
		fmt.Fprintf(&b, "signals.jsonl: %s; %s from records.jsonl\n", page.Plural(r.Unsignalled, "record has no line", "records have no line"), verb("made again"))
	} else if r.Disordered {
		fmt.Fprintf(&b, "signals.jsonl: its lines are not those of the records in their order; %s from records.jsonl\n", verb("made again"))
	}
	fmt.Fprintf(&b, "%s: %s", dir, kept)
	if r.Moved > 0 {
		fmt.Fprintf(&b, ", %s %s to records.damaged.jsonl", page.Plural(r.Moved, "line", "lines"), verb("moved"))
	}
	if r.Unscored > 0 {
		fmt.Fprintf(&b, ", %s of scores %s", page.Plural(r.Unscored, "line", "lines"), verb("dropped"))
	}
	b.WriteString("\n")
	for _, id := range r.Lost {
		fmt.Fprintf(&b, "lost: %s\n", page.Visible(id))
	}
	if len(r.Lost) > 0 || r.Moved > 0 || r.Unscored > 0 {
		fmt.Fprintf(&b, "agentbench run SUITE --out %s makes what is missing again\n", exit.ShellWord(dir))
	}
	return b.String()
}
