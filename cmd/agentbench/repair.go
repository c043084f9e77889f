package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/engine/record"
)

func (p *program) repairCommand() *cobra.Command {
	var look bool
	c := &cobra.Command{
		Use:     "repair DIR",
		Short:   "Make a damaged result folder whole again",
		GroupID: "look",
		Long: `Keeps every good line of the records, moves the damaged ones to records.damaged.jsonl,
makes the signals again, drops scores of runs that are no longer there, and says what
was lost. Then run with --out DIR makes the lost runs again.

With --dry-run it changes nothing and exits with 1 where something is damaged.`,
		Args: arguments(1, 1, "one result folder"),
		RunE: func(_ *cobra.Command, args []string) error { return p.repair(args[0], look) },
	}
	c.Flags().BoolVar(&look, "dry-run", false, "only say what is damaged")
	return c
}

func (p *program) repair(dir string, look bool) error {
	found, err := p.repaired(dir, look)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage(resultsHint(dir), "%s holds no results", dir)
	case err != nil:
		return unresumable(dir, err)
	}
	if _, err := fmt.Fprint(p.out, repairText(dir, found, look)); unlessClosed(err) != nil {
		return fail(notMeasured, "", "%w", err)
	}
	if look && !found.Whole() {
		return quiet(answerNo)
	}
	return nil
}

func (p *program) repaired(dir string, look bool) (*record.Repaired, error) {
	if look {
		return record.Inspect(dir)
	}
	return record.Repair(dir, record.Options{})
}

// repairText tells the damage of a folder and what became of it.
func repairText(dir string, r *record.Repaired, look bool) string {
	kept := count(r.Kept, "record is", "records are") + " whole"
	if r.Whole() {
		return fmt.Sprintf("%s: %s, and nothing is damaged\n", dir, kept)
	}
	var b strings.Builder
	for _, problem := range r.Damage {
		fmt.Fprintln(&b, problem)
	}
	verb := func(done string) string {
		if look {
			return "to be " + done
		}
		return done
	}
	fmt.Fprintf(&b, "%s: %s", dir, kept)
	if r.Moved > 0 {
		fmt.Fprintf(&b, ", %s %s to records.damaged.jsonl", count(r.Moved, "line", "lines"), verb("moved"))
	}
	if r.Unscored > 0 {
		fmt.Fprintf(&b, ", %s of scores %s", count(r.Unscored, "line", "lines"), verb("dropped"))
	}
	b.WriteString("\n")
	for _, id := range r.Lost {
		fmt.Fprintf(&b, "lost: %s\n", printable(id))
	}
	fmt.Fprintf(&b, "agentbench run SUITE --out %s makes what is missing again\n", shellWord(dir))
	return b.String()
}
