package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbench/agentbench/spec"
)

func (p *program) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "check FILE...",
		Short:   "Find everything that is wrong with suites, loops and mappings",
		GroupID: "write",
		Long: `Reads suites, loops and mappings with all files that they name, and prints every fault at
its place with a hint. A file may be - for stdin, or the name of a suite that ships.
Exits with 3 if anything is wrong.`,
		Args: arguments(1, -1, "one or more files"),
		RunE: func(_ *cobra.Command, args []string) error {
			var worst error
			for _, path := range args {
				worst = worse(worst, p.check(path))
			}
			return worst
		},
	}
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

func (p *program) check(path string) error {
	o, err := p.open(path, nil)
	if err != nil {
		return err
	}
	p.warn(o, nil)
	if o.Loop != nil {
		fmt.Fprintf(p.out, "%s: loop %s is fine: %s%s\n", path, printable(o.Loop.Name), aboutLoop(o.Loop), warnings(len(o.Warnings)))
		return nil
	}
	if o.Import != nil {
		fmt.Fprintf(p.out, "%s: import %s is fine%s\n", path, printable(o.Import.Name), warnings(len(o.Warnings)))
		return nil
	}
	tasks, faults := o.CountTasks()
	faults.Print(p.err)
	if faults.Err() != nil {
		return quiet(wrongSpec)
	}
	fmt.Fprintf(p.out, "%s: suite %s is fine: %s%s\n", path, printable(o.Suite.Name), aboutSuite(o.Suite, tasks), warnings(len(o.Warnings)))
	return nil
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
