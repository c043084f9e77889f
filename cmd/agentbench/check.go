package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/spec"
	"github.com/agentbench/agentbench/spec/source"
)

func (p *program) checkCommand() *cobra.Command {
	var tune bool
	c := &cobra.Command{
		Use:     "check FILE...",
		Short:   "Find everything that is wrong with suites, loops and mappings",
		GroupID: "write",
		Long: `Reads suites, loops and mappings with all files that they name, and prints every fault at
its place with a hint. A file may be - for stdin, or the name of a suite that ships.
Exits with 3 if anything is wrong.

With --tune it says of each parameter, those of tune first, how far a recorded run
answers for other values of it, and why not further.`,
		Args: arguments(1, -1, "one or more files"),
		RunE: func(_ *cobra.Command, args []string) error {
			var worst error
			for _, path := range args {
				worst = worse(worst, p.check(path, tune))
			}
			return worst
		},
	}
	c.Flags().BoolVar(&tune, "tune", false, "say which parameters can be replayed, and which need new runs")
	return c
}

// worse is the error with the higher exit code; the message of the other one is
// not lost, because check prints faults as it finds them.
func worse(a, b error) error {
	var first, second *failure
	if b == nil || errors.As(a, &first) && errors.As(b, &second) && first.code >= second.code {
		return a
	}
	return b
}

func (p *program) check(path string, tune bool) error {
	o, err := p.open(path, nil)
	if err != nil {
		return err
	}
	p.warn(o, nil)
	hintsOf(o.Document).Print(p.err)
	kind, name, about, err := p.fine(o)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s: %s %s is fine%s%s\n", path, kind, printable(name), about, warnings(len(o.Warnings)))
	if !tune {
		return nil
	}
	return p.tellReplayable(o.Document)
}

// fine says what a document is that has no faults; those of its tasks are printed.
func (p *program) fine(o *opened) (kind, name, about string, err error) {
	switch {
	case o.Loop != nil:
		return "loop", o.Loop.Name, ": " + aboutLoop(o.Loop), nil
	case o.Import != nil:
		return "import", o.Import.Name, "", nil
	}
	tasks, faults := o.CountTasks()
	faults.Print(p.err)
	if faults.Err() != nil {
		return "", "", "", quiet(wrongSpec)
	}
	return "suite", o.Suite.Name, ": " + aboutSuite(o.Suite, tasks), nil
}

// hintsOf are the hints of all loops of a document, each once.
func hintsOf(d *spec.Document) (hints source.Faults) {
	switch {
	case d.Loop != nil:
		return d.Loop.Hints()
	case d.Suite == nil:
		return nil
	}
	for i := range d.Suite.Resolved {
		for _, hint := range d.Suite.Resolved[i].Loop.Hints() {
			if !slices.Contains(hints, hint) {
				hints = append(hints, hint)
			}
		}
	}
	return hints
}

func aboutLoop(l *spec.Loop) string {
	var parts []string
	if l.Pattern != spec.PatternNone {
		parts = append(parts, "pattern "+string(l.Pattern))
	}
	if n := len(l.Phases); n > 0 {
		parts = append(parts, count(n, "phase", "phases"))
	}
	if n := len(l.Strategies); n > 0 {
		parts = append(parts, count(n, "strategy", "strategies"))
	}
	limit, _, _ := l.EffectiveMax()
	if limit == 0 {
		return strings.Join(append(parts, "no limit of its own"), ", ")
	}
	return strings.Join(append(parts, "at most "+count(limit, "iteration", "iterations")), ", ")
}

func aboutSuite(s *spec.Suite, tasks int) string {
	trials := max(1, s.Trials)
	parts := []string{
		count(tasks, "task", "tasks"), count(len(s.Resolved), "configuration", "configurations"),
		count(trials, "trial", "trials"), count(len(s.Scorers), "scorer", "scorers"),
		count(tasks*trials*len(s.Resolved), "run", "runs"),
	}
	return strings.Join(parts, ", ")
}

func warnings(n int) string {
	if n == 0 {
		return ""
	}
	return " (" + count(n, "warning", "warnings") + ")"
}

// count is a number of things in words.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
